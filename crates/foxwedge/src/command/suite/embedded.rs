//! The vectors in this program, or those of a folder.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::Context;
use flate2::read::DeflateDecoder;
use foxwedge_suite::SuiteVector;

/// All vectors, one per line and without their evidence, packed by `cargo xtask suite --write`.
const PACKED: &[u8] = include_bytes!("vectors.deflate");
/// Folders inside folders that are searched for vectors.
const MAX_DEPTH: usize = 4;

/// The vectors of a folder and the folders in it, in the order of their ids; or those in this
/// program.
pub(crate) fn vectors(folder: Option<&Path>) -> anyhow::Result<Vec<SuiteVector>> {
    let Some(folder) = folder else { return packed() };
    let mut files = Vec::new();
    list(folder, MAX_DEPTH, &mut files)?;
    let mut vectors = Vec::new();
    for file in files {
        let shown = file.display();
        let text = fs::read_to_string(&file).with_context(|| format!("{shown} cannot be read"))?;
        let vector: SuiteVector =
            serde_json::from_str(&text).with_context(|| format!("{shown} is no vector"))?;
        vectors.push(vector);
    }
    vectors.sort_by(|one, two| one.id.cmp(&two.id));
    Ok(vectors)
}

fn packed() -> anyhow::Result<Vec<SuiteVector>> {
    let mut text = String::new();
    let unpacked = DeflateDecoder::new(PACKED).read_to_string(&mut text);
    unpacked.context("the vectors in this program cannot be read")?;
    let vectors: Result<Vec<SuiteVector>, _> = text.lines().map(serde_json::from_str).collect();
    vectors.context("the vectors in this program cannot be read")
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("{} cannot be read", folder.display()))?.path();
        if path.is_dir() && depth > 0 {
            list(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_in_the_program_are_those_of_the_repository() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/vectors");
        let (packed, mut listed) =
            (packed().expect("vectors"), vectors(Some(&folder)).expect("vectors"));
        listed.iter_mut().for_each(|vector| vector.evidence.clear());
        assert!(packed.len() >= 400, "{}", packed.len());
        assert!(packed == listed, "run `cargo xtask suite --write`");
    }
}
