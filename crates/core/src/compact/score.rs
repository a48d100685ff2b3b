//! How much a unit matters, and why: points that a person can add up.

/// Points and what they are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Score {
    reasons: u16,
    /// Points for being recent, 0 to [`Score::NEWEST`].
    pub recency: u8,
}

/// Something that speaks for a unit, or against it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
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

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 9] = [
        Reason::Constraint,
        Reason::User,
        Reason::Decision,
        Reason::Failure,
        Reason::Change,
        Reason::RecentFile,
        Reason::Newest,
        Reason::Repeated,
        Reason::Superseded,
    ];

    /// What it counts.
    pub fn points(self) -> u32 {
        match self {
            Reason::Constraint => 50,
            Reason::User => 40,
            Reason::Decision => 25,
            Reason::Failure => 20,
            Reason::Change => 15,
            Reason::RecentFile => 20,
            Reason::Newest => 100,
            Reason::Repeated | Reason::Superseded => 0,
        }
    }

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Constraint => "user constraint",
            Reason::User => "user message",
            Reason::Decision => "decision",
            Reason::Failure => "unresolved failure",
            Reason::Change => "changes something",
            Reason::RecentFile => "recently touched file",
            Reason::Newest => "among the newest",
            Reason::Repeated => "same call made again later",
            Reason::Superseded => "read or changed again since",
        }
    }

    fn bit(self) -> u16 {
        1 << (self as u16)
    }
}

impl Score {
    /// Points of the newest unit.
    pub const NEWEST: u8 = 30;
    /// More points than any unit can have.
    pub(super) const MOST: usize = 512;

    /// Adds a reason.
    pub(super) fn add(&mut self, reason: Reason) {
        self.reasons |= reason.bit();
    }

    /// Whether a reason counts.
    pub fn has(self, reason: Reason) -> bool {
        self.reasons & reason.bit() != 0
    }

    /// The reasons.
    pub fn reasons(self) -> impl Iterator<Item = Reason> {
        Reason::ALL.into_iter().filter(move |&reason| self.has(reason))
    }

    /// What was done again is worth nothing, unless the user spoke in it.
    pub fn is_stale(self) -> bool {
        let again = self.has(Reason::Repeated) || self.has(Reason::Superseded);
        again && !self.has(Reason::User) && !self.has(Reason::Constraint)
    }

    /// All points together.
    pub fn points(self) -> u32 {
        if self.is_stale() {
            return 0;
        }
        self.reasons().map(Reason::points).sum::<u32>() + u32::from(self.recency)
    }
}
