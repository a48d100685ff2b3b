//! A run as text: the text of the model, and a line for each tool call once it is settled. Lines
//! are only appended. On a terminal, a status line below them shows what is running.

mod calls;

use std::fmt::Write as _;

use anstyle::Style;
use foxwedge_run::{
    RunEffect, RunEnd, SharedId, TaskItem, TaskStatus, ToolStatus, UiChange, UiPart,
};

use self::calls::FollowCallTable;
use foxwedge_local::{
    language::localize,
    output::{BOLD, DIM, WARNING, clean, cut, paint},
    runs::{
        RunTimes,
        draw::{self, SignSet},
    },
    screen::{StyledLine, fit_columns},
};

/// Maximum length of a task, an activity or a problem.
const MAX_SIDE_NOTE_CHARS: usize = 160;

/// Renders runs as text while they are followed.
pub(super) struct FollowTextView {
    signs: SignSet,
    /// The columns of the terminal; `None` in a pipe.
    columns: Option<usize>,
    calls: FollowCallTable,
    times: RunTimes,
    /// The tool call whose sub-agent was rendered last.
    current_parent: Option<SharedId>,
    /// The kind of the last line. An empty line separates kinds.
    last_block: Option<FollowTextBlock>,
    /// The incomplete last line of a text.
    partial: String,
    /// The current or last text of the run itself, without sub-agents.
    last_text: String,
    open: Vec<SharedId>,
    /// The last side note, to skip repetitions.
    last_side_note: String,
    lines: String,
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FollowTextBlock {
    Head,
    Text,
    Thought,
    Calls,
    End,
}

impl FollowTextView {
    pub(super) fn new(signs: SignSet, columns: Option<usize>) -> FollowTextView {
        FollowTextView {
            signs,
            columns,
            calls: FollowCallTable::default(),
            times: RunTimes::default(),
            current_parent: None,
            last_block: None,
            partial: String::new(),
            last_text: String::new(),
            open: Vec::new(),
            last_side_note: String::new(),
            lines: String::new(),
        }
    }

    /// Renders an effect.
    pub(super) fn push(&mut self, effect: &RunEffect) {
        self.times.record(effect);
        if let RunEffect::Show { run, change } = effect {
            self.on_change(run, change);
        }
    }

    /// Takes the lines added since the last call.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    /// Sets the current width of the terminal.
    pub(super) fn resize(&mut self, columns: Option<usize>) {
        self.columns = columns;
    }

    /// The status line. `None` after the end of the run, and in a pipe.
    pub(super) fn status(&self, now: u64, stopping: bool) -> Option<String> {
        let run = self.open.last()?;
        let columns = self.columns?;
        let (sign, style) = self.signs.run(None);
        let status = match self.calls.describe_running(run, &self.times, now) {
            Some(calls) if stopping => format!("stopping (Ctrl-C again to stop at once), {calls}"),
            Some(calls) => calls,
            None if !self.partial.trim().is_empty() => text_tail(&self.partial, columns),
            None => match self.times.of_run(run, Some(now)).and_then(draw::format_duration) {
                Some(time) => format!("running for {time}"),
                None => "running".to_owned(),
            },
        };
        let line = StyledLine::new().with(style, format!("{sign} ")).with(DIM, localize(status));
        // One column less: a full line would wrap.
        Some(line.draw(Some(columns.saturating_sub(1))).trim_end_matches('\n').to_owned())
    }

