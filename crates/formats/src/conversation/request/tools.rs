//! Tools and tool choice: functions that all formats share.

use std::{borrow::Cow, collections::HashSet};

use foxwedge_core::Format;

use super::{field_writer::RequestFieldWriter, schema::EMPTY_SCHEMA};
use crate::conversation::{
    JsonText, LossKind, ToolChoice, ToolDeclaration, ToolInput, encode::BedrockModel,
};
use foxwedge_json::{JsonObject, quote};

/// A tool that only its format knows.
pub(crate) fn provider_tool<'a>(
    name: Option<JsonText<'a>>,
    format: Format,
    json: &'a str,
) -> ToolDeclaration<'a> {
    ToolDeclaration {
        name: name.unwrap_or_default(),
        description: None,
        input: ToolInput::ProviderDefined,
        strict: None,
        cache: None,
        others: Vec::new(),
        raw: Some((format, json)),
    }
}

/// The input of a custom tool: the format of the input, and the object in it that holds a grammar.
pub(crate) fn free_text_input<'a>(
    format: Option<JsonObject<'_, 'a>>,
    grammar: impl FnOnce(&JsonObject<'_, 'a>) -> Option<(JsonText<'a>, JsonText<'a>)>,
) -> ToolInput<'a> {
    match format.as_ref().and_then(grammar) {
        Some((syntax, definition)) => ToolInput::Grammar { syntax, definition },
        None => ToolInput::Text,
    }
}

/// Writes a tool in the target format.
pub(crate) type ToolEncoder = fn(&mut RequestFieldWriter<'_, '_, '_>, &ToolDeclaration<'_>);

/// Writes the list of tools, and returns the tools that were written.
pub(crate) fn write_tools<'s, 'a>(
    writer: &mut RequestFieldWriter<'_, 's, 'a>,
    encode: ToolEncoder,
) -> Vec<&'s ToolDeclaration<'a>> {
    let accepted: Vec<&ToolDeclaration<'a>> =
        writer.settings.tools.iter().filter(|tool| accepts_tool(writer, tool)).collect();
    writer.write_list("tools", |writer| {
        accepted.iter().for_each(|tool| write_one_tool(writer, tool, encode))
    });
    accepted
}

/// Writes a tool, followed by a comma.
pub(crate) fn write_one_tool(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
    encode: ToolEncoder,
) {
    match original_tool(writer, tool) {
        Some(json) => {
            writer.out.push_str(json);
            // Bedrock's cache marker follows the tool.
            if let Some(mark) = cache_mark(writer, tool).filter(|_| writer.to == Format::Bedrock) {
                writer.out.push(',');
                writer.out.push_str(mark);
            }
        }
        None => encode(writer, tool),
    }
    writer.out.push(',');
}

/// The original JSON of a tool from this format.
pub(crate) fn original_tool<'a>(
    writer: &RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'a>,
) -> Option<&'a str> {
    tool.raw.filter(|(format, _)| *format == writer.to).map(|(_, json)| json)
}

/// Whether a tool can be declared; records what is lost.
pub(crate) fn accepts_tool(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
) -> bool {
    if original_tool(writer, tool).is_some() {
        return true;
    }
    let name = &tool.name;
    let takes_free_text = matches!(writer.to, Format::OpenaiChat | Format::OpenaiResponses);
    match tool.input {
        _ if name.is_empty() => {
            writer.record_loss(LossKind::Tool, "a tool without a name is left out");
            return false;
        }
        ToolInput::ProviderDefined => {
            let note = format!("the tool `{name}` exists only in its own format");
            writer.record_loss(LossKind::Tool, note);
            return false;
        }
        ToolInput::Grammar { .. } if !takes_free_text => {
            let note = format!("the grammar of the tool `{name}` is described, but not enforced");
            writer.record_loss(LossKind::Tool, note);
        }
        ToolInput::Grammar { .. } | ToolInput::Text | ToolInput::Object(_) => {}
    }
    for field in &tool.others {
        let note = format!("`{field}` of the tool `{name}` is not supported in this format");
        writer.record_loss(LossKind::Tool, note);
    }
    if tool.strict == Some(true) && writer.to == Format::Gemini {
        let note = format!("the schema of the tool `{name}` is not enforced in this format");
        writer.record_loss(LossKind::Tool, note);
    }
    if tool.cache.is_some() && cache_mark(writer, tool).is_none() {
        let note =
            format!("the cache mark after the tool `{name}` is not supported in this format");
        writer.record_loss(LossKind::CacheMark, note);
    }
    true
}

