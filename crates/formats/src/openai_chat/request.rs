//! Settings of Chat requests.

use foxwedge_core::Profile;

use super::WIRE;
use crate::conversation::{
    JsonText, LossKind, RequestSettings, ToolChoice, ToolDeclaration, ToolInput,
    request::{
        field_writer::RequestFieldWriter,
        fields::{RequestFields, read_flag, read_text, read_texts},
        openai, openai_settings, reasoning, schema, setting_losses,
        tools::{self, free_text_input, is_free_text, provider_tool},
    },
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) fn read<'t, 'a>(fields: &mut RequestFields<'t, 'a>, settings: &mut RequestSettings<'a>) {
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
    // The legacy form of tools and tool choice.
    let legacy = |value: JsonValue<'_, 'a>| {
        value.is_list().then(|| value.list().map(read_legacy_function).collect())
    };
    let legacy: Vec<ToolDeclaration<'a>> = fields.take("functions", legacy).unwrap_or_default();
    settings.tools.extend(legacy);
    if settings.tool_choice.is_none() {
        settings.tool_choice = fields.take("function_call", read_legacy_choice);
    }
}

/// Reads stop sequences: one string or a list of strings.
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

/// Reads a legacy function, which is not an element of the list of tools.
fn read_legacy_function<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let empty_tool = || ToolDeclaration { raw: None, ..provider_tool(None, WIRE, "") };
    value.object().map_or_else(empty_tool, read_function)
}

fn read_legacy_choice<'a>(value: JsonValue<'_, 'a>) -> Option<ToolChoice<'a>> {
    let one_function = || value.object()?.get("name").and_then(read_text).map(ToolChoice::One);
    openai::read_choice(value).or_else(one_function)
}

pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    openai::write(writer);
    // Other formats always report the usage at the end of a stream.
    let is_openai = openai_settings::takes_openai_settings(writer.profile);
    if settings.stream == Some(true) && is_openai && writer.from.is_some_and(|from| from != WIRE) {
        writer.write_object("stream_options", |writer| {
            writer.write_flag("include_usage", Some(true))
        });
    }
    writer.write_json(max_tokens_key(writer), settings.max_tokens);
    writer.write_json(if is_openai { "seed" } else { "random_seed" }, settings.seed);
    writer.write_json("presence_penalty", settings.presence_penalty);
    writer.write_json("frequency_penalty", settings.frequency_penalty);
    writer.write_json("n", settings.candidate_count);
    writer.write_stops("stop", 4, |_| true);
    let effort = reasoning::choose_effort(writer).map(JsonText::from);
    writer.write_text("reasoning_effort", effort.as_ref());
    if settings.include_reasoning == Some(true) {
        writer
            .record_loss(LossKind::Setting, "reasoning output cannot be requested in this format");
    }
    match is_openai {
        true => writer.write_text("verbosity", settings.verbosity.as_ref()),
        false => setting_losses::record_verbosity(writer),
    }
    openai::write_shape(writer, "response_format");
    let written = tools::write_tools(writer, write_tool);
    openai::write_choice(writer, &written);
}

/// The field for the token limit: the newer name, unless the request used the older one, or the server
/// knows only that.
fn max_tokens_key(writer: &RequestFieldWriter<'_, '_, '_>) -> &'static str {
    let is_older = matches!(writer.profile, Profile::Mistral | Profile::Deepseek);
    if is_older || (writer.chat_server.older_token_limit && writer.from != Some(WIRE)) {
        return "max_tokens";
    }
    let original = writer.settings.original.iter().filter(|original| original.wire == WIRE);
    let mut members = original.flat_map(|original| &original.members);
    let older = members.clone().any(|member| member.starts_with("\"max_tokens\""));
    let newer = members.any(|member| member.starts_with("\"max_completion_tokens\""));
    if older && !newer { "max_tokens" } else { "max_completion_tokens" }
}

fn write_tool(writer: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    let kind = if is_free_text(tool) { "custom" } else { "function" };
    writer.out.push('{');
    writer.write_plain("type", kind);
    writer.write_object(kind, |writer| {
        writer.write_text("name", Some(&tool.name));
        writer.write_text("description", tool.description.as_ref());
        match &tool.input {
            ToolInput::Object(schema) => {
                writer.write_json("parameters", schema.as_deref());
                if openai::is_strict(writer, tool) {
                    writer.write_flag("strict", Some(true));
                }
            }
            ToolInput::Grammar { syntax, definition } => writer.write_object("format", |writer| {
                writer.write_plain("type", "grammar");
                writer.write_object("grammar", |writer| {
                    writer.write_text("syntax", Some(syntax));
                    writer.write_text("definition", Some(definition));
                });
            }),
            ToolInput::Text | ToolInput::ProviderDefined => {}
        }
    });
    writer.close_container('}');
}
