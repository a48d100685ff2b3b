//! The settings of a chat request.

use foxwedge_core::{Format, Profile};

use super::{
    field_writer::RequestFieldWriter,
    fields::{RequestFields, read_flag, read_text, read_texts},
    openai, reasoning, schema,
    tools::{self, free_text_input, is_free_text, provider_tool},
};
use crate::{
    json::{JsonObject, JsonValue},
    model::{JsonText, LossKind, RequestSettings, ToolChoice, ToolDeclaration, ToolInput},
};

const WIRE: Format = Format::OpenaiChat;

pub(super) fn read<'t, 'a>(fields: &mut RequestFields<'t, 'a>, settings: &mut RequestSettings<'a>) {
    openai::read(fields, settings);
    // The second is the older name of the first.
    settings.max_tokens =
        fields.take_first(&["max_completion_tokens", "max_tokens"], JsonValue::number);
    settings.seed = fields.take_number("seed");
    settings.presence_penalty = fields.take_number("presence_penalty");
    settings.frequency_penalty = fields.take_number("frequency_penalty");
    settings.candidate_count = fields.take_number("n");
    settings.stop_sequences = fields.take("stop", read_stops).unwrap_or_default();
    openai::read_effort(fields.take_text("reasoning_effort"), settings);
    settings.verbosity = fields.take_text("verbosity");
    let inner = |object: JsonObject<'t, 'a>| object.object("json_schema");
    settings.response_shape =
        fields.take("response_format", |value| openai::read_shape(value, inner));
    let list =
        |value: JsonValue<'_, 'a>| value.is_list().then(|| value.list().map(read_tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    settings.tool_choice = fields.take("tool_choice", openai::read_choice);
    // The older form of tools and of the choice between them.
    let older = |value: JsonValue<'_, 'a>| {
        value.is_list().then(|| value.list().map(read_legacy_function).collect())
    };
    let older: Vec<ToolDeclaration<'a>> = fields.take("functions", older).unwrap_or_default();
    settings.tools.extend(older);
    if settings.tool_choice.is_none() {
        settings.tool_choice = fields.take("function_call", read_legacy_choice);
    }
}

/// One text or a list of them.
fn read_stops<'a>(value: JsonValue<'_, 'a>) -> Option<Vec<JsonText<'a>>> {
    read_text(value).map(|text| vec![text]).or_else(|| read_texts(value))
}

fn read_tool<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return provider_tool(None, WIRE, json) };
    let kind = object.get("type").and_then(read_text);
    match kind.as_deref() {
        Some("custom") => read_custom(object.object("custom").unwrap_or(object), json),
        Some("function") | None => {
            let inner = object.object("function").unwrap_or(object);
            ToolDeclaration { raw: Some((WIRE, json)), ..read_function(inner) }
        }
        Some(_) => provider_tool(kind, WIRE, json),
    }
}

fn read_function<'a>(object: JsonObject<'_, 'a>) -> ToolDeclaration<'a> {
    let mut fields = RequestFields::of(object);
    fields.skip(&["type"]);
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input: ToolInput::Object(fields.take("parameters", schema::tool_schema)),
        strict: fields.take("strict", read_flag),
        cache: None,
        others: fields.remaining_names(),
        raw: None,
    }
}

fn read_custom<'a>(object: JsonObject<'_, 'a>, json: &'a str) -> ToolDeclaration<'a> {
    let mut fields = RequestFields::of(object);
    fields.skip(&["type"]);
    let grammar = |format: &JsonObject<'_, 'a>| {
        let grammar = format.object("grammar")?;
        grammar.get("syntax").and_then(read_text).zip(grammar.get("definition").and_then(read_text))
    };
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input: free_text_input(fields.take("format", JsonValue::object), grammar),
        strict: None,
        cache: None,
        others: fields.remaining_names(),
        raw: Some((WIRE, json)),
    }
}

/// A function of the older form is no element of the list of tools.
fn read_legacy_function<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let nothing = || ToolDeclaration { raw: None, ..provider_tool(None, WIRE, "") };
    value.object().map_or_else(nothing, read_function)
}

fn read_legacy_choice<'a>(value: JsonValue<'_, 'a>) -> Option<ToolChoice<'a>> {
    let named = || value.object()?.get("name").and_then(read_text).map(ToolChoice::One);
    openai::read_choice(value).or_else(named)
}

pub(super) fn write(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = sheet.settings;
    openai::write(sheet);
    // Other formats always tell at the end of a stream what it cost.
    if settings.stream == Some(true) && sheet.from.is_some_and(|from| from != WIRE) {
        sheet.write_object("stream_options", |sheet| sheet.write_flag("include_usage", Some(true)));
    }
    sheet.write_json(max_tokens_key(settings, sheet.profile), settings.max_tokens);
    sheet.write_json("seed", settings.seed);
    sheet.write_json("presence_penalty", settings.presence_penalty);
    sheet.write_json("frequency_penalty", settings.frequency_penalty);
    sheet.write_json("n", settings.candidate_count);
    sheet.write_stops("stop", 4, |_| true);
    let effort = reasoning::choose_effort(sheet).map(JsonText::from);
    sheet.write_text("reasoning_effort", effort.as_ref());
    if settings.include_reasoning == Some(true) {
        sheet
            .record_loss(LossKind::Setting, "what was reasoned cannot be asked for in this format");
    }
    sheet.write_text("verbosity", settings.verbosity.as_ref());
    openai::write_shape(sheet, "response_format");
    let written = tools::write_tools(sheet, write_tool);
    openai::write_choice(sheet, &written);
}

/// The newer name of the limit, unless the request itself went by the older one: many servers that
/// speak this format know no other.
fn max_tokens_key(settings: &RequestSettings<'_>, profile: Profile) -> &'static str {
    if matches!(profile, Profile::Mistral | Profile::Deepseek) {
        return "max_tokens";
    }
    let spelled = settings.original.iter().filter(|spelled| spelled.wire == WIRE);
    let mut members = spelled.flat_map(|spelled| &spelled.members);
    let older = members.clone().any(|member| member.starts_with("\"max_tokens\""));
    let newer = members.any(|member| member.starts_with("\"max_completion_tokens\""));
    if older && !newer { "max_tokens" } else { "max_completion_tokens" }
}

fn write_tool(sheet: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    let kind = if is_free_text(tool) { "custom" } else { "function" };
    sheet.out.push('{');
    sheet.write_plain("type", kind);
    sheet.write_object(kind, |sheet| {
        sheet.write_text("name", Some(&tool.name));
        sheet.write_text("description", tool.description.as_ref());
        match &tool.input {
            ToolInput::Object(schema) => {
                sheet.write_json("parameters", schema.as_deref());
                if openai::is_strict(sheet, tool) {
                    sheet.write_flag("strict", Some(true));
                }
            }
            ToolInput::Grammar { syntax, definition } => sheet.write_object("format", |sheet| {
                sheet.write_plain("type", "grammar");
                sheet.write_object("grammar", |sheet| {
                    sheet.write_text("syntax", Some(syntax));
                    sheet.write_text("definition", Some(definition));
                });
            }),
            ToolInput::Text | ToolInput::ProviderDefined => {}
        }
    });
    sheet.close_container('}');
}
