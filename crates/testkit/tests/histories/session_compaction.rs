//! Compactions written into session files: the agent sees the shorter history, nothing is taken out
//! of the file, and taking the compaction back shows everything again.

mod workshop;
mod story;
mod laws;
mod behaviours;
mod spelling;

use std::{fs, path::PathBuf};

use foxwedge_sessions::{AgentDetection, SessionAgent, detect_agent, readable_text};
use foxwedge_testkit::{Random, session_file};
use laws::{Tally, judge};
use workshop::{GENTLE, WAYS};

/// Files for each agent and way.
const CASES: u64 = 40;

/// All laws hold for generated files of an agent, however they are made shorter.
fn hold(agent: SessionAgent) {
    let mut tally = Tally::default();
    for (index, way) in (0..).zip(WAYS) {
        for number in 0..CASES {
            let seed = 1 + number + 1_000_000 * index;
            let file = session_file(&mut Random::new(seed), agent.name(), 16);
            if let Err(what) = judge(agent, &file.bytes, way, &mut tally) {
                let shown = String::from_utf8_lossy(&file.bytes);
                panic!("{} {way:?} seed {seed}: {what}\nfile\n{shown}", agent.name());
            }
        }
    }
    assert!(tally.compacted > 25, "too few were made shorter: {tally:?}");
    assert!(tally.twice > 3, "too few were made shorter twice: {tally:?}");
}

#[test]
fn the_laws_hold_for_files_of_claude_code() {
    hold(SessionAgent::ClaudeCode);
}

#[test]
fn the_laws_hold_for_files_of_neovate() {
    hold(SessionAgent::Neovate);
}

#[test]
fn the_laws_hold_for_files_of_codex() {
    hold(SessionAgent::Codex);
}

#[test]
fn the_laws_hold_for_files_of_cline() {
    hold(SessionAgent::Cline);
}

#[test]
fn the_laws_hold_for_files_of_gemini_cli() {
    hold(SessionAgent::GeminiCli);
}

/// Every file below a folder.
fn files(folder: &PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

fn lawful(folder: &PathBuf) -> Tally {
    let mut tally = Tally::default();
    for path in files(folder).into_iter().filter(|path| path.extension() == Some("jsonl".as_ref()))
    {
        let bytes = fs::read(&path).expect("a file can be read");
        let agent = match detect_agent(readable_text(&bytes).expect("it is small enough").as_str())
        {
            AgentDetection::Known(agent) => agent,
            other => panic!("{}: {other:?}", path.display()),
        };
        for way in WAYS.into_iter().chain(GENTLE) {
            let verdict = judge(agent, &bytes, way, &mut tally);
            assert_eq!(verdict, Ok(()), "{} {way:?}", path.display());
        }
    }
    tally
}

#[test]
fn the_laws_hold_for_recorded_files() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions");
    let tally = lawful(&folder);
    assert!(tally.compacted > 40, "too few were made shorter: {tally:?}");
}

/// Real sessions are never in the project. `FOXWEDGE_SESSIONS` names a folder of them.
#[test]
fn real_sessions_where_they_are_at_hand() {
    match std::env::var_os("FOXWEDGE_SESSIONS") {
        Some(folder) => println!("{:?}", lawful(&PathBuf::from(folder))),
        None => println!("skipped: FOXWEDGE_SESSIONS names no folder"),
    }
}
