//! How much a unit matters, and why: points that a person can add up.

/// Points and what they are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitScore {
    reasons: u16,
    /// Points for being recent, 0 to [`Score::NEWEST`].
    pub recency: u8,
}

/// Something that speaks for a unit, or against it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScoreReason {
    /// The user said what must or must not be.
    Constraint,
    /// The user said something.
    User,
    /// The model said something without calling: a decision, a result.
    Decision,
    /// A call failed, and nothing like it worked later.
    Failure,
    /// A call changed something.
    Change,
    /// It is about a file that was touched just now.
    RecentFile,
    /// It is among the newest.
    Newest,
    /// The same call was made again later.
    Repeated,
    /// What was read has been read or changed again since.
    Superseded,
}

impl ScoreReason {
    /// Every reason.
    pub const ALL: [ScoreReason; 9] = [
        ScoreReason::Constraint,
        ScoreReason::User,
        ScoreReason::Decision,
        ScoreReason::Failure,
        ScoreReason::Change,
        ScoreReason::RecentFile,
        ScoreReason::Newest,
        ScoreReason::Repeated,
        ScoreReason::Superseded,
    ];

    /// What it counts.
    pub fn points(self) -> u32 {
        match self {
            ScoreReason::Constraint => 50,
            ScoreReason::User => 40,
            ScoreReason::Decision => 25,
            ScoreReason::Failure => 20,
            ScoreReason::Change => 15,
            ScoreReason::RecentFile => 20,
            ScoreReason::Newest => 100,
            ScoreReason::Repeated | ScoreReason::Superseded => 0,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            ScoreReason::Constraint => "user constraint",
            ScoreReason::User => "user message",
            ScoreReason::Decision => "decision",
            ScoreReason::Failure => "unresolved failure",
            ScoreReason::Change => "changes something",
            ScoreReason::RecentFile => "recently touched file",
            ScoreReason::Newest => "among the newest",
            ScoreReason::Repeated => "same call made again later",
            ScoreReason::Superseded => "read or changed again since",
        }
    }

    fn bit(self) -> u16 {
        1 << (self as u16)
    }
}

impl UnitScore {
    /// Points of the newest unit.
    pub const NEWEST: u8 = 30;
    /// More points than any unit can have.
    pub(super) const POINTS_LIMIT: usize = 512;

    /// Adds a reason.
    pub(super) fn add(&mut self, reason: ScoreReason) {
        self.reasons |= reason.bit();
    }

    /// Whether a reason counts.
    pub fn has(self, reason: ScoreReason) -> bool {
        self.reasons & reason.bit() != 0
    }

    /// The reasons.
    pub fn reasons(self) -> impl Iterator<Item = ScoreReason> {
        ScoreReason::ALL.into_iter().filter(move |&reason| self.has(reason))
    }

    /// What was done again is worth nothing, unless the user spoke in it.
    pub fn is_stale(self) -> bool {
        let again = self.has(ScoreReason::Repeated) || self.has(ScoreReason::Superseded);
        again && !self.has(ScoreReason::User) && !self.has(ScoreReason::Constraint)
    }

    /// All points together.
    pub fn points(self) -> u32 {
        if self.is_stale() {
            return 0;
        }
        self.reasons().map(ScoreReason::points).sum::<u32>() + u32::from(self.recency)
    }
}
