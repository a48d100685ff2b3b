//! All there is to say about a conversion, as data: reports read it and nothing else.

use foxwedge_core::{EditLog, Profile, Wire};
use foxwedge_dialect::{
    canon::{Loss, Lost, Renamed, Spot},
    stream::event::Skipped,
};

use crate::{
    cli::{Format, Kind},
    outcome::Judged,
};

/// A conversion, made or refused.
pub(crate) struct Told {
    /// Where the result goes, as it is shown.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) from: Format,
    /// The format that the input is told in: that of its agent's provider, if it is a session.
    pub(crate) wire: Wire,
    pub(crate) to: Wire,
    pub(crate) profile: Profile,
    /// Messages that crossed.
    pub(crate) messages: usize,
    pub(crate) losses: Vec<Missing>,
    /// Ids that stand for others now.
    pub(crate) renamed: Vec<Renamed>,
    /// Names of tools that stand for others now.
    pub(crate) names: Vec<Renamed>,
    /// What was repaired before it crossed.
    pub(crate) before: EditLog,
    /// What was repaired behind, for the target.
    pub(crate) behind: EditLog,
    /// What the target's provider would still refuse.
    pub(crate) remaining: Judged,
    pub(crate) ending: Ending,
}

/// How the input ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// As it should.
    Whole,
    /// The provider said why it does not go on.
    Failed,
    /// In the middle.
    Cut,
}

/// Something that did not cross.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Missing {
    pub(crate) what: Lost,
    pub(crate) place: Place,
    pub(crate) note: String,
}

/// Where something was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Message(usize),
    Request,
    Reply,
    Stream,
}

impl Place {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Message(_) => "message",
            Place::Request => "request",
            Place::Reply => "reply",
            Place::Stream => "stream",
        }
    }

    pub(crate) fn message(self) -> Option<usize> {
        match self {
            Place::Message(index) => Some(index),
            Place::Request | Place::Reply | Place::Stream => None,
        }
    }
}

impl From<Loss> for Missing {
    fn from(loss: Loss) -> Missing {
        let place = match loss.at {
            Spot::Message(index) => Place::Message(index),
            Spot::Request => Place::Request,
            Spot::Reply => Place::Reply,
        };
        Missing { what: loss.what, place, note: loss.note }
    }
}

impl From<Skipped> for Missing {
    fn from(skipped: Skipped) -> Missing {
        Missing { what: skipped.what, place: Place::Stream, note: skipped.note }
    }
}

impl Told {
    /// Whether the result is what was wanted.
    pub(crate) fn is_fine(&self) -> bool {
        // A whole body that tells a failure tells all there is; a stream should have told more.
        let ended = self.ending == Ending::Whole || self.kind != Kind::Stream;
        ended && self.remaining.counts.total() == 0
    }
}
