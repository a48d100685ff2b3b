//! One vector: a history, what each provider says to it, and the laws of its repair.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{HistoryFormat, RepairLaws};

/// The revision of the suite: vectors, protocol and laws.
pub const REVISION: &str = "2026-11";

/// One vector. Its id never gets another meaning.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteVector {
    /// `V0001` and so on.
    pub id: String,
    /// What it shows, in one line.
    pub title: String,
    /// The clause of the specification that it belongs to.
    pub clause: String,
    /// What an engine is asked to do with it.
    pub tracks: Vec<SuiteTrack>,
    /// How much an engine has to know to get it right.
    pub level: SuiteLevel,
    /// The format of the input.
    pub format: HistoryFormat,
    /// The exact text: a request, a list of messages, or a stream.
    pub input: String,
    /// Track `cut`: the number of messages that may stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
    /// What each profile says. In the track `convert`, the profiles to convert to.
    pub verdicts: BTreeMap<String, ProfileVerdict>,
    /// Why.
    pub evidence: Vec<VectorEvidence>,
    /// What a repair, a cut, a conversion or a recording must keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laws: Option<RepairLaws>,
}

/// What an engine is asked to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteTrack {
    /// Is the history valid for the profile?
    Validate,
    /// Make it valid.
    Repair,
    /// Make it shorter.
    Cut,
    /// Write it for another provider.
    Convert,
    /// Turn a stream, possibly cut off, into messages.
    Stream,
}

impl SuiteTrack {
    /// Every track.
    pub const ALL: [SuiteTrack; 5] = [
        SuiteTrack::Validate,
        SuiteTrack::Repair,
        SuiteTrack::Cut,
        SuiteTrack::Convert,
        SuiteTrack::Stream,
    ];

    /// The name in vectors and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SuiteTrack::Validate => "validate",
            SuiteTrack::Repair => "repair",
            SuiteTrack::Cut => "cut",
            SuiteTrack::Convert => "convert",
            SuiteTrack::Stream => "stream",
        }
    }

    /// The track of that name.
    pub fn parse(name: &str) -> Option<SuiteTrack> {
        SuiteTrack::ALL.into_iter().find(|track| track.name() == name)
    }
}

/// How much an engine has to know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum SuiteLevel {
    /// Pairing and order.
    A,
    /// Ids, content and roles.
    B,
    /// Reasoning, tools of the provider, calls that wait.
    C,
}

impl SuiteLevel {
    /// The letter.
    pub fn name(self) -> &'static str {
        match self {
            SuiteLevel::A => "A",
            SuiteLevel::B => "B",
            SuiteLevel::C => "C",
        }
    }

    /// The level of the clause with that rule code.
    pub fn of_code(code: u16) -> SuiteLevel {
        match code {
            101..=107 | 109 | 304 | 305 | 310 => SuiteLevel::A,
            500..=699 => SuiteLevel::C,
            _ => SuiteLevel::B,
        }
    }
}

/// What one profile says to a history.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileVerdict {
    /// The verdict.
    pub verdict: SuiteVerdict,
    /// The rules that the history breaks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The messages that may be named as the place of the defect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<usize>,
    /// Whether a repair needs a decision of the user. Then the track `repair` is not asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub needs_decision: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Whether a provider accepts a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteVerdict {
    /// It accepts it. A repair leaves it alone.
    Valid,
    /// It refuses it.
    Invalid,
    /// Both answers are right: the provider accepts it and others refuse it, or it is a state to
    /// keep and not yet one to send.
    Acceptable,
    /// There is no evidence. Nothing is asked.
    Unknown,
}

/// Why a verdict is what it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorEvidence {
    /// The profile it is about.
    pub profile: String,
    /// Its kind.
    pub kind: EvidenceKind,
    /// The month in which it was seen.
    pub seen: String,
    /// An error text, or what the source says.
    pub text: String,
}

/// Kinds of evidence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum EvidenceKind {
    /// The provider's documentation, types or published schema.
    #[serde(rename = "documentation")]
    Documentation,
    /// An error text of the provider in a public report.
    #[serde(rename = "error text")]
    ErrorText,
    /// A run of the provider's own package.
    #[serde(rename = "package run")]
    PackageRun,
    /// A recorded request and its response.
    #[serde(rename = "recorded exchange")]
    RecordedExchange,
}
