//! Guesses what calls do and what users require. The guesses only decide what is removed first.

use std::borrow::Cow;

use foxwedge_core::{Span, compact::CallEffect};

use crate::model::{ContentPart, ToolResultPart};
use foxwedge_json::{JsonScanner, JsonShape, field_text};

/// The file that a call is about: the first argument whose name suggests one.
pub(super) fn file_argument(arguments: &str) -> Option<Cow<'_, str>> {
    const NAMES: [&str; 10] = [
        "file_path",
        "filePath",
        "path",
        "absolute_path",
        "filename",
        "file",
        "notebook_path",
        "target_file",
        "relative_workspace_path",
        "uri",
    ];
    // Arguments may be truncated or not JSON at all.
    let mut scan = JsonScanner::new(arguments);
    if scan.shape() != Ok(JsonShape::Object) || scan.skip().is_err() {
        return None;
    }
    let whole = Span::new(0, arguments.len());
    NAMES.into_iter().find_map(|name| field_text(arguments, whole, name))
}

/// The effect of a tool, guessed from its name. Unknown where names are misleading.
pub(super) fn tool_effect(tool: &str) -> CallEffect {
    const READS: [&str; 12] = [
        "read",
        "view",
        "cat",
        "open_file",
        "grep",
        "glob",
        "search",
        "list",
        "ls",
        "find",
        "fetch",
        "get_file",
    ];
    const WRITES: [&str; 12] = [
        "write", "edit", "replace", "patch", "create", "delete", "insert", "update", "move",
        "rename", "remove", "append",
    ];
    let lower = tool.to_ascii_lowercase();
    let contains_any = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    match (contains_any(&READS), contains_any(&WRITES)) {
        (true, false) => CallEffect::Reads,
        (_, true) => CallEffect::Writes,
        (false, false) => CallEffect::Unknown,
    }
}

/// Whether a tool result reports that its call failed.
pub(super) fn is_failed(result: &ToolResultPart<'_>) -> bool {
    const SAYS: [&str; 6] =
        ["error", "failed", "traceback", "exception", "fatal:", "<tool_use_error"];
    result.error
        || result.parts.iter().any(|part| match part.content() {
            ContentPart::Text(text) => {
                let head: String = text.trim_start().chars().take(24).collect();
                let head = head.to_ascii_lowercase();
                SAYS.iter().any(|word| head.starts_with(word))
            }
            _ => false,
        })
}

/// Whether a user text states a constraint.
pub(super) fn states_constraint(text: &str) -> bool {
    const WORDS: [&str; 9] =
        ["must", "never", "always", "don't", "only", "required", "forbidden", "mustn't", "shall"];
    const PHRASES: [&str; 9] =
        ["do not", "make sure", "必须", "不要", "禁止", "不能", "务必", "一定要", "只能"];
    // A longer text is a document, not a requirement.
    const LONGEST: usize = 8_000;
    if text.len() > LONGEST {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| lower.contains(phrase))
        || lower
            .split(|c: char| !c.is_alphanumeric() && c != '\'')
            .any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_arguments_are_found() {
        let table = [
            (r#"{"file_path":"/a/b.rs","limit":3}"#, Some("/a/b.rs")),
            (r#"{"command":"ls"}"#, None),
            (r#"{"path":7}"#, None),
            (r#"{"path":"cut o"#, None),
            ("free text", None),
        ];
        for (arguments, expected) in table {
            assert_eq!(file_argument(arguments).as_deref(), expected, "{arguments}");
        }
    }

    #[test]
    fn constraints_are_distinguished_from_other_text() {
        let table = [
            ("Never touch the tests.", true),
            ("you must keep it small", true),
            ("Don't push.", true),
            ("不要修改配置", true),
            ("please read the file", false),
            ("the mustard is nevertheless fine", false),
        ];
        for (text, expected) in table {
            assert_eq!(states_constraint(text), expected, "{text}");
        }
    }
}
