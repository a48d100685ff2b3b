//! A run as lines: what the model says is data and goes to stdout, everything else is talk.
//! Pure: what happened goes in, text comes out.

use std::collections::HashMap;

use foxwedge_engine::tool_loop::{Note, Told};
use foxwedge_run::{Change, Effect, Id, Json, Outcome, Reason, Status, Summary, ToolRef};

use super::approval;
use crate::{
    runs::{
        Times,
        draw::{self, Card, Signs, about},
    },
    say::{self, DIM, HELP, WARNING, clean, count, cut, is_harmful, paint},
};

/// Characters of a reason or a problem that are told.
const WHY: usize = 240;

/// Who reads what the model says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    /// A person: nothing in it may move the cursor.
    Terminal,
    /// A program: every byte as it was said.
    Pipe,
}

/// How much is told beside what the model says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Talk {
    /// Tools, notes and the end.
    All,
    /// Errors only.
    Errors,
}

/// What is to be written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    /// To stdout.
    pub(crate) out: String,
    /// To stderr.
    pub(crate) err: String,
}

/// Tells one run after the other.
#[derive(Debug)]
pub(crate) struct Lines {
    signs: Signs,
    reader: Reader,
    talk: Talk,
    times: Times,
    calls: HashMap<(Id, ToolRef), Seen>,
    /// Whether stdout stands in the middle of a line.
    open: bool,
    /// Tools that were denied in this run, each once.
    denied: Vec<Id>,
}

/// What is known about a call.
#[derive(Clone, Debug)]
struct Seen {
    name: Id,
    title: Option<String>,
    about: String,
}

impl Lines {
    pub(crate) fn new(signs: Signs, reader: Reader, talk: Talk) -> Lines {
        Lines {
            signs,
            reader,
            talk,
            times: Times::default(),
            calls: HashMap::new(),
            open: false,
            denied: Vec::new(),
        }
    }

    /// What happened, as what is to be written.
    pub(crate) fn told(&mut self, told: &Told) -> Written {
        let mut written = Written::default();
        match told {
            Told::Run(effect) => {
                self.times.see(effect);
                if let Effect::Show { run, change } = effect {
                    self.change(run, change, &mut written);
                }
            }
            Told::Note(note) => written.err.push_str(&self.note(note)),
        }
        written
    }

    fn change(&mut self, run: &Id, change: &Change, written: &mut Written) {
        match change {
            Change::TextDelta(part, delta) if part.parent.is_none() => {
                written.out.push_str(&self.said(delta));
            }
            Change::TextClosed(part) if part.parent.is_none() => self.end_line(written),
            Change::ToolOpened { tool, name, title, .. } => {
                let about = about(title.as_deref(), None);
                let seen = Seen { name: name.clone(), title: title.clone(), about };
                self.calls.insert((run.clone(), tool.clone()), seen);
            }
            Change::ToolReady { tool, input } => {
                if let Some(seen) = self.calls.get_mut(&(run.clone(), tool.clone())) {
                    seen.about = about(seen.title.as_deref(), Some(input));
                }
            }
            Change::ToolSettled { tool, status, reason, content }
            | Change::ToolCorrected { tool, status, reason, content } => {
                self.end_line(written);
                let line = self.settled(run, tool, (*status, *reason), content);
                written.err.push_str(&line);
            }
            Change::Problem(problem) => {
                self.end_line(written);
                let why = clean(&cut(problem.message.trim(), WHY));
                written.err.push_str(&self.aside("warning", &why));
            }
            Change::RunEnded { ended, summary, .. } => {
                self.end_line(written);
                self.calls.retain(|(of, _), _| of != run);
                written.err.push_str(&self.ended(run, ended, summary));
            }
            Change::TextDelta(..)
            | Change::TextClosed(_)
            | Change::RunStarted { .. }
            | Change::StepStarted { .. }
            | Change::StepEnded { .. }
            | Change::TextOpened(_)
            | Change::ThoughtOpened(_)
            | Change::ThoughtDelta(..)
            | Change::ThoughtClosed(_)
            | Change::ToolArguments { .. }
            | Change::ToolStatus { .. }
            | Change::ToolProgress { .. }
            | Change::Asked { .. }
            | Change::AskClosed { .. }
            | Change::ToolsAvailable(_)
            | Change::Tasks(_)
            | Change::Usage(_)
            | Change::Activity(_) => {}
        }
    }

