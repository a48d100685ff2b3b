//! Lines to events: finds out whose lines they are, and counts those that nobody can read.

use std::collections::BTreeMap;

use foxwedge_run::{
    EventPayload, MachineSettings, RunEvent, SharedId,
    follow::{AgentExit, AgentFollower, StreamSource, detect_source},
};

use super::{input::FollowInputLine, sorter::FollowEventSorter, warnings::FollowWarnings};
use crate::cli_output::{cut, pluralize};

/// Bytes of lines that are held until somebody knows whose they are.
const MAX_UNDECIDED_BYTES: usize = 1 << 20;
/// Kinds of events that are told by their names, and how much of a name.
const MAX_KINDS: usize = 20;
const MAX_KIND_CHARS: usize = 60;

/// Follows an agent's lines.
pub(super) struct FollowLineReader {
    run: SharedId,
    settings: MachineSettings,
    state: LineReaderState,
    line: u64,
    pub(super) tally: FollowTally,
    /// What was odd about the order of events.
    pub(super) warnings: FollowWarnings,
}

enum LineReaderState {
    /// Nobody knows whose lines they are; they wait.
    Undecided {
        held: Vec<String>,
        bytes: usize,
    },
    Following(Box<SourceFollower>),
}

struct SourceFollower {
    follower: AgentFollower,
    /// Events of a log may come in any order.
    sorter: Option<FollowEventSorter>,
}

impl SourceFollower {
    fn new(source: StreamSource, run: &SharedId, settings: &MachineSettings) -> SourceFollower {
        let sorter = match source {
            StreamSource::Events => Some(FollowEventSorter::new(settings.clone())),
            StreamSource::ClaudeCode | StreamSource::Codex | StreamSource::GeminiCli => None,
        };
        SourceFollower { follower: AgentFollower::new(source, run.clone()), sorter }
    }
}

/// What could not be read or understood.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FollowTally {
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

impl FollowLineReader {
    /// Follows lines of one source, or of whichever it turns out to be.
    pub(super) fn new(
        source: Option<StreamSource>,
        run: SharedId,
        settings: MachineSettings,
    ) -> FollowLineReader {
        let state = match source {
            Some(source) => {
                LineReaderState::Following(Box::new(SourceFollower::new(source, &run, &settings)))
            }
            None => LineReaderState::Undecided { held: Vec::new(), bytes: 0 },
        };
        let (tally, warnings) = (FollowTally::default(), FollowWarnings::default());
        FollowLineReader { run, settings, state, line: 0, tally, warnings }
    }

    /// Whether anybody knows whose lines they are.
    pub(super) fn knows_source(&self) -> bool {
        matches!(self.state, LineReaderState::Following(_))
    }

    /// Takes lines that came at once.
    pub(super) fn read_lines(&mut self, now: u64, lines: Vec<FollowInputLine>) -> Vec<RunEvent> {
        let mut events = Vec::new();
        for line in lines {
            self.line += 1;
            match line {
                FollowInputLine::Text(text) => events.extend(self.read_text_line(text)),
                FollowInputLine::TooLong => {
                    self.tally.too_long += 1;
                    self.tally.add_unread(self.line);
                }
            }
        }
        self.sort_events(now, events)
    }

    /// There is no more: what waited waits no longer.
    pub(super) fn finish(&mut self, now: u64) -> Vec<RunEvent> {
        let mut now = now;
        let mut told = Vec::new();
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline > now) {
            now = deadline;
            told.extend(self.sort_events(now, Vec::new()));
        }
        let LineReaderState::Following(following) = &mut self.state else { return told };
        // Nothing was said: there is nothing to end.
        if self.line == 0 {
            return told;
        }
        let events = following.follower.finish(AgentExit::Eof);
        let events = self.count_unread(events);
        told.extend(self.sort_events(now, events));
        told
    }

    /// When something comes out although nothing comes in.
    pub(super) fn deadline(&self) -> Option<u64> {
        match &self.state {
            LineReaderState::Following(following) => following.sorter.as_ref()?.deadline(),
            LineReaderState::Undecided { .. } => None,
        }
    }

    fn read_text_line(&mut self, text: String) -> Vec<RunEvent> {
        let events = match &mut self.state {
            LineReaderState::Following(following) => following.follower.line(&text),
            LineReaderState::Undecided { held, bytes } => {
                let source = detect_source(&text);
                *bytes += text.len();
                // What stands before the first line that says something is not lost, unless it
                // is more than anybody would print there.
                if !text.trim().is_empty() {
                    match source.is_some() || *bytes <= MAX_UNDECIDED_BYTES {
                        true => held.push(text),
                        false => self.tally.add_unread(self.line),
                    }
                }
                let Some(source) = source else { return Vec::new() };
                let held = std::mem::take(held);
                let mut following = SourceFollower::new(source, &self.run, &self.settings);
                let told = held.iter().flat_map(|text| following.follower.line(text)).collect();
                self.state = LineReaderState::Following(Box::new(following));
                told
            }
        };
        self.count_unread(events)
    }

    /// Counts what could not be read or understood.
    fn count_unread(&mut self, mut events: Vec<RunEvent>) -> Vec<RunEvent> {
        let is_log = match &self.state {
            LineReaderState::Following(following) => following.sorter.is_some(),
            LineReaderState::Undecided { .. } => false,
        };
        events.retain(|event| {
            let EventPayload::Unknown { kind, .. } = &event.body else { return true };
            match kind.as_str() {
                "not-json" | "not-an-object" | "no-run" | "no-type" => {
                    self.tally.add_unread(self.line);
                    // In a log it belongs to no run.
                    !is_log
                }
                kind => {
                    self.tally.add_unknown(kind);
                    true
                }
            }
        });
        events
    }

    fn sort_events(&mut self, now: u64, events: Vec<RunEvent>) -> Vec<RunEvent> {
        let LineReaderState::Following(following) = &mut self.state else { return events };
        match &mut following.sorter {
            Some(sorter) => sorter.sort(now, events, &mut self.warnings),
            None => events,
        }
    }
}

impl FollowTally {
    fn add_unread(&mut self, line: u64) {
        self.unread += 1;
        self.first.get_or_insert(line);
    }

    fn add_unknown(&mut self, kind: &str) {
        self.unknown += 1;
        let kind = cut(kind, MAX_KIND_CHARS);
        if self.kinds.len() < MAX_KINDS || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// Whether every line was read and understood.
    pub(super) fn is_clean(&self) -> bool {
        self.unread == 0 && self.unknown == 0
    }

    /// What could not be read; nothing if everything could.
    pub(super) fn describe_unread(&self) -> Option<String> {
        let first = self.first?;
        let long = match self.too_long {
            0 => String::new(),
            long => format!(", {long} of them too long"),
        };
        let lines = pluralize(self.unread, "line");
        Some(format!("{lines} could not be read{long}; the first is line {first}"))
    }

    /// What was not understood; nothing if everything was.
    pub(super) fn describe_unknown(&self) -> Option<String> {
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, times)| format!("`{kind}`×{times}")).collect();
        let events = pluralize(self.unknown, "event");
        (self.unknown > 0).then(|| format!("{events} not understood: {}", kinds.join(", ")))
    }
}
