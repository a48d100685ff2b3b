//! `convert` and `convert-response`.

use foxwedge_core::{Format, Profile};
use foxwedge_formats::{
    convert::{self, ConversionOptions, ToolNotation},
    detect,
    model::IdentifierReplacement,
};

use foxwedge_sessions::{SessionAgent, detect_message_list};

use crate::{
    CallError, CallReply,
    options::CallOptions,
    report::{ReportObject, edit_json, finding_json, loss_json},
};

pub(crate) fn request(source: &str, options: &str) -> Result<CallReply, CallError> {
    let options = CallOptions::with_repairs(options, &["from", "to", "profile", "tools", "model"])?;
    let named = options.text("from")?;
    let agent = match named.as_deref() {
        Some(name) => SessionAgent::parse(name).filter(|agent| agent.is_ai_sdk()),
        None => detect_message_list(source),
    };
    let conversion = ConversionOptions {
        profile: options.named("profile", Profile::parse)?,
        policy: options.policy()?,
        tools: options
            .named("tools", |name| match name {
                "native" => Some(ToolNotation::Native),
                "text" => Some(ToolNotation::Text),
                _ => None,
            })?
            .unwrap_or_default(),
        model: options.text("model")?.map(|model| model.into_owned()),
        ..ConversionOptions::default()
    };
    let target = options.text("to")?;
    let list = match agent {
        Some(agent) if target.as_deref() == Some(agent.name()) => {
            return list::repair(source, agent, &options, conversion.policy);
        }
        Some(agent) => Some(list::history(source, agent)?),
        None => None,
    };
    let (source, from, lost) = match &list {
        Some((history, wire, lost)) => (history.as_str(), *wire, lost.as_slice()),
        None => (source, source_format(source, &options)?, &[][..]),
    };
    let (to, converted) = match target.as_deref() {
        Some(name @ "ai-sdk-ui") => (name, list::convert(source, from, true, &conversion)?),
        Some(name @ "ai-sdk-model") => (name, list::convert(source, from, false, &conversion)?),
        _ => {
            let to = target_format(&options)?;
            let converted = convert::request(source, from, to, &conversion);
            (to.name(), converted.map_err(CallError::unreadable)?)
        }
    };
    let edits = converted.source_edits.iter().chain(converted.target_edits.iter());
    let losses = lost.iter().chain(&converted.losses);
    let report = ReportObject::new()
        .text("from", agent.map_or(from.name(), SessionAgent::name))
        .text("to", to)
        .raw("valid", converted.remaining_total == 0)
        .raw("messageCount", converted.messages)
        .list("losses", losses.map(|loss| loss_json(loss.kind, &loss.note)))
        .list("edits", edits.map(edit_json))
        .list("findings", converted.remaining.iter().map(finding_json))
        .list("renamed", converted.renamed.iter().map(renamed_json))
        .list("renamedTools", converted.renamed_tools.iter().map(renamed_json))
        .end();
    Ok(CallReply { report, document: Some(converted.body.into_bytes()) })
}

/// Message lists of the AI SDK.
#[cfg(feature = "sessions")]
mod list {
    use foxwedge_core::{CheckOptions, Format, Policy};
    use foxwedge_formats::{
        AiSdkList,
        convert::{ConversionOptions, ConvertedRequest, message_list},
        model::Loss,
    };
    use foxwedge_sessions::{SessionAgent, readable_text};

    use crate::{
        CallError, CallReply,
        history::read_session,
        options::CallOptions,
        report::{ReportObject, edit_json, finding_json},
    };

    pub(super) fn convert(
        source: &str,
        from: Format,
        ui: bool,
        options: &ConversionOptions,
    ) -> Result<ConvertedRequest, CallError> {
        let list = if ui { AiSdkList::Ui } else { AiSdkList::Model };
        message_list(source, from, list, options).map_err(CallError::unreadable)
    }

