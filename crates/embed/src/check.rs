//! `check` and `fix`, for requests, message lists and session files.

use foxwedge_core::{CheckOptions, Draft, Profile, Repair, Report, check as check_draft};
use foxwedge_formats::{OutlinedDocument, detect, outline_options, read};
use foxwedge_sessions::{ParsedSession, SessionAgent, SessionText, detect_message_list};

use crate::{
    CallError, CallReply,
    history::{agent_of, read_session, session_health},
    options::CallOptions,
    report::{ReportObject, edit_json, finding_json, repair_losses_json},
};

/// The options of both operations, beside those of repairs.
const NAMES: [&str; 5] = ["format", "profile", "agent", "ignore", "forApi"];

pub(crate) fn check(document: &[u8], options: &str) -> Result<CallReply, CallError> {
    let options = CallOptions::with_repairs(options, &NAMES)?;
    let report = match recognize(document, &options)? {
        RecognizedDocument::Request(reading, question) => {
            let report = check_draft(&reading.draft, &question);
            let format = reading.draft.format.name();
            let messages = reading.draft.messages.len();
            report_head(format, Some(question.profile), messages, &report).end()
        }
        RecognizedDocument::Session(text, agent) => {
            let (session, question) = open_session(&text, agent, &options)?;
            let report = check_draft(session.draft(), &question);
            session_head(&session, &question, &report).end()
        }
    };
    Ok(CallReply { report, document: None })
}

pub(crate) fn fix(document: &[u8], options: &str) -> Result<CallReply, CallError> {
    let options = CallOptions::with_repairs(options, &NAMES)?;
    match recognize(document, &options)? {
        RecognizedDocument::Request(reading, question) => {
            let (patched, repair) = reading.fix(&question);
            let changed = !repair.is_untouched();
            let format = reading.draft.format.name();
            let messages =
                if changed { repair.messages.len() } else { reading.draft.messages.len() };
            let head = report_head(format, Some(question.profile), messages, &repair.after);
            let report = with_repair(head, &repair, &reading.draft);
            let document = changed.then(|| patched.to_string().into_bytes());
            Ok(CallReply { report, document })
        }
        RecognizedDocument::Session(text, agent) => {
            let (session, question) = open_session(&text, agent, &options)?;
            let (rewritten, repair) = session.fix(&question);
            let changed = !repair.is_untouched();
            let head = session_head(&session, &question, &repair.after);
            let report = with_repair(head, &repair, session.draft());
            let document = changed.then(|| rewritten.pieces().flatten().copied().collect());
            Ok(CallReply { report, document })
        }
    }
}

/// What a document is.
enum RecognizedDocument<'a> {
    Request(Box<OutlinedDocument<'a>>, CheckOptions),
    Session(SessionText<'a>, SessionAgent),
}

fn recognize<'a>(
    document: &'a [u8],
    options: &CallOptions<'_>,
) -> Result<RecognizedDocument<'a>, CallError> {
    let session = |agent: SessionAgent| {
        let text = foxwedge_sessions::readable_text(document).map_err(CallError::unreadable)?;
        Ok(RecognizedDocument::Session(text, agent))
    };
    if let Some(agent) = options.named("agent", SessionAgent::parse)? {
        return session(agent);
    }
    let named = options.text("format")?;
    if let Some(list) = named.as_deref().and_then(SessionAgent::parse) {
        return session(list);
    }
    let format = options.format("format")?;
    // A torn or damaged file may be a session, but is no request.
    let text = match foxwedge_formats::text(document) {
        Ok(text) => text,
        Err(error) if format.is_some() => return Err(CallError::unreadable(error)),
        Err(_) => return session(agent_of(document)?),
    };
    if format.is_none()
        && let Some(list) = detect_message_list(text)
    {
        return session(list);
    }
    let Some(format) = format.or_else(|| detect(text).map(|found| found.wire)) else {
        return session(agent_of(document)?);
    };
    let question = options.check_options(Profile::for_format(format))?;
    let reading = read(text, format, outline_options(question.profile));
    Ok(RecognizedDocument::Request(Box::new(reading.map_err(CallError::unreadable)?), question))
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

fn report_head(
    format: &str,
    profile: Option<Profile>,
    messages: usize,
    report: &Report,
) -> ReportObject {
    ReportObject::new()
        .text("format", format)
        .optional("profile", profile.map(Profile::name))
        .raw("valid", report.is_clean())
        .raw("messageCount", messages)
        .raw("total", report.total())
        .list("findings", report.findings.iter().map(finding_json))
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

fn with_repair(head: ReportObject, repair: &Repair<'_>, draft: &Draft<'_>) -> String {
    head.raw("changed", !repair.is_untouched())
        .list("edits", repair.edits.iter().map(edit_json))
        .raw("losses", repair_losses_json(&repair.losses(draft)))
        .end()
}
