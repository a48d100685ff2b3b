//! Streams of real agents through the follower. The expected output is next to each recording;
//! `FOXWEDGE_WRITE_EXPECTED=1` updates it.

use std::{env, fs, path::PathBuf};

use crate::follow::{
    StreamSource, detect_source,
    tests::story::{Said, said, story},
};

/// Every recording: its name and its lines.
pub(super) fn recordings() -> Vec<(String, String)> {
    let folder = folder();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut recordings: Vec<(String, String)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "stream"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    recordings.sort();
    assert!(recordings.len() > 50, "only {} in {}", recordings.len(), folder.display());
    recordings
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/streams"))
}

/// The source of the lines, by detection.
pub(super) fn source(stream: &str) -> StreamSource {
    let mut lines = stream.lines().map(said);
    lines
        .find_map(|line| match line {
            Said::Agent(line) => detect_source(line),
            Said::Host(_) | Said::Exit(_) => None,
        })
        .unwrap()
}

/// Compares a text with the file of that name, or updates the file on request.
pub(super) fn same_as_file(name: &str, text: &str) -> Result<(), String> {
    let path = folder().join(format!("{name}.expected"));
    if env::var_os("FOXWEDGE_WRITE_EXPECTED").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let differs = || format!("{name}\n--- expected\n{expected}--- is\n{text}");
    if text == expected { Ok(()) } else { Err(differs()) }
}

#[test]
fn every_recording_becomes_what_is_written_beside_it() {
    let stories = recordings()
        .into_iter()
        .map(|(name, stream)| same_as_file(&name, &story(source(&stream), &stream)));
    let wrong: Vec<String> = stories.filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