/// The mark of the cached prompt after a tool, if it can be written.
pub(crate) fn cache_mark<'a>(
    writer: &RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'a>,
) -> Option<&'a str> {
    let is_taken = match writer.to {
        Format::Anthropic => true,
        Format::Bedrock => {
            BedrockModel::of(writer.settings.model.as_deref()) == BedrockModel::Claude
        }
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Gemini
        | Format::GeminiInteractions => false,
    };
    tool.cache.filter(|_| is_taken)
}

/// Whether a tool takes text instead of an object.
pub(crate) fn is_free_text(tool: &ToolDeclaration<'_>) -> bool {
    matches!(tool.input, ToolInput::Text | ToolInput::Grammar { .. })
}

/// Writes the description, for formats whose tools all take objects: it includes the grammar.
pub(crate) fn write_description(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
) {
    let description = tool.description.as_ref().filter(|text| !text.is_empty());
    match &tool.input {
        ToolInput::Grammar { syntax, definition } => {
            let before = description.map(|text| format!("{text}\n\n")).unwrap_or_default();
            let text = format!("{before}The input follows this {syntax} grammar:\n{definition}");
            writer.write_json("description", Some(&quote(&text)));
        }
        ToolInput::Object(_) | ToolInput::Text | ToolInput::ProviderDefined => {
            writer.write_text("description", description)
        }
    }
}

/// The schema of a tool, for formats that require one. A free-text tool takes an object with one
/// string.
pub(crate) fn input_schema<'t>(tool: &'t ToolDeclaration<'_>) -> &'t str {
    match &tool.input {
        ToolInput::Object(Some(schema)) => schema,
        ToolInput::Text | ToolInput::Grammar { .. } => {
            "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\
             \"required\":[\"input\"]}"
        }
        ToolInput::Object(None) | ToolInput::ProviderDefined => EMPTY_SCHEMA,
    }
}

/// The tool choice that remains among the written tools.
pub(crate) fn remaining_choice<'s, 'a>(
    writer: &mut RequestFieldWriter<'_, 's, 'a>,
    written: &[&ToolDeclaration<'a>],
) -> Option<Cow<'s, ToolChoice<'a>>> {
    let choice = writer.settings.tool_choice.as_ref()?;
    if writer.from == Some(writer.to) {
        return (!written.is_empty()).then_some(Cow::Borrowed(choice));
    }
    let known: HashSet<&str> = written.iter().map(|tool| &*tool.name).collect();
    let was_written = |name: &JsonText<'_>| known.contains(&**name);
    let remaining = match choice {
        _ if written.is_empty() => None,
        ToolChoice::Auto | ToolChoice::Never | ToolChoice::Any => Some(Cow::Borrowed(choice)),
        ToolChoice::One(name) => was_written(name).then_some(Cow::Borrowed(choice)),
        ToolChoice::Among { names, required } => {
            let names: Vec<JsonText<'a>> =
                names.iter().filter(|name| was_written(name)).cloned().collect();
            let narrowed = ToolChoice::Among { names: names.clone(), required: *required };
            (!names.is_empty()).then_some(Cow::Owned(narrowed))
        }
    };
    // Without tools, no call can be forced.
    if remaining.is_none() && !matches!(choice, ToolChoice::Auto | ToolChoice::Never) {
        writer.record_loss(LossKind::ToolChoice, "the tools to choose from were left out");
    }
    remaining
}

/// The tool choice for formats that cannot restrict it to some of the tools.
pub(crate) fn widen_choice<'s, 'a>(
    writer: &mut RequestFieldWriter<'_, 's, 'a>,
    choice: Cow<'s, ToolChoice<'a>>,
) -> Cow<'s, ToolChoice<'a>> {
    let ToolChoice::Among { names, required } = &*choice else { return choice };
    if let ([name], true) = (names.as_slice(), required) {
        return Cow::Owned(ToolChoice::One(name.clone()));
    }
    let note = "the choice of tools cannot be restricted in this format";
    writer.record_loss(LossKind::ToolChoice, note);
    Cow::Owned(if *required { ToolChoice::Any } else { ToolChoice::Auto })
}

/// Whether a call is required.
pub(crate) fn is_forced(choice: Option<&ToolChoice<'_>>) -> bool {
    match choice {
        Some(ToolChoice::Any | ToolChoice::One(_)) => true,
        Some(ToolChoice::Among { required, .. }) => *required,
        Some(ToolChoice::Auto | ToolChoice::Never) | None => false,
    }
}
