//! Scores the importance of units: points with reasons that a person can add up.

/// Points and their reasons.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitScore {
    reasons: u16,
    /// Points for being recent, 0 to [`UnitScore::NEWEST`].
    pub recency: u8,
}

/// A reason to keep a unit, or to drop it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScoreReason {
    /// The user stated a constraint.
    Constraint,
    /// It has user input.
    User,
    /// The model wrote text without calls: a decision, a result.
    Decision,
    /// A call failed, and no equal call succeeded later.
    Failure,
    /// A call changed something.
    Change,
    /// It is about a recently touched file.
    RecentFile,
    /// It is among the newest.
    Newest,
    /// The same call was made again later.
    Repeated,
    /// The data it read was read or changed again later.
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

    /// Its points.
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

    /// The name in reports.
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
    /// An upper limit above the points of any unit.
    pub(super) const POINTS_LIMIT: usize = 512;

    /// Adds a reason.
    pub(super) fn add(&mut self, reason: ScoreReason) {
        self.reasons |= reason.bit();
    }

    /// Whether it has a reason.
    pub fn has(self, reason: ScoreReason) -> bool {
        self.reasons & reason.bit() != 0
    }

    /// The reasons.
    pub fn reasons(self) -> impl Iterator<Item = ScoreReason> {
        ScoreReason::ALL.into_iter().filter(move |&reason| self.has(reason))
    }

    /// Repeated or superseded calls have no value, unless the unit has user input.
    pub fn is_stale(self) -> bool {
        let again = self.has(ScoreReason::Repeated) || self.has(ScoreReason::Superseded);
        again && !self.has(ScoreReason::User) && !self.has(ScoreReason::Constraint)
    }

    /// The total number of points.
    pub fn points(self) -> u32 {
        if self.is_stale() {
            return 0;
        }
        self.reasons().map(ScoreReason::points).sum::<u32>() + u32::from(self.recency)
    }
}
