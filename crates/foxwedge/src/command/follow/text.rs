//! A run for people: what the model says, and a line for each call when it is known what became
//! of it. Lines are only ever added; what is under way stands below them, on a terminal.

mod calls;

use std::fmt::Write as _;

use anstyle::Style;
use foxwedge_run::{Change, Effect, Ended, Id, Part, Status, Task, TaskStatus};

use self::calls::Calls;
use crate::{
    runs::{
        Times,
        draw::{self, Signs},
    },
    say::{BOLD, DIM, WARNING, clean, cut, paint},
    screen::{Line, fit},
};

/// Columns of a task, a card or a problem that are drawn.
const ASIDE: usize = 160;

/// Draws runs as they go on.
pub(super) struct Text {
    signs: Signs,
    /// The columns of the terminal; `None` in a pipe.
    columns: Option<usize>,
    calls: Calls,
    times: Times,
    /// The call whose sub-agent was drawn last.
    whose: Option<Id>,
    /// What was drawn last: kinds of lines are parted by an empty one.
    last: Option<Block>,
    /// The line of a text that is not finished.
    partial: String,
    /// What the run itself says right now, and what it said last.
    said: String,
    open: Vec<Id>,
    /// What stood beside the conversation last.
    aside: String,
    lines: String,
}

/// A kind of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Block {
    Head,
    Text,
    Thought,
    Calls,
    End,
}

impl Text {
    pub(super) fn new(signs: Signs, columns: Option<usize>) -> Text {
        Text {
            signs,
            columns,
            calls: Calls::default(),
            times: Times::default(),
            whose: None,
            last: None,
            partial: String::new(),
            said: String::new(),
            open: Vec::new(),
            aside: String::new(),
            lines: String::new(),
        }
    }

    /// Takes an effect.
    pub(super) fn push(&mut self, effect: &Effect) {
        self.times.see(effect);
        if let Effect::Show { run, change } = effect {
            self.change(run, change);
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
        let what = match self.calls.under_way(run, &self.times, now) {
            Some(calls) if stopping => format!("stopping (Ctrl-C again: at once), {calls}"),
            Some(calls) => calls,
            None if !self.partial.trim().is_empty() => tail(&self.partial, columns),
            None => match self.times.of_run(run, Some(now)).and_then(draw::span) {
                Some(time) => format!("at work for {time}"),
                None => "at work".to_owned(),
            },
        };
        let line = Line::new().with(style, format!("{sign} ")).with(DIM, what);
        // One column less: a full line would wrap.
        Some(line.draw(Some(columns.saturating_sub(1))).trim_end_matches('\n').to_owned())
    }

    fn change(&mut self, run: &Id, change: &Change) {
        match change {
            Change::RunStarted { started, .. } => {
                self.open.push(run.clone());
                self.block(Block::Head);
                let known = [&started.agent, &started.model].into_iter().flatten();
                let mut line = Line::new().with(BOLD, clean(&cut(run, ASIDE)));
                for word in known {
                    line = line.with(DIM, format!("{}{}", self.signs.dot(), clean(&cut(word, 60))));
                }
                self.line(&line);
            }
            Change::TextOpened(part) => self.open_text(part, Block::Text),
            Change::ThoughtOpened(part) => self.open_text(part, Block::Thought),
            Change::TextDelta(part, delta) => {
                if part.parent.is_none() {
                    self.said.push_str(delta);
                }
                self.text(run, part, delta, Block::Text);
            }
            Change::ThoughtDelta(part, delta) => self.text(run, part, delta, Block::Thought),
            Change::TextClosed(part) => self.close_text(run, part, Block::Text),
            Change::ThoughtClosed(part) => self.close_text(run, part, Block::Thought),
            Change::ToolOpened { tool, name, parent, title } => {
                self.calls.open(run, tool, name, parent.as_ref(), title.as_deref());
            }
            Change::ToolReady { tool, input } => self.calls.ready(run, tool, input),
            Change::ToolStatus { tool, status } => self.calls.status(run, tool, *status),
            Change::Asked { tool, ask } => {
                let span = None;
                self.calls.asked(run, tool, ask.prompt.as_deref());
                self.call(run, tool, (Status::AwaitingApproval, None), span, None);
            }
            Change::ToolSettled { tool, status, reason, content } => {
                let span = self.times.of_call(run, tool, None);
                self.call(run, tool, (*status, *reason), span, Some(content));
                self.calls.settle(run, tool);
            }
            // Lines are only ever added: this one says what became of the call after all.
            Change::ToolCorrected { tool, status, reason, content } => {
                self.call(run, tool, (*status, *reason), None, Some(content));
            }
            Change::Tasks(tasks) => self.tasks(tasks),
            Change::Activity(activity) => {
                let (kind, gist) = (clean(&activity.kind), draw::gist(&activity.content));
                if !gist.is_empty() {
                    self.aside(&format!("{kind}: {gist}"), DIM);
                }
            }
            Change::Problem(problem) => {
                self.aside(&clean(&cut(problem.message.trim(), ASIDE)), WARNING);
            }
            Change::RunEnded { ended, summary, .. } => {
                self.end(
                    run,
                    ended,
                    &draw::ended(self.signs, ended, summary, self.times.of_run(run, None)),
                );
            }
            Change::StepStarted { .. }
            | Change::StepEnded { .. }
            | Change::ToolArguments { .. }
            | Change::ToolProgress { .. }
            | Change::AskClosed { .. }
            | Change::ToolsAvailable(_)
            | Change::Usage(_) => {}
        }
    }

    fn call(
        &mut self,
        run: &Id,
        tool: &foxwedge_run::ToolRef,
        (status, reason): (Status, Option<foxwedge_run::Reason>),
        span: Option<u64>,
        content: Option<&foxwedge_run::Json>,
    ) {
        self.block(Block::Calls);
        self.turn_to(run, self.calls.parent(run, tool));
        if let Some(card) = self.calls.card(run, tool, (status, reason), span, content) {
            let line = card.line(self.signs, self.columns);
            self.line(&line);
        }
    }

    fn open_text(&mut self, part: &Part, _block: Block) {
        self.partial.clear();
        if part.parent.is_none() {
            self.said.clear();
        }
    }

    fn text(&mut self, run: &Id, part: &Part, delta: &str, block: Block) {
        for piece in delta.split_inclusive('\n') {
            self.partial.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                self.text_line(run, part, line.trim_end(), block);
            }
        }
    }

