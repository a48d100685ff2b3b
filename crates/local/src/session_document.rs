//! What is known about the session in a document.

use foxwedge_core::{Finding, FixApplicability, Policy};
use foxwedge_sessions::{AgentDetection, ParsedSession, SessionAgent, detect_agent};

use crate::{
    agents::LocalSessionEntry,
    check_settings::CheckSettings,
    input_format::InputFormat,
    source::{self, DocumentBody, InputDocument},
};

/// The format of a file in an agent's folder: that agent's, unless its version is unknown.
pub fn agent_format(entry: &LocalSessionEntry, content: &[u8]) -> Option<InputFormat> {
    let text = source::decode_text(content).ok()?;
    match detect_agent(text.as_str()) {
        AgentDetection::UnknownVersion(..) | AgentDetection::Unsupported(_) => None,
        AgentDetection::Known(_) | AgentDetection::Unknown => Some(InputFormat::Agent(entry.agent)),
    }
}

/// The session in a document, if it is an agent's session.
pub fn session<'d, 'a>(document: &'d InputDocument<'a>) -> Option<&'d ParsedSession<'a>> {
    match &document.body {
        DocumentBody::Session(session) => Some(session),
        DocumentBody::Wire(_) => None,
    }
}

/// The conversation in the provider format of its document.
pub fn history(document: &InputDocument<'_>) -> String {
    match &document.body {
        DocumentBody::Session(session) => session.history(),
        DocumentBody::Wire(reading) => reading.draft.source.to_owned(),
    }
}

/// Default check options for the sessions of an agent.
pub fn default_check_options(agent: SessionAgent) -> foxwedge_core::CheckOptions {
    CheckSettings::of(None, Policy::default()).options_for_agent(agent)
}

/// Whether a repair fixes a finding by default.
pub fn is_safely_fixable(finding: &Finding) -> bool {
    finding.fix.applicability == FixApplicability::Safe
}
