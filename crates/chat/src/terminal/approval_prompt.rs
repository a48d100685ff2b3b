//! The approval prompt: asks whether a call may run, and decides when a key is the answer.
//!
//! A user may be typing when a prompt appears. A key is an answer only if the prompt is on the
//! screen, nothing was typed for a while and the editor is empty; otherwise Tab focuses the prompt
//! first.

use anstyle::Style;
use serde_json::Value;

use crate::allow_rules::AllowRule;

use super::{calls::changed_lines, diff::limit_lines, row::StyledRow};
use foxwedge_local::{
    language::localize,
    output::{BOLD, WARNING},
    runs::draw::{SignSet, call_subject},
};

/// Time without typing before a key counts as an answer, in milliseconds.
pub(super) const QUIET_MILLIS: u64 = 400;
/// Maximum number of shown argument lines.
const MAX_ARGUMENT_LINES: usize = 8;

/// Maximum number of shown lines of a change.
const MAX_DIFF_LINES: usize = 24;

/// A call that waits for approval.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ApprovalPrompt {
    /// The number that its decision refers to.
    pub(super) number: u64,
    /// The id of the call.
    pub(super) call: String,
    pub(super) tool: String,
    pub(super) input: Value,
    /// What it would change in a file; empty if that is not known.
    pub(super) diff: Vec<(Style, String)>,
}

/// The state of the first prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ApprovalPromptStage {
    /// It has not been drawn.
    New,
    /// It has been on the screen since this time.
    Shown(u64),
    /// The user focused it: keys are answers.
    Focused,
    /// The user types a reason for denying; the editor held this text before.
    TypingReason(String),
}

impl ApprovalPrompt {
    /// The rule that allows this call, and others like it.
    pub(super) fn rule(&self) -> AllowRule {
        AllowRule::for_call(&self.tool, &self.input)
    }

    /// The available keys, in the longest form that fits.
    pub(super) fn key_hint_row(&self, signs: SignSet, width: usize) -> StyledRow {
        let rule = self.rule();
        let (program, folder) =
            (format!("a always {rule} until the end"), format!("p always {rule} in this folder"));
        let always = format!("a always {rule}");
        let forms: [&[&str]; 5] = [
            &["y yes", &program, &folder, "n no", "t no, with a reason", "Esc stops the run"],
            &["y yes", &always, "p in this folder", "n no", "t why not", "Esc stop"],
            &["y yes", &always, "p in this folder", "n no", "t why not"],
            &["y yes", "a always", "p here", "n no", "t why not", "Esc stop"],
            &["y", "a", "p", "n", "t", "Esc"],
        ];
        let row = |hints: &&[&str]| {
            // The shortest form has no room for dots.
            let dot = if hints.iter().any(|hint| hint.contains(' ')) { signs.dot() } else { " " };
            let hints: Vec<_> = hints.iter().map(|hint| localize(*hint)).collect();
            StyledRow::of(WARNING, &format!("  {}", hints.join(dot)))
        };
        let rows: Vec<StyledRow> = forms.iter().map(row).collect();
        let fitting = rows.iter().find(|row| row.width() <= width).or(rows.last());
        fitting.map(|row| row.fit(width)).unwrap_or_default()
    }

    /// The rows that show the call.
    pub(super) fn rows(&self, signs: SignSet, width: usize) -> Vec<StyledRow> {
        let sign = signs.call(foxwedge_run::ToolStatus::AwaitingApproval).0;
        let head = StyledRow::of(WARNING, &format!("{sign} ")).with(BOLD, &self.tool);
        let lines = match self.diff.is_empty() {
            true => limit_lines(self.argument_lines(), MAX_ARGUMENT_LINES),
            false => limit_lines(self.diff.clone(), MAX_DIFF_LINES),
        };
        let (first, lines) = match lines.as_slice() {
            [only] if self.diff.is_empty() => {
                (head.with(Style::new(), &format!("  {}", only.1)), &[][..])
            }
            _ => {
                let json = foxwedge_run::RawJson::parse(&self.input.to_string());
                let title = call_subject(None, json.as_ref());
                (head.with(Style::new(), &format!("  {title}")).fit(width), lines.as_slice())
            }
        };
        let mut rows = first.wrap(width, "    ");
        for (style, line) in lines {
            rows.push(StyledRow::of(*style, &format!("    {line}")).fit(width));
        }
        rows
    }

    /// The arguments in their most useful form: a diff, a command, content, or fields.
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
            let lines =
                content.lines().map(|line| (foxwedge_local::output::ADDED, format!("+ {line}")));
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prompt_shows_what_would_happen() {
        let table = [
            ("run", json!({"command":"cargo test"}), "? run  cargo test"),
            ("run", json!({"command":"a\nb"}), "? run  a b\n    a\n    b"),
            ("edit", json!({"path":"a.rs","old":"x","new":"y"}), "? edit  a.rs\n    - x\n    + y"),
            ("write", json!({"path":"b.rs","content":"1\n2"}), "? write  b.rs\n    + 1\n    + 2"),
            ("look", json!({"n":1}), "? look  n: 1"),
            ("look", json!({}), "? look  "),
        ];
        for (tool, input, expected) in table {
            let prompt = ApprovalPrompt {
                number: 1,
                call: "c".to_owned(),
                tool: tool.to_owned(),
                input,
                diff: Vec::new(),
            };
            let rows = prompt.rows(SignSet::Unicode, 60);
            assert_eq!(rows.iter().map(StyledRow::plain).collect::<Vec<_>>().join("\n"), expected);
        }
    }
}
