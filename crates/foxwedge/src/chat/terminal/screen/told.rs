//! What a run tells, and what of it is seen.

use anstyle::Style;
use foxwedge_engine::tool_loop::{Note, Told};
use foxwedge_run::{Change, Effect, Id, Status};

use super::{Act, Block, Screen};
use crate::{
    chat::{
        lines::fewer_tools,
        terminal::{flow::Flow, row::Row},
    },
    runs::draw::{gist, span},
    say::{DIM, WARNING, count},
};

/// Bytes of a thought that are kept to be shown later.
const KEPT: usize = 64 << 10;

/// What the model thinks.
#[derive(Debug, Default)]
pub(in crate::chat::terminal) struct Thought {
    /// Since when it thinks.
    pub(in crate::chat::terminal) since: Option<u64>,
    /// Whether thoughts are shown.
    pub(in crate::chat::terminal) shown: bool,
    /// The last thought, as much of it as is kept.
    text: String,
    pub(in crate::chat::terminal) flow: Flow,
}

impl Thought {
    pub(super) fn close(&mut self) {
        self.since = None;
        self.flow = Flow::default();
    }
}

impl Screen {
    /// A run tells something.
    pub(in crate::chat::terminal) fn on_told(&mut self, told: Told, now: u64) -> Vec<Act> {
        match told {
            Told::Run(effect) => {
                self.times.see(&effect);
                match effect {
                    Effect::Show { run, change } => self.changed(&run, &change, now),
                    Effect::Emit(_)
                    | Effect::Resolve { .. }
                    | Effect::CallOff { .. }
                    | Effect::Announce { .. }
                    | Effect::Drain { .. }
                    | Effect::Warn(_) => Vec::new(),
                }
            }
            Told::Note(note) => {
                self.noted(&note);
                Vec::new()
            }
        }
    }

    fn noted(&mut self, note: &Note) {
        let words = match note {
            Note::Waiting { pause, why } => {
                let pause = u64::try_from(pause.as_millis()).ok().and_then(span);
                let pause = pause.unwrap_or_else(|| "a moment".to_owned());
                format!("waiting {pause}: {why}")
            }
            Note::Repaired(changes) => {
                format!("the history was repaired: {}", count(changes.len(), "change"))
            }
            Note::FewerTools { offered, all } => fewer_tools(*offered, *all),
            Note::Compacting => "making the history shorter".to_owned(),
            Note::Compacted(before, after) => {
                format!("the history is shorter: {before} tokens before, {after} now")
            }
        };
        self.aside(DIM, &words);
    }

    fn aside(&mut self, style: Style, words: &str) {
        let words: String = words.chars().take(600).collect();
        let row = Row::of(style, &format!("{} {}", self.signs.below(), words.trim()));
        let rows = row.wrap(self.width, "  ");
        self.say(Block::Note, rows);
    }

