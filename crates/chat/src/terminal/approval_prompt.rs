//! The approval prompt: asks whether a call may run, and decides when a key is the answer.
//!
//! A user may be typing when a prompt appears. A key is an answer only if the prompt is on the
//! screen, nothing was typed for a while and the editor is empty; otherwise Tab focuses the prompt
//! first.
//!
//! A prompt shows the whole call. Nothing in it is removed or cut off: control characters are
//! replaced visibly, long lines are wrapped, and what has no room is announced and shown on demand.

use anstyle::Style;
use serde_json::Value;

use crate::allow_rules::AllowRule;

use super::{
    calls::{NEW_FIELDS, OLD_FIELDS, edit_lines},
    row::StyledRow,
};
use foxwedge_local::{
    language::localize,
    output::{ADDED, BOLD, WARNING, clean, pluralize},
    runs::draw::{SignSet, call_subject},
};

/// Time without typing before a key counts as an answer, in milliseconds.
pub(super) const QUIET_MILLIS: u64 = 400;
/// Maximum number of rows of a call.
const MAX_ROWS: usize = 25;

/// Fields that name the file that a call changes.
const PATH_FIELDS: [&str; 2] = ["path", "file_path"];

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
        let rule = shown(&self.rule().to_string());
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

    /// The rows that show the call, at most `max`. The last one says what is not shown.
    pub(super) fn rows(&self, signs: SignSet, width: usize, max: usize) -> Vec<StyledRow> {
        let max = max.clamp(2, MAX_ROWS);
        let (mut rows, lines) = self.head(signs, width);
        // Where the lines end that are shown as a whole.
        let mut ends: Vec<usize> = Vec::new();
        for line in &lines {
            let (of_line, is_whole) = line_rows(line, width, width.saturating_mul(max));
            rows.extend(of_line);
            if !is_whole || rows.len() > max {
                break;
            }
            ends.push(rows.len());
        }
        if ends.len() < lines.len() || rows.len() > max {
            rows.truncate(max - 1);
            let whole = ends.iter().filter(|end| **end < max).count();
            let more = localize(pluralize((lines.len() - whole).max(1), "more line"));
            let text = format!("    … {more}{}{}", signs.dot(), localize("v shows all"));
            rows.push(StyledRow::of(WARNING, &text).fit(width));
        }
        rows
    }

    /// The rows that show the whole call.
    pub(super) fn all_rows(&self, signs: SignSet, width: usize) -> Vec<StyledRow> {
        let (mut rows, lines) = self.head(signs, width);
        rows.extend(lines.iter().flat_map(|line| line_rows(line, width, usize::MAX).0));
        rows
    }

    /// The rows with the name of the tool and what the call is about, and the lines that follow.
    fn head(&self, signs: SignSet, width: usize) -> (Vec<StyledRow>, Vec<(Style, String)>) {
        let sign = signs.call(foxwedge_run::ToolStatus::AwaitingApproval).0;
        let head = StyledRow::of(WARNING, &format!("{sign} ")).with(BOLD, &shown(&self.tool));
        let path = PATH_FIELDS.iter().find_map(|name| self.input.get(name)?.as_str());
        let mut lines = match self.diff.is_empty() {
            true => self.argument_lines(),
            false => self.diff.clone(),
        };
        let title = match path {
            Some(path) => path.to_owned(),
            None if lines.len() == 1 && self.diff.is_empty() => {
                lines.pop().map(|(_, line)| line).unwrap_or_default()
            }
            None => {
                let json = foxwedge_run::RawJson::parse(&self.input.to_string());
                call_subject(None, json.as_ref())
            }
        };
        (head.with(Style::new(), &format!("  {}", shown(&title))).wrap(width, "    "), lines)
    }

    /// The arguments in their most useful form: a diff, a command or content, then other fields.
    /// The path is in the title.
    fn argument_lines(&self) -> Vec<(Style, String)> {
        let text = |name: &str| self.input.get(name).and_then(Value::as_str);
        let first = |names: &[&'static str]| names.iter().copied().find(|it| text(it).is_some());
        let mut shown_fields: Vec<&str> = first(&PATH_FIELDS).into_iter().collect();
        let mut lines = edit_lines(&self.input);
        if !lines.is_empty() {
            shown_fields.extend(first(&OLD_FIELDS).into_iter().chain(first(&NEW_FIELDS)));
        } else if let Some(command) = text("command") {
            lines.extend(text_lines(command).map(|line| (Style::new(), line.to_owned())));
            shown_fields.push("command");
        } else if let Some(content) = text("content") {
            lines.extend(text_lines(content).map(|line| (ADDED, format!("+ {line}"))));
            shown_fields.push("content");
        }
        let Value::Object(fields) = &self.input else { return lines };
        for (name, value) in fields {
            match value {
                _ if shown_fields.contains(&name.as_str()) => {}
                Value::String(text) => {
                    let text = format!("{name}: {text}");
                    lines.extend(text_lines(&text).map(|line| (Style::new(), line.to_owned())));
                }
                value => lines.push((Style::new(), format!("{name}: {value}"))),
            }
        }
        lines
    }
}