    fn on_change(&mut self, run: &SharedId, change: &UiChange) {
        match change {
            UiChange::RunStarted { started, .. } => {
                self.open.push(run.clone());
                self.begin_block(FollowTextBlock::Head);
                let labels = [&started.agent, &started.model].into_iter().flatten();
                let mut line = StyledLine::new().with(BOLD, clean(&cut(run, MAX_SIDE_NOTE_CHARS)));
                for label in labels {
                    line =
                        line.with(DIM, format!("{}{}", self.signs.dot(), clean(&cut(label, 60))));
                }
                self.push_line(&line);
            }
            UiChange::TextOpened(part) => self.open_text(part, FollowTextBlock::Text),
            UiChange::ThoughtOpened(part) => self.open_text(part, FollowTextBlock::Thought),
            UiChange::TextDelta(part, delta) => {
                if part.parent.is_none() {
                    self.last_text.push_str(delta);
                }
                self.push_text(run, part, delta, FollowTextBlock::Text);
            }
            UiChange::ThoughtDelta(part, delta) => {
                self.push_text(run, part, delta, FollowTextBlock::Thought)
            }
            UiChange::TextClosed(part) => self.close_text(run, part, FollowTextBlock::Text),
            UiChange::ThoughtClosed(part) => self.close_text(run, part, FollowTextBlock::Thought),
            UiChange::ToolOpened { tool, name, parent, title } => {
                self.calls.open(run, tool, name, parent.as_ref(), title.as_deref());
            }
            UiChange::ToolReady { tool, input } => self.calls.set_input(run, tool, input),
            UiChange::ToolStatus { tool, status } => self.calls.set_status(run, tool, *status),
            UiChange::ApprovalRequested { tool, request: approval } => {
                let duration = None;
                self.calls.set_question(run, tool, approval.prompt.as_deref());
                self.push_call(run, tool, (ToolStatus::AwaitingApproval, None), duration, None);
            }
            UiChange::ToolSettled { tool, status, reason, content } => {
                let duration = self.times.of_call(run, tool, None);
                self.push_call(run, tool, (*status, *reason), duration, Some(content));
                self.calls.settle(run, tool);
            }
            // Lines are only appended, so a correction is a second line for the call.
            UiChange::ToolCorrected { tool, status, reason, content } => {
                self.push_call(run, tool, (*status, *reason), None, Some(content));
            }
            UiChange::Tasks(tasks) => self.push_tasks(tasks),
            UiChange::Activity(activity) => {
                let (kind, summary) =
                    (clean(&activity.kind), draw::activity_text(&activity.content));
                if !summary.is_empty() {
                    self.push_side_note(&format!("{kind}: {summary}"), DIM);
                }
            }
            UiChange::Problem(problem) => {
                self.push_side_note(
                    &clean(&cut(problem.message.trim(), MAX_SIDE_NOTE_CHARS)),
                    WARNING,
                );
            }
            UiChange::RunEnded { ended, summary, .. } => {
                self.push_run_end(
                    run,
                    ended,
                    &draw::run_end_line(self.signs, ended, summary, self.times.of_run(run, None)),
                );
            }
            UiChange::StepStarted { .. }
            | UiChange::StepEnded { .. }
            | UiChange::ToolArguments { .. }
            | UiChange::ToolProgress { .. }
            | UiChange::ApprovalClosed { .. }
            | UiChange::ToolsAvailable(_)
            | UiChange::Usage(_) => {}
        }
    }

    fn push_call(
        &mut self,
        run: &SharedId,
        tool: &foxwedge_run::ToolRef,
        (status, reason): (ToolStatus, Option<foxwedge_run::ToolStatusReason>),
        duration: Option<u64>,
        content: Option<&foxwedge_run::RawJson>,
    ) {
        self.begin_block(FollowTextBlock::Calls);
        self.switch_parent(run, self.calls.parent(run, tool));
        if let Some(call_line) = self.calls.card(run, tool, (status, reason), duration, content) {
            let line = call_line.line(self.signs, self.columns);
            self.push_line(&line);
        }
    }

    fn open_text(&mut self, part: &UiPart, _block: FollowTextBlock) {
        self.partial.clear();
        if part.parent.is_none() {
            self.last_text.clear();
        }
    }

    fn push_text(&mut self, run: &SharedId, part: &UiPart, delta: &str, block: FollowTextBlock) {
        for segment in delta.split_inclusive('\n') {
            self.partial.push_str(segment);
            if segment.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                self.push_text_line(run, part, line.trim_end(), block);
            }
        }
    }

    fn close_text(&mut self, run: &SharedId, part: &UiPart, block: FollowTextBlock) {
        let rest = std::mem::take(&mut self.partial);
        if !rest.trim().is_empty() {
            self.push_text_line(run, part, rest.trim_end(), block);
        }
    }