    fn changed(&mut self, run: &Id, change: &Change, now: u64) -> Vec<Act> {
        match change {
            Change::RunStarted { .. } => return self.arrived(),
            Change::TextOpened(_) | Change::TextClosed(_) => {
                let rows = self.flow.close(self.width);
                self.say(Block::Text, rows);
            }
            // What a sub-agent says is for the one that asked it.
            Change::TextDelta(part, delta) if part.parent.is_none() => {
                let rows = self.flow.push(delta, self.width);
                self.say(Block::Text, rows);
            }
            Change::ThoughtOpened(part) if part.parent.is_none() => {
                self.thought.close();
                self.thought.text.clear();
                self.thought.since = Some(now);
            }
            Change::ThoughtDelta(part, delta) if part.parent.is_none() => self.think(delta),
            Change::ThoughtClosed(part) if part.parent.is_none() => self.thought_over(now),
            Change::TextDelta(..)
            | Change::ThoughtOpened(_)
            | Change::ThoughtDelta(..)
            | Change::ThoughtClosed(_) => {}
            Change::ToolOpened { tool, name, parent, title } => {
                self.calls.open(tool, name, parent.as_ref(), title.as_deref(), now);
            }
            Change::ToolReady { tool, input } => self.calls.ready(tool, input),
            Change::ToolStatus { tool, status } => self.calls.status(tool, *status, now),
            Change::ToolProgress { tool, content } => self.calls.progress(tool, content),
            Change::Asked { tool, .. } => {
                self.calls.status(tool, Status::AwaitingApproval, now);
            }
            Change::AskClosed { tool, .. } => {
                self.calls.status(tool, Status::Pending, now);
                self.forget_ask(&tool.call);
            }
            Change::ToolSettled { tool, status, reason, content }
            | Change::ToolCorrected { tool, status, reason, content } => {
                let span = self.times.of_call(run, tool, None);
                let how = (*status, *reason);
                let rows = self.calls.settle(tool, how, span, content, (self.signs, self.width));
                self.forget_ask(&tool.call);
                self.say(Block::Calls, rows);
            }
            Change::Activity(activity) => {
                let gist = gist(&activity.content);
                if !gist.is_empty() {
                    self.aside(DIM, &format!("{}: {gist}", activity.kind));
                }
            }
            Change::Problem(problem) => self.aside(WARNING, &problem.message),
            Change::StepStarted { .. }
            | Change::StepEnded { .. }
            | Change::ToolArguments { .. }
            | Change::ToolsAvailable(_)
            | Change::Tasks(_)
            | Change::Usage(_)
            | Change::RunEnded { .. } => {}
        }
        Vec::new()
    }

    /// The run has its prompt: what waited does so no longer.
    fn arrived(&mut self) -> Vec<Act> {
        if !std::mem::take(&mut self.sending) || self.queue.is_empty() {
            return Vec::new();
        }
        self.queue.remove(0);
        vec![Act::Queued(self.queue.clone())]
    }

    fn think(&mut self, delta: &str) {
        let room = KEPT.saturating_sub(self.thought.text.len());
        self.thought.text.extend(delta.chars().take(room));
        if self.thought.shown {
            let width = self.width.saturating_sub(2);
            let rows = self.thought.flow.push(delta, width);
            self.say_thoughts(rows);
        }
    }

    fn thought_over(&mut self, now: u64) {
        let since = self.thought.since.take().unwrap_or(now);
        if self.thought.shown {
            let rows = self.thought.flow.close(self.width.saturating_sub(2));
            self.say_thoughts(rows);
        } else if !self.thought.text.trim().is_empty() {
            let time = span(now.saturating_sub(since));
            let time = time.map(|time| format!(" for {time}")).unwrap_or_default();
            let dots = if self.signs == crate::runs::draw::Signs::Ascii { "..." } else { "…" };
            self.say(Block::Note, vec![Row::of(DIM, &format!("{dots} thought{time}"))]);
        }
    }

    fn say_thoughts(&mut self, rows: Vec<Row>) {
        let mark = format!("{} ", self.signs.thought());
        let dim = |row: &Row| {
            let mut dimmed = Row::of(DIM, &mark);
            row.pieces().iter().for_each(|(_, text)| dimmed.push(DIM, text));
            dimmed
        };
        let rows = rows.iter().map(dim).collect();
        self.say(Block::Note, rows);
    }

    /// Thoughts are shown from now on, the last one at once; or not any more.
    pub(super) fn toggle_thoughts(&mut self, now: u64) {
        self.thought.shown = !self.thought.shown;
        if !self.thought.shown {
            self.thought.flow = Flow::default();
            self.hint("thoughts are hidden", now);
            return;
        }
        self.hint("thoughts are shown", now);
        let (text, width) = (self.thought.text.clone(), self.width.saturating_sub(2));
        let mut rows = self.thought.flow.push(&text, width);
        if self.thought.since.is_none() {
            rows.extend(self.thought.flow.close(width));
        }
        self.say_thoughts(rows);
    }
}
