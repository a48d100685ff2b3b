//! What agents print: recordings, and lines of our own.

use std::{fs, path::Path};

/// The lines of a recording that the agent printed.
pub(crate) fn recording(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/streams");
    let text = fs::read_to_string(folder.join(format!("{name}.stream"))).unwrap();
    // The others are those of its host, and how it ended.
    let lines = text.lines().filter(|line| !line.starts_with("> ") && !line.starts_with("! "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The names of all recordings.
pub(crate) fn recordings() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/streams");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "stream"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// The session of the lines below.
pub(crate) const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// The first line of Claude Code.
pub(crate) fn init() -> String {
    format!(
        r#"{{"type":"system","subtype":"init","session_id":"{SESSION}","tools":["Bash","Read"],"model":"m-1"}}"#
    ) + "\n"
}

/// The model calls a tool.
pub(crate) fn call(id: &str, command: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_1","role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}]}},"session_id":"{SESSION}"}}"#
    ) + "\n"
}

/// The tool answers.
pub(crate) fn answer(id: &str, text: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}]}},"session_id":"{SESSION}"}}"#
    ) + "\n"
}

/// The model says something.
pub(crate) fn says(text: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_2","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"{SESSION}"}}"#
    ) + "\n"
}

/// The end.
pub(crate) fn result(text: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":false,"result":"{text}","session_id":"{SESSION}","usage":{{"input_tokens":10,"output_tokens":5}}}}"#
    ) + "\n"
}

/// A run with one call, to its end.
pub(crate) fn whole() -> String {
    [init(), call("t1", "make"), answer("t1", "ok"), says("Done."), result("Done.")].concat()
}

/// A text without the times in it, which differ from one day to the next.
pub(crate) fn timeless(text: &str) -> String {
    text.split_inclusive('\n').map(timeless_line).collect()
}

fn timeless_line(line: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let bare = word.trim_end_matches([',', ':', '\n']);
        if is_time(bare) {
            while kept
                .last()
                .is_some_and(|last| matches!(last.as_str(), "in" | "after") || is_time(last))
            {
                kept.pop();
            }
            let rest = word.strip_prefix(bare).unwrap_or_default();
            if let Some(last) = kept.last_mut() {
                last.push_str(rest);
            }
        } else {
            kept.push(word.to_owned());
        }
    }
    kept.join(" ")
}

fn is_time(word: &str) -> bool {
    let unit = word.strip_suffix(['s', 'm', 'h']);
    unit.is_some_and(|number| {
        !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

#[test]
fn times_are_taken_out() {
    let table = [
        ("✓ Bash  make  done 1.2s\n", "✓ Bash  make  done\n"),
        ("⚠ stopped after 3m 20s, may have run\n", "⚠ stopped, may have run\n"),
        ("✓ completed in 0.1s · 3 calls\n", "✓ completed · 3 calls\n"),
        ("✗ failed after 0.1s: 4 files\n", "✗ failed: 4 files\n"),
        ("nothing at all\n\n", "nothing at all\n\n"),
    ];
    for (text, expected) in table {
        assert_eq!(timeless(text), expected);
    }
}
