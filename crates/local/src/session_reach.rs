//! How much of a session reaches the model when its agent resumes it: as JSON and as text.

use foxwedge_sessions::{HistoryAmount, SessionReach};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{output::pluralize, session_health::SessionHealth};

/// The reach as JSON. Field names are stable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ReachJson {
    /// Messages of the conversation in the file.
    pub messages: usize,
    /// Those that reach the model from the file as it is.
    pub before: usize,
    /// Those that reach the model after a repair.
    pub after: usize,
    /// Estimated tokens of the same.
    pub tokens: u64,
    /// Estimated tokens that reach the model from the file as it is.
    pub tokens_before: u64,
    /// Estimated tokens that reach the model after a repair.
    pub tokens_after: u64,
}

impl From<&SessionReach> for ReachJson {
    fn from(reach: &SessionReach) -> ReachJson {
        let SessionReach { whole, before, after } = reach;
        ReachJson {
            messages: whole.messages,
            before: before.messages,
            after: after.messages,
            tokens: whole.tokens,
            tokens_before: before.tokens,
            tokens_after: after.tokens,
        }
    }
}

/// The reach as a JSON value; `null` if it is not known.
pub fn reach_json(reach: Option<&SessionReach>) -> Value {
    reach.map_or(Value::Null, |reach| json!(ReachJson::from(reach)))
}

/// Adds the reach of another session.
pub fn add_reach(sum: &mut SessionReach, other: &SessionReach) {
    let add = |sum: &mut HistoryAmount, other: &HistoryAmount| {
        sum.messages += other.messages;
        sum.tokens += other.tokens;
    };
    add(&mut sum.whole, &other.whole);
    add(&mut sum.before, &other.before);
    add(&mut sum.after, &other.after);
}

/// The word after the share in [`health_label`].
pub const UNREACHABLE: &str = " unreachable";

/// The health in a list: `history missing (37 % unreachable)`.
pub fn health_label(health: SessionHealth, reach: Option<&SessionReach>) -> String {
    let label = health.label();
    let missing = reach.map_or(0, SessionReach::unreachable_percent);
    match health {
        SessionHealth::HistoryMissing if missing > 0 => {
            format!("{label} ({missing} %{UNREACHABLE})")
        }
        _ => label.to_owned(),
    }
}

/// One sentence: how much the agent sees, and how much after a repair.
pub fn describe_reach(reach: &SessionReach) -> String {
    let SessionReach { whole, before, after } = reach;
    let all = pluralize(whole.messages, "message");
    let tokens = |amount: &HistoryAmount| format_tokens(amount.tokens);
    if before == whole {
        return format!("all of {all} ({} tokens)", tokens(whole));
    }
    let mut text =
        format!("{} of {all} ({} of {} tokens)", before.messages, tokens(before), tokens(whole));
    if after == whole {
        text.push_str("; all after a repair");
    } else if after.messages > before.messages {
        text.push_str(&format!("; {} after a repair", after.messages));
    }
    text
}

/// An estimate, so not more than two digits of it: `~950`, `~12 k`, `~1.2 M`.
fn format_tokens(tokens: u64) -> String {
    match tokens {
        0..1_000 => format!("~{tokens}"),
        1_000..10_000 => format!("~{}.{} k", tokens / 1_000, tokens % 1_000 / 100),
        10_000..1_000_000 => format!("~{} k", tokens / 1_000),
        _ => format!("~{}.{} M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(messages: usize) -> HistoryAmount {
        HistoryAmount { messages, tokens: messages as u64 * 700 }
    }

    fn reach(whole: usize, before: usize, after: usize) -> SessionReach {
        SessionReach { whole: amount(whole), before: amount(before), after: amount(after) }
    }

    #[test]
    fn the_label_names_the_share_that_is_missing() {
        let table = [
            (SessionHealth::HistoryMissing, reach(8, 5, 8), "history missing (38 % unreachable)"),
            (
                SessionHealth::HistoryMissing,
                reach(1000, 999, 999),
                "history missing (1 % unreachable)",
            ),
            (
                SessionHealth::HistoryMissing,
                reach(1000, 1, 999),
                "history missing (99 % unreachable)",
            ),
            (SessionHealth::HistoryMissing, reach(0, 0, 0), "history missing"),
            (SessionHealth::NeedsRepair, reach(8, 0, 8), "needs repair"),
            (SessionHealth::Ok, reach(8, 8, 8), "ok"),
        ];
        for (health, reach, expected) in table {
            assert_eq!(health_label(health, Some(&reach)), expected);
        }
    }

    #[test]
    fn the_sentence_compares_before_and_after() {
        let table = [
            (reach(1, 1, 1), "all of 1 message (~700 tokens)"),
            (reach(20, 5, 20), "5 of 20 messages (~3.5 k of ~14 k tokens); all after a repair"),
            (reach(20, 5, 19), "5 of 20 messages (~3.5 k of ~14 k tokens); 19 after a repair"),
            (reach(3000, 0, 0), "0 of 3000 messages (~0 of ~2.1 M tokens)"),
        ];
        for (reach, expected) in table {
            assert_eq!(describe_reach(&reach), expected);
        }
    }
}
