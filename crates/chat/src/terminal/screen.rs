//! The state of the terminal: what it shows and what keys mean. Pure: no clock and no files; the
//! time is passed in with each event, in milliseconds.

mod approvals;
mod interrupts;
mod completion;
mod sending;
mod run_events;
mod run_messages;

use std::collections::VecDeque;

use anstyle::Style;
use foxwedge_agent_loop::tool_loop::ToolDecision;
use foxwedge_run::Outcome;

use super::{
    ChatRunEnd, CommandFollowUp, CommandReply, TerminalHistoryItem, TerminalStart,
    approval_prompt::{ApprovalPrompt, ApprovalPromptStage, QUIET_MILLIS},
    approver::RuleScope,
    calls::TerminalCallList,
    editor::{EditorOutcome, PromptEditor},
    keys::TerminalKey,
    markdown::{MarkdownFlow, MarkdownPage, render_text},
    row::StyledRow,
};
use crate::{allow_rules::AllowRule, file_journal::RecentChanges};
pub(super) use completion::MAX_OFFERED_FILES;
use foxwedge_local::{
    language::localize,
    output::{BOLD, DIM, ERROR, HELP},
    runs::{RunTimes, draw::SignSet},
};
use run_events::ThoughtView;

/// Maximum time between two presses of Esc or Ctrl-C that count as double, in milliseconds.
const DOUBLE_PRESS_MILLIS: u64 = 2_000;
/// How long a hint is shown, in milliseconds.
const HINT_MILLIS: u64 = 4_000;
/// The command that the terminal handles itself.
const THOUGHTS_COMMAND: &str = "/thoughts";

/// An action for the driver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ScreenAction {
    /// Send a prompt to the model.
    Send(String),
    /// Run a line that starts with `/`.
    Command(String),
    /// Save all queued prompts.
    SaveQueue(Vec<String>),
    /// Interrupt the run.
    Interrupt,
    /// Answer an approval prompt.
    Decide {
        /// The number of the prompt.
        number: u64,
        decision: ToolDecision,
        /// What to allow from now on.
        always: Option<(AllowRule, RuleScope)>,
    },
    /// Leave the terminal with this exit code.
    Leave(u8),
    /// Suspend the process.
    Suspend,
    /// Redraw everything.
    Redraw,
}

/// An error message, with a hint what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ScreenError {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// The work in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScreenWork {
    /// Nothing.
    Idle,
    /// A run or a command.
    Busy {
        /// Start time.
        since: u64,
        /// How often the user pressed Esc or Ctrl-C to stop it.
        presses: u32,
    },
}

/// Kinds of output. A blank row separates different kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ScreenBlock {
    Head,
    Prompt,
    Text,
    Calls,
    Note,
}

/// The state of the terminal.
#[derive(Debug)]
pub(super) struct TerminalScreen {
    pub(super) signs: SignSet,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) editor: PromptEditor,
    pub(super) work: ScreenWork,
    pub(super) calls: TerminalCallList,
    pub(super) flow: MarkdownFlow,
    pub(super) thought: ThoughtView,
    /// What tools change in files.
    changes: RecentChanges,
    /// Prompts that wait for the end of the run.
    queue: Vec<String>,
    /// The first queued prompt is being sent, but its run has not started.
    sending: bool,
    pub(super) asks: VecDeque<ApprovalPrompt>,
    pub(super) stage: ApprovalPromptStage,
    pub(super) commands: Vec<(String, String)>,
    /// The files that an `@` can mention.
    pub(super) files: Vec<String>,
    /// The status line about the model.
    pub(super) status: String,
    /// Until when the next attempt of a request waits, and why.
    pub(super) waiting: Option<(u64, String)>,
    /// A hint, and the time until which it is shown.
    pub(super) hint: Option<(String, u64)>,
    typed_at: u64,
    esc_at: Option<u64>,
    interrupted_at: Option<u64>,
    times: RunTimes,
    last_block: Option<ScreenBlock>,
    rows: Vec<StyledRow>,
}

impl TerminalScreen {
    pub(super) fn new(
        start: TerminalStart,
        signs: SignSet,
        (width, height): (usize, usize),
    ) -> TerminalScreen {
        let mut commands = start.commands;
        if commands.iter().all(|(name, _)| name != THOUGHTS_COMMAND) {
            commands.push((
                THOUGHTS_COMMAND.to_owned(),
                "show or hide what the model thinks".to_owned(),
            ));
        }
        commands.sort();
        let mut screen = TerminalScreen {
            signs,
            width,
            height,
            editor: PromptEditor::new(start.history),
            work: ScreenWork::Idle,
            calls: TerminalCallList::default(),
            flow: MarkdownFlow::default(),
            thought: ThoughtView::default(),
            changes: start.changes,
            queue: start.queued,
            sending: false,
            asks: VecDeque::new(),
            stage: ApprovalPromptStage::New,
            commands,
            files: Vec::new(),
            status: String::new(),
            waiting: None,
            hint: None,
            typed_at: 0,
            esc_at: None,
            interrupted_at: None,
            times: RunTimes::default(),
            last_block: None,
            rows: Vec::new(),
        };
        for (at, line) in start.greeting.iter().enumerate() {
            let row = StyledRow::of(if at == 0 { BOLD } else { DIM }, line);
            screen.push_block(ScreenBlock::Head, row.wrap(width, "  "));
        }
        for item in start.past_items {
            match item {
                TerminalHistoryItem::Prompt(text) => screen.echo_prompt(&text),
                TerminalHistoryItem::Text(text) => {
                    let rows = render_text(&text, screen.page());
                    screen.push_block(ScreenBlock::Text, rows);
                }
                TerminalHistoryItem::Call(line) => {
                    screen
                        .push_block(ScreenBlock::Calls, vec![StyledRow::of(DIM, &line).fit(width)]);
                }
            }
        }
        screen
    }

