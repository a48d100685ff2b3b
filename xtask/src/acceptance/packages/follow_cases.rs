//! The table of agents that are followed: what the engine makes of every recorded stream, computed
//! here. A package has to return the same bytes.

use std::{fs, path::PathBuf};

use foxwedge_embed::FollowCall;
use serde_json::{Value, json};

use crate::workspace;

/// The words in which every recording is written.
const WORDS: [&str; 4] = ["events", "agent", "agui", "ai-sdk"];

/// Writes the table and returns its path. A line has `name`, `options`, and `steps`: the `step`, its
/// `body`, the expected `events` (a text) and `report` (JSON).
pub(super) fn write_table() -> Result<PathBuf, String> {
    let folder = workspace::root().join("target/packages");
    let path = folder.join("follow.jsonl");
    let mut table = String::new();
    for stream in workspace::sorted_entries(&workspace::root().join("fixtures/streams"))? {
        if stream.extension().is_none_or(|end| end != "stream") {
            continue;
        }
        let name = stream.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&stream)
            .map_err(|error| format!("{}: {error}", stream.display()))?;
        for words in WORDS {
            let line = recorded_case(&name, words, &text)
                .map_err(|error| format!("{}: {error}", stream.display()))?;
            table.push_str(&line.to_string());
            table.push('\n');
        }
    }
    let complain = |error: std::io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(&folder).map_err(complain)?;
    fs::write(&path, table).map_err(complain)?;
    Ok(path)
}

/// A recording in some words, step by step.
fn recorded_case(name: &str, words: &str, stream: &str) -> Result<Value, String> {
    let agent = ["codex", "gemini-cli"].into_iter().find(|agent| name.starts_with(agent));
    let options = json!({
        "agent": agent.unwrap_or("claude-code"), "run": "run", "session": "s", "words": words,
    });
    let mut follower = FollowCall::new(&options.to_string()).map_err(|error| error.to_string())?;
    let mut steps = Vec::new();
    for (at, line) in stream.lines().enumerate() {
        let (step, body) = recorded_step(line);
        // Some have a time.
        let now = (at % 2 == 1).then_some(at as u64 * 1000);
        let reply = follower.step(step, &body, now).map_err(|error| format!("{step}: {error}"))?;
        let events = reply.document.map(String::from_utf8).transpose();
        let events = events.map_err(|error| error.to_string())?;
        steps.push(json!({
            "step": step, "body": body, "now": now, "events": events, "report": reply.report,
        }));
    }
    Ok(json!({ "name": name, "options": options, "steps": steps }))
}

/// A line of a recording as a step: `> ` stands before what the host sent, `! ` before the end.
fn recorded_step(line: &str) -> (&'static str, String) {
    let rest = |mark| line.strip_prefix(mark);
    match (rest("> "), rest("! exit "), rest("! signal ")) {
        (Some(line), _, _) => ("host", line.to_owned()),
        (_, Some(code), _) => ("finish", format!("{{\"code\":{code}}}")),
        (_, _, Some(signal)) => ("finish", format!("{{\"signal\":{signal}}}")),
        _ if line == "! eof" => ("finish", String::new()),
        _ => ("message", line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_becomes_steps_with_their_events() {
        let stream = concat!(
            "> {\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}\n",
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n",
            "! signal 9\n",
        );
        let case = recorded_case("claude-code-x", "events", stream).expect("a case");
        let steps = case["steps"].as_array().expect("a list");
        let names: Vec<&str> = steps.iter().filter_map(|step| step["step"].as_str()).collect();
        assert_eq!(names, ["host", "message", "finish"]);
        assert!(steps[1]["events"].as_str().is_some_and(|text| text.contains("run-started")));
        assert!(steps[2]["events"].as_str().is_some_and(|text| text.contains("run-ended")));
    }
}
