//! Reads and writes request settings in every format.
//!
//! Reading parses the settings that more than one format has, and keeps all other fields unchanged
//! for their own format. Writing emits what the format supports and lists the rest as losses.
//!
//! Not every omitted setting is a loss. Defaults (`n: 1`, `parallel_tool_calls: true`,
//! `tool_choice: auto`, a penalty of 0, `false`, `null`, an empty list) and transport options
//! (`stream`, `stream_options`) are dropped without a loss.

use foxwedge_core::{Format, Profile};

use crate::{
    anthropic, bedrock,
    conversation::{
        Loss, OriginalSettings, RequestSettings,
        request::{
            chat_server::ChatServer, field_writer::RequestFieldWriter, fields::RequestFields,
            setting_losses,
        },
    },
    envelope::list_key,
    gemini, gemini_interactions, openai_chat, openai_responses,
};
use foxwedge_json::JsonObject;

/// Reads all settings: everything but the list of messages and the instructions.
pub(crate) fn read<'a>(request: &JsonObject<'_, 'a>, format: Format) -> RequestSettings<'a> {
    let mut settings = RequestSettings::default();
    let mut fields = RequestFields::of(*request);
    fields.skip(conversation_keys(format));
    match format {
        Format::OpenaiChat => openai_chat::request::read(&mut fields, &mut settings),
        Format::OpenaiResponses => openai_responses::request::read(&mut fields, &mut settings),
        Format::Anthropic => anthropic::request::read(&mut fields, &mut settings),
        Format::Gemini => gemini::request::read(&mut fields, &mut settings),
        Format::Bedrock => bedrock::request::read(&mut fields, &mut settings),
        Format::GeminiInteractions => {
            gemini_interactions::request::read(&mut fields, &mut settings)
        }
    }
    fields.collect_remaining(format, "", &mut settings.others);
    settings.original = Some(Box::new(original_settings(request, format, &settings)));
    settings
}

/// Appends the fields of a request, each followed by a comma, and records losses.
///
/// `profile` is the target of the request. `from` is the format that the settings were read from,
/// if any: formats have different defaults for a missing field.
pub(crate) fn write(
    settings: &RequestSettings<'_>,
    from: Option<Format>,
    (profile, to): (Profile, Format),
    chat_server: ChatServer,
    out: &mut String,
    losses: &mut Vec<Loss>,
) {
    let start = out.len();
    let mut writer =
        RequestFieldWriter { settings, from, profile, to, chat_server, out, start, losses };
    if let Some(original) = unchanged_original(settings, from, to) {
        writer.write_text(model_key(to), settings.model.as_ref());
        if has_stream_field(to) {
            writer.write_flag("stream", settings.stream);
        }
        original.members.iter().for_each(|member| writer.write_member(member));
        return;
    }
    match to {
        Format::OpenaiChat => openai_chat::request::write(&mut writer),
        Format::OpenaiResponses => openai_responses::request::write(&mut writer),
        Format::Anthropic => anthropic::request::write(&mut writer),
        Format::Gemini => gemini::request::write(&mut writer),
        Format::Bedrock => bedrock::request::write(&mut writer),
        Format::GeminiInteractions => gemini_interactions::request::write(&mut writer),
    }
    writer.write_other_settings("");
    setting_losses::record_foreign_settings(&mut writer);
}

/// The fields that hold the conversation.
fn conversation_keys(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat => &["messages"],
        Format::OpenaiResponses => &["input", "instructions"],
        Format::Anthropic | Format::Bedrock => &["messages", "system"],
        Format::Gemini => &["contents", "systemInstruction", "system_instruction"],
        Format::GeminiInteractions => &["input", "system_instruction"],
    }
}

/// The field that holds the model.
fn model_key(format: Format) -> &'static str {
    match format {
        Format::Bedrock => "modelId",
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Anthropic
        | Format::Gemini
        | Format::GeminiInteractions => "model",
    }
}

/// Whether the request has a `stream` field; in the other formats the URL selects streaming.
fn has_stream_field(format: Format) -> bool {
    match format {
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Anthropic
        | Format::GeminiInteractions => true,
        Format::Gemini | Format::Bedrock => false,
    }
}

fn original_settings<'a>(
    request: &JsonObject<'_, 'a>,
    format: Format,
    settings: &RequestSettings<'a>,
) -> OriginalSettings<'a> {
    debug_assert!(conversation_keys(format).contains(&list_key(format)));
    let mut excluded = conversation_keys(format).to_vec();
    excluded.extend(settings.model.is_some().then_some(model_key(format)));
    excluded.extend(settings.stream.is_some().then_some("stream"));
    let compared = RequestSettings { model: None, stream: None, ..settings.clone() };
    OriginalSettings { wire: format, settings: compared, members: request.others(&excluded) }
}

/// The original fields, if they still match the settings.
fn unchanged_original<'s, 'a>(
    settings: &'s RequestSettings<'a>,
    from: Option<Format>,
    to: Format,
) -> Option<&'s OriginalSettings<'a>> {
    let original = settings.original.as_deref()?;
    if from != Some(to) || original.wire != to {
        return None;
    }
    let current = RequestSettings { model: None, stream: None, original: None, ..settings.clone() };
    (current == original.settings).then_some(original)
}

#[cfg(test)]
mod tests;
