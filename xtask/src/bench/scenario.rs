//! What is measured, and what the load generator reports.

use serde_json::Value;

/// Something that is between the load and the mock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RelayKind {
    /// Nothing.
    Direct,
    /// A relay that looks at nothing.
    Floor,
    /// A relay that parses and writes everything.
    Value,
    /// nginx, where there is one.
    Nginx,
    /// The gateway; sessions are found, but no runs written.
    Bare,
    /// The gateway as it is started without options.
    Recording,
}

impl RelayKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            RelayKind::Direct => "direct",
            RelayKind::Floor => "floor",
            RelayKind::Value => "floor --value",
            RelayKind::Nginx => "nginx",
            RelayKind::Bare => "foxwedge, record none",
            RelayKind::Recording => "foxwedge, record all",
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ResponseKind {
    /// Whole responses.
    Whole,
    /// Streams that come at once.
    Burst,
    /// Streams that take their time.
    Paced,
}

/// What should come out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LoadGoal {
    pub(super) of: GoalMeasure,
    /// What is good enough, and what would be good.
    pub(super) most: f64,
    pub(super) best: f64,
}

/// One number that a scenario is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GoalMeasure {
    /// Processor time of a request ÷ that of another relay.
    Cpu(RelayKind),
    /// What the median grows by ÷ what it grows by with the floor.
    Added,
    /// Microseconds that the median of the first byte grows by.
    First,
    /// Of a thousand chunks, those that were on their way for more than a millisecond, beyond those
    /// of which that is true without a relay.
    Late,
}

/// Requests of one kind.
#[derive(Clone, Copy)]
pub(super) struct LoadRequest {
    pub(super) response: ResponseKind,
    /// What the load generator calls it.
    pub(super) name: &'static str,
    pub(super) format: &'static str,
    pub(super) model: &'static str,
}

/// Requests of one kind over a number of connections.
pub(super) struct LoadScenario {
    pub(super) name: &'static str,
    pub(super) request: LoadRequest,
    pub(super) connections: u32,
    pub(super) relays: &'static [RelayKind],
    pub(super) goals: &'static [LoadGoal],
    pub(super) description: &'static str,
}

/// The model of an upstream that speaks Chat Completions.
pub(super) const CHAT_MODEL: &str = "mock-model";

/// The model of an upstream that speaks Anthropic's format.
pub(super) const ANTHROPIC_MODEL: &str = "mock-claude";

const PLAIN: &[RelayKind] =
    &[RelayKind::Direct, RelayKind::Floor, RelayKind::Bare, RelayKind::Recording];
const PARSED: &[RelayKind] =
    &[RelayKind::Direct, RelayKind::Floor, RelayKind::Value, RelayKind::Bare, RelayKind::Recording];
const STREAMS: &[RelayKind] =
    &[RelayKind::Direct, RelayKind::Floor, RelayKind::Nginx, RelayKind::Bare, RelayKind::Recording];

const fn goal(of: GoalMeasure, most: f64, best: f64) -> LoadGoal {
    LoadGoal { of, most, best }
}

const HOP: &[LoadGoal] = &[goal(GoalMeasure::Cpu(RelayKind::Floor), 2.0, 1.4)];
const ADDED: &[LoadGoal] = &[goal(GoalMeasure::Added, 1.6, 1.25)];
const CHECKED: &[LoadGoal] = &[goal(GoalMeasure::Cpu(RelayKind::Floor), 4.0, 2.5)];
const CHANGED: &[LoadGoal] = &[goal(GoalMeasure::Cpu(RelayKind::Floor), 8.0, 5.0)];
const FIRST_BYTE: &[LoadGoal] = &[goal(GoalMeasure::First, 300.0, 100.0)];
const RELAYED: &[LoadGoal] = &[goal(GoalMeasure::Cpu(RelayKind::Nginx), 6.0, 2.0)];
const REWRITTEN: &[LoadGoal] = &[goal(GoalMeasure::Cpu(RelayKind::Value), 1.2, 0.6)];
const ON_TIME: &[LoadGoal] = &[goal(GoalMeasure::Late, 1.0, 0.1)];

const fn request(response: ResponseKind, name: &'static str) -> LoadRequest {
    LoadRequest { response, name, format: "chat", model: CHAT_MODEL }
}

const TINY: LoadRequest = request(ResponseKind::Whole, "tiny");
const HISTORY: LoadRequest = request(ResponseKind::Whole, "history");
const BROKEN: LoadRequest = request(ResponseKind::Whole, "broken");
const BURST: LoadRequest = request(ResponseKind::Burst, "burst");
const PACED: LoadRequest = request(ResponseKind::Paced, "paced");
const CONVERTED: LoadRequest = LoadRequest { format: "anthropic", ..HISTORY };
const TO_ANTHROPIC: LoadRequest = LoadRequest { format: "anthropic", ..BURST };
const TO_CHAT: LoadRequest = LoadRequest { model: ANTHROPIC_MODEL, ..BURST };

