//! The table of cases that the packages of all languages share: what the engine makes of every rule's
//! cases, computed here. A package has to return the same bytes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use foxwedge_embed::call;
use serde_json::{Value, json};

use super::random_cases;
use crate::workspace;

/// Operations that every document goes through.
const OPERATIONS: [&str; 2] = ["check", "fix"];

/// Writes the table and returns its path. A line has an `operation`, its `options` (JSON), a
/// `document`, the expected `report` (JSON) and `result`, which is `null` if nothing changes; or the
/// kind of the expected `error`.
pub(super) fn write_table() -> Result<PathBuf, String> {
    let folder = workspace::root().join("target/packages");
    let path = folder.join("cases.jsonl");
    let complain = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut table = String::new();
    for rule in workspace::sorted_entries(&workspace::root().join("crates/core/tests/cases"))? {
        if !rule.is_dir() {
            continue;
        }
        for case in workspace::sorted_entries(&rule)? {
            add_case(&case, &mut table)?;
        }
    }
    random_cases::add_lines(&mut table)?;
    fs::create_dir_all(&folder).map_err(complain)?;
    fs::write(&path, table).map_err(complain)?;
    Ok(path)
}

/// Adds the lines of a case; what is no case has none.
fn add_case(path: &Path, table: &mut String) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(options) = case_options(&name) else { return Ok(()) };
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // Session files may be torn inside a character; a line of JSON cannot hold those.
    let Ok(document) = String::from_utf8(bytes) else { return Ok(()) };
    for operation in OPERATIONS {
        let line = case_line(operation, &options, &document)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(kind) = line["error"].as_str() {
            return Err(format!("{}: {operation}: {kind}", path.display()));
        }
        table.push_str(&line.to_string());
        table.push('\n');
    }
    Ok(())
}

/// A line of the table.
pub(super) fn case_line(operation: &str, options: &str, document: &str) -> Result<Value, String> {
    let (report, result, error) = match call(operation, document.as_bytes(), options) {
        Ok(reply) => (Some(reply.report), reply.document, None),
        Err(error) => (None, None, Some(error.kind)),
    };
    let result = result.map(String::from_utf8).transpose().map_err(|error| error.to_string())?;
    Ok(json!({
        "operation": operation,
        "options": options,
        "document": document,
        "report": report,
        "result": result,
        "error": error,
    }))
}

/// The options that the name of a case says: `what.format[.profile].json` or `what.agent.jsonl`.
fn case_options(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let options = match parts.as_slice() {
        [_, format, "json"] => json!({ "format": format }),
        [_, format, profile, "json"] => json!({ "format": format, "profile": profile }),
        [_, agent, "jsonl"] => json!({ "agent": agent }),
        _ => return None,
    };
    Some(options.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cases_say_their_options() {
        let table = [
            ("a.gemini.json", Some(r#"{"format":"gemini"}"#)),
            ("a.openai-chat.strict.json", Some(r#"{"format":"openai-chat","profile":"strict"}"#)),
            ("a.codex.jsonl", Some(r#"{"agent":"codex"}"#)),
            ("a.gemini.snap", None),
            ("sound.snap", None),
        ];
        for (name, expected) in table {
            assert_eq!(case_options(name).as_deref(), expected, "{name}");
        }
    }
}
