//! A question to a person: may this call run? And when a key is meant as the answer.
//!
//! Whoever types when a question appears does not answer it. A key is an answer only if the
//! question was on the screen and nothing was typed for a while, and only while the editor is
//! empty; else Tab turns to the question first.

use anstyle::Style;
use serde_json::Value;

use super::{calls::changed_lines, row::StyledRow};
use crate::{
    cli_output::{BOLD, DIM, WARNING},
    runs::draw::{SignSet, call_subject},
};

/// How long nothing must have been typed before a key is an answer, in milliseconds.
pub(super) const QUIET_MILLIS: u64 = 400;
/// Lines of arguments that are shown.
const MAX_ARGUMENT_LINES: usize = 8;

/// A call that waits.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ApprovalPrompt {
    /// Its number, by which it is answered.
    pub(super) number: u64,
    /// The id of the call.
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) input: Value,
}

/// What is done about the first question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ApprovalPromptStage {
    /// It has not been seen.
    New,
    /// It has been on the screen since then.
    Shown(u64),
    /// Keys are answers: somebody turned to it.
    Focused,
    /// Somebody types why not; this was in the editor before.
    TypingReason(String),
}

impl ApprovalPrompt {
    /// What it is about.
    pub(super) fn rows(&self, signs: SignSet, width: usize) -> Vec<StyledRow> {
        let sign = signs.call(foxwedge_run::ToolStatus::AwaitingApproval).0;
        let head = StyledRow::of(WARNING, &format!("{sign} ")).with(BOLD, &self.tool);
        let lines = self.argument_lines();
        let (first, lines) = match lines.as_slice() {
            [only] => (head.with(Style::new(), &format!("  {}", only.1)), &[][..]),
            _ => {
                let json = foxwedge_run::RawJson::parse(&self.input.to_string());
                let title = call_subject(None, json.as_ref());
                (head.with(Style::new(), &format!("  {title}")).fit(width), lines.as_slice())
            }
        };
        let mut rows = first.wrap(width, "    ");
        let left = lines.len().saturating_sub(MAX_ARGUMENT_LINES);
        for (style, line) in lines.iter().take(MAX_ARGUMENT_LINES) {
            rows.push(StyledRow::of(*style, &format!("    {line}")).fit(width));
        }
        if left > 0 {
            rows.push(StyledRow::of(DIM, &format!("    … {left} more lines")));
        }
        rows
    }

    /// The arguments, as what says most about them.
    fn argument_lines(&self) -> Vec<(Style, String)> {
        let changed = changed_lines(&self.input);
        if !changed.is_empty() {
            return changed;
        }
        let text = |name: &str| self.input.get(name).and_then(Value::as_str);
        let plain = |text: &str| text.lines().map(|line| (Style::new(), line.to_owned())).collect();
        if let Some(command) = text("command") {
            return plain(command);
        }
        if let Some(content) = text("content") {
            let lines = content.lines().map(|line| (crate::cli_output::ADDED, format!("+ {line}")));
            return lines.collect();
        }
        let Value::Object(fields) = &self.input else { return Vec::new() };
        let field = |(name, value): (&String, &Value)| match value {
            Value::String(text) => (Style::new(), format!("{name}: {text}")),
            value => (Style::new(), format!("{name}: {value}")),
        };
        fields.iter().map(field).collect()
    }
}

/// The keys, in as many words as fit.
pub(super) fn key_hint_row(signs: SignSet, width: usize) -> StyledRow {
    let long =
        ["y yes", "a always in this session", "n no", "t no, and say why", "Esc stops the run"];
    let short = ["y yes", "a always", "n no", "t why not", "Esc stop"];
    let bare = ["y", "a", "n", "t", "Esc"];
    let row = |words: [&str; 5]| StyledRow::of(WARNING, &format!("  {}", words.join(signs.dot())));
    let rows = [long, short].map(row);
    rows.into_iter().find(|row| row.width() <= width).unwrap_or_else(|| row(bare).fit(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_shows_what_would_happen() {
        let table = [
            ("run", json!({"command":"cargo test"}), "? run  cargo test"),
            ("run", json!({"command":"a\nb"}), "? run  a b\n    a\n    b"),
            ("edit", json!({"path":"a.rs","old":"x","new":"y"}), "? edit  a.rs\n    - x\n    + y"),
            ("write", json!({"path":"b.rs","content":"1\n2"}), "? write  b.rs\n    + 1\n    + 2"),
            ("look", json!({"n":1}), "? look  n: 1"),
            ("look", json!({}), "? look  "),
        ];
        for (tool, input, expected) in table {
            let ask =
                ApprovalPrompt { number: 1, call: "c".to_owned(), tool: tool.to_owned(), input };
            let rows = ask.rows(SignSet::Unicode, 60);
            assert_eq!(rows.iter().map(StyledRow::plain).collect::<Vec<_>>().join("\n"), expected);
        }
    }
}
