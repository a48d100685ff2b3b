//! `check` and `fix`, for requests, and through [`session`] for message lists and session files.

#[cfg(feature = "sessions")]
mod session;

use foxwedge_core::{CheckOptions, Draft, Profile, Repair, Report, check as check_draft};
use foxwedge_formats::{OutlinedDocument, detect, outline_options, read};
use foxwedge_sessions::{SessionAgent, detect_message_list};

use crate::{
    CallError, CallReply,
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
        RecognizedDocument::Session(agent) => session::check(document, agent, &options)?,
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
        RecognizedDocument::Session(agent) => session::fix(document, agent, &options),
    }
}

/// What a document is.
enum RecognizedDocument<'a> {
    Request(Box<OutlinedDocument<'a>>, CheckOptions),
    /// A session file or a message list; of which agent, its own text tells if there is none.
    Session(Option<SessionAgent>),
}

fn recognize<'a>(
    document: &'a [u8],
    options: &CallOptions<'_>,
) -> Result<RecognizedDocument<'a>, CallError> {
    if let Some(agent) = options.named("agent", SessionAgent::parse)? {
        return Ok(RecognizedDocument::Session(Some(agent)));
    }
    let named = options.text("format")?;
    if let Some(list) = named.as_deref().and_then(SessionAgent::parse) {
        return Ok(RecognizedDocument::Session(Some(list)));
    }
    let format = options.format("format")?;
    // A torn or damaged file may be a session, but is no request.
    let text = match foxwedge_formats::text(document) {
        Ok(text) => text,
        Err(error) if format.is_some() => return Err(CallError::unreadable(error)),
        Err(_) => return Ok(RecognizedDocument::Session(None)),
    };
    if format.is_none()
        && let Some(list) = detect_message_list(text)
    {
        return Ok(RecognizedDocument::Session(Some(list)));
    }
    let Some(format) = format.or_else(|| detect(text).map(|found| found.wire)) else {
        return Ok(RecognizedDocument::Session(None));
    };
    let question = options.check_options(Profile::for_format(format))?;
    let reading = read(text, format, outline_options(question.profile));
    Ok(RecognizedDocument::Request(Box::new(reading.map_err(CallError::unreadable)?), question))
}

#[cfg(not(feature = "sessions"))]
mod session {
    use super::{CallError, CallOptions, CallReply, SessionAgent};

    pub(super) fn check(
        _: &[u8],
        _: Option<SessionAgent>,
        _: &CallOptions<'_>,
    ) -> Result<String, CallError> {
        Err(CallError::new("left-out", "this module reads no session files and message lists"))
    }

    pub(super) fn fix(
        document: &[u8],
        agent: Option<SessionAgent>,
        options: &CallOptions<'_>,
    ) -> Result<CallReply, CallError> {
        check(document, agent, options).map(|report| CallReply { report, document: None })
    }
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

fn with_repair(head: ReportObject, repair: &Repair<'_>, draft: &Draft<'_>) -> String {
    head.raw("changed", !repair.is_untouched())
        .list("edits", repair.edits.iter().map(edit_json))
        .raw("losses", repair_losses_json(&repair.losses(draft)))
        .end()
}
