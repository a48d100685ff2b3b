//! What the terminal shows and what keys mean, as a state and functions of it. No clock, no files:
//! the time comes in with what happens, in milliseconds.

mod asking;
mod stopping;
mod completing;
mod told;
mod words;

use std::collections::VecDeque;

use anstyle::Style;
use foxwedge_engine::tool_loop::Decision;
use foxwedge_run::Outcome;

use super::{
    Before, Ending, Reply, Start, Then,
    ask::{Ask, QUIET, Stage},
    calls::Calls,
    editor::{Edited, Editor},
    flow::Flow,
    keys::Key,
    row::Row,
};
use crate::{
    runs::{Times, draw::Signs},
    say::{BOLD, DIM, ERROR, HELP},
};
use told::Thought;

/// How soon a second Esc or Ctrl-C belongs to the first, in milliseconds.
const TWICE: u64 = 2_000;
/// How long a hint stays, in milliseconds.
const HINT: u64 = 4_000;
/// The command that is ours.
const THOUGHTS: &str = "/thoughts";

/// What has to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// This is said to the model.
    Send(String),
    /// A line that begins with `/`.
    Command(String),
    /// All that waits changed.
    Queued(Vec<String>),
    /// An interrupt.
    Press,
    /// A question has an answer.
    Decide {
        /// The question.
        number: u64,
        /// The answer.
        decision: Decision,
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
pub(super) struct Trouble {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// What is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
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
enum Block {
    Head,
    Prompt,
    Text,
    Calls,
    Note,
}

/// The state of the terminal.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) signs: Signs,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) editor: Editor,
    pub(super) work: Work,
    pub(super) calls: Calls,
    pub(super) flow: Flow,
    pub(super) thought: Thought,
    /// What waits for the end of the run.
    queue: Vec<String>,
    /// The first of the queue is on its way, and not yet kept elsewhere.
    sending: bool,
    pub(super) asks: VecDeque<Ask>,
    pub(super) stage: Stage,
    pub(super) commands: Vec<(String, String)>,
    /// A few words about the model.
    pub(super) status: String,
    /// A hint, and until when it is shown.
    pub(super) hint: Option<(String, u64)>,
    typed_at: u64,
    esc_at: Option<u64>,
    interrupted_at: Option<u64>,
    times: Times,
    last: Option<Block>,
    rows: Vec<Row>,
}

impl Screen {
    pub(super) fn new(start: Start, signs: Signs, (width, height): (usize, usize)) -> Screen {
        let mut commands = start.commands;
        if commands.iter().all(|(name, _)| name != THOUGHTS) {
            commands.push((THOUGHTS.to_owned(), "shows or hides what the model thinks".to_owned()));
        }
        commands.sort();
        let mut screen = Screen {
            signs,
            width,
            height,
            editor: Editor::new(start.history),
            work: Work::Idle,
            calls: Calls::default(),
            flow: Flow::default(),
            thought: Thought::default(),
            queue: start.queued,
            sending: false,
            asks: VecDeque::new(),
            stage: Stage::New,
            commands,
            status: String::new(),
            hint: None,
            typed_at: 0,
            esc_at: None,
            interrupted_at: None,
            times: Times::default(),
            last: None,
            rows: Vec::new(),
        };
        for (at, line) in start.greeting.iter().enumerate() {
            let row = Row::of(if at == 0 { BOLD } else { DIM }, line);
            screen.say(Block::Head, row.wrap(width, "  "));
        }
        for before in start.before {
            match before {
                Before::Prompt(text) => screen.echo(&text),
                Before::Text(text) => {
                    let mut flow = Flow::default();
                    let mut rows = flow.push(&text, width);
                    rows.extend(flow.close(width));
                    screen.say(Block::Text, rows);
                }
                Before::Call(line) => {
                    screen.say(Block::Calls, vec![Row::of(DIM, &line).fit(width)]);
                }
            }
        }
        screen
    }

    /// The rows that are settled since the last time; they are never drawn again.
    pub(super) fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.work != Work::Idle
    }

    /// Something begins that takes a while.
    pub(super) fn begin(&mut self, now: u64) {
        self.work = Work::Busy { since: now, presses: 0 };
        self.interrupted_at = None;
        self.times = Times::default();
    }

    /// A prompt is sent that nobody typed.
    pub(super) fn send(&mut self, text: &str) -> Vec<Act> {
        self.submit(text.to_owned())
    }

    /// A run ended, and this is how; or it could not be told.
    pub(super) fn ended(&mut self, ending: Result<&Ending, Trouble>) -> Vec<Act> {
        let pressed = self.settle_work();
        match ending {
            Ok(ending) => {
                self.tell_ending(&ending.ended, &ending.summary);
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
                self.complain(&error);
                Vec::new()
            }
        }
    }

    /// A command has been carried out.
    pub(super) fn replied(&mut self, reply: Result<&Reply, Trouble>) -> Vec<Act> {
        let was_queued = std::mem::take(&mut self.sending);
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                self.settle_work();
                self.complain(&error);
                return Vec::new();
            }
        };
        let mut acts = Vec::new();
        if was_queued && !self.queue.is_empty() {
            self.queue.remove(0);
            acts.push(Act::Queued(self.queue.clone()));
        }
        let rows = reply.lines.iter();
        let rows = rows.flat_map(|line| Row::of(Style::new(), line).wrap(self.width, "  "));
        let rows = rows.collect();
        self.say(Block::Note, rows);
        match &reply.then {
            Then::Stay => {
                let pressed = self.settle_work();
                if was_queued && !pressed {
                    acts.extend(self.send_queued());
                }
            }
            Then::Edit(text) => {
                self.settle_work();
                // What was being typed is in the history, so that it is not lost.
                self.editor.take();
                self.editor.set(text);
            }
            Then::Ended(ending) => acts.extend(self.ended(Ok(ending))),
            Then::Leave => acts.push(Act::Leave(0)),
        }
        acts
    }

    /// Another session is worked on, and this waits in it. What waited here goes along, in front.
    pub(super) fn turned(&mut self, queued: Vec<String>) -> Vec<Act> {
        self.queue.extend(queued);
        match self.queue.is_empty() {
            true => Vec::new(),
            false => vec![Act::Queued(self.queue.clone())],
        }
    }

    /// Nothing is under way any more. Whether somebody wanted it to stop.
    fn settle_work(&mut self) -> bool {
        let pressed = match self.work {
            Work::Idle => false,
            Work::Busy { presses, .. } => presses > 0,
        };
        let rows = self.flow.close(self.width);
        self.say(Block::Text, rows);
        self.work = Work::Idle;
        self.sending = false;
        self.calls.clear();
        self.thought.close();
        while !self.asks.is_empty() {
            self.drop_ask();
        }
        pressed
    }

    /// When what is shown changes by itself.
    pub(super) fn next_change(&self, now: u64) -> Option<u64> {
        let hint = self.hint.as_ref().map(|(_, until)| *until);
        let armed = match self.stage {
            Stage::Seen(since) if self.editor.is_empty() && !self.asks.is_empty() => {
                Some(since.max(self.typed_at).saturating_add(QUIET))
            }
            Stage::Seen(_) | Stage::New | Stage::Turned | Stage::Why(_) => None,
        };
        [hint, armed].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// A key was pressed, then.
    pub(super) fn on_key(&mut self, key: Key, now: u64) -> Vec<Act> {
        self.hint = None;
        match key {
            Key::Redraw => return vec![Act::Redraw],
            Key::Suspend => return vec![Act::Suspend],
            Key::Thoughts => {
                self.toggle_thoughts(now);
                return Vec::new();
            }
            Key::Interrupt => return self.interrupt(now),
            Key::Esc => return self.escape(now),
            _ => {}
        }
        self.esc_at = None;
        if !matches!(key, Key::EndOfInput) {
            self.interrupted_at = None;
        }
        if !self.asks.is_empty() {
            if matches!(self.stage, Stage::Why(_)) {
                return self.why(&key);
            }
            if self.is_armed(now) {
                return self.answer(&key);
            }
            if key == Key::Tab && matches!(self.stage, Stage::Seen(_)) {
                self.stage = Stage::Turned;
                return Vec::new();
            }
        }
        self.typed_at = now;
        match key {
            Key::EndOfInput if self.editor.is_empty() => match self.work {
                Work::Idle => vec![Act::Leave(0)],
                Work::Busy { .. } => {
                    self.hint("something is at work: Esc stops it", now);
                    Vec::new()
                }
            },
            Key::EndOfInput => self.edit(&Key::Delete, now),
            Key::Tab => {
                self.complete();
                Vec::new()
            }
            Key::Up if self.editor.is_empty() && !self.waiting().is_empty() => {
                let text = self.queue.pop().unwrap_or_default();
                self.editor.set(&text);
                vec![Act::Queued(self.queue.clone())]
            }
            key => self.edit(&key, now),
        }
    }

    fn edit(&mut self, key: &Key, now: u64) -> Vec<Act> {
        match self.editor.press(key) {
            Edited::Yes | Edited::No => Vec::new(),
            Edited::Full => {
                self.hint("that is more than fits here", now);
                Vec::new()
            }
            Edited::Sent if self.editor.text().trim().is_empty() => match self.work {
                Work::Idle => self.send_queued(),
                Work::Busy { .. } => Vec::new(),
            },
            Edited::Sent => {
                let text = self.editor.take();
                self.submit(text)
            }
        }
    }

    fn submit(&mut self, text: String) -> Vec<Act> {
        let bare = text.trim();
        if bare == THOUGHTS {
            self.toggle_thoughts(self.typed_at);
            return Vec::new();
        }
        match self.work {
            Work::Busy { .. } => {
                self.queue.push(text);
                vec![Act::Queued(self.queue.clone())]
            }
            Work::Idle => {
                self.echo(&text);
                match is_command(bare) {
                    true => vec![Act::Command(bare.to_owned())],
                    false => vec![Act::Send(text)],
                }
            }
        }
    }

    /// Sends the first of what waits. It leaves the queue when the run has it.
    fn send_queued(&mut self) -> Vec<Act> {
        let Some(text) = self.queue.first().cloned() else { return Vec::new() };
        self.sending = true;
        let acts = self.submit(text);
        if acts.is_empty() {
            // It was for us, and is done.
            self.sending = false;
            self.queue.remove(0);
            return vec![Act::Queued(self.queue.clone())];
        }
        acts
    }

    /// What waits, without what is on its way.
    pub(super) fn waiting(&self) -> &[String] {
        self.queue.get(usize::from(self.sending)..).unwrap_or_default()
    }

    fn hint(&mut self, text: &str, now: u64) {
        self.hint = Some((text.to_owned(), now + HINT));
    }

    /// Something went wrong.
    pub(super) fn complain(&mut self, trouble: &Trouble) {
        let row = Row::of(ERROR, "error").with(Style::new(), &format!(": {}", trouble.message));
        let mut rows = row.wrap(self.width, "  ");
        if let Some(help) = &trouble.help {
            let row = Row::of(HELP, "  help").with(Style::new(), &format!(": {help}"));
            rows.extend(row.wrap(self.width, "    "));
        }
        self.say(Block::Note, rows);
    }

    /// Whether text that comes now stands apart from what is above it.
    pub(super) fn parts_text(&self) -> bool {
        self.last.is_some_and(|last| last != Block::Text)
    }

    /// The same for calls.
    pub(super) fn parts_calls(&self) -> bool {
        self.last.is_some_and(|last| last != Block::Calls)
    }

    /// Whether anything is above.
    pub(super) fn has_rows(&self) -> bool {
        self.last.is_some()
    }

    fn say(&mut self, block: Block, rows: Vec<Row>) {
        if rows.is_empty() {
            return;
        }
        // Every prompt stands alone.
        if self.last.is_some_and(|last| last != block || block == Block::Prompt) {
            self.rows.push(Row::new());
        }
        self.last = Some(block);
        self.rows.extend(rows);
    }
}

/// A line for the program. A path is none: `/etc/hosts is odd` is said to the model.
fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains('/'))
}
