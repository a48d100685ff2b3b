//! All there is to say about a conversion, as data: reports read it and nothing else.

use foxwedge_core::{EditLog, Format, Profile};
use foxwedge_formats::{
    model::{IdentifierReplacement, Loss, LossKind, LossLocation},
    stream::event::StreamLoss,
};

use crate::{
    cli::{ConversionKind, InputFormat},
    outcome::FileReport,
};

/// A conversion, made or refused.
pub(crate) struct ConversionReport {
    /// Where the result goes, as it is shown.
    pub(crate) path: String,
    pub(crate) kind: ConversionKind,
    pub(crate) from: InputFormat,
    /// The format that the input is told in: that of its agent's provider, if it is a session.
    pub(crate) wire: Format,
    pub(crate) to: Format,
    pub(crate) profile: Profile,
    /// Messages that crossed.
    pub(crate) messages: usize,
    pub(crate) losses: Vec<ReportedLoss>,
    /// Ids that stand for others now.
    pub(crate) renamed_ids: Vec<IdentifierReplacement>,
    /// Names of tools that stand for others now.
    pub(crate) renamed_tools: Vec<IdentifierReplacement>,
    /// What was repaired before it crossed.
    pub(crate) repairs_before: EditLog,
    /// What was repaired behind, for the target.
    pub(crate) repairs_after: EditLog,
    /// What the target's provider would still refuse.
    pub(crate) remaining: FileReport,
    pub(crate) ending: ConversionEnding,
}

/// How the input ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionEnding {
    /// As it should.
    Complete,
    /// The provider said why it does not go on.
    Failed,
    /// In the middle.
    Truncated,
}

/// Something that did not cross.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReportedLoss {
    pub(crate) kind: LossKind,
    pub(crate) place: ReportedLossPlace,
    pub(crate) note: String,
}

/// Where something was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportedLossPlace {
    Message(usize),
    Request,
    Reply,
    Stream,
}

impl ReportedLossPlace {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReportedLossPlace::Message(_) => "message",
            ReportedLossPlace::Request => "request",
            ReportedLossPlace::Reply => "reply",
            ReportedLossPlace::Stream => "stream",
        }
    }

    pub(crate) fn message(self) -> Option<usize> {
        match self {
            ReportedLossPlace::Message(index) => Some(index),
            ReportedLossPlace::Request | ReportedLossPlace::Reply | ReportedLossPlace::Stream => {
                None
            }
        }
    }
}

impl From<Loss> for ReportedLoss {
    fn from(loss: Loss) -> ReportedLoss {
        let place = match loss.location {
            LossLocation::Message(index) => ReportedLossPlace::Message(index),
            LossLocation::Request => ReportedLossPlace::Request,
            LossLocation::Reply => ReportedLossPlace::Reply,
        };
        ReportedLoss { kind: loss.kind, place, note: loss.note }
    }
}

impl From<StreamLoss> for ReportedLoss {
    fn from(skipped: StreamLoss) -> ReportedLoss {
        ReportedLoss { kind: skipped.kind, place: ReportedLossPlace::Stream, note: skipped.note }
    }
}

impl ConversionReport {
    /// Whether the result is what was wanted.
    pub(crate) fn is_successful(&self) -> bool {
        // A whole body that tells a failure tells all there is; a stream should have told more.
        let ended =
            self.ending == ConversionEnding::Complete || self.kind != ConversionKind::Stream;
        ended && self.remaining.counts.total() == 0
    }
}
