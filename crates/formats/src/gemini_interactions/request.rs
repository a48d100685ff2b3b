//! Settings of Interactions requests.

use super::WIRE;
use crate::{
    conversation::{
        JsonText, LossKind, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
        ToolDeclaration, ToolInput,
        request::{
            field_writer::RequestFieldWriter,
            fields::{RequestFields, read_text, read_texts},
            reasoning, schema, setting_losses,
            tools::{self, provider_tool},
        },
    },
    gemini::request::thinking::level_of_effort,
};
use foxwedge_json::JsonValue;

const GENERATION: &str = "generation_config";

pub(crate) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("model");
    settings.stream = fields.take_flag("stream");
    if let Some(mut inner) = fields.take_object(&[GENERATION]) {
        settings.max_tokens = inner.take_number("max_output_tokens");
        settings.temperature = inner.take_number("temperature");
        settings.top_p = inner.take_number("top_p");
        settings.seed = inner.take_number("seed");
        settings.stop_sequences = inner.take("stop_sequences", read_texts).unwrap_or_default();
        settings.effort = inner.take_text("thinking_level");
        settings.include_reasoning = inner.take("thinking_summaries", read_summaries);
        settings.tool_choice = inner.take("tool_choice", read_choice);
        inner.collect_remaining(WIRE, GENERATION, &mut settings.others);
    }
    settings.response_shape = fields.take("response_format", read_shape);
    let list =
        |value: JsonValue<'_, 'a>| value.is_list().then(|| value.list().map(read_tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
}

fn read_summaries(value: JsonValue<'_, '_>) -> Option<bool> {
    match &*value.text()? {
        "auto" => Some(true),
        "none" => Some(false),
        _ => None,
    }
}

fn read_choice<'a>(value: JsonValue<'_, 'a>) -> Option<ToolChoice<'a>> {
    if let Some(mode) = value.text() {
        return Some(match &*mode {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::Never,
            "any" => ToolChoice::Any,
            _ => return None,
        });
    }
    let object = value.object()?;
    let allowed =
        object.object("allowed_tools").filter(|_| object.others(&["allowed_tools"]).is_empty())?;
    let names = allowed.get("tools").and_then(read_texts).filter(|names| !names.is_empty())?;
    Some(match (&*allowed.text("mode")?, names.as_slice()) {
        ("any", [name]) => ToolChoice::One(name.clone()),
        ("any", _) => ToolChoice::Among { names, required: true },
        ("validated", _) => ToolChoice::Among { names, required: false },
        _ => return None,
    })
}

fn read_shape<'a>(value: JsonValue<'_, 'a>) -> Option<ResponseShape<'a>> {
    let format = value.object().filter(|format| format.text("type").as_deref() == Some("text"))?;
    if !format.others(&["type", "mime_type", "schema"]).is_empty() {
        return None;
    }
    match (format.text("mime_type").as_deref(), format.get("schema")) {
        (Some("text/plain") | None, None) => Some(ResponseShape::Text),
        (Some("application/json"), None) => Some(ResponseShape::Json),
        (Some("application/json"), Some(schema)) => Some(ResponseShape::Schema {
            name: None,
            description: None,
            schema: schema::object_schema(schema)?,
            strict: None,
        }),
        _ => None,
    }
}

fn read_tool<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return provider_tool(None, WIRE, json) };
    let kind = object.get("type").and_then(read_text);
    if kind.as_ref().is_some_and(|kind| *kind != "function") {
        return provider_tool(kind, WIRE, json);
    }
    let mut fields = RequestFields::of(object);
    fields.skip(&["type"]);
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input: ToolInput::Object(fields.take("parameters", schema::tool_schema)),
        strict: None,
        cache: None,
        others: fields.remaining_names(),
        raw: Some((WIRE, json)),
    }
}

pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    writer.write_text("model", settings.model.as_ref());
    writer.write_flag("stream", settings.stream);
    // Interactions are stored by default; requests of most other formats are not.
    if writer.from.is_some_and(|from| from != WIRE) {
        writer.write_flag("store", Some(false));
    }
    let written = tools::write_tools(writer, write_tool);
    let choice = tools::remaining_choice(writer, &written);
    setting_losses::record_parallel(writer, &written);
    writer.write_object(GENERATION, |writer| {
        writer.write_json("max_output_tokens", settings.max_tokens);
        writer.write_json("temperature", settings.temperature);
        writer.write_json("top_p", settings.top_p);
        writer.write_json("seed", settings.seed);
        writer.write_stops("stop_sequences", 5, |_| true);
        write_thinking(writer);
        write_choice(writer, choice.as_deref());
        writer.write_other_settings(GENERATION);
    });
    write_shape(writer);
    writer.record_unsupported_number("top_k", settings.top_k, None);
    writer.record_unsupported_number("presence_penalty", settings.presence_penalty, Some(0));
    writer.record_unsupported_number("frequency_penalty", settings.frequency_penalty, Some(0));
    writer.record_unsupported_number("n", settings.candidate_count, Some(1000));
    setting_losses::record_user(writer);
    setting_losses::record_verbosity(writer);
}

fn write_tool(writer: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    writer.out.push('{');
    writer.write_plain("type", "function");
    writer.write_text("name", Some(&tool.name));
    tools::write_description(writer, tool);
    if tool.input != ToolInput::Object(None) {
        writer.write_json("parameters", Some(tools::input_schema(tool)));
    }
    writer.close_container('}');
}

/// Writes the thinking settings. There is a lowest level, but no way to switch thinking off.
fn write_thinking(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    let effort = match settings.thinking {
        Some(ThinkingSetting::Off) => {
            let note = "reasoning cannot be switched off in this format; its level is `minimal`";
            writer.record_loss(LossKind::Setting, note);
            Some("minimal")
        }
        _ => reasoning::choose_effort(writer),
    };
    let level = effort.and_then(|effort| level_of_effort(writer, effort));
    writer.write_text("thinking_level", level.map(JsonText::from).as_ref());
    if let Some(include) = settings.include_reasoning {
        writer.write_plain("thinking_summaries", if include { "auto" } else { "none" });
    }
}

fn write_choice(writer: &mut RequestFieldWriter<'_, '_, '_>, choice: Option<&ToolChoice<'_>>) {
    let (mode, names) = match choice {
        None => return,
        Some(ToolChoice::Auto) => return writer.write_plain("tool_choice", "auto"),
        Some(ToolChoice::Never) => return writer.write_plain("tool_choice", "none"),
        Some(ToolChoice::Any) => return writer.write_plain("tool_choice", "any"),
        Some(ToolChoice::One(name)) => ("any", std::slice::from_ref(name)),
        Some(ToolChoice::Among { names, required: true }) => ("any", names.as_slice()),
        // The only mode that allows names without forcing a call.
        Some(ToolChoice::Among { names, required: false }) => ("validated", names.as_slice()),
    };
    writer.write_object("tool_choice", |writer| {
        writer.write_object("allowed_tools", |writer| {
            writer.write_plain("mode", mode);
            writer.write_texts("tools", names);
        });
    });
}

fn write_shape(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let Some(shape) = &writer.settings.response_shape else { return };
    writer.write_object("response_format", |writer| {
        writer.write_plain("type", "text");
        match shape {
            ResponseShape::Text => writer.write_plain("mime_type", "text/plain"),
            ResponseShape::Json => writer.write_plain("mime_type", "application/json"),
            ResponseShape::Schema { schema, .. } => {
                writer.write_plain("mime_type", "application/json");
                writer.write_json("schema", Some(schema));
            }
        }
    });
    if matches!(shape, ResponseShape::Schema { description: Some(_), .. }) {
        let note = "the description of the response schema is not supported in this format";
        writer.record_loss(LossKind::Setting, note);
    }
}
