//! What is measured.

/// Something that stands between the load and the mock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relay {
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

impl Relay {
    pub(super) fn name(self) -> &'static str {
        match self {
            Relay::Direct => "direct",
            Relay::Floor => "floor",
            Relay::Value => "floor --value",
            Relay::Nginx => "nginx",
            Relay::Bare => "foxwedge, record none",
            Relay::Recording => "foxwedge, record all",
        }
    }
}

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Answers in one piece.
    Whole,
    /// Streams that come at once.
    Burst,
    /// Streams that take their time.
    Paced,
}

/// What should come out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Goal {
    pub(super) of: Measure,
    /// What is good enough, and what would be good.
    pub(super) most: f64,
    pub(super) best: f64,
}

/// One number that a scenario is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Measure {
    /// Processor time of a request ÷ that of another relay.
    Cpu(Relay),
    /// What the median grows by ÷ what it grows by with the floor.
    Added,
    /// Microseconds that the median of the first byte grows by.
    First,
    /// Of a thousand pieces, those that were on their way for more than a millisecond, beyond those
    /// of which that is true without a relay.
    Late,
}

/// A kind of request, from so many connections.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) kind: Kind,
    pub(super) ask: &'static str,
    pub(super) format: &'static str,
    pub(super) model: &'static str,
    pub(super) connections: u32,
    pub(super) relays: &'static [Relay],
    pub(super) goals: &'static [Goal],
}

/// The model of an upstream that speaks Chat Completions.
pub(super) const CHAT_MODEL: &str = "mock-model";

/// The model of an upstream that speaks Anthropic's format.
pub(super) const ANTHROPIC_MODEL: &str = "mock-claude";

const PLAIN: &[Relay] = &[Relay::Direct, Relay::Floor, Relay::Bare, Relay::Recording];
const PARSED: &[Relay] =
    &[Relay::Direct, Relay::Floor, Relay::Value, Relay::Bare, Relay::Recording];
const STREAMS: &[Relay] =
    &[Relay::Direct, Relay::Floor, Relay::Nginx, Relay::Bare, Relay::Recording];

const fn goal(of: Measure, most: f64, best: f64) -> Goal {
    Goal { of, most, best }
}

const HOP: &[Goal] = &[goal(Measure::Cpu(Relay::Floor), 2.0, 1.4)];
const ADDED: &[Goal] = &[goal(Measure::Added, 1.6, 1.25)];
const CHECKED: &[Goal] = &[goal(Measure::Cpu(Relay::Floor), 4.0, 2.5)];
const CHANGED: &[Goal] = &[goal(Measure::Cpu(Relay::Floor), 8.0, 5.0)];
const PROMPT: &[Goal] = &[goal(Measure::First, 300.0, 100.0)];
const RELAYED: &[Goal] = &[goal(Measure::Cpu(Relay::Nginx), 6.0, 2.0)];
const RETOLD: &[Goal] = &[goal(Measure::Cpu(Relay::Value), 1.2, 0.6)];
const PUNCTUAL: &[Goal] = &[goal(Measure::Late, 1.0, 0.1)];

const BASE: Scenario = Scenario {
    name: "",
    what: "",
    kind: Kind::Whole,
    ask: "tiny",
    format: "chat",
    model: CHAT_MODEL,
    connections: 1,
    relays: PLAIN,
    goals: &[],
};

impl Scenario {
    /// All of them, the cheap ones first.
    pub(super) const ALL: [Scenario; 13] = [
        Scenario { name: "tiny-1", what: "a tiny request, one connection", goals: ADDED, ..BASE },
        Scenario {
            name: "tiny-16",
            what: "tiny requests, 16 connections",
            connections: 16,
            goals: HOP,
            ..BASE
        },
        Scenario {
            name: "history-1",
            what: "200 messages, sound, one connection",
            ask: "history",
            relays: PARSED,
            ..BASE
        },
        Scenario {
            name: "history-8",
            what: "200 messages, sound, 8 connections",
            ask: "history",
            connections: 8,
            relays: PARSED,
            goals: CHECKED,
            ..BASE
        },
        Scenario {
            name: "broken-1",
            what: "200 messages, broken and repaired, one connection",
            ask: "broken",
            relays: PARSED,
            ..BASE
        },
        Scenario {
            name: "broken-8",
            what: "200 messages, broken and repaired, 8 connections",
            ask: "broken",
            connections: 8,
            relays: PARSED,
            goals: CHANGED,
            ..BASE
        },
        Scenario {
            name: "convert-1",
            what: "200 messages of an Anthropic client for an OpenAI upstream, one connection",
            ask: "history",
            format: "anthropic",
            relays: PARSED,
            ..BASE
        },
        Scenario {
            name: "convert-8",
            what: "200 messages of an Anthropic client for an OpenAI upstream, 8 connections",
            ask: "history",
            format: "anthropic",
            connections: 8,
            relays: PARSED,
            goals: CHANGED,
            ..BASE
        },
        Scenario {
            name: "stream-1",
            what: "a stream of 200 pieces at once, one connection",
            kind: Kind::Burst,
            ask: "burst",
            relays: STREAMS,
            goals: PROMPT,
            ..BASE
        },
        Scenario {
            name: "stream-8",
            what: "streams of 200 pieces at once, 8 connections",
            kind: Kind::Burst,
            ask: "burst",
            connections: 8,
            relays: STREAMS,
            goals: RELAYED,
            ..BASE
        },
        Scenario {
            name: "retold-8",
            what: "the same for an Anthropic client of an OpenAI upstream, 8 connections",
            kind: Kind::Burst,
            ask: "burst",
            format: "anthropic",
            connections: 8,
            relays: PARSED,
            goals: RETOLD,
            ..BASE
        },
        Scenario {
            name: "retold-back-8",
            what: "the same for an OpenAI client of an Anthropic upstream, 8 connections",
            kind: Kind::Burst,
            ask: "burst",
            model: ANTHROPIC_MODEL,
            connections: 8,
            relays: PARSED,
            goals: RETOLD,
            ..BASE
        },
        Scenario {
            name: "paced-16",
            what: "streams of a piece every 2 ms, 16 connections",
            kind: Kind::Paced,
            ask: "paced",
            connections: 16,
            goals: PUNCTUAL,
            ..BASE
        },
    ];
}
