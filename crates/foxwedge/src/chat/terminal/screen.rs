//! What the terminal shows and what keys mean, as a state and functions of it. No clock, no files:
//! the time comes in with what happens, in milliseconds.

mod approvals;
mod interrupts;
mod completion;
mod run_events;
mod run_messages;

use std::collections::VecDeque;

use anstyle::Style;
use foxwedge_agent_loop::tool_loop::ToolDecision;
use foxwedge_run::Outcome;

use super::{
    ChatRunEnd, CommandFollowUp, CommandReply, TerminalHistoryItem, TerminalStart,
    approval_prompt::{ApprovalPrompt, ApprovalPromptStage, QUIET_MILLIS},
    calls::TerminalCallList,
    editor::{EditorOutcome, PromptEditor},
    keys::TerminalKey,
    markdown::MarkdownFlow,
    row::StyledRow,
};
use crate::{
    cli_output::{BOLD, DIM, ERROR, HELP},
    runs::{RunTimes, draw::SignSet},
};
use run_events::ThoughtView;

/// How soon a second Esc or Ctrl-C belongs to the first, in milliseconds.
const DOUBLE_PRESS_MILLIS: u64 = 2_000;
/// How long a hint stays, in milliseconds.
const HINT_MILLIS: u64 = 4_000;
/// The command that is ours.
const THOUGHTS_COMMAND: &str = "/thoughts";

/// What has to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ScreenAction {
    /// This is said to the model.
    Send(String),
    /// A line that begins with `/`.
    Command(String),
    /// All that waits changed.
    SaveQueue(Vec<String>),
    /// An interrupt.
    Interrupt,
    /// A question has an answer.
    Decide {
        /// The question.
        number: u64,
        /// The answer.
        decision: ToolDecision,
        /// The tool that nobody is asked about any more.
        always: Option<String>,
    },
    /// The terminal is left, with this code.
    Leave(u8),
    /// The process is suspended.
    Suspend,
    /// Everything is drawn anew.
    Redraw,
}

/// Something that went wrong, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ScreenError {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// What is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScreenWork {
    /// Nothing.
    Idle,
    /// A run or a command.
    Busy {
        /// Since when.
        since: u64,
        /// How often somebody wanted it to stop.
        presses: u32,
    },
}

