//! What the agent does that a good one does not, on demand.

use std::{collections::BTreeSet, time::Duration};

use crate::cli_output::CliError;

/// The longest pause between two lines.
const MAX_PAUSE_MILLIS: u64 = 600_000;
/// The longest text.
const MAX_TEXT_BYTES: usize = 1 << 30;

/// A way of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum AgentQuirk {
    /// It calls one tool after the other, whatever is said about them.
    Serial,
    /// It never says a message in pieces.
    NoPartial,
    /// It never says that it is idle.
    NoIdle,
    /// It prints what is no JSON between its lines, and what is no text.
    Garbage,
    /// Lines of a message come late and in the wrong order, and an answer before the message ends.
    Fragments,
    /// It uses a tool of its own before it calls any of the client's.
    OwnTool,
    /// It answers the first call of a client's tool itself: no such tool.
    Unavailable,
    /// It says something before it calls.
    Words,
    /// It asks a person to choose.
    Ask,
    /// It asks a person whether it may.
    Permission,
    /// It wants answers before it has said what it calls.
    EarlyCalls,
    /// What it streams as arguments is cut off.
    BadArguments,
    /// It takes prompts and says nothing.
    NeverAnswers,
    /// It says nothing at all.
    NeverReady,
    /// It begins to speak and never ends.
    Endless,
    /// It does not start.
    DieAtStart,
    /// It ends as soon as it waits for answers.
    DieWaiting,
    /// It ends as soon as it has one.
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

/// All of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct AgentQuirkSet {
    all: BTreeSet<AgentQuirk>,
    /// It ends after so many pieces of what it says.
    pub(super) die_after: Option<usize>,
    /// Before each piece.
    pub(super) pause: Duration,
    /// It says so many bytes in place of what the model says.
    pub(super) huge: Option<usize>,
}

impl AgentQuirkSet {
    /// Reads `serial,die-after=2`.
    pub(super) fn read(told: &str) -> Result<AgentQuirkSet, CliError> {
        let mut habits = AgentQuirkSet::default();
        for one in told.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let unread = || CliError::new(format!("the habit `{one}` is not known"));
            let Some((name, value)) = one.split_once('=') else {
                let known = QUIRK_NAMES.iter().find(|(name, _)| *name == one);
                habits.all.insert(known.ok_or_else(unread)?.1);
                continue;
            };
            let number = value.trim().parse::<usize>().map_err(|_| unread())?;
            match name.trim() {
                "die-after" => habits.die_after = Some(number),
                "slow" => {
                    habits.pause = Duration::from_millis((number as u64).min(MAX_PAUSE_MILLIS))
                }
                "huge" => habits.huge = Some(number.min(MAX_TEXT_BYTES)),
                _ => return Err(unread()),
            }
        }
        Ok(habits)
    }

    /// Whether it has one.
    pub(super) fn has(&self, habit: AgentQuirk) -> bool {
        self.all.contains(&habit)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn habits_are_read_and_a_misspelt_one_is_told() {
        let habits = AgentQuirkSet::read(" serial, die-after=2 ,slow=5,huge=7,ask").unwrap();
        let all = BTreeSet::from([AgentQuirk::Serial, AgentQuirk::Ask]);
        let pause = Duration::from_millis(5);
        assert_eq!(habits, AgentQuirkSet { all, die_after: Some(2), pause, huge: Some(7) });
        assert_eq!(AgentQuirkSet::read("").unwrap(), AgentQuirkSet::default());
        for wrong in ["serail", "die-after", "die-after=x", "serial=1"] {
            assert!(AgentQuirkSet::read(wrong).is_err(), "{wrong}");
        }
    }
}
