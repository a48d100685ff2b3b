//! `check` and `fix` of session files and message lists.

use foxwedge_core::{CheckOptions, Report, check as check_draft};
use foxwedge_sessions::{ParsedSession, SessionAgent, SessionText, readable_text};

use super::{report_head, with_repair};
use crate::{
    CallError, CallReply,
    history::{agent_of, read_session, session_health},
    options::CallOptions,
    report::ReportObject,
};

pub(super) fn check(
    document: &[u8],
    agent: Option<SessionAgent>,
    options: &CallOptions<'_>,
) -> Result<String, CallError> {
    let (text, agent) = recognized(document, agent)?;
    let (session, question) = open_session(&text, agent, options)?;
    let report = check_draft(session.draft(), &question);
    Ok(session_head(&session, &question, &report).end())
}

pub(super) fn fix(
    document: &[u8],
    agent: Option<SessionAgent>,
    options: &CallOptions<'_>,
) -> Result<CallReply, CallError> {
    let (text, agent) = recognized(document, agent)?;
    let (session, question) = open_session(&text, agent, options)?;
    let (rewritten, repair) = session.fix(&question);
    let changed = !repair.is_untouched();
    let head = session_head(&session, &question, &repair.after);
    let report = with_repair(head, &repair, session.draft());
    let document = changed.then(|| rewritten.pieces().flatten().copied().collect());
    Ok(CallReply { report, document })
}

fn recognized(
    document: &[u8],
    agent: Option<SessionAgent>,
) -> Result<(SessionText<'_>, SessionAgent), CallError> {
    let agent = match agent {
        Some(agent) => agent,
        None => agent_of(document)?,
    };
    Ok((readable_text(document).map_err(CallError::unreadable)?, agent))
}

/// Reads a session. Without `forApi`, what its agent tolerates is no finding.
fn open_session<'t>(
    text: &'t SessionText<'_>,
    agent: SessionAgent,
    options: &CallOptions<'_>,
) -> Result<(ParsedSession<'t>, CheckOptions), CallError> {
    let mut question = options.check_options(agent.profile())?;
    agent.restrict_rules(&mut question);
    let mut session = read_session(text, agent, question.profile)?;
    if !options.flag("forApi")? {
        session.spare_tolerated(&mut question, true);
    }
    Ok((session, question))
}

fn session_head(
    session: &ParsedSession<'_>,
    question: &CheckOptions,
    report: &Report,
) -> ReportObject {
    let profile = (!session.agent.is_ai_sdk()).then_some(question.profile);
    let messages = session.draft().messages.len();
    let head = report_head(session.agent.name(), profile, messages, report);
    match session.agent.is_ai_sdk() {
        true => head,
        false => head.text("health", session_health(session)),
    }
}