const fn scenario(
    name: &'static str,
    request: LoadRequest,
    connections: u32,
    relays: &'static [RelayKind],
    goals: &'static [LoadGoal],
    description: &'static str,
) -> LoadScenario {
    LoadScenario { name, request, connections, relays, goals, description }
}

impl LoadScenario {
    /// All of them, the cheap ones first.
    #[rustfmt::skip]
    pub(super) const ALL: [LoadScenario; 13] = [
        scenario("tiny-1", TINY, 1, PLAIN, ADDED, "a tiny request, one connection"),
        scenario("tiny-16", TINY, 16, PLAIN, HOP, "tiny requests, 16 connections"),
        scenario("history-1", HISTORY, 1, PARSED, &[], "200 messages, sound, one connection"),
        scenario("history-8", HISTORY, 8, PARSED, CHECKED, "200 messages, sound, 8 connections"),
        scenario("broken-1", BROKEN, 1, PARSED, &[],
            "200 messages, broken and repaired, one connection"),
        scenario("broken-8", BROKEN, 8, PARSED, CHANGED,
            "200 messages, broken and repaired, 8 connections"),
        scenario("convert-1", CONVERTED, 1, PARSED, &[],
            "200 messages of an Anthropic client for an OpenAI upstream, one connection"),
        scenario("convert-8", CONVERTED, 8, PARSED, CHANGED,
            "200 messages of an Anthropic client for an OpenAI upstream, 8 connections"),
        scenario("stream-1", BURST, 1, STREAMS, FIRST_BYTE,
            "a stream of 200 chunks at once, one connection"),
        scenario("stream-8", BURST, 8, STREAMS, RELAYED,
            "streams of 200 chunks at once, 8 connections"),
        scenario("retold-8", TO_ANTHROPIC, 8, PARSED, REWRITTEN,
            "the same for an Anthropic client of an OpenAI upstream, 8 connections"),
        scenario("retold-back-8", TO_CHAT, 8, PARSED, REWRITTEN,
            "the same for an OpenAI client of an Anthropic upstream, 8 connections"),
        scenario("paced-16", PACED, 16, PLAIN, ON_TIME,
            "streams of a chunk every 2 ms, 16 connections"),
    ];
}

/// Chunks of text in a stream of the mock.
pub(super) const CHUNKS: f64 = 200.0;

/// What the load generator measured with one relay in all rounds; times in microseconds.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LoadResult {
    pub(super) relay: RelayKind,
    line: Value,
}

impl LoadResult {
    /// Reads a line of the load generator.
    pub(super) fn read(relay: RelayKind, line: &str) -> Result<LoadResult, String> {
        let line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        Ok(LoadResult { relay, line })
    }

    /// One of its numbers; not a number if there is none.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.line[name].as_f64().unwrap_or(f64::NAN)
    }

    /// The errors, if there were any.
    pub(super) fn failure(&self, scenario: &str) -> Option<String> {
        let (errors, why) = (self.number("errors"), self.line["error"].as_str().unwrap_or(""));
        let name = self.relay.name();
        (errors != 0.0).then(|| format!("{scenario}, {name}: {errors} errors, {why}"))
    }

    /// Of a thousand chunks, those that were late.
    pub(super) fn late_share(&self) -> f64 {
        let chunks = self.number("chunks");
        if chunks == 0.0 { 0.0 } else { self.number("late") * 1_000.0 / chunks }
    }

    /// The number that a scenario is about.
    pub(super) fn measured(&self, goal: &LoadGoal, all: &[LoadResult]) -> Option<f64> {
        let direct = of(all, RelayKind::Direct)?;
        let added = |result: &LoadResult, name| result.number(name) - direct.number(name);
        let number = match goal.of {
            GoalMeasure::Cpu(other) => self.number("cpu") / of(all, other)?.number("cpu"),
            GoalMeasure::Added => added(self, "p50") / added(of(all, RelayKind::Floor)?, "p50"),
            GoalMeasure::First => added(self, "first_p50"),
            GoalMeasure::Late => (self.late_share() - direct.late_share()).max(0.0),
        };
        number.is_finite().then_some(number)
    }
}

/// The result of a relay.
pub(super) fn of(all: &[LoadResult], relay: RelayKind) -> Option<&LoadResult> {
    all.iter().find(|result| result.relay == relay)
}
