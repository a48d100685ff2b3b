//! `convert` and `convert-response`.

use foxwedge_core::{Format, Profile};
use foxwedge_formats::{
    convert::{self, ConversionOptions, ToolNotation},
    detect,
    model::IdentifierReplacement,
};

use crate::{
    CallError, CallReply,
    options::CallOptions,
    report::{ReportObject, edit_json, finding_json, loss_json},
};

pub(crate) fn request(source: &str, options: &str) -> Result<CallReply, CallError> {
    let options = CallOptions::with_repairs(options, &["from", "to", "profile", "tools", "model"])?;
    let from = source_format(source, &options)?;
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
    let report = ReportObject::new()
        .text("from", from.name())
        .text("to", to)
        .raw("valid", converted.remaining_total == 0)
        .raw("messageCount", converted.messages)
        .list("losses", converted.losses.iter().map(|loss| loss_json(loss.kind, &loss.note)))
        .list("edits", edits.map(edit_json))
        .list("findings", converted.remaining.iter().map(finding_json))
        .list("renamed", converted.renamed.iter().map(renamed_json))
        .list("renamedTools", converted.renamed_tools.iter().map(renamed_json))
        .end();
    Ok(CallReply { report, document: Some(converted.body.into_bytes()) })
}

/// Message lists of the AI SDK.
mod list {
    use foxwedge_core::Format;
    use foxwedge_formats::convert::{ConversionOptions, ConvertedRequest};

    use crate::CallError;

    #[cfg(feature = "sessions")]
    pub(super) fn convert(
        source: &str,
        from: Format,
        ui: bool,
        options: &ConversionOptions,
    ) -> Result<ConvertedRequest, CallError> {
        use foxwedge_formats::{AiSdkList, convert::message_list};
        let list = if ui { AiSdkList::Ui } else { AiSdkList::Model };
        message_list(source, from, list, options).map_err(CallError::unreadable)
    }

    #[cfg(not(feature = "sessions"))]
    pub(super) fn convert(
        _: &str,
        _: Format,
        _: bool,
        _: &ConversionOptions,
    ) -> Result<ConvertedRequest, CallError> {
        Err(CallError::new("left-out", "this module writes no message lists"))
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
    found
        .ok_or_else(|| CallError::new("unknown-format", "no request in a known format; set `from`"))
}

pub(crate) fn target_format(options: &CallOptions<'_>) -> Result<Format, CallError> {
    let missing = || CallError::new("invalid-options", "the option `to` is missing");
    options.format("to")?.ok_or_else(missing)
}

pub(crate) fn renamed_json(replacement: &IdentifierReplacement) -> String {
    ReportObject::new().text("old", &replacement.old).text("new", &replacement.new).end()
}
