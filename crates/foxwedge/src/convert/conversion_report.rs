//! The result of a conversion as data, the only input of its reports.

use foxwedge_core::{EditLog, Format, Profile};
use foxwedge_formats::{
    model::{IdentifierReplacement, Loss, LossKind, LossLocation},
    stream::event::StreamLoss,
};

use crate::cli::{ConversionKind, ConversionTarget};
use foxwedge_local::{input_format::InputFormat, outcome::FileReport};

/// A conversion, successful or not.
pub(crate) struct ConversionReport {
    /// Name of the output in messages.
    pub(crate) path: String,
    pub(crate) kind: ConversionKind,
    pub(crate) from: InputFormat,
    /// Format of the input; for a session, the format of its agent's provider.
    pub(crate) wire: Format,
    pub(crate) to: ConversionTarget,
    /// The profile that the result satisfies; a message list has none.
    pub(crate) profile: Option<Profile>,
    /// Number of converted messages.
    pub(crate) messages: usize,
    pub(crate) losses: Vec<ReportedLoss>,
    /// Replaced call ids.
    pub(crate) renamed_ids: Vec<IdentifierReplacement>,
    /// Replaced tool names.
    pub(crate) renamed_tools: Vec<IdentifierReplacement>,
    /// Repairs before the conversion.
    pub(crate) repairs_before: EditLog,
    /// Repairs after the conversion, for the target.
    pub(crate) repairs_after: EditLog,
    /// Findings that the target's provider would still refuse.
    pub(crate) remaining: FileReport,
    pub(crate) ending: ConversionEnding,
}

/// How the input ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionEnding {
    /// Complete.
    Complete,
    /// With an error of the provider.
    Failed,
    /// In the middle of a response.
    Truncated,
}

/// Content that could not be converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReportedLoss {
    pub(crate) kind: LossKind,
    pub(crate) place: ReportedLossPlace,
    pub(crate) note: String,
}

/// Where the lost content was.
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
    fn from(loss: StreamLoss) -> ReportedLoss {
        ReportedLoss { kind: loss.kind, place: ReportedLossPlace::Stream, note: loss.note }
    }
}

impl ConversionReport {
    /// Whether the result is complete and valid.
    pub(crate) fn is_successful(&self) -> bool {
        // A response that reports an error is complete; a stream that ends in one is not.
        let is_complete =
            self.ending == ConversionEnding::Complete || self.kind != ConversionKind::Stream;
        is_complete && self.remaining.counts.total() == 0
    }
}
