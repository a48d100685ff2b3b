//! Tool calls: live rows while they run, and the rows that remain when they are settled.

use anstyle::Style;
use foxwedge_run::{RawJson, SharedId, ToolRef, ToolStatus, ToolStatusReason};
use foxwedge_tools::FileChange;
use serde_json::Value;

use super::{
    diff::{diff_lines, limit_lines},
    row::StyledRow,
};
use crate::call_mark::CallMark;
use foxwedge_local::{
    language::localize,
    output::{ADDED, BOLD, DIM, REMOVED, clean, width},
    runs::draw::{SignSet, call_subject},
    screen::fit_columns,
};

/// Maximum width of a tool's name.
const MAX_NAME_COLUMNS: usize = 40;
/// Minimum width of a call's subject; with less room it is omitted.
const MIN_ABOUT_COLUMNS: usize = 6;
/// Maximum number of shown result lines.
const MAX_RESULT_LINES: usize = 5;
/// Maximum number of shown lines of a change.
const MAX_CHANGED_LINES: usize = 8;
/// Maximum number of shown lines of a change with numbers.
const MAX_DIFF_LINES: usize = 60;
/// Maximum number of result characters that are processed.
const MAX_RESULT_CHARS: usize = 16 << 10;

/// Fields of an edit: what it replaces. The first that is a text counts.
pub(super) const OLD_FIELDS: [&str; 3] = ["old", "old_string", "old_text"];
/// Fields of an edit: by what.
pub(super) const NEW_FIELDS: [&str; 3] = ["new", "new_string", "new_text"];

/// A call that is not settled.
#[derive(Clone, Debug)]
pub(super) struct TerminalCall {
    pub(super) tool: ToolRef,
    name: SharedId,
    title: Option<String>,
    about: String,
    input: Option<RawJson>,
    pub(super) status: ToolStatus,
    since: u64,
    /// The last line of its output.
    last_output: String,
    depth: usize,
}

/// The calls that are not settled, in the order in which they started.
#[derive(Clone, Debug, Default)]
pub(super) struct TerminalCallList(Vec<TerminalCall>);

impl TerminalCallList {
    pub(super) fn open(
        &mut self,
        tool: &ToolRef,
        name: &SharedId,
        parent: Option<&SharedId>,
        title: Option<&str>,
        now: u64,
    ) {
        let depth = parent.map_or(0, |parent| {
            self.0.iter().rfind(|call| call.tool.call == *parent).map_or(1, |call| call.depth + 1)
        });
        self.0.push(TerminalCall {
            tool: tool.clone(),
            name: name.clone(),
            title: title.map(str::to_owned),
            about: call_subject(title, None),
            input: None,
            status: ToolStatus::Pending,
            since: now,
            last_output: String::new(),
            depth: depth.min(8),
        });
    }

    pub(super) fn set_input(&mut self, tool: &ToolRef, input: &RawJson) {
        if let Some(call) = self.find(tool) {
            call.about = call_subject(call.title.as_deref(), Some(input));
            call.input = Some(input.clone());
        }
    }

    pub(super) fn set_status(&mut self, tool: &ToolRef, status: ToolStatus, now: u64) {
        if let Some(call) = self.find(tool) {
            call.status = status;
            call.since = now;
        }
    }

    pub(super) fn set_progress(&mut self, tool: &ToolRef, content: &RawJson) {
        if let Some(call) = self.find(tool) {
            let output = content.plain();
            let last = output.lines().rev().find(|line| !line.trim().is_empty());
            let last = last.map(|line| last_overwrite(line).chars().take(400).collect());
            call.last_output = last.unwrap_or_default();
        }
    }