    fn close_text(&mut self, run: &Id, part: &Part, block: Block) {
        let rest = std::mem::take(&mut self.partial);
        if !rest.trim().is_empty() {
            self.text_line(run, part, rest.trim_end(), block);
        }
    }

    fn text_line(&mut self, run: &Id, part: &Part, line: &str, block: Block) {
        let elsewhere = self.whose != part.parent;
        // Empty lines stand between others, never in front of them.
        if line.is_empty() && (self.last != Some(block) || elsewhere) {
            return;
        }
        if elsewhere {
            self.last = self.last.map(|_| Block::Head);
        }
        self.block(block);
        self.turn_to(run, part.parent.clone());
        let text = clean(&line.replace('\t', "    "));
        let depth = part.parent.as_ref().map_or(0, |parent| self.calls.depth(run, parent) + 1);
        let indent = "  ".repeat(depth.min(8));
        let style = match (block, &part.parent) {
            (Block::Text, None) => Style::new(),
            _ => DIM,
        };
        let mark = match block {
            Block::Thought => format!("{} ", self.signs.thought()),
            Block::Head | Block::Text | Block::Calls | Block::End => String::new(),
        };
        let text = format!("{indent}{mark}{text}");
        let text = text.trim_end();
        let text =
            if style == DIM && !text.is_empty() { paint(DIM, text) } else { text.to_owned() };
        let _ = writeln!(self.lines, "{text}");
    }

    fn tasks(&mut self, tasks: &[Task]) {
        let done = tasks.iter().filter(|task| task.status == TaskStatus::Completed).count();
        let now = tasks.iter().find(|task| task.status == TaskStatus::InProgress);
        let now = now.map(|task| task.active.as_deref().unwrap_or(&task.content));
        let now = now.map_or_else(String::new, |now| {
            format!("{}{}", self.signs.dot(), clean(&cut(now.trim(), ASIDE)))
        });
        if !tasks.is_empty() {
            self.aside(&format!("tasks {done}/{}{now}", tasks.len()), DIM);
        }
    }

    fn aside(&mut self, text: &str, style: Style) {
        let line = Line::new().with(style, format!("{} {text}", self.signs.below()));
        let line = line.draw(self.columns);
        // Some agents say the same again and again.
        if self.aside != line {
            self.block(Block::Calls);
            self.whose = None;
            self.lines.push_str(&line);
            self.aside = line;
        }
    }

    fn end(&mut self, run: &Id, ended: &Ended, line: &Line) {
        self.open.retain(|open| open != run);
        self.calls.forget(run);
        // Some agents tell the result only at the end.
        let text = ended.text.as_deref().map(str::trim).unwrap_or_default();
        if !text.is_empty() && !self.said.trim().ends_with(text) {
            let part = Part { id: "end".into(), parent: None };
            for line in text.lines() {
                self.text_line(run, &part, line.trim_end(), Block::Text);
            }
        }
        self.block(Block::End);
        // The last line is worth a second one: nothing of it is cut off.
        self.lines.push_str(&line.draw(None));
    }

    /// What comes is the work of this call's sub-agent: it is named, unless it was before.
    fn turn_to(&mut self, run: &Id, whose: Option<Id>) {
        if self.whose == whose {
            return;
        }
        let header = whose.as_ref().and_then(|call| self.calls.header(run, call));
        if let Some(header) = header {
            let line = header.line(self.signs);
            self.line(&line);
        }
        self.whose = whose;
    }

    fn line(&mut self, line: &Line) {
        self.lines.push_str(&line.draw(self.columns));
    }

    fn block(&mut self, block: Block) {
        if self.last.is_some_and(|last| last != block) {
            self.lines.push('\n');
        }
        self.last = Some(block);
    }
}

/// The end of a text, as much of it as fits.
fn tail(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(4);
    let kept: Vec<char> = text.trim_end().chars().rev().take(room + 1).collect();
    let whole = kept.len() <= room;
    // Wide characters take two columns: half of them fits in any case.
    let most = if whole { room } else { room / 2 };
    let end: String = kept.into_iter().take(most).rev().collect();
    let end = clean(end.trim_start());
    if whole { fit(&end, room) } else { fit(&format!("…{end}"), room) }
}
