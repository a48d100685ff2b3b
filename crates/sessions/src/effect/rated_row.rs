//! What a row of the table of agents says: the effect of some findings on an agent, from a version on.

use super::version::AgentVersion;
use crate::SessionAgent;

/// The effect of a finding on the agent that owns the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum FindingEffect {
    /// The agent opens the session with its complete history, and the provider accepts it.
    Tolerated,
    /// The agent opens the session but leaves out a part of the file's history.
    HidesHistory,
    /// The agent cannot open the session, or the provider rejects its request.
    Blocks,
}

/// The findings of a rule that a row applies to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FindingPart {
    /// All of them.
    All,
    /// Calls of the last turn that no user message follows.
    OpenEnd,
    /// Results that come before the next reply, but after a message of the user.
    SameTurn,
    /// Lines without readable content.
    NothingHidden,
    /// The same at the end of a file without a line ending: the next write appends to the line.
    OpenLine,
    /// Lines with readable content.
    HidesContent,
    /// The record that the agent needs to recognize a file.
    FirstRecord,
    /// A line before that record.
    FirstLine,
    /// A cycle that contains the last message: the file has no leaf to start from.
    WholeCycle,
    /// A record at the end of the file that belongs before later turns.
    LastMessage,
}

/// What a row rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EffectEvidence {
    /// The agent was run on a damaged session, and what it sent was looked at.
    Observed,
    /// Its source was read; the agent was not run.
    Source,
    /// Its documentation says so; the agent was not run.
    Documentation,
}

impl EffectEvidence {
    /// The word for it in tables.
    pub const fn name(self) -> &'static str {
        match self {
            EffectEvidence::Observed => "observed",
            EffectEvidence::Source => "source",
            EffectEvidence::Documentation => "documentation",
        }
    }
}

/// One row of the table: the effect of some findings on an agent, from a version on.
#[derive(Clone, Copy, Debug)]
pub struct RatedRow {
    /// The agent.
    pub agent: SessionAgent,
    /// The codes of the rules.
    pub codes: &'static [u16],
    /// Which of their findings.
    pub part: FindingPart,
    /// The first version that is known to do this.
    pub since: AgentVersion,
    /// The effect.
    pub effect: FindingEffect,
    /// How that is known.
    pub evidence: EffectEvidence,
    /// What the agent does, in which versions.
    pub behavior: &'static str,
}
