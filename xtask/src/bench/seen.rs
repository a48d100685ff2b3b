//! What the load saw of one relay.

use serde_json::Value;

use super::scenario::{Goal, Measure, Relay};

/// Pieces of text in a stream of the mock.
pub(super) const PIECES: f64 = 200.0;

/// All rounds of one relay; times in microseconds.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Seen {
    pub(super) relay: Relay,
    pub(super) errors: f64,
    pub(super) error: Option<String>,
    pub(super) per_second: f64,
    /// The whole answer.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The first byte of its body.
    pub(super) first_p50: f64,
    pub(super) first_most: f64,
    /// How many first bytes took more than five milliseconds.
    pub(super) first_slow: f64,
    /// Pieces that said when they were sent.
    pub(super) pieces: f64,
    pub(super) late_p50: f64,
    pub(super) late_p99: f64,
    /// How many of them were on their way for more than a millisecond.
    pub(super) late: f64,
    /// Processor time of a request.
    pub(super) cpu: f64,
    /// Kilobytes in memory.
    pub(super) memory: f64,
}

impl Seen {
    /// Reads a line of the load.
    pub(super) fn read(relay: Relay, line: &str) -> Result<Seen, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let number = |key: &str| {
            value[key].as_f64().ok_or_else(|| format!("load does not tell `{key}`: {line}"))
        };
        Ok(Seen {
            relay,
            errors: number("errors")?,
            error: value["error"].as_str().map(str::to_owned),
            per_second: number("per_second")?,
            p50: number("p50")?,
            p99: number("p99")?,
            first_p50: number("first_p50")?,
            first_most: number("first_most")?,
            first_slow: number("first_slow")?,
            pieces: number("pieces")?,
            late_p50: number("late_p50")?,
            late_p99: number("late_p99")?,
            late: number("late")?,
            cpu: number("cpu")?,
            memory: number("memory")?,
        })
    }

    /// Of a thousand pieces, those that were late.
    pub(super) fn late_share(&self) -> f64 {
        if self.pieces == 0.0 { 0.0 } else { self.late * 1_000.0 / self.pieces }
    }
}

/// The row of a relay.
pub(super) fn of(all: &[Seen], relay: Relay) -> Option<&Seen> {
    all.iter().find(|seen| seen.relay == relay)
}

/// The number that a scenario is about, for one relay.
pub(super) fn measured(goal: &Goal, seen: &Seen, all: &[Seen]) -> Option<f64> {
    let direct = of(all, Relay::Direct)?;
    let number = match goal.of {
        Measure::Cpu(other) => seen.cpu / of(all, other)?.cpu,
        Measure::Added => (seen.p50 - direct.p50) / (of(all, Relay::Floor)?.p50 - direct.p50),
        Measure::First => seen.first_p50 - direct.first_p50,
        Measure::Late => (seen.late_share() - direct.late_share()).max(0.0),
    };
    number.is_finite().then_some(number)
}
