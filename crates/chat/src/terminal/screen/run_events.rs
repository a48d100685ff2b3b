//! Handles run events: decides what is shown.

use anstyle::Style;
use foxwedge_agent_loop::tool_loop::{LoopEvent, LoopNotice};
use foxwedge_run::{RunEffect, SharedId, ToolStatus, UiChange};

use super::{ScreenAction, ScreenBlock, TerminalScreen};
use crate::{
    line_printer::describe_fewer_tools,
    terminal::{
        markdown::{MarkdownFlow, MarkdownPage, dim_row},
        row::StyledRow,
    },
};
use foxwedge_local::{
    language::localize,
    output::{DIM, WARNING, pluralize},
    runs::draw::{SignSet, activity_text, format_duration},
};

/// Size limit of a thought that is kept to be shown later.
const MAX_THOUGHT_BYTES: usize = 64 << 10;

/// The thoughts of the model.
#[derive(Debug, Default)]
pub(in crate::terminal) struct ThoughtView {
    /// Start time of the current thought.
    pub(in crate::terminal) since: Option<u64>,
    /// Whether thoughts are shown.
    pub(in crate::terminal) shown: bool,
    /// The last thought, up to the size limit.
    text: String,
    pub(in crate::terminal) flow: MarkdownFlow,
}

impl ThoughtView {
    pub(super) fn close(&mut self) {
        self.since = None;
        self.flow = MarkdownFlow::default();
    }
}

impl TerminalScreen {
    /// Handles an event of the run.
    pub(in crate::terminal) fn on_loop_event(
        &mut self,
        event: LoopEvent,
        now: u64,
    ) -> Vec<ScreenAction> {
        match event {
            LoopEvent::Run(effect) => {
                self.times.record(&effect);
                match effect {
                    RunEffect::Show { run, change } => {
                        self.waiting = None;
                        self.on_change(&run, &change, now)
                    }
                    RunEffect::Emit(_)
                    | RunEffect::Resolve { .. }
                    | RunEffect::CancelTool { .. }
                    | RunEffect::Announce { .. }
                    | RunEffect::Drain { .. }
                    | RunEffect::Warn(_) => Vec::new(),
                }
            }
            LoopEvent::Notice(note) => {
                self.on_note(&note, now);
                Vec::new()
            }
        }
    }

    fn on_note(&mut self, note: &LoopNotice, now: u64) {
        let text = match note {
            LoopNotice::Retrying { pause, why } => {
                let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                self.waiting = Some((now.saturating_add(pause), why.clone()));
                return;
            }
            LoopNotice::Repaired(changes) => {
                format!("the history was repaired: {}", pluralize(changes.len(), "change"))
            }
            LoopNotice::FewerTools { offered, all } => describe_fewer_tools(*offered, *all),
            LoopNotice::Compacting => "compacting the history".to_owned(),
            LoopNotice::Compacted(before, after) => {
                format!("the history was compacted from {before} to {after} tokens")
            }
        };
        self.push_note(DIM, &localize(text));
    }

    fn push_note(&mut self, style: Style, text: &str) {
        let text: String = text.chars().take(600).collect();
        let row = StyledRow::of(style, &format!("{} {}", self.signs.below(), text.trim()));
        let rows = row.wrap(self.width, "  ");
        self.push_block(ScreenBlock::Note, rows);
    }