    fn push_text_line(
        &mut self,
        run: &SharedId,
        part: &UiPart,
        line: &str,
        block: FollowTextBlock,
    ) {
        let parent_changed = self.current_parent != part.parent;
        // Empty lines are only printed inside a block.
        if line.is_empty() && (self.last_block != Some(block) || parent_changed) {
            return;
        }
        if parent_changed {
            self.last_block = self.last_block.map(|_| FollowTextBlock::Head);
        }
        self.begin_block(block);
        self.switch_parent(run, part.parent.clone());
        let text = clean(&line.replace('\t', "    "));
        let depth = part.parent.as_ref().map_or(0, |parent| self.calls.depth(run, parent) + 1);
        let indent = "  ".repeat(depth.min(8));
        let style = match (block, &part.parent) {
            (FollowTextBlock::Text, None) => Style::new(),
            _ => DIM,
        };
        let mark = match block {
            FollowTextBlock::Thought => format!("{} ", self.signs.thought()),
            FollowTextBlock::Head
            | FollowTextBlock::Text
            | FollowTextBlock::Calls
            | FollowTextBlock::End => String::new(),
        };
        let text = format!("{indent}{mark}{text}");
        let text = text.trim_end();
        let text =
            if style == DIM && !text.is_empty() { paint(DIM, text) } else { text.to_owned() };
        let _ = writeln!(self.lines, "{text}");
    }

    fn push_tasks(&mut self, tasks: &[TaskItem]) {
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        let current = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
        let current = current.map(|task| task.active.as_deref().unwrap_or(&task.content));
        let current = current.map_or_else(String::new, |current| {
            format!("{}{}", self.signs.dot(), clean(&cut(current.trim(), MAX_SIDE_NOTE_CHARS)))
        });
        if !tasks.is_empty() {
            let tasks = localize(format!("tasks {done}/{}", tasks.len()));
            self.push_side_note(&format!("{tasks}{current}"), DIM);
        }
    }

    fn push_side_note(&mut self, text: &str, style: Style) {
        let line = StyledLine::new().with(style, format!("{} {text}", self.signs.below()));
        let line = line.draw(self.columns);
        // Some agents repeat the same note.
        if self.last_side_note != line {
            self.begin_block(FollowTextBlock::Calls);
            self.current_parent = None;
            self.lines.push_str(&line);
            self.last_side_note = line;
        }
    }

    fn push_run_end(&mut self, run: &SharedId, ended: &RunEnd, line: &StyledLine) {
        self.open.retain(|open| open != run);
        self.calls.forget_run(run);
        // Some agents send the final text only at the end.
        let text = ended.text.as_deref().map(str::trim).unwrap_or_default();
        if !text.is_empty() && !self.last_text.trim().ends_with(text) {
            let part = UiPart { id: "end".into(), parent: None };
            for line in text.lines() {
                self.push_text_line(run, &part, line.trim_end(), FollowTextBlock::Text);
            }
        }
        self.begin_block(FollowTextBlock::End);
        // The last line may wrap: nothing of it is cut off.
        self.lines.push_str(&line.draw(None));
    }

    /// Prints a header if the next lines belong to the sub-agent of another tool call.
    fn switch_parent(&mut self, run: &SharedId, parent: Option<SharedId>) {
        if self.current_parent == parent {
            return;
        }
        let header = parent.as_ref().and_then(|call| self.calls.header(run, call));
        if let Some(header) = header {
            let line = header.line(self.signs);
            self.push_line(&line);
        }
        self.current_parent = parent;
    }

    fn push_line(&mut self, line: &StyledLine) {
        self.lines.push_str(&line.draw(self.columns));
    }

    fn begin_block(&mut self, block: FollowTextBlock) {
        if self.last_block.is_some_and(|last| last != block) {
            self.lines.push('\n');
        }
        self.last_block = Some(block);
    }
}

/// The end of a text, shortened to the width.
fn text_tail(text: &str, columns: usize) -> String {
    let width = columns.saturating_sub(4);
    let tail: Vec<char> = text.trim_end().chars().rev().take(width + 1).collect();
    let fits = tail.len() <= width;
    // Wide characters take two columns, so half of the characters always fits.
    let max = if fits { width } else { width / 2 };
    let end: String = tail.into_iter().take(max).rev().collect();
    let end = clean(end.trim_start());
    if fits { fit_columns(&end, width) } else { fit_columns(&format!("…{end}"), width) }
}
