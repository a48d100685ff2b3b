//! Lists the files of the console's page, so that they can be built into the program. Where there
//! is no build of the page, the list is empty, and nobody needs the tools that make one.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

/// Folders in folders.
const DEPTH: usize = 4;

fn main() -> io::Result<()> {
    let home = folder("CARGO_MANIFEST_DIR")?;
    let out = folder("OUT_DIR")?;
    // A published crate holds a copy; in the workspace its `dist` is a link to the original.
    let folders = [home.join("../../console/dist"), home.join("dist")];
    let dist = folders.into_iter().find(|folder| folder.is_dir()).unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    if dist.is_dir() {
        // A folder that is not there would make every build begin anew.
        println!("cargo::rerun-if-changed={}", dist.display());
        find(&dist.canonicalize()?, "", DEPTH, &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (number, (name, path)) in files.iter().enumerate() {
        let content = fs::read(path)?;
        let packed = packed(&content)?;
        // One form is enough: few clients do not take the packed one, and it is unpacked for them.
        let is_gzip = packed.len() < content.len() / 10 * 9;
        let held = if is_gzip {
            let packed_to = out.join(format!("console-{number}.gz"));
            fs::write(&packed_to, &packed)?;
            packed_to.display().to_string()
        } else {
            path.display().to_string()
        };
        let tag = tag(&content);
        list.push_str(&format!(
            "    ConsoleAsset {{ name: {name:?}, content: include_bytes!({held:?}), is_gzip: {is_gzip}, tag: {tag:?} }},\n"
        ));
    }
    list.push_str("]\n");
    fs::write(out.join("console.rs"), list)
}

fn folder(variable: &str) -> io::Result<PathBuf> {
    let missing = || io::Error::other(format!("{variable} is not set"));
    env::var_os(variable).map(PathBuf::from).ok_or_else(missing)
}

/// Plain files with plain names, by their path in the folder.
fn find(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut Vec<(String, PathBuf)>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.starts_with('.') || !name.bytes().all(plain) {
            continue;
        }
        let (kind, name) = (entry.file_type()?, format!("{prefix}{name}"));
        if kind.is_file() {
            files.push((name, entry.path()));
        } else if kind.is_dir() && depth > 0 {
            find(&entry.path(), &format!("{name}/"), depth - 1, files)?;
        }
    }
    Ok(())
}

/// The same bytes for the same content, whenever it is packed.
fn packed(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

/// Tells one content from another.
fn tag(content: &[u8]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in content {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:x}-{hash:016x}", content.len())
}