    fn on_change(&mut self, run: &SharedId, change: &UiChange, now: u64) -> Vec<ScreenAction> {
        match change {
            UiChange::RunStarted { .. } => return self.on_run_started(),
            UiChange::TextOpened(_) | UiChange::TextClosed(_) => {
                let rows = self.flow.close(self.page());
                self.push_block(ScreenBlock::Text, rows);
            }
            // Text of a sub-agent is for its parent, not for the user.
            UiChange::TextDelta(part, delta) if part.parent.is_none() => {
                let rows = self.flow.push(delta, self.page());
                self.push_block(ScreenBlock::Text, rows);
            }
            UiChange::ThoughtOpened(part) if part.parent.is_none() => {
                self.thought.close();
                self.thought.text.clear();
                self.thought.since = Some(now);
            }
            UiChange::ThoughtDelta(part, delta) if part.parent.is_none() => {
                self.on_thought_delta(delta)
            }
            UiChange::ThoughtClosed(part) if part.parent.is_none() => self.on_thought_closed(now),
            UiChange::TextDelta(..)
            | UiChange::ThoughtOpened(_)
            | UiChange::ThoughtDelta(..)
            | UiChange::ThoughtClosed(_) => {}
            UiChange::ToolOpened { tool, name, parent, title } => {
                self.calls.open(tool, name, parent.as_ref(), title.as_deref(), now);
            }
            UiChange::ToolReady { tool, input } => self.calls.set_input(tool, input),
            UiChange::ToolStatus { tool, status } => self.calls.set_status(tool, *status, now),
            UiChange::ToolProgress { tool, content } => self.calls.set_progress(tool, content),
            UiChange::ApprovalRequested { tool, .. } => {
                self.calls.set_status(tool, ToolStatus::AwaitingApproval, now);
            }
            UiChange::ApprovalClosed { tool, .. } => {
                self.calls.set_status(tool, ToolStatus::Pending, now);
                self.cancel_question(&tool.call);
            }
            UiChange::ToolSettled { tool, status, reason, content }
            | UiChange::ToolCorrected { tool, status, reason, content } => {
                let duration = self.times.of_call(run, tool, None);
                let (status, change) = ((*status, *reason), self.changes.take(&tool.call));
                let size = (self.signs, self.width);
                let rows = self.calls.settle(tool, status, duration, (content, change), size);
                self.cancel_question(&tool.call);
                self.push_block(ScreenBlock::Calls, rows);
            }
            UiChange::Activity(activity) => {
                let text = activity_text(&activity.content);
                if !text.is_empty() {
                    self.push_note(DIM, &format!("{}: {text}", activity.kind));
                }
            }
            UiChange::Problem(problem) => self.push_note(WARNING, &problem.message),
            UiChange::StepStarted { .. }
            | UiChange::StepEnded { .. }
            | UiChange::ToolArguments { .. }
            | UiChange::ToolsAvailable(_)
            | UiChange::Tasks(_)
            | UiChange::Usage(_)
            | UiChange::RunEnded { .. } => {}
        }
        Vec::new()
    }

    /// Removes the sent prompt from the queue, now that its run has started.
    fn on_run_started(&mut self) -> Vec<ScreenAction> {
        if !std::mem::take(&mut self.sending) || self.queue.is_empty() {
            return Vec::new();
        }
        self.queue.remove(0);
        vec![ScreenAction::SaveQueue(self.queue.clone())]
    }

    fn on_thought_delta(&mut self, delta: &str) {
        let room = MAX_THOUGHT_BYTES.saturating_sub(self.thought.text.len());
        self.thought.text.extend(delta.chars().take(room));
        if self.thought.shown {
            let rows = self.thought.flow.push(delta, self.thought_page());
            self.push_thought_rows(rows);
        }
    }

    fn on_thought_closed(&mut self, now: u64) {
        let since = self.thought.since.take().unwrap_or(now);
        if self.thought.shown {
            let rows = self.thought.flow.close(self.thought_page());
            self.push_thought_rows(rows);
        } else if !self.thought.text.trim().is_empty() {
            let time = format_duration(now.saturating_sub(since));
            let time = time.map(|time| format!(" for {time}")).unwrap_or_default();
            let dots = if self.signs == SignSet::Ascii { "..." } else { "…" };
            self.push_block(
                ScreenBlock::Note,
                vec![StyledRow::of(DIM, &format!("{dots} {}", localize(format!("thought{time}"))))],
            );
        }
    }

    /// Where thoughts are rendered: next to their mark.
    pub(in crate::terminal) fn thought_page(&self) -> MarkdownPage {
        let page = self.page();
        MarkdownPage { width: page.width.saturating_sub(2).max(1), ..page }
    }

    fn push_thought_rows(&mut self, rows: Vec<StyledRow>) {
        let mark = format!("{} ", self.signs.thought());
        let rows = rows.iter().map(|row| dim_row(&mark, row)).collect();
        self.push_block(ScreenBlock::Note, rows);
    }

    /// Shows thoughts from now on, including the last one, or hides them.
    pub(super) fn toggle_thoughts(&mut self, now: u64) {
        self.thought.shown = !self.thought.shown;
        if !self.thought.shown {
            self.thought.flow = MarkdownFlow::default();
            self.show_hint("thoughts are hidden", now);
            return;
        }
        self.show_hint("thoughts are shown", now);
        let (text, page) = (self.thought.text.clone(), self.thought_page());
        let mut rows = self.thought.flow.push(&text, page);
        if self.thought.since.is_none() {
            rows.extend(self.thought.flow.close(page));
        }
        self.push_thought_rows(rows);
    }
}
