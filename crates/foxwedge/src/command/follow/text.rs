//! A run for people: what the model says, and a line for each call when it is known what became
//! of it. Lines are only ever added; what is under way stands below them, on a terminal.

mod calls;

use std::fmt::Write as _;

use anstyle::Style;
use foxwedge_run::{
    RunEffect, RunEnd, SharedId, TaskItem, TaskStatus, ToolStatus, UiChange, UiPart,
};

use self::calls::FollowCallTable;
use crate::{
    cli_output::{BOLD, DIM, WARNING, clean, cut, paint},
    runs::{
        RunTimes,
        draw::{self, SignSet},
    },
    screen::{StyledLine, fit_columns},
};

/// Columns of a task, a card or a problem that are drawn.
const MAX_SIDE_NOTE_CHARS: usize = 160;

/// Draws runs as they go on.
pub(super) struct FollowTextView {
    signs: SignSet,
    /// The columns of the terminal; `None` in a pipe.
    columns: Option<usize>,
    calls: FollowCallTable,
    times: RunTimes,
    /// The call whose sub-agent was drawn last.
    current_parent: Option<SharedId>,
    /// What was drawn last: kinds of lines are parted by an empty one.
    last_block: Option<FollowTextBlock>,
    /// The line of a text that is not finished.
    partial: String,
    /// What the run itself says right now, and what it said last.
    last_text: String,
    open: Vec<SharedId>,
    /// What stood beside the conversation last.
    last_side_note: String,
    lines: String,
}

/// A kind of lines.
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

    /// Takes an effect.
    pub(super) fn push(&mut self, effect: &RunEffect) {
        self.times.record(effect);
        if let RunEffect::Show { run, change } = effect {
            self.on_change(run, change);
        }
    }

    /// The lines that were added since.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }

    /// The terminal may have another width by now.
    pub(super) fn resize(&mut self, columns: Option<usize>) {
        self.columns = columns;
    }

    /// What is under way; nothing behind the end.
    pub(super) fn status(&self, now: u64, stopping: bool) -> Option<String> {
        let run = self.open.last()?;
        let columns = self.columns?;
        let (sign, style) = self.signs.run(None);
        let what = match self.calls.describe_running(run, &self.times, now) {
            Some(calls) if stopping => format!("stopping (Ctrl-C again: at once), {calls}"),
            Some(calls) => calls,
            None if !self.partial.trim().is_empty() => text_tail(&self.partial, columns),
            None => match self.times.of_run(run, Some(now)).and_then(draw::format_duration) {
                Some(time) => format!("at work for {time}"),
                None => "at work".to_owned(),
            },
        };
        let line = StyledLine::new().with(style, format!("{sign} ")).with(DIM, what);
        // One column less: a full line would wrap.
        Some(line.draw(Some(columns.saturating_sub(1))).trim_end_matches('\n').to_owned())
    }

    fn on_change(&mut self, run: &SharedId, change: &UiChange) {
        match change {
            UiChange::RunStarted { started, .. } => {
                self.open.push(run.clone());
                self.begin_block(FollowTextBlock::Head);
                let known = [&started.agent, &started.model].into_iter().flatten();
                let mut line = StyledLine::new().with(BOLD, clean(&cut(run, MAX_SIDE_NOTE_CHARS)));
                for word in known {
                    line = line.with(DIM, format!("{}{}", self.signs.dot(), clean(&cut(word, 60))));
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
            UiChange::ApprovalRequested { tool, request: ask } => {
                let span = None;
                self.calls.set_question(run, tool, ask.prompt.as_deref());
                self.push_call(run, tool, (ToolStatus::AwaitingApproval, None), span, None);
            }
            UiChange::ToolSettled { tool, status, reason, content } => {
                let span = self.times.of_call(run, tool, None);
                self.push_call(run, tool, (*status, *reason), span, Some(content));
                self.calls.settle(run, tool);
            }
            // Lines are only ever added: this one says what became of the call after all.
            UiChange::ToolCorrected { tool, status, reason, content } => {
                self.push_call(run, tool, (*status, *reason), None, Some(content));
            }
            UiChange::Tasks(tasks) => self.push_tasks(tasks),
            UiChange::Activity(activity) => {
                let (kind, gist) = (clean(&activity.kind), draw::activity_text(&activity.content));
                if !gist.is_empty() {
                    self.push_side_note(&format!("{kind}: {gist}"), DIM);
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
        span: Option<u64>,
        content: Option<&foxwedge_run::RawJson>,
    ) {
        self.begin_block(FollowTextBlock::Calls);
        self.switch_parent(run, self.calls.parent(run, tool));
        if let Some(card) = self.calls.card(run, tool, (status, reason), span, content) {
            let line = card.line(self.signs, self.columns);
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
        for piece in delta.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
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
        let elsewhere = self.current_parent != part.parent;
        // Empty lines stand between others, never in front of them.
        if line.is_empty() && (self.last_block != Some(block) || elsewhere) {
            return;
        }
        if elsewhere {
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
        let now = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
        let now = now.map(|task| task.active.as_deref().unwrap_or(&task.content));
        let now = now.map_or_else(String::new, |now| {
            format!("{}{}", self.signs.dot(), clean(&cut(now.trim(), MAX_SIDE_NOTE_CHARS)))
        });
        if !tasks.is_empty() {
            self.push_side_note(&format!("tasks {done}/{}{now}", tasks.len()), DIM);
        }
    }

    fn push_side_note(&mut self, text: &str, style: Style) {
        let line = StyledLine::new().with(style, format!("{} {text}", self.signs.below()));
        let line = line.draw(self.columns);
        // Some agents say the same again and again.
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
        // Some agents tell the result only at the end.
        let text = ended.text.as_deref().map(str::trim).unwrap_or_default();
        if !text.is_empty() && !self.last_text.trim().ends_with(text) {
            let part = UiPart { id: "end".into(), parent: None };
            for line in text.lines() {
                self.push_text_line(run, &part, line.trim_end(), FollowTextBlock::Text);
            }
        }
        self.begin_block(FollowTextBlock::End);
        // The last line is worth a second one: nothing of it is cut off.
        self.lines.push_str(&line.draw(None));
    }

    /// What comes is the work of this call's sub-agent: it is named, unless it was before.
    fn switch_parent(&mut self, run: &SharedId, whose: Option<SharedId>) {
        if self.current_parent == whose {
            return;
        }
        let header = whose.as_ref().and_then(|call| self.calls.header(run, call));
        if let Some(header) = header {
            let line = header.line(self.signs);
            self.push_line(&line);
        }
        self.current_parent = whose;
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

/// The end of a text, as much of it as fits.
fn text_tail(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(4);
    let kept: Vec<char> = text.trim_end().chars().rev().take(room + 1).collect();
    let whole = kept.len() <= room;
    // Wide characters take two columns: half of them fits in any case.
    let most = if whole { room } else { room / 2 };
    let end: String = kept.into_iter().take(most).rev().collect();
    let end = clean(end.trim_start());
    if whole { fit_columns(&end, room) } else { fit_columns(&format!("…{end}"), room) }
}