    /// The conversation of a list in the format of a provider, and what that cannot hold.
    pub(super) fn history(
        source: &str,
        agent: SessionAgent,
    ) -> Result<(String, Format, Vec<Loss>), CallError> {
        let text = readable_text(source.as_bytes()).map_err(CallError::unreadable)?;
        let session = read_session(&text, agent, agent.profile())?;
        Ok((session.history(), agent.wire(), session.history_losses()))
    }

    /// A list that stays one of its kind: only repairs change it.
    pub(super) fn repair(
        source: &str,
        agent: SessionAgent,
        options: &CallOptions<'_>,
        policy: Policy,
    ) -> Result<CallReply, CallError> {
        let text = readable_text(source.as_bytes()).map_err(CallError::unreadable)?;
        let question = options.check_options(agent.profile())?;
        let mut question = CheckOptions { policy, ..question };
        agent.restrict_rules(&mut question);
        let session = read_session(&text, agent, question.profile)?;
        let (rewritten, repair) = session.fix(&question);
        let report = ReportObject::new()
            .text("from", agent.name())
            .text("to", agent.name())
            .raw("valid", repair.after.is_clean())
            .raw("messageCount", session.draft().messages.len())
            .list("losses", [])
            .list("edits", repair.edits.iter().map(edit_json))
            .list("findings", repair.after.findings.iter().map(finding_json))
            .list("renamed", [])
            .list("renamedTools", [])
            .end();
        Ok(CallReply { report, document: Some(rewritten.pieces().flatten().copied().collect()) })
    }
}

/// Message lists of the AI SDK, which this module does not have.
#[cfg(not(feature = "sessions"))]
mod list {
    use foxwedge_core::{Format, Policy};
    use foxwedge_formats::{
        convert::{ConversionOptions, ConvertedRequest},
        model::Loss,
    };
    use foxwedge_sessions::SessionAgent;

    use crate::{CallError, CallReply, options::CallOptions};

    fn left_out<T>() -> Result<T, CallError> {
        Err(CallError::new("left-out", "this module knows no message lists"))
    }

    pub(super) fn convert(
        _: &str,
        _: Format,
        _: bool,
        _: &ConversionOptions,
    ) -> Result<ConvertedRequest, CallError> {
        left_out()
    }

    pub(super) fn history(
        _: &str,
        _: SessionAgent,
    ) -> Result<(String, Format, Vec<Loss>), CallError> {
        left_out()
    }

    pub(super) fn repair(
        _: &str,
        _: SessionAgent,
        _: &CallOptions<'_>,
        _: Policy,
    ) -> Result<CallReply, CallError> {
        left_out()
    }
}

#[cfg(feature = "responses")]
pub(crate) fn response(source: &str, options: &str) -> Result<CallReply, CallError> {
    let options = CallOptions::read(options, &["from", "to", "model"])?;
    let Some(from) = options.format("from")? else {
        return Err(CallError::new("invalid-options", "the option `from` is missing"));
    };
    let to = target_format(&options)?;
    let conversion = ConversionOptions {
        model: options.text("model")?.map(|model| model.into_owned()),
        ..ConversionOptions::default()
    };
    let converted =
        convert::response(source, from, to, &conversion).map_err(CallError::unreadable)?;
    let report = ReportObject::new()
        .text("from", from.name())
        .text("to", to.name())
        .raw("failed", converted.failed)
        .list("losses", converted.losses.iter().map(|loss| loss_json(loss.kind, &loss.note)))
        .end();
    Ok(CallReply { report, document: Some(converted.body.into_bytes()) })
}

fn source_format(source: &str, options: &CallOptions<'_>) -> Result<Format, CallError> {
    let found = options.format("from")?.or_else(|| detect(source).map(|found| found.wire));
    let message = "no request in a known format; set `from`";
    found.ok_or_else(|| CallError::unknown_format(source, message))
}

pub(crate) fn target_format(options: &CallOptions<'_>) -> Result<Format, CallError> {
    let missing = || CallError::new("invalid-options", "the option `to` is missing");
    options.format("to")?.ok_or_else(missing)
}

pub(crate) fn renamed_json(replacement: &IdentifierReplacement) -> String {
    ReportObject::new().text("old", &replacement.old).text("new", &replacement.new).end()
}