    fn said(&mut self, delta: &str) -> String {
        if let Some(last) = delta.chars().next_back() {
            self.open = last != '\n';
        }
        match self.reader {
            Reader::Pipe => delta.to_owned(),
            Reader::Terminal => delta.chars().filter_map(shown).collect(),
        }
    }

    /// Nothing stands behind what the model said, on its line.
    fn end_line(&mut self, written: &mut Written) {
        if std::mem::take(&mut self.open) {
            written.out.push('\n');
        }
    }

    fn settled(
        &mut self,
        run: &Id,
        tool: &ToolRef,
        (status, reason): (Status, Option<Reason>),
        content: &Json,
    ) -> String {
        let Some(seen) = self.calls.get(&(run.clone(), tool.clone())).cloned() else {
            return String::new();
        };
        if self.talk == Talk::Errors {
            return String::new();
        }
        let span = self.times.of_call(run, tool, None);
        let (name, about) = (&*seen.name, seen.about.as_str());
        let card = Card { name, about, status, reason, span, content: Some(content), depth: 0 };
        let mut line = card.line(self.signs, None).draw(None);
        if status == Status::Denied && !self.denied.contains(&seen.name) {
            line.push_str(&help(&approval::advice(name)));
            self.denied.push(seen.name);
        }
        line
    }

    fn note(&self, note: &Note) -> String {
        match note {
            Note::Waiting { pause, why } => {
                let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                let time = draw::span(pause).unwrap_or_else(|| "a moment".to_owned());
                self.aside("note", &format!("waiting {time}: {}", clean(&cut(why.trim(), WHY))))
            }
            Note::Repaired(changes) => {
                let what = format!("the history was repaired: {}", count(changes.len(), "change"));
                self.aside("note", &what)
            }
            Note::FewerTools { offered, all } => self.aside("note", &fewer_tools(*offered, *all)),
            Note::Compacting => self.aside("note", "the history is being made shorter"),
            Note::Compacted(before, after) => self.aside("note", &compacted(*before, *after)),
        }
    }

    fn aside(&self, word: &str, text: &str) -> String {
        let style = if word == "warning" { WARNING } else { HELP };
        match self.talk {
            Talk::All => format!("{}: {text}\n", paint(style, word)),
            Talk::Errors => String::new(),
        }
    }

    fn ended(&mut self, run: &Id, ended: &foxwedge_run::Ended, summary: &Summary) -> String {
        self.denied.clear();
        let span = self.times.of_run(run, None);
        // Nobody needs to hear about it twice, and times of other runs mean nothing now.
        self.times = Times::default();
        match (self.talk, ended.outcome, &ended.problem) {
            (Talk::Errors, Some(Outcome::Completed), _) => String::new(),
            (Talk::Errors, outcome, problem) => {
                let why = problem.as_ref().map_or_else(
                    || outcome.map_or("ended", draw::word).to_owned(),
                    |problem| cut(problem.message.trim(), WHY),
                );
                say::complaint(&why, None)
            }
            (Talk::All, outcome, _) => {
                let mut lines = draw::ended(self.signs, ended, summary, span).draw(None);
                if matches!(outcome, Some(Outcome::Stopped | Outcome::Interrupted)) {
                    lines.push_str(&format!("{}\n", paint(DIM, kept(summary))));
                }
                lines
            }
        }
    }
}

/// What is there after a stop.
pub(crate) fn kept(summary: &Summary) -> String {
    let results = [Status::Succeeded, Status::Failed, Status::Denied, Status::HandedOver];
    let results: usize = results.into_iter().map(|status| summary.count(status)).sum();
    let mut told = format!("kept {}", count(results, "result"));
    let open = [(Status::Interrupted, "may have run"), (Status::Cancelled, "not started")];
    for (status, word) in open {
        match summary.count(status) {
            0 => {}
            number => told.push_str(&format!(", {number} {word}")),
        }
    }
    format!("{told}; the history is valid")
}

/// A provider took fewer tools than there are.
pub(crate) fn fewer_tools(offered: usize, all: usize) -> String {
    format!("the provider refused so many tools: {offered} of {all} are offered from now on")
}

/// How much shorter a history became.
pub(crate) fn compacted(before: u64, after: u64) -> String {
    format!("the history was made shorter: about {before} tokens, now {after}")
}

fn help(text: &str) -> String {
    format!("  {}: {text}\n", paint(HELP, "help"))
}

/// A character as a terminal may show it.
fn shown(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => Some(c),
        '\r' => None,
        c if is_harmful(c) => Some('\u{fffd}'),
        c => Some(c),
    }
}

#[cfg(test)]
mod tests;
