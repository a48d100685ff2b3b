//! What a request asks for beside the conversation, in every format, both ways.
//!
//! Reading takes apart what has a meaning in more than one format and keeps everything else, as it
//! stands, for its own format. Writing says what the format can say, and lists what it cannot.
//!
//! Not everything that is left out is a loss: what asks for nothing (`n: 1`, `parallel_tool_calls:
//! true`, `tool_choice: auto`, a penalty of 0, `false`, `null`, an empty list) and what only says how
//! the answer travels (`stream`, `stream_options`) goes without a word.

mod fields;
mod field_writer;
mod setting_losses;
mod schema;
mod tools;
mod reasoning;
mod claude;
mod openai;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use foxwedge_core::{Format, Profile};

use super::{Loss, RequestSettings, settings::OriginalSettings};
use crate::{document::list_key, json::JsonObject};
use field_writer::RequestFieldWriter;
use fields::RequestFields;

/// Reads everything but the list of messages and the instructions.
pub(crate) fn read<'a>(request: &JsonObject<'_, 'a>, wire: Format) -> RequestSettings<'a> {
    let mut settings = RequestSettings::default();
    let mut fields = RequestFields::of(*request);
    fields.skip(conversation_keys(wire));
    match wire {
        Format::OpenaiChat => chat::read(&mut fields, &mut settings),
        Format::OpenaiResponses => responses::read(&mut fields, &mut settings),
        Format::Anthropic => anthropic::read(&mut fields, &mut settings),
        Format::Gemini => gemini::read(&mut fields, &mut settings),
        Format::Bedrock => bedrock::read(&mut fields, &mut settings),
    }
    fields.collect_remaining(wire, "", &mut settings.others);
    settings.original = Some(Box::new(original_settings(request, wire, &settings)));
    settings
}

/// Adds the fields of a request, each with a comma behind it, and what is lost.
///
/// `profile` is whose servers take the request, and `from` is the format the settings were read from, if there is one: some formats mean something
/// else by silence than others.
pub(crate) fn write(
    settings: &RequestSettings<'_>,
    from: Option<Format>,
    profile: Profile,
    to: Format,
    out: &mut String,
    losses: &mut Vec<Loss>,
) {
    let start = out.len();
    let mut sheet = RequestFieldWriter { settings, from, profile, to, out, start, losses };
    if let Some(spelled) = unchanged_original(settings, from, to) {
        sheet.write_text(model_key(to), settings.model.as_ref());
        if has_stream_field(to) {
            sheet.write_flag("stream", settings.stream);
        }
        spelled.members.iter().for_each(|member| sheet.write_member(member));
        return;
    }
    match to {
        Format::OpenaiChat => chat::write(&mut sheet),
        Format::OpenaiResponses => responses::write(&mut sheet),
        Format::Anthropic => anthropic::write(&mut sheet),
        Format::Gemini => gemini::write(&mut sheet),
        Format::Bedrock => bedrock::write(&mut sheet),
    }
    sheet.write_other_settings("");
    setting_losses::record_foreign_settings(&mut sheet);
}

/// The fields that hold what is said.
fn conversation_keys(wire: Format) -> &'static [&'static str] {
    match wire {
        Format::OpenaiChat => &["messages"],
        Format::OpenaiResponses => &["input", "instructions"],
        Format::Anthropic | Format::Bedrock => &["messages", "system"],
        Format::Gemini => &["contents", "systemInstruction", "system_instruction"],
    }
}

/// The field that holds the model.
fn model_key(wire: Format) -> &'static str {
    match wire {
        Format::Bedrock => "modelId",
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic | Format::Gemini => {
            "model"
        }
    }
}

/// Whether the request says that the answer comes in pieces; elsewhere its address does.
fn has_stream_field(wire: Format) -> bool {
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic => true,
        Format::Gemini | Format::Bedrock => false,
    }
}

fn original_settings<'a>(
    request: &JsonObject<'_, 'a>,
    wire: Format,
    settings: &RequestSettings<'a>,
) -> OriginalSettings<'a> {
    debug_assert!(conversation_keys(wire).contains(&list_key(wire)));
    let mut apart = conversation_keys(wire).to_vec();
    apart.extend(settings.model.is_some().then_some(model_key(wire)));
    apart.extend(settings.stream.is_some().then_some("stream"));
    let says = RequestSettings { model: None, stream: None, ..settings.clone() };
    OriginalSettings { wire, settings: says, members: request.others(&apart) }
}

/// The fields as they stood, if they still say what the settings say.
fn unchanged_original<'s, 'a>(
    settings: &'s RequestSettings<'a>,
    from: Option<Format>,
    to: Format,
) -> Option<&'s OriginalSettings<'a>> {
    let spelled = settings.original.as_deref()?;
    if from != Some(to) || spelled.wire != to {
        return None;
    }
    let now = RequestSettings { model: None, stream: None, original: None, ..settings.clone() };
    (now == spelled.settings).then_some(spelled)
}

#[cfg(test)]
mod tests;
