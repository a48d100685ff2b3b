//! `cargo xtask suite`: the vectors of the integrity suite, made from the cases of the rules, from shapes, and from
//! the requests and streams of the conversion tests; and the report on the engines of others.

mod evidence;
mod ids;
mod laws;
mod model;
mod page;
mod report;
mod sources;
mod specification;
mod vectors;

use std::{fs, io::Write as _, path::Path};

use flate2::{Compression, write::DeflateEncoder};
use foxwedge_suite::{QuestionFilter, ReferenceEngine, SuiteVector, run_suite, text_table};

use crate::{
    Outcome,
    tidy::{Complaint, complaint},
    workspace::root,
};

/// The folder of the suite.
const FOLDER: &str = "suite";
/// All vectors, packed for the binary.
const PACKED: &str = "crates/foxwedge/src/command/suite/vectors.deflate";

/// Writes vectors, or says whether they are current, or writes the report.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        [] | ["--check"] => check(),
        ["--write"] => write(),
        ["report", rest @ ..] => report::write(rest),
        ["model", rest @ ..] => model::run(rest),
        ["page", folder] => page::build(Path::new(folder)),
        _ => Err("usage: cargo xtask suite [--check | --write | model [--cases N] | page FOLDER | report FOLDER [--foxwedge BINARY]]"
            .to_owned()),
    }
}

/// Every file that the generator makes: its path and its bytes.
struct GeneratedFiles {
    files: Vec<(String, Vec<u8>)>,
    vectors: Vec<SuiteVector>,
    notes: Vec<String>,
}

fn generate() -> Result<GeneratedFiles, String> {
    let sources = sources::read(&root())?;
    let old_ids = fs::read_to_string(root().join(FOLDER).join("ids.tsv")).unwrap_or_default();
    let ids = ids::VectorIds::assign(&old_ids, sources.iter().map(|source| source.key.as_str()))?;
    let evidence = evidence::EvidenceTable::read(&root().join(FOLDER).join("evidence.tsv"))?;
    if let Some(source) = evidence.exceptions().find(|it| ids.get(it).is_none()) {
        return Err(format!("evidence.tsv: no source `{source}`"));
    }
    let mut made = GeneratedFiles { files: Vec::new(), vectors: Vec::new(), notes: Vec::new() };
    made.files.push((format!("{FOLDER}/ids.tsv"), ids.text().into_bytes()));
    for source in &sources {
        let Some(id) = ids.get(&source.key) else { continue };
        let (vector, notes) = vectors::build(source, id.clone(), &evidence)?;
        made.notes.extend(notes.into_iter().map(|note| format!("{id} {}: {note}", source.key)));
        let Some(vector) = vector else { continue };
        let text = serde_json::to_string_pretty(&vector).map_err(|error| error.to_string())?;
        let path = format!("{FOLDER}/vectors/{}/{id}.json", source.folder);
        made.files.push((path, format!("{text}\n").into_bytes()));
        made.vectors.push(vector);
    }
    made.vectors.sort_by(|one, two| one.id.cmp(&two.id));
    let path = format!("{FOLDER}/SPEC.md");
    let text = fs::read_to_string(root().join(&path)).map_err(|e| format!("{path}: {e}"))?;
    let text = specification::with_clauses(&text, &made.vectors, &evidence)?;
    made.files.push((path, text.into_bytes()));
    let mut lines = String::new();
    for vector in &made.vectors {
        // A judge does not need the evidence.
        let bare = SuiteVector { evidence: Vec::new(), ..vector.clone() };
        lines.push_str(&serde_json::to_string(&bare).map_err(|error| error.to_string())?);
        lines.push('\n');
    }
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    let packed = packer.write_all(lines.as_bytes()).and_then(|()| packer.finish());
    let packed = packed.map_err(|error| error.to_string())?;
    made.files.push((PACKED.to_owned(), packed));
    Ok(made)
}

fn write() -> Outcome {
    let made = generate()?;
    for note in &made.notes {
        println!("{note}");
    }
    let mut written = 0;
    for (path, bytes) in &made.files {
        let path = root().join(path);
        if fs::read(&path).is_ok_and(|old| old == *bytes) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        written += 1;
    }
    for path in strangers(&made, &root())? {
        fs::remove_file(root().join(&path)).map_err(|error| format!("{path}: {error}"))?;
        println!("removed {path}");
    }
    println!("{} vectors, {written} files written", made.vectors.len());
    judge_own_engine(&made.vectors)
}

/// Says whether everything is current, and writes nothing.
fn check() -> Outcome {
    let made = generate()?;
    let complaints = stale(&made)?;
    for Complaint { place, what } in &complaints {
        println!("{place}: {what}");
    }
    if !complaints.is_empty() {
        return Err(format!(
            "{} files of the suite are old: run `cargo xtask suite --write`",
            complaints.len()
        ));
    }
    judge_own_engine(&made.vectors)
}

/// Files that are old, missing or left over, for `cargo xtask tidy`.
pub(crate) fn outdated() -> Vec<Complaint> {
    let found = generate().and_then(|made| stale(&made));
    found.unwrap_or_else(|error| vec![complaint(FOLDER, error)])
}

fn stale(made: &GeneratedFiles) -> Result<Vec<Complaint>, String> {
    let old = "is old: run `cargo xtask suite --write`";
    let differs = |(path, bytes): &&(String, Vec<u8>)| {
        !fs::read(root().join(path)).is_ok_and(|found| found == *bytes)
    };
    let mut complaints: Vec<Complaint> =
        made.files.iter().filter(differs).map(|(path, _)| complaint(path, old)).collect();
    let strangers = strangers(made, &root())?;
    complaints.extend(strangers.into_iter().map(|path| complaint(path, "is no vector any more")));
    Ok(complaints)
}

/// Files among the vectors that the generator does not make.
fn strangers(made: &GeneratedFiles, root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let folder = root.join(FOLDER).join("vectors");
    if !folder.is_dir() {
        return Ok(found);
    }
    for inner in crate::workspace::sorted_entries(&folder)? {
        for path in crate::workspace::sorted_entries(&inner)? {
            let name = |path: &Path| {
                path.file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned())
            };
            let path = format!("{FOLDER}/vectors/{}/{}", name(&inner), name(&path));
            if !made.files.iter().any(|(made, _)| *made == path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The engine of this project has to pass its own suite.
fn judge_own_engine(vectors: &[SuiteVector]) -> Outcome {
    let results = run_suite(vectors, &mut ReferenceEngine, &QuestionFilter::default(), |_| ());
    print!("{}", text_table(&results));
    match results.failed().count() {
        0 => Ok(()),
        count => Err(format!("foxwedge itself fails {count} questions of the suite")),
    }
}