/// Kinds of lines: an empty one stands between two of them.
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
    /// What waits for the end of the run.
    queue: Vec<String>,
    /// The first of the queue is on its way, and not yet kept elsewhere.
    sending: bool,
    pub(super) asks: VecDeque<ApprovalPrompt>,
    pub(super) stage: ApprovalPromptStage,
    pub(super) commands: Vec<(String, String)>,
    /// A few words about the model.
    pub(super) status: String,
    /// A hint, and until when it is shown.
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
                "shows or hides what the model thinks".to_owned(),
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
            queue: start.queued,
            sending: false,
            asks: VecDeque::new(),
            stage: ApprovalPromptStage::New,
            commands,
            status: String::new(),
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
        for before in start.past_items {
            match before {
                TerminalHistoryItem::Prompt(text) => screen.echo_prompt(&text),
                TerminalHistoryItem::Text(text) => {
                    let mut flow = MarkdownFlow::default();
                    let mut rows = flow.push(&text, width);
                    rows.extend(flow.close(width));
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

    /// The rows that are settled since the last time; they are never drawn again.
    pub(super) fn take_rows(&mut self) -> Vec<StyledRow> {
        std::mem::take(&mut self.rows)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.work != ScreenWork::Idle
    }

    /// Something begins that takes a while.
    pub(super) fn begin_work(&mut self, now: u64) {
        self.work = ScreenWork::Busy { since: now, presses: 0 };
        self.interrupted_at = None;
        self.times = RunTimes::default();
    }

    /// A prompt is sent that nobody typed.
    pub(super) fn send_prompt(&mut self, text: &str) -> Vec<ScreenAction> {
        self.submit(text.to_owned())
    }

    /// A run ended, and this is how; or it could not be told.
    pub(super) fn on_run_ended(
        &mut self,
        ending: Result<&ChatRunEnd, ScreenError>,
    ) -> Vec<ScreenAction> {
        let pressed = self.finish_work();
        match ending {
            Ok(ending) => {
                self.push_run_ending(&ending.ended, &ending.summary);
                let by_itself = match ending.ended.outcome {
                    Some(Outcome::Completed | Outcome::NoText) => !pressed,
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
                if by_itself { self.send_queued() } else { Vec::new() }
            }
            Err(error) => {
                self.show_error(&error);
                Vec::new()
            }
        }
    }

    /// A command has been carried out.
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
        let mut acts = Vec::new();
        if was_queued && !self.queue.is_empty() {
            self.queue.remove(0);
            acts.push(ScreenAction::SaveQueue(self.queue.clone()));
        }
        let rows = reply.lines.iter();
        let rows = rows.flat_map(|line| StyledRow::of(Style::new(), line).wrap(self.width, "  "));
        let rows = rows.collect();
        self.push_block(ScreenBlock::Note, rows);
        match &reply.follow_up {
            CommandFollowUp::Stay => {
                let pressed = self.finish_work();
                if was_queued && !pressed {
                    acts.extend(self.send_queued());
                }
            }
            CommandFollowUp::Edit(text) => {
                self.finish_work();
                // What was being typed is in the history, so that it is not lost.
                self.editor.take();
                self.editor.set(text);
            }
            CommandFollowUp::Ended(ending) => acts.extend(self.on_run_ended(Ok(ending))),
            CommandFollowUp::Leave => acts.push(ScreenAction::Leave(0)),
        }
        acts
    }

    /// Another session is worked on, and this waits in it. What waited here goes along, in front.
    pub(super) fn on_session_switch(&mut self, queued: Vec<String>) -> Vec<ScreenAction> {
        self.queue.extend(queued);
        match self.queue.is_empty() {
            true => Vec::new(),
            false => vec![ScreenAction::SaveQueue(self.queue.clone())],
        }
    }

    /// Nothing is under way any more. Whether somebody wanted it to stop.
    fn finish_work(&mut self) -> bool {
        let pressed = match self.work {
            ScreenWork::Idle => false,
            ScreenWork::Busy { presses, .. } => presses > 0,
        };
        let rows = self.flow.close(self.width);
        self.push_block(ScreenBlock::Text, rows);
        self.work = ScreenWork::Idle;
        self.sending = false;
        self.calls.clear();
        self.thought.close();
        while !self.asks.is_empty() {
            self.remove_question();
        }
        pressed
    }

    /// When what is shown changes by itself.
    pub(super) fn next_change(&self, now: u64) -> Option<u64> {
        let hint = self.hint.as_ref().map(|(_, until)| *until);
        let armed = match self.stage {
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
        [hint, armed].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// A key was pressed, then.
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
                    self.show_hint("something is at work: Esc stops it", now);
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
                self.show_hint("that is more than fits here", now);
                Vec::new()
            }
            EditorOutcome::Submit if self.editor.text().trim().is_empty() => match self.work {
                ScreenWork::Idle => self.send_queued(),
                ScreenWork::Busy { .. } => Vec::new(),
            },
            EditorOutcome::Submit => {
                let text = self.editor.take();
                self.submit(text)
            }
        }
    }

    fn submit(&mut self, text: String) -> Vec<ScreenAction> {
        let bare = text.trim();
        if bare == THOUGHTS_COMMAND {
            self.toggle_thoughts(self.typed_at);
            return Vec::new();
        }
        match self.work {
            ScreenWork::Busy { .. } => {
                self.queue.push(text);
                vec![ScreenAction::SaveQueue(self.queue.clone())]
            }
            ScreenWork::Idle => {
                self.echo_prompt(&text);
                match is_command(bare) {
                    true => vec![ScreenAction::Command(bare.to_owned())],
                    false => vec![ScreenAction::Send(text)],
                }
            }
        }
    }

    /// Sends the first of what waits. It leaves the queue when the run has it.
    fn send_queued(&mut self) -> Vec<ScreenAction> {
        let Some(text) = self.queue.first().cloned() else { return Vec::new() };
        self.sending = true;
        let acts = self.submit(text);
        if acts.is_empty() {
            // It was for us, and is done.
            self.sending = false;
            self.queue.remove(0);
            return vec![ScreenAction::SaveQueue(self.queue.clone())];
        }
        acts
    }

    /// What waits, without what is on its way.
    pub(super) fn queued_prompts(&self) -> &[String] {
        self.queue.get(usize::from(self.sending)..).unwrap_or_default()
    }

    fn show_hint(&mut self, text: &str, now: u64) {
        self.hint = Some((text.to_owned(), now + HINT_MILLIS));
    }

    /// Something went wrong.
    pub(super) fn show_error(&mut self, trouble: &ScreenError) {
        let row =
            StyledRow::of(ERROR, "error").with(Style::new(), &format!(": {}", trouble.message));
        let mut rows = row.wrap(self.width, "  ");
        if let Some(help) = &trouble.help {
            let row = StyledRow::of(HELP, "  help").with(Style::new(), &format!(": {help}"));
            rows.extend(row.wrap(self.width, "    "));
        }
        self.push_block(ScreenBlock::Note, rows);
    }

    /// Whether text that comes now stands apart from what is above it.
    pub(super) fn separates_text(&self) -> bool {
        self.last_block.is_some_and(|last| last != ScreenBlock::Text)
    }

    /// The same for calls.
    pub(super) fn separates_calls(&self) -> bool {
        self.last_block.is_some_and(|last| last != ScreenBlock::Calls)
    }

    /// Whether anything is above.
    pub(super) fn has_rows(&self) -> bool {
        self.last_block.is_some()
    }

    fn push_block(&mut self, block: ScreenBlock, rows: Vec<StyledRow>) {
        if rows.is_empty() {
            return;
        }
        // Every prompt stands alone.
        if self.last_block.is_some_and(|last| last != block || block == ScreenBlock::Prompt) {
            self.rows.push(StyledRow::new());
        }
        self.last_block = Some(block);
        self.rows.extend(rows);
    }
}

/// A line for the program. A path is none: `/etc/hosts is odd` is said to the model.
fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains('/'))
}
