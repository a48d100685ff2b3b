//! Settings of Responses requests.

use super::WIRE;
use crate::conversation::{
    FormatSetting, JsonText, LossKind, RequestSettings, ToolDeclaration, ToolInput,
    request::{
        field_writer::{RequestFieldWriter, setting_name},
        fields::{RequestFields, read_flag, read_text},
        openai, openai_settings, reasoning, schema, setting_losses,
        tools::{self, free_text_input, is_free_text, provider_tool},
    },
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    openai::read(fields, settings);
    settings.max_tokens = fields.take_number("max_output_tokens");
    if let Some(mut inner) = fields.take_object(&["reasoning"]) {
        openai::read_effort(inner.take_text("effort"), settings);
        settings.include_reasoning = inner.take_text("summary").map(|_| true);
        inner.collect_remaining(WIRE, "reasoning", &mut settings.others);
    }
    if let Some(mut inner) = fields.take_object(&["text"]) {
        settings.response_shape = inner.take("format", |value| openai::read_shape(value, Some));
        settings.verbosity = inner.take_text("verbosity");
        inner.collect_remaining(WIRE, "text", &mut settings.others);
    }
    let list =
        |value: JsonValue<'_, 'a>| value.is_list().then(|| value.list().map(read_tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    settings.tool_choice = fields.take("tool_choice", openai::read_choice);
}

fn read_tool<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return provider_tool(None, WIRE, json) };
    let kind = object.get("type").and_then(read_text);
    let takes_object = match kind.as_deref() {
        Some("custom") => false,
        Some("function") | None => true,
        // Hosted tools, and tools that the model is trained on: shell, patch, computer.
        Some(_) => return provider_tool(kind, WIRE, json),
    };
    let mut fields = RequestFields::of(object);
    fields.skip(&["type"]);
    let grammar = |format: &JsonObject<'_, 'a>| {
        format.get("syntax").and_then(read_text).zip(format.get("definition").and_then(read_text))
    };
    let input = match takes_object {
        true => ToolInput::Object(fields.take("parameters", schema::tool_schema)),
        false => free_text_input(fields.take("format", JsonValue::object), grammar),
    };
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input,
        strict: fields.take("strict", read_flag),
        cache: None,
        others: fields.remaining_names(),
        raw: Some((WIRE, json)),
    }
}

/// OpenAI refuses smaller limits.
const MIN_OUTPUT_TOKENS: &str = "16";

fn write_max_tokens(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let given = writer.settings.max_tokens;
    let is_small = |tokens: &&str| tokens.parse::<u8>().is_ok_and(|tokens| tokens < 16);
    if given.as_ref().is_some_and(is_small) && writer.from.is_some_and(|from| from != WIRE) {
        let note = "the limit of tokens becomes 16, the least in this format";
        writer.record_loss(LossKind::Setting, note);
        return writer.write_json("max_output_tokens", Some(MIN_OUTPUT_TOKENS));
    }
    writer.write_json("max_output_tokens", given);
}

pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    openai::write(writer);
    // No other format stores a response by default.
    let profile = writer.profile;
    let stores = |setting: &FormatSetting<'_>| {
        setting.key == "store" && openai_settings::is_shared(setting, WIRE, profile)
    };
    if writer.from.is_some_and(|from| from != WIRE) && !settings.others.iter().any(stores) {
        writer.write_flag("store", Some(false));
    }
    write_max_tokens(writer);
    setting_losses::record_numbers(writer);
    if !settings.stop_sequences.is_empty() {
        writer.record_unsupported(setting_name(writer.from, "stop"));
    }
    let effort = reasoning::choose_effort(writer).map(JsonText::from);
    writer.write_object("reasoning", |writer| {
        writer.write_text("effort", effort.as_ref());
        if settings.include_reasoning == Some(true) {
            writer.write_plain("summary", "auto");
        }
        writer.write_other_settings("reasoning");
    });
    writer.write_object("text", |writer| {
        openai::write_shape(writer, "format");
        writer.write_text("verbosity", settings.verbosity.as_ref());
        writer.write_other_settings("text");
    });
    let written = tools::write_tools(writer, write_tool);
    openai::write_choice(writer, &written);
}

fn write_tool(writer: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    writer.out.push('{');
    writer.write_plain("type", if is_free_text(tool) { "custom" } else { "function" });
    writer.write_text("name", Some(&tool.name));
    writer.write_text("description", tool.description.as_ref());
    match &tool.input {
        ToolInput::Object(_) => {
            writer.write_json("parameters", Some(tools::input_schema(tool)));
            // Strict is the default here, and in no other format.
            let strict = openai::is_strict(writer, tool);
            writer.write_flag("strict", Some(strict));
        }
        ToolInput::Grammar { syntax, definition } => writer.write_object("format", |writer| {
            writer.write_plain("type", "grammar");
            writer.write_text("syntax", Some(syntax));
            writer.write_text("definition", Some(definition));
        }),
        ToolInput::Text | ToolInput::ProviderDefined => {}
    }
    writer.close_container('}');
}