    fn find(&mut self, tool: &ToolRef) -> Option<&mut TerminalCall> {
        self.0.iter_mut().rfind(|call| call.tool == *tool)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether any call is running.
    pub(super) fn is_running(&self) -> bool {
        self.0.iter().any(|call| call.status == ToolStatus::Running)
    }

    /// The rows of unsettled calls, newest last, at most `max`.
    pub(super) fn live_rows(
        &self,
        signs: SignSet,
        width: usize,
        max: usize,
        now: u64,
    ) -> Vec<StyledRow> {
        let shown = self.0.iter().filter(|call| call.status != ToolStatus::AwaitingApproval);
        let mut rows: Vec<StyledRow> = Vec::new();
        let mut hidden = 0;
        for call in shown {
            let has_output = !call.last_output.is_empty();
            if rows.len() + 1 + usize::from(has_output) > max.saturating_sub(1) && !rows.is_empty()
            {
                hidden += 1;
                continue;
            }
            // Whole seconds, because tenths change too fast to read.
            let elapsed = now.saturating_sub(call.since) / 1000;
            let time =
                (call.status == ToolStatus::Running && elapsed > 0).then_some(elapsed * 1000);
            let mark = CallMark::of(signs, call.status, None, time);
            rows.push(call.row(&mark, width));
            if has_output {
                let row = StyledRow::of(
                    DIM,
                    &format!("{}  {}", "  ".repeat(call.depth), call.last_output),
                );
                rows.push(row.fit(width));
            }
        }
        if hidden > 0 {
            rows.push(StyledRow::localized(DIM, &format!("  and {hidden} more")));
        }
        rows
    }

    /// Removes a settled call and returns its rows.
    pub(super) fn settle(
        &mut self,
        tool: &ToolRef,
        (status, reason): (ToolStatus, Option<ToolStatusReason>),
        duration: Option<u64>,
        (content, change): (&RawJson, Option<FileChange>),
        (signs, width): (SignSet, usize),
    ) -> Vec<StyledRow> {
        let Some(at) = self.0.iter().rposition(|call| call.tool == *tool) else {
            return Vec::new();
        };
        let call = self.0.remove(at);
        let mut rows = vec![call.row(&CallMark::of(signs, status, reason, duration), width)];
        let indent = format!("{}    ", "  ".repeat(call.depth));
        rows.extend(
            match status {
                ToolStatus::Succeeded => match (change, &call.input) {
                    (Some(change), _) => limit_lines(diff_lines(&change), MAX_DIFF_LINES),
                    (None, Some(input)) => changed_lines(&input.value()),
                    (None, None) => Vec::new(),
                },
                ToolStatus::Failed | ToolStatus::Interrupted | ToolStatus::Denied => {
                    result_tail(content)
                }
                ToolStatus::Cancelled
                | ToolStatus::HandedOver
                | ToolStatus::Unknown
                | ToolStatus::Pending
                | ToolStatus::AwaitingApproval
                | ToolStatus::Running => Vec::new(),
            }
            .into_iter()
            .map(|(style, line)| StyledRow::of(style, &format!("{indent}{line}")).fit(width)),
        );
        rows
    }
}

impl TerminalCall {
    /// The call on one row. The status is always shown; the subject is truncated if needed.
    fn row(&self, mark: &CallMark, columns: usize) -> StyledRow {
        let indent = "  ".repeat(self.depth);
        let name = fit_columns(&clean(&self.name), MAX_NAME_COLUMNS.min(columns / 2));
        let fixed = indent.len() + width(&name) + width(&mark.text) + 6;
        let room = columns.saturating_sub(fixed);
        let row = StyledRow::of(mark.style, &format!("{indent}{} ", mark.sign)).with(BOLD, &name);
        let row = match self.about.is_empty() || room < MIN_ABOUT_COLUMNS.min(width(&self.about)) {
            true => row,
            false => row.with(Style::new(), &format!("  {}", fit_columns(&self.about, room))),
        };
        row.with(Style::new(), "  ").with(mark.style, &mark.text).fit(columns)
    }
}

/// The end of a result, which usually contains the reason.
fn result_tail(content: &RawJson) -> Vec<(Style, String)> {
    let plain = result_text(&content.value());
    let skip = plain.chars().count().saturating_sub(MAX_RESULT_CHARS);
    let end: String = plain.chars().skip(skip).collect();
    // Our own text for the model repeats the status.
    let is_ours = |line: &str| line.starts_with("[foxwedge]");
    let lines = end.lines().filter(|line| !line.trim().is_empty() && !is_ours(line));
    let lines: Vec<&str> = lines.collect();
    let hidden = lines.len().saturating_sub(MAX_RESULT_LINES);
    // A single hidden line takes no more room than the note about it.
    let hidden = if hidden == 1 { 0 } else { hidden };
    let first =
        (hidden > 0).then(|| (DIM, localize(format!("… {hidden} lines above")).into_owned()));
    let lines =
        lines.iter().skip(hidden).map(|line| (DIM, last_overwrite(line).trim_end().to_owned()));
    first.into_iter().chain(lines).collect()
}

/// The final text of a line that a tool overwrote with carriage returns.
fn last_overwrite(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default()
}

/// The text of a tool result: a string, or the text of its blocks.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

/// The first removed and added lines of an edit; empty if the call does not edit text.
fn changed_lines(input: &Value) -> Vec<(Style, String)> {
    limit_lines(edit_lines(input), MAX_CHANGED_LINES)
}

/// The removed and added lines of an edit; empty if the call does not edit text.
pub(super) fn edit_lines(input: &Value) -> Vec<(Style, String)> {
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(*name)?.as_str());
    let Some(old) = text(&OLD_FIELDS) else { return Vec::new() };
    let new = text(&NEW_FIELDS).unwrap_or_default();
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // Lines at both ends that stay the same are omitted.
    let unchanged = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) =
        (old.get(unchanged..).unwrap_or_default(), new.get(unchanged..).unwrap_or_default());
    let unchanged =
        old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let old = old.get(..old.len() - unchanged).unwrap_or_default();
    let new = new.get(..new.len() - unchanged).unwrap_or_default();
    let removed = old.iter().map(|line| (REMOVED, format!("- {line}")));
    let added = new.iter().map(|line| (ADDED, format!("+ {line}")));
    removed.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(call: &str) -> ToolRef {
        ToolRef { call: call.into(), turn: 1 }
    }

    fn opened(name: &str, input: &str) -> TerminalCallList {
        let mut calls = TerminalCallList::default();
        calls.open(&tool("1"), &name.into(), None, None, 0);
        if let Some(input) = RawJson::parse(input) {
            calls.set_input(&tool("1"), &input);
        }
        calls
    }

    fn settled(
        input: &str,
        status: ToolStatus,
        reason: Option<ToolStatusReason>,
        output: &str,
    ) -> String {
        let name = if input.contains("command") { "run" } else { "edit" };
        let rows = opened(name, input).settle(
            &tool("1"),
            (status, reason),
            Some(3_140),
            (&RawJson::string(output), None),
            (SignSet::Unicode, 60),
        );
        rows.iter().map(StyledRow::plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn settled_call_leaves_a_line_and_the_end_of_its_output() {
        let run = r#"{"command":"cargo test"}"#;
        let table = [
            (ToolStatus::Succeeded, None, "much", "✓ run  cargo test  done 3.1s"),
            (
                ToolStatus::Failed,
                None,
                "1\n2\n\n3\n4\n5\n\u{1b}[31m6\n7",
                "✗ run  cargo test  failed after 3.1s\n    … 2 lines above\n    3\n    4\n    5\n    6\n    7",
            ),
            (
                ToolStatus::Failed,
                Some(ToolStatusReason::TimedOut),
                "out",
                "✗ run  cargo test  timed out after 3.1s\n    out",
            ),
            (
                ToolStatus::Interrupted,
                None,
                "[foxwedge] Interrupted: and so on\nhalf",
                "⚠ run  cargo test  stopped after 3.1s, may have run\n    half",
            ),
            (ToolStatus::Cancelled, None, "words", "⊘ run  cargo test  not started"),
            (ToolStatus::Denied, None, "", "✗ run  cargo test  denied, did not run"),
        ];
        for (status, reason, output, expected) in table {
            assert_eq!(settled(run, status, reason, output), expected);
        }
    }

    #[test]
    fn an_edit_shows_what_changed() {
        let edit = r#"{"path":"a.rs","old":"one\ntwo\nthree","new":"one\n2\nthree"}"#;
        let expected = "✓ edit  a.rs  done 3.1s\n    - two\n    + 2";
        assert_eq!(settled(edit, ToolStatus::Succeeded, None, "ok"), expected);
        let long: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let input = serde_json::json!({ "old": "", "new": long.join("\n") });
        let lines = changed_lines(&input);
        assert_eq!(lines.len(), MAX_CHANGED_LINES + 1);
        assert_eq!(lines.last().map(|(_, line)| line.as_str()), Some("… 12 more lines"));
    }

    #[test]
    fn running_calls_show_their_time_and_last_line() {
        let mut calls = opened("run", r#"{"command":"make"}"#);
        calls.set_status(&tool("1"), ToolStatus::Running, 1_000);
        calls.set_progress(
            &tool("1"),
            &RawJson::string("first\n10%\r50%\r\u{1b}]0;x\u{7}second\n\n"),
        );
        let live = |calls: &TerminalCallList, width, max| {
            let rows = calls.live_rows(SignSet::Unicode, width, max, 4_900);
            rows.iter().map(StyledRow::plain).collect::<Vec<_>>()
        };
        assert_eq!(live(&calls, 60, 9), ["● run  make  running 3.0s", "  second"]);
        for n in 2..9 {
            calls.open(&tool(&n.to_string()), &"read".into(), None, None, 0);
        }
        let rows = live(&calls, 20, 4);
        assert_eq!(rows, ["● run  running 3.0s", "  second", "○ read  pending", "  and 6 more"]);
        assert!(calls.is_running());
    }
}