    /// Takes the rows that were finished since the last call. They are never drawn again.
    pub(super) fn take_rows(&mut self) -> Vec<StyledRow> {
        std::mem::take(&mut self.rows)
    }

    /// Where text is rendered. The last column stays free: a terminal may wrap a row that fills it.
    pub(super) fn page(&self) -> MarkdownPage {
        MarkdownPage { width: self.width.saturating_sub(1).max(1), signs: self.signs }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.work != ScreenWork::Idle
    }

    /// Marks the start of a run or a command.
    pub(super) fn begin_work(&mut self, now: u64) {
        self.work = ScreenWork::Busy { since: now, presses: 0 };
        self.interrupted_at = None;
        self.times = RunTimes::default();
    }

    /// Sends a prompt that did not come from the editor.
    pub(super) fn send_prompt(&mut self, text: &str) -> Vec<ScreenAction> {
        self.submit(text.to_owned(), text)
    }

    /// Handles the end of a run, or the error that prevented it.
    pub(super) fn on_run_ended(
        &mut self,
        ending: Result<&ChatRunEnd, ScreenError>,
    ) -> Vec<ScreenAction> {
        let was_interrupted = self.finish_work();
        match ending {
            Ok(ending) => {
                self.push_run_ending(&ending.ended, &ending.summary);
                let sends_next = match ending.ended.outcome {
                    Some(Outcome::Completed | Outcome::NoText) => !was_interrupted,
                    Some(
                        Outcome::Stopped
                        | Outcome::Failed
                        | Outcome::MaxTurns
                        | Outcome::Refused
                        | Outcome::Replaced
                        | Outcome::Interrupted,
                    )
                    | None => false,
                };
                if sends_next { self.send_queued() } else { Vec::new() }
            }
            Err(error) => {
                self.show_error(&error);
                Vec::new()
            }
        }
    }

