//! `history`: what a session file holds.

use foxwedge_core::{CheckOptions, Profile};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{
    AgentDetection, FindingEffect, ParsedSession, SessionAgent, SessionText, detect_agent,
    readable_text,
};

use crate::{
    CallError, CallReply,
    options::CallOptions,
    report::{ReportObject, loss_json},
};

/// The conversation of a session, as a list of messages in the format of its provider.
pub(crate) fn history(document: &[u8], options: &str) -> Result<CallReply, CallError> {
    let options = CallOptions::read(options, &["agent"])?;
    let agent = match options.named("agent", SessionAgent::parse)? {
        Some(agent) => agent,
        None => agent_of(document)?,
    };
    let text = readable_text(document).map_err(CallError::unreadable)?;
    let session = read_session(&text, agent, agent.profile())?;
    let metadata = &session.metadata;
    let report = ReportObject::new()
        .text("agent", agent.name())
        .text("format", agent.wire().name())
        .optional("id", metadata.id.as_deref())
        .optional("title", metadata.title.as_deref())
        .optional("folder", metadata.folder.as_deref())
        .optional("version", metadata.version.as_deref())
        .optional("model", metadata.model.as_deref())
        .optional("started", metadata.started.as_deref())
        .optional("updated", metadata.updated.as_deref())
        .text("health", session_health(&session))
        .raw("messageCount", session.draft().messages.len())
        .list(
            "losses",
            session.history_losses().iter().map(|loss| loss_json(loss.kind, &loss.note)),
        )
        .end();
    Ok(CallReply { report, document: Some(session.history().into_bytes()) })
}

/// The agent that wrote a file.
pub(crate) fn agent_of(document: &[u8]) -> Result<SessionAgent, CallError> {
    let unknown = |message: String| Err(CallError::new("unknown-format", message));
    let text = readable_text(document).map_err(CallError::unreadable)?;
    match detect_agent(text.as_str()) {
        AgentDetection::Known(agent) => Ok(agent),
        AgentDetection::UnknownVersion(agent, version) => {
            unknown(format!("a session of {} in the unknown version {version}", agent.name()))
        }
        AgentDetection::Unsupported(name) => {
            unknown(format!("sessions of {name} are not supported"))
        }
        AgentDetection::Unknown => Err(CallError::unknown_format(
            text.as_str(),
            "no conversation in a known format; set `format` or `agent`",
        )),
    }
}

pub(crate) fn read_session<'t>(
    text: &'t SessionText<'_>,
    agent: SessionAgent,
    profile: Profile,
) -> Result<ParsedSession<'t>, CallError> {
    foxwedge_sessions::read(text, agent, outline_options(profile)).map_err(CallError::unreadable)
}

/// What the findings of a session mean for its agent.
pub(crate) fn session_health(session: &ParsedSession<'_>) -> &'static str {
    let mut question = CheckOptions::for_profile(session.agent.profile());
    session.agent.restrict_rules(&mut question);
    match session.rate_findings(&question).worst() {
        None | Some(FindingEffect::Tolerated) => "ok",
        Some(FindingEffect::HidesHistory) => "history-missing",
        Some(FindingEffect::Blocks) => "broken",
    }
}
