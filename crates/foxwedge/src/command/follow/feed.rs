//! Lines to events: finds out whose lines they are, and counts those that nobody can read.

use std::collections::BTreeMap;

use foxwedge_run::{
    Body, Event, Id, Settings,
    follow::{Exit, Follower, Source, detect},
};

use super::{lines::Line, sorter::Sorter, warnings::Warnings};
use crate::say::{count, cut};

/// Bytes of lines that are held until somebody knows whose they are.
const UNDECIDED: usize = 1 << 20;
/// Kinds of events that are told by their names, and how much of a name.
const KINDS: usize = 20;
const KIND: usize = 60;

/// Follows an agent's lines.
pub(super) struct Feed {
    run: Id,
    settings: Settings,
    state: State,
    line: u64,
    pub(super) tally: Tally,
    /// What was odd about the order of events.
    pub(super) warnings: Warnings,
}

enum State {
    /// Nobody knows whose lines they are; they wait.
    Undecided {
        held: Vec<String>,
        bytes: usize,
    },
    Following(Box<Following>),
}

struct Following {
    follower: Follower,
    /// Events of a log may come in any order.
    sorter: Option<Sorter>,
}

impl Following {
    fn new(source: Source, run: &Id, settings: &Settings) -> Following {
        let sorter = match source {
            Source::Events => Some(Sorter::new(settings.clone())),
            Source::ClaudeCode | Source::Codex | Source::GeminiCli => None,
        };
        Following { follower: Follower::new(source, run.clone()), sorter }
    }
}

/// What could not be read or understood.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    /// Lines that are no JSON object, that lack what every event has, or that are too long.
    unread: usize,
    /// The last of these.
    too_long: usize,
    /// The first of all.
    first: Option<u64>,
    /// Events of kinds that nobody knows, and the names of some.
    unknown: usize,
    kinds: BTreeMap<String, usize>,
}

impl Feed {
    /// Follows lines of one source, or of whichever it turns out to be.
    pub(super) fn new(source: Option<Source>, run: Id, settings: Settings) -> Feed {
        let state = match source {
            Some(source) => State::Following(Box::new(Following::new(source, &run, &settings))),
            None => State::Undecided { held: Vec::new(), bytes: 0 },
        };
        let (tally, warnings) = (Tally::default(), Warnings::default());
        Feed { run, settings, state, line: 0, tally, warnings }
    }

    /// Whether anybody knows whose lines they are.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self.state, State::Following(_))
    }

    /// Takes lines that came at once.
    pub(super) fn lines(&mut self, now: u64, lines: Vec<Line>) -> Vec<Event> {
        let mut events = Vec::new();
        for line in lines {
            self.line += 1;
            match line {
                Line::Text(text) => events.extend(self.text(text)),
                Line::TooLong => {
                    self.tally.too_long += 1;
                    self.tally.unreadable(self.line);
                }
            }
        }
        self.sorted(now, events)
    }

    /// There is no more: what waited waits no longer.
    pub(super) fn finish(&mut self, now: u64) -> Vec<Event> {
        let mut now = now;
        let mut told = Vec::new();
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline > now) {
            now = deadline;
            told.extend(self.sorted(now, Vec::new()));
        }
        let State::Following(following) = &mut self.state else { return told };
        // Nothing was said: there is nothing to end.
        if self.line == 0 {
            return told;
        }
        let events = following.follower.finish(Exit::Eof);
        let events = self.counted(events);
        told.extend(self.sorted(now, events));
        told
    }

    /// When something comes out although nothing comes in.
    pub(super) fn deadline(&self) -> Option<u64> {
        match &self.state {
            State::Following(following) => following.sorter.as_ref()?.deadline(),
            State::Undecided { .. } => None,
        }
    }

    fn text(&mut self, text: String) -> Vec<Event> {
        let events = match &mut self.state {
            State::Following(following) => following.follower.line(&text),
            State::Undecided { held, bytes } => {
                let source = detect(&text);
                *bytes += text.len();
                // What stands before the first line that says something is not lost, unless it
                // is more than anybody would print there.
                if !text.trim().is_empty() {
                    match source.is_some() || *bytes <= UNDECIDED {
                        true => held.push(text),
                        false => self.tally.unreadable(self.line),
                    }
                }
                let Some(source) = source else { return Vec::new() };
                let held = std::mem::take(held);
                let mut following = Following::new(source, &self.run, &self.settings);
                let told = held.iter().flat_map(|text| following.follower.line(text)).collect();
                self.state = State::Following(Box::new(following));
                told
            }
        };
        self.counted(events)
    }

    /// Counts what could not be read or understood.
    fn counted(&mut self, mut events: Vec<Event>) -> Vec<Event> {
        let is_log = match &self.state {
            State::Following(following) => following.sorter.is_some(),
            State::Undecided { .. } => false,
        };
        events.retain(|event| {
            let Body::Unknown { kind, .. } = &event.body else { return true };
            match kind.as_str() {
                "not-json" | "not-an-object" | "no-run" | "no-type" => {
                    self.tally.unreadable(self.line);
                    // In a log it belongs to no run.
                    !is_log
                }
                kind => {
                    self.tally.unknown(kind);
                    true
                }
            }
        });
        events
    }

    fn sorted(&mut self, now: u64, events: Vec<Event>) -> Vec<Event> {
        let State::Following(following) = &mut self.state else { return events };
        match &mut following.sorter {
            Some(sorter) => sorter.sort(now, events, &mut self.warnings),
            None => events,
        }
    }
}

impl Tally {
    fn unreadable(&mut self, line: u64) {
        self.unread += 1;
        self.first.get_or_insert(line);
    }

    fn unknown(&mut self, kind: &str) {
        self.unknown += 1;
        let kind = cut(kind, KIND);
        if self.kinds.len() < KINDS || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// Whether every line was read and understood.
    pub(super) fn is_clean(&self) -> bool {
        self.unread == 0 && self.unknown == 0
    }

    /// What could not be read; nothing if everything could.
    pub(super) fn told_unread(&self) -> Option<String> {
        let first = self.first?;
        let long = match self.too_long {
            0 => String::new(),
            long => format!(", {long} of them too long"),
        };
        let lines = count(self.unread, "line");
        Some(format!("{lines} could not be read{long}; the first is line {first}"))
    }

    /// What was not understood; nothing if everything was.
    pub(super) fn told_unknown(&self) -> Option<String> {
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, times)| format!("`{kind}`×{times}")).collect();
        let events = count(self.unknown, "event");
        (self.unknown > 0).then(|| format!("{events} not understood: {}", kinds.join(", ")))
    }
}