    /// Handles the result of a command.
    pub(super) fn on_command_reply(
        &mut self,
        reply: Result<&CommandReply, ScreenError>,
    ) -> Vec<ScreenAction> {
        let was_queued = std::mem::take(&mut self.sending);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                self.finish_work();
                self.show_error(&error);
                return Vec::new();
            }
        };
        let mut actions = Vec::new();
        if was_queued && !self.queue.is_empty() {
            self.queue.remove(0);
            actions.push(ScreenAction::SaveQueue(self.queue.clone()));
        }
        let rows = reply.lines.iter();
        let rows = rows.flat_map(|line| StyledRow::of(Style::new(), line).wrap(self.width, "  "));
        let rows = rows.collect();
        self.push_block(ScreenBlock::Note, rows);
        match &reply.follow_up {
            CommandFollowUp::Stay => {
                let was_interrupted = self.finish_work();
                if was_queued && !was_interrupted {
                    actions.extend(self.send_queued());
                }
            }
            CommandFollowUp::Edit(text) => {
                self.finish_work();
                // The current text goes to the editor's history, so that it is not lost.
                self.editor.take();
                self.editor.set(text);
            }
            CommandFollowUp::Ended(ending) => actions.extend(self.on_run_ended(Ok(ending))),
            CommandFollowUp::Leave => actions.push(ScreenAction::Leave(0)),
        }
        actions
    }

    /// Handles a switch to a session with these queued prompts. Prompts queued here stay in front.
    pub(super) fn on_session_switch(&mut self, queued: Vec<String>) -> Vec<ScreenAction> {
        self.queue.extend(queued);
        match self.queue.is_empty() {
            true => Vec::new(),
            false => vec![ScreenAction::SaveQueue(self.queue.clone())],
        }
    }

    /// Marks the end of the work. Returns whether the user asked to stop it.
    fn finish_work(&mut self) -> bool {
        let was_interrupted = match self.work {
            ScreenWork::Idle => false,
            ScreenWork::Busy { presses, .. } => presses > 0,
        };
        let rows = self.flow.close(self.page());
        self.push_block(ScreenBlock::Text, rows);
        self.work = ScreenWork::Idle;
        self.sending = false;
        self.waiting = None;
        self.calls.clear();
        self.thought.close();
        while !self.asks.is_empty() {
            self.remove_question();
        }
        was_interrupted
    }

    /// The next time at which the display changes without an event.
    pub(super) fn next_change(&self, now: u64) -> Option<u64> {
        let hint = self.hint.as_ref().map(|(_, until)| *until);
        let accepts_keys = match self.stage {
            ApprovalPromptStage::Shown(since)
                if self.editor.is_empty() && !self.asks.is_empty() =>
            {
                Some(since.max(self.typed_at).saturating_add(QUIET_MILLIS))
            }
            ApprovalPromptStage::Shown(_)
            | ApprovalPromptStage::New
            | ApprovalPromptStage::Focused
            | ApprovalPromptStage::TypingReason(_) => None,
        };
        [hint, accepts_keys].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// Handles a key.
    pub(super) fn on_key(&mut self, key: TerminalKey, now: u64) -> Vec<ScreenAction> {
        self.hint = None;
        match key {
            TerminalKey::Redraw => return vec![ScreenAction::Redraw],
            TerminalKey::Suspend => return vec![ScreenAction::Suspend],
            TerminalKey::Thoughts => {
                self.toggle_thoughts(now);
                return Vec::new();
            }
            TerminalKey::Interrupt => return self.interrupt(now),
            TerminalKey::Esc => return self.escape(now),
            _ => {}
        }
        self.esc_at = None;
        if !matches!(key, TerminalKey::EndOfInput) {
            self.interrupted_at = None;
        }
        if !self.asks.is_empty() {
            if matches!(self.stage, ApprovalPromptStage::TypingReason(_)) {
                return self.on_reason_key(&key);
            }
            if self.accepts_answer(now) {
                return self.on_answer_key(&key);
            }
            if key == TerminalKey::Tab && matches!(self.stage, ApprovalPromptStage::Shown(_)) {
                self.stage = ApprovalPromptStage::Focused;
                return Vec::new();
            }
        }
        self.typed_at = now;
        match key {
            TerminalKey::EndOfInput if self.editor.is_empty() => match self.work {
                ScreenWork::Idle => vec![ScreenAction::Leave(0)],
                ScreenWork::Busy { .. } => {
                    self.show_hint("a run is in progress: Esc stops it", now);
                    Vec::new()
                }
            },
            TerminalKey::EndOfInput => self.edit(&TerminalKey::Delete, now),
            TerminalKey::Tab => {
                self.complete();
                Vec::new()
            }
            TerminalKey::Up if self.editor.is_empty() && !self.queued_prompts().is_empty() => {
                let text = self.queue.pop().unwrap_or_default();
                self.editor.set(&text);
                vec![ScreenAction::SaveQueue(self.queue.clone())]
            }
            key => self.edit(&key, now),
        }
    }

    fn edit(&mut self, key: &TerminalKey, now: u64) -> Vec<ScreenAction> {
        match self.editor.apply_key(key) {
            EditorOutcome::Handled | EditorOutcome::Ignored => Vec::new(),
            EditorOutcome::Full => {
                self.show_hint("the text is too long", now);
                Vec::new()
            }
            EditorOutcome::Submit if self.editor.text().trim().is_empty() => match self.work {
                ScreenWork::Idle => self.send_queued(),
                ScreenWork::Busy { .. } => Vec::new(),
            },
            EditorOutcome::Submit => {
                let shown = self.editor.take();
                let text = self.editor.expand(&shown);
                self.submit(text, &shown)
            }
        }
    }

    fn show_hint(&mut self, text: &str, now: u64) {
        self.hint = Some((localize(text).into_owned(), now + HINT_MILLIS));
    }

    /// Shows an error.
    pub(super) fn show_error(&mut self, error: &ScreenError) {
        let message = localize(error.message.as_str());
        let row = StyledRow::localized(ERROR, "error").with(Style::new(), &format!(": {message}"));
        let mut rows = row.wrap(self.width, "  ");
        if let Some(help) = &error.help {
            let help = localize(help.as_str());
            let row = StyledRow::localized(HELP, "  help").with(Style::new(), &format!(": {help}"));
            rows.extend(row.wrap(self.width, "    "));
        }
        self.push_block(ScreenBlock::Note, rows);
    }

    /// Whether new text needs a blank row above it.
    pub(super) fn separates_text(&self) -> bool {
        self.last_block.is_some_and(|last| last != ScreenBlock::Text)
    }

    /// Whether new calls need a blank row above them.
    pub(super) fn separates_calls(&self) -> bool {
        self.last_block.is_some_and(|last| last != ScreenBlock::Calls)
    }

    /// Whether anything was printed above.
    pub(super) fn has_rows(&self) -> bool {
        self.last_block.is_some()
    }

    fn push_block(&mut self, block: ScreenBlock, rows: Vec<StyledRow>) {
        if rows.is_empty() {
            return;
        }
        // Prompts are also separated from each other.
        if self.last_block.is_some_and(|last| last != block || block == ScreenBlock::Prompt) {
            self.rows.push(StyledRow::new());
        }
        self.last_block = Some(block);
        self.rows.extend(rows);
    }
}
