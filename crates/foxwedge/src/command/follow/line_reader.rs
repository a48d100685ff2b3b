//! Turns lines into events: detects the agent, and counts lines that cannot be read.

use std::collections::BTreeMap;

use foxwedge_run::{
    EventPayload, MachineSettings, RunEvent, SharedId,
    follow::{AgentExit, AgentFollower, StreamSource, detect_source},
};

use super::{input::FollowInputLine, sorter::FollowEventSorter, warnings::FollowWarnings};
use foxwedge_local::output::{cut, pluralize};

/// Maximum size of the lines buffered until the agent is detected.
const MAX_UNDECIDED_BYTES: usize = 1 << 20;
/// Maximum number of unknown event kinds listed, and maximum length of a kind.
const MAX_KINDS: usize = 20;
const MAX_KIND_CHARS: usize = 60;

/// Reads the lines of an agent.
pub(super) struct FollowLineReader {
    run: SharedId,
    settings: MachineSettings,
    state: LineReaderState,
    line: u64,
    pub(super) tally: FollowTally,
    /// Warnings about the order of events.
    pub(super) warnings: FollowWarnings,
}

enum LineReaderState {
    /// The agent is not detected yet; lines are buffered.
    Undecided {
        lines: Vec<String>,
        bytes: usize,
    },
    Following(Box<SourceFollower>),
}

struct SourceFollower {
    follower: AgentFollower,
    /// Only for event logs, whose events may be out of order.
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

/// Counts of lines that could not be read and of unknown events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FollowTally {
    /// Lines that are not a JSON object, lack required fields, or are too long.
    unread: usize,
    /// Lines that are too long, included in `unread`.
    too_long: usize,
    /// Number of the first unread line.
    first: Option<u64>,
    /// Events of unknown kinds, and counts for some of the kinds.
    unknown: usize,
    kinds: BTreeMap<String, usize>,
}

impl FollowLineReader {
    /// Reads lines of the given source. Without one, detects the source.
    pub(super) fn new(
        source: Option<StreamSource>,
        run: SharedId,
        settings: MachineSettings,
    ) -> FollowLineReader {
        let state = match source {
            Some(source) => {
                LineReaderState::Following(Box::new(SourceFollower::new(source, &run, &settings)))
            }
            None => LineReaderState::Undecided { lines: Vec::new(), bytes: 0 },
        };
        let (tally, warnings) = (FollowTally::default(), FollowWarnings::default());
        FollowLineReader { run, settings, state, line: 0, tally, warnings }
    }

    /// Whether the source is given or detected.
    pub(super) fn knows_source(&self) -> bool {
        matches!(self.state, LineReaderState::Following(_))
    }

    /// Reads one batch of lines.
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

    /// Ends the input. Returns the remaining events.
    pub(super) fn finish(&mut self, now: u64) -> Vec<RunEvent> {
        let mut now = now;
        let mut remaining = Vec::new();
        while let Some(deadline) = self.deadline().filter(|deadline| *deadline > now) {
            now = deadline;
            remaining.extend(self.sort_events(now, Vec::new()));
        }
        let LineReaderState::Following(follower) = &mut self.state else { return remaining };
        // Without input there is no run to end.
        if self.line == 0 {
            return remaining;
        }
        let events = follower.follower.finish(AgentExit::Eof);
        let events = self.count_unread(events);
        remaining.extend(self.sort_events(now, events));
        remaining
    }

    /// When the sorter releases waiting events without new input.
    pub(super) fn deadline(&self) -> Option<u64> {
        match &self.state {
            LineReaderState::Following(following) => following.sorter.as_ref()?.deadline(),
            LineReaderState::Undecided { .. } => None,
        }
    }

    fn read_text_line(&mut self, text: String) -> Vec<RunEvent> {
        let events = match &mut self.state {
            LineReaderState::Following(follower) => follower.follower.line(&text),
            LineReaderState::Undecided { lines, bytes } => {
                let source = detect_source(&text);
                *bytes += text.len();
                // Lines before the detection are buffered up to a limit.
                if !text.trim().is_empty() {
                    match source.is_some() || *bytes <= MAX_UNDECIDED_BYTES {
                        true => lines.push(text),
                        false => self.tally.add_unread(self.line),
                    }
                }
                let Some(source) = source else { return Vec::new() };
                let lines = std::mem::take(lines);
                let mut follower = SourceFollower::new(source, &self.run, &self.settings);
                let events = lines.iter().flat_map(|text| follower.follower.line(text)).collect();
                self.state = LineReaderState::Following(Box::new(follower));
                events
            }
        };
        self.count_unread(events)
    }

    /// Counts unread lines and unknown events.
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
                    // In an event log such a line belongs to no run.
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

    /// Whether every line was read and every event is known.
    pub(super) fn is_clean(&self) -> bool {
        self.unread == 0 && self.unknown == 0
    }

    /// Describes unread lines, if there are any.
    pub(super) fn describe_unread(&self) -> Option<String> {
        let first = self.first?;
        let long = match self.too_long {
            0 => String::new(),
            long => format!(", {long} of them too long"),
        };
        let lines = pluralize(self.unread, "line");
        Some(format!("{lines} could not be read{long}; the first is line {first}"))
    }

    /// Describes unknown events, if there are any.
    pub(super) fn describe_unknown(&self) -> Option<String> {
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, times)| format!("`{kind}`×{times}")).collect();
        let events = pluralize(self.unknown, "event");
        (self.unknown > 0).then(|| format!("{events} not recognized: {}", kinds.join(", ")))
    }
}
