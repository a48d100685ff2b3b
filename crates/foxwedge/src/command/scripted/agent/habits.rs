//! What the agent does that a good one does not, on demand.

use std::{collections::BTreeSet, time::Duration};

use crate::say::Trouble;

/// The longest pause between two lines.
const LONGEST: u64 = 600_000;
/// The longest text.
const MOST: usize = 1 << 30;

/// A way of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Habit {
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

const NAMES: [(&str, Habit); 18] = [
    ("serial", Habit::Serial),
    ("no-partial", Habit::NoPartial),
    ("no-idle", Habit::NoIdle),
    ("garbage", Habit::Garbage),
    ("fragments", Habit::Fragments),
    ("own-tool", Habit::OwnTool),
    ("unavailable", Habit::Unavailable),
    ("words", Habit::Words),
    ("ask", Habit::Ask),
    ("permission", Habit::Permission),
    ("early-calls", Habit::EarlyCalls),
    ("bad-arguments", Habit::BadArguments),
    ("never-answers", Habit::NeverAnswers),
    ("never-ready", Habit::NeverReady),
    ("endless", Habit::Endless),
    ("die-at-start", Habit::DieAtStart),
    ("die-waiting", Habit::DieWaiting),
    ("die-answered", Habit::DieAnswered),
];

/// All of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Habits {
    all: BTreeSet<Habit>,
    /// It ends after so many pieces of what it says.
    pub(super) die_after: Option<usize>,
    /// Before each piece.
    pub(super) pause: Duration,
    /// It says so many bytes in place of what the model says.
    pub(super) huge: Option<usize>,
}

impl Habits {
    /// Reads `serial,die-after=2`.
    pub(super) fn read(told: &str) -> Result<Habits, Trouble> {
        let mut habits = Habits::default();
        for one in told.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let unread = || Trouble::new(format!("the habit `{one}` is not known"));
            let Some((name, value)) = one.split_once('=') else {
                let known = NAMES.iter().find(|(name, _)| *name == one);
                habits.all.insert(known.ok_or_else(unread)?.1);
                continue;
            };
            let number = value.trim().parse::<usize>().map_err(|_| unread())?;
            match name.trim() {
                "die-after" => habits.die_after = Some(number),
                "slow" => habits.pause = Duration::from_millis((number as u64).min(LONGEST)),
                "huge" => habits.huge = Some(number.min(MOST)),
                _ => return Err(unread()),
            }
        }
        Ok(habits)
    }

    /// Whether it has one.
    pub(super) fn has(&self, habit: Habit) -> bool {
        self.all.contains(&habit)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn habits_are_read_and_a_misspelt_one_is_told() {
        let habits = Habits::read(" serial, die-after=2 ,slow=5,huge=7,ask").unwrap();
        let all = BTreeSet::from([Habit::Serial, Habit::Ask]);
        let pause = Duration::from_millis(5);
        assert_eq!(habits, Habits { all, die_after: Some(2), pause, huge: Some(7) });
        assert_eq!(Habits::read("").unwrap(), Habits::default());
        for wrong in ["serail", "die-after", "die-after=x", "serial=1"] {
            assert!(Habits::read(wrong).is_err(), "{wrong}");
        }
    }
}