/// The lines of a text, with their carriage returns.
fn text_lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n')
}

/// A text with its control characters replaced. Nothing is removed: what is an escape sequence to a
/// terminal is part of a command to a shell.
fn shown(text: &str) -> String {
    clean(&text.replace('\t', "    "))
}

/// The rows of the first `max` characters of a line, and whether these are all.
fn line_rows((style, line): &(Style, String), width: usize, max: usize) -> (Vec<StyledRow>, bool) {
    let end = line.char_indices().nth(max).map(|(end, _)| end);
    let first = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
    let row = StyledRow::of(*style, &format!("    {}", shown(first)));
    (row.wrap(width, "      "), end.is_none())
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
            ("write", json!({"path":"../b","content":"x"}), "? write  ../b\n    + x"),
            ("look", json!({"n":1}), "? look  n: 1"),
            ("look", json!({"command":"a","cwd":"b"}), "? look  a\n    a\n    cwd: b"),
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
            let rows = prompt.rows(SignSet::Unicode, 60, 20);
            assert_eq!(rows.iter().map(StyledRow::plain).collect::<Vec<_>>().join("\n"), expected);
        }
    }

    fn prompt(tool: &str, input: Value, diff: &[&str]) -> ApprovalPrompt {
        let diff = diff.iter().map(|line| (ADDED, (*line).to_owned())).collect();
        ApprovalPrompt { number: 1, call: "c".to_owned(), tool: tool.to_owned(), input, diff }
    }

    #[test]
    fn nothing_that_would_run_is_hidden_by_control_characters() {
        let hidden =
            ["a \u{1b}]0;x; touch b; echo \u{7} c", "\u{1b}Px; touch b\u{1b}\\", "a\rtouch b"];
        for text in hidden {
            let prompts = [
                prompt("run", json!({"command":text}), &[]),
                prompt("run", json!({"command":format!("x\n{text}")}), &[]),
                prompt("write", json!({"path":"a","content":text}), &[]),
                prompt("write", json!({"path":text,"content":"a"}), &[]),
                prompt("edit", json!({"path":"a","old":"1","new":text}), &[]),
                prompt("edit", json!({"path":"a"}), &["1   context", &format!("2 + {text}")]),
                prompt("other", json!({"field":text}), &[]),
                prompt("other", json!({"command":"a","field":text}), &[]),
            ];
            for prompt in prompts {
                let rows = prompt.rows(SignSet::Unicode, 80, 20);
                let plain: String = rows.iter().map(StyledRow::plain).collect();
                assert!(plain.contains("touch b") && plain.contains('\u{fffd}'), "{plain}");
                assert!(!plain.contains(char::is_control), "{plain:?}");
            }
        }
    }

    #[test]
    fn long_lines_are_wrapped_and_rows_without_room_are_announced() {
        let spaces = " ".repeat(200);
        let command = format!("echo one\necho two{spaces}; touch b");
        let long = prompt("run", json!({ "command": command }), &[]);
        let rows = long.rows(SignSet::Unicode, 40, 20);
        assert!(rows.iter().all(|row| row.width() <= 40));
        let plain: Vec<String> = rows.iter().map(StyledRow::plain).collect();
        assert!(plain.join("\n").contains("; touch b"), "{plain:?}");

        let lines: Vec<String> = (0..100).map(|n| format!("echo {n} {}", "x".repeat(50))).collect();
        let many = prompt("run", json!({ "command": lines.join("\n") }), &[]);
        for max in [0, 5, 12, 1000] {
            let rows = many.rows(SignSet::Unicode, 40, max);
            assert!(rows.len() <= max.clamp(2, MAX_ROWS), "{max}");
            let last = rows.last().map(StyledRow::plain).unwrap_or_default();
            assert!(last.contains("more lines · v shows all"), "{last}");
        }
        let all: String =
            many.all_rows(SignSet::Unicode, 40).iter().map(StyledRow::plain).collect();
        assert!((0..100).all(|n| all.contains(&format!("echo {n} "))), "{all}");
        let one = prompt("write", json!({ "path": "a", "content": "x".repeat(5000) }), &[]);
        let last = one.rows(SignSet::Unicode, 40, 9).pop().unwrap_or_default().plain();
        assert!(last.contains("1 more line · v shows all"), "{last}");
        // Marks that have no width hide nothing either.
        let marks = format!("a{}\n; touch b", "\u{301}".repeat(5000));
        let marks = prompt("run", json!({ "command": marks }), &[]);
        let last = marks.rows(SignSet::Unicode, 40, 9).pop().unwrap_or_default().plain();
        assert!(last.contains("2 more lines · v shows all"), "{last}");
        // What is not shown is counted.
        let short = prompt("run", json!({ "command": "x\n".repeat(20) }), &[]);
        let rows = short.rows(SignSet::Unicode, 80, 10);
        assert_eq!(rows.len(), 10);
        let last = rows.last().map(StyledRow::plain).unwrap_or_default();
        assert!(last.contains("12 more lines"), "{last}");
    }
}
