//! What a request asks for beside the conversation, in every format, both ways.
//!
//! Reading takes apart what has a meaning in more than one format and keeps everything else, as it
//! stands, for its own format. Writing says what the format can say, and lists what it cannot.
//!
//! Not everything that is left out is a loss: what asks for nothing (`n: 1`, `parallel_tool_calls:
//! true`, `tool_choice: auto`, a penalty of 0, `false`, `null`, an empty list) and what only says how
//! the answer travels (`stream`, `stream_options`) goes without a word.

mod fields;
mod sheet;
mod foreign;
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

use foxwedge_core::{Profile, Wire};

use super::{Loss, Settings, settings::Spelled};
use crate::{document::list_key, json::Object};
use fields::Fields;
use sheet::Sheet;

/// Reads everything but the list of messages and the instructions.
pub(crate) fn read<'a>(request: &Object<'_, 'a>, wire: Wire) -> Settings<'a> {
    let mut settings = Settings::default();
    let mut fields = Fields::of(*request);
    fields.skip(said(wire));
    match wire {
        Wire::OpenaiChat => chat::read(&mut fields, &mut settings),
        Wire::OpenaiResponses => responses::read(&mut fields, &mut settings),
        Wire::Anthropic => anthropic::read(&mut fields, &mut settings),
        Wire::Gemini => gemini::read(&mut fields, &mut settings),
        Wire::Bedrock => bedrock::read(&mut fields, &mut settings),
    }
    fields.leave(wire, "", &mut settings.others);
    settings.spelled = Some(Box::new(spelled(request, wire, &settings)));
    settings
}

/// Adds the fields of a request, each with a comma behind it, and what is lost.
///
/// `profile` is whose servers take the request, and `from` is the format the settings were read from, if there is one: some formats mean something
/// else by silence than others.
pub(crate) fn write(
    settings: &Settings<'_>,
    from: Option<Wire>,
    profile: Profile,
    to: Wire,
    out: &mut String,
    losses: &mut Vec<Loss>,
) {
    let start = out.len();
    let mut sheet = Sheet { settings, from, profile, to, out, start, losses };
    if let Some(spelled) = untouched(settings, from, to) {
        sheet.words(model(to), settings.model.as_ref());
        if has_stream(to) {
            sheet.flag("stream", settings.stream);
        }
        spelled.members.iter().for_each(|member| sheet.member(member));
        return;
    }
    match to {
        Wire::OpenaiChat => chat::write(&mut sheet),
        Wire::OpenaiResponses => responses::write(&mut sheet),
        Wire::Anthropic => anthropic::write(&mut sheet),
        Wire::Gemini => gemini::write(&mut sheet),
        Wire::Bedrock => bedrock::write(&mut sheet),
    }
    sheet.others("");
    foreign::tell(&mut sheet);
}

/// The fields that hold what is said.
fn said(wire: Wire) -> &'static [&'static str] {
    match wire {
        Wire::OpenaiChat => &["messages"],
        Wire::OpenaiResponses => &["input", "instructions"],
        Wire::Anthropic | Wire::Bedrock => &["messages", "system"],
        Wire::Gemini => &["contents", "systemInstruction", "system_instruction"],
    }
}

/// The field that holds the model.
fn model(wire: Wire) -> &'static str {
    match wire {
        Wire::Bedrock => "modelId",
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic | Wire::Gemini => "model",
    }
}

/// Whether the request says that the answer comes in pieces; elsewhere its address does.
fn has_stream(wire: Wire) -> bool {
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic => true,
        Wire::Gemini | Wire::Bedrock => false,
    }
}

fn spelled<'a>(request: &Object<'_, 'a>, wire: Wire, settings: &Settings<'a>) -> Spelled<'a> {
    debug_assert!(said(wire).contains(&list_key(wire)));
    let mut apart = said(wire).to_vec();
    apart.extend(settings.model.is_some().then_some(model(wire)));
    apart.extend(settings.stream.is_some().then_some("stream"));
    let says = Settings { model: None, stream: None, ..settings.clone() };
    Spelled { wire, says, members: request.others(&apart) }
}

/// The fields as they stood, if they still say what the settings say.
fn untouched<'s, 'a>(
    settings: &'s Settings<'a>,
    from: Option<Wire>,
    to: Wire,
) -> Option<&'s Spelled<'a>> {
    let spelled = settings.spelled.as_deref()?;
    if from != Some(to) || spelled.wire != to {
        return None;
    }
    let now = Settings { model: None, stream: None, spelled: None, ..settings.clone() };
    (now == spelled.says).then_some(spelled)
}

#[cfg(test)]
mod tests;
