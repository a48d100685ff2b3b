//! Misbehavior of the agent, on demand.

use std::{collections::BTreeSet, time::Duration};

use anyhow::anyhow;

/// Maximum pause between two lines.
const MAX_PAUSE_MILLIS: u64 = 600_000;
/// Maximum length of a text.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// One kind of misbehavior.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AgentQuirk {
    /// Calls tools one after the other, even read-only ones.
    Serial,
    /// Never prints stream events.
    NoPartial,
    /// Never prints state changes.
    NoIdle,
    /// Prints invalid JSON and invalid UTF-8 between its lines.
    Garbage,
    /// Prints the lines of a message late and in the wrong order, and a result before its end.
    Fragments,
    /// Uses its own tool before it calls any of the host's.
    OwnTool,
    /// Rejects the first call of a host tool itself: no such tool.
    Unavailable,
    /// Prints text before a tool call.
    Words,
    /// Asks the user a question.
    Ask,
    /// Asks the user for permission.
    Permission,
    /// Requests tool results before it has printed the tool calls.
    EarlyCalls,
    /// Streams truncated arguments.
    BadArguments,
    /// Reads prompts and does not respond.
    NeverAnswers,
    /// Does not respond to anything.
    NeverReady,
    /// Starts a message and never ends it.
    Endless,
    /// Exits at start.
    DieAtStart,
    /// Exits when it waits for tool results.
    DieWaiting,
    /// Exits when it has a tool result.
    DieAnswered,
}

const QUIRK_NAMES: [(&str, AgentQuirk); 18] = [
    ("serial", AgentQuirk::Serial),
    ("no-partial", AgentQuirk::NoPartial),
    ("no-idle", AgentQuirk::NoIdle),
    ("garbage", AgentQuirk::Garbage),
    ("fragments", AgentQuirk::Fragments),
    ("own-tool", AgentQuirk::OwnTool),
    ("unavailable", AgentQuirk::Unavailable),
    ("words", AgentQuirk::Words),
    ("ask", AgentQuirk::Ask),
    ("permission", AgentQuirk::Permission),
    ("early-calls", AgentQuirk::EarlyCalls),
    ("bad-arguments", AgentQuirk::BadArguments),
    ("never-answers", AgentQuirk::NeverAnswers),
    ("never-ready", AgentQuirk::NeverReady),
    ("endless", AgentQuirk::Endless),
    ("die-at-start", AgentQuirk::DieAtStart),
    ("die-waiting", AgentQuirk::DieWaiting),
    ("die-answered", AgentQuirk::DieAnswered),
];

/// The selected quirks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct AgentQuirkSet {
    all: BTreeSet<AgentQuirk>,
    /// Exits after this number of stream events.
    pub(super) die_after: Option<usize>,
    /// Pause before each stream event.
    pub(super) pause: Duration,
    /// Prints this number of bytes in place of the model's text.
    pub(super) huge: Option<usize>,
}

impl AgentQuirkSet {
    /// Reads `serial,die-after=2`.
    pub(super) fn read(list: &str) -> anyhow::Result<AgentQuirkSet> {
        let mut quirks = AgentQuirkSet::default();
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let unknown = || anyhow!("unknown quirk `{item}`");
            let Some((name, value)) = item.split_once('=') else {
                let found = QUIRK_NAMES.iter().find(|(name, _)| *name == item);
                quirks.all.insert(found.ok_or_else(unknown)?.1);
                continue;
            };
            let number = value.trim().parse::<usize>().map_err(|_| unknown())?;
            match name.trim() {
                "die-after" => quirks.die_after = Some(number),
                "slow" => {
                    quirks.pause = Duration::from_millis((number as u64).min(MAX_PAUSE_MILLIS))
                }
                "huge" => quirks.huge = Some(number.min(MAX_TEXT_BYTES)),
                _ => return Err(unknown()),
            }
        }
        Ok(quirks)
    }

    pub(super) fn has(&self, quirk: AgentQuirk) -> bool {
        self.all.contains(&quirk)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn quirks_are_parsed_and_unknown_ones_are_refused() {
        let quirks = AgentQuirkSet::read(" serial, die-after=2 ,slow=5,huge=7,ask").unwrap();
        let all = BTreeSet::from([AgentQuirk::Serial, AgentQuirk::Ask]);
        let pause = Duration::from_millis(5);
        assert_eq!(quirks, AgentQuirkSet { all, die_after: Some(2), pause, huge: Some(7) });
        assert_eq!(AgentQuirkSet::read("").unwrap(), AgentQuirkSet::default());
        for wrong in ["serail", "die-after", "die-after=x", "serial=1"] {
            assert!(AgentQuirkSet::read(wrong).is_err(), "{wrong}");
        }
    }
}
