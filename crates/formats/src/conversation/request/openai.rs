//! Settings that Chat and Responses share.

use std::collections::HashSet;

use foxwedge_core::Format;

use super::{
    field_writer::RequestFieldWriter,
    fields::{RequestFields, read_flag, read_text},
    openai_settings::{is_shared, takes_openai_settings},
    schema, setting_losses,
    tools::{self, is_free_text},
};
use crate::conversation::{
    JsonText, LossKind, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
    ToolDeclaration,
};
use foxwedge_json::{JsonObject, JsonValue};

/// Reads the settings that have the same name in both formats.
pub(crate) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("model");
    settings.stream = fields.take_flag("stream");
    settings.temperature = fields.take_number("temperature");
    settings.top_p = fields.take_number("top_p");
    settings.top_k = fields.take_number("top_k");
    settings.parallel_calls = fields.take_flag("parallel_tool_calls");
    // The second is the newer name of the first; a request may have both, with different values.
    settings.user = fields.take_first(&["user", "safety_identifier"], read_text);
}

/// Writes the settings that have the same name in both formats.
pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    writer.write_text("model", settings.model.as_ref());
    writer.write_flag("stream", settings.stream);
    writer.write_json("temperature", settings.temperature);
    writer.write_json("top_p", settings.top_p);
    writer.record_unsupported_number("top_k", settings.top_k, None);
    match takes_openai_settings(writer.profile) {
        true => writer.write_text("user", settings.user.as_ref()),
        false => setting_losses::record_user(writer),
    }
    let (to, profile) = (writer.to, writer.profile);
    for setting in settings.others.iter().filter(|setting| is_shared(setting, to, profile)) {
        writer.write_key(&setting.key);
        writer.write_member(setting.value);
    }
}

/// Reads a reasoning effort; one of the values disables reasoning.
pub(crate) fn read_effort<'a>(effort: Option<JsonText<'a>>, settings: &mut RequestSettings<'a>) {
    match effort {
        Some(effort) if effort == "none" => settings.thinking = Some(ThinkingSetting::Off),
        effort => settings.effort = effort,
    }
}

/// The name of the function or custom tool that a value refers to.
pub(crate) fn read_tool_name<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    let object = value.object()?;
    let inner = match &*object.text("type")? {
        kind @ ("function" | "custom") => object.object(kind).unwrap_or(object),
        _ => return None,
    };
    inner.get("name").and_then(read_text)
}

/// Reads the tool choice.
pub(crate) fn read_choice<'a>(value: JsonValue<'_, 'a>) -> Option<ToolChoice<'a>> {
    if let Some(mode) = value.text() {
        return Some(match &*mode {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::Never,
            "required" | "any" => ToolChoice::Any,
            _ => return None,
        });
    }
    let object = value.object()?;
    if object.text("type")? != "allowed_tools" {
        return read_tool_name(value).map(ToolChoice::One);
    }
    let allowed = object.object("allowed_tools").unwrap_or(object);
    let required = match &*allowed.text("mode")? {
        "auto" => false,
        "required" => true,
        _ => return None,
    };
    let list = allowed.get("tools").filter(|tools| tools.is_list())?;
    let names: Option<Vec<JsonText<'a>>> = list.list().map(read_tool_name).collect();
    names.filter(|names| !names.is_empty()).map(|names| ToolChoice::Among { names, required })
}

/// Writes the tool choice. Without tools there is none.
pub(crate) fn write_choice<'a>(
    writer: &mut RequestFieldWriter<'_, '_, 'a>,
    written: &[&ToolDeclaration<'a>],
) {
    let choice = tools::remaining_choice(writer, written);
    if !written.is_empty() {
        writer.write_flag("parallel_tool_calls", writer.settings.parallel_calls);
    }
    match choice.as_deref() {
        None => {}
        Some(ToolChoice::Auto) => writer.write_plain("tool_choice", "auto"),
        Some(ToolChoice::Never) => writer.write_plain("tool_choice", "none"),
        Some(ToolChoice::Any) => writer.write_plain("tool_choice", "required"),
        Some(ToolChoice::One(name)) => {
            writer.write_key("tool_choice");
            let free_text_names = free_text_tools(writer.settings);
            write_tool_reference(writer, name, &free_text_names);
        }
        Some(ToolChoice::Among { names, required }) => {
            let free_text_names = free_text_tools(writer.settings);
            let write_allowed = |writer: &mut RequestFieldWriter<'_, '_, 'a>| {
                writer.write_plain("mode", if *required { "required" } else { "auto" });
                writer.write_list("tools", |writer| {
                    names
                        .iter()
                        .for_each(|name| write_tool_reference(writer, name, &free_text_names));
                });
            };
            writer.write_object("tool_choice", |writer| {
                writer.write_plain("type", "allowed_tools");
                match writer.to {
                    Format::OpenaiChat => writer.write_object("allowed_tools", write_allowed),
                    _ => write_allowed(writer),
                }
            });
        }
    }
}

/// The names of the free-text tools.
fn free_text_tools(settings: &RequestSettings<'_>) -> HashSet<String> {
    let free = settings.tools.iter().filter(|tool| is_free_text(tool));
    free.map(|tool| tool.name.to_string()).collect()
}

fn write_tool_reference(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    name: &JsonText<'_>,
    free_text_names: &HashSet<String>,
) {
    let kind = if free_text_names.contains(&**name) { "custom" } else { "function" };
    writer.out.push('{');
    writer.write_plain("type", kind);
    match writer.to {
        Format::OpenaiChat => {
            writer.write_object(kind, |writer| writer.write_text("name", Some(name)))
        }
        _ => writer.write_text("name", Some(name)),
    }
    writer.close_container('}');
    writer.out.push(',');
}

/// Reads the response format. `inner` finds the object with the schema.
pub(crate) fn read_shape<'t, 'a>(
    value: JsonValue<'t, 'a>,
    inner: impl FnOnce(JsonObject<'t, 'a>) -> Option<JsonObject<'t, 'a>>,
) -> Option<ResponseShape<'a>> {
    let object = value.object()?;
    Some(match &*object.text("type")? {
        "text" => ResponseShape::Text,
        "json_object" => ResponseShape::Json,
        "json_schema" => {
            let inner = inner(object)?;
            ResponseShape::Schema {
                name: inner.get("name").and_then(read_text),
                description: inner.get("description").and_then(read_text),
                schema: inner.get("schema").and_then(schema::object_schema)?,
                strict: inner.get("strict").and_then(read_flag),
            }
        }
        _ => return None,
    })
}

/// Writes the response format. A schema requires a name here.
pub(crate) fn write_shape(writer: &mut RequestFieldWriter<'_, '_, '_>, key: &str) {
    let Some(shape) = &writer.settings.response_shape else { return };
    writer.write_object(key, |writer| match shape {
        ResponseShape::Text => writer.write_plain("type", "text"),
        ResponseShape::Json => writer.write_plain("type", "json_object"),
        ResponseShape::Schema { name, description, schema, strict } => {
            writer.write_plain("type", "json_schema");
            let default_name = JsonText::from("answer");
            let inner = |writer: &mut RequestFieldWriter<'_, '_, '_>| {
                writer.write_text("name", Some(name.as_ref().unwrap_or(&default_name)));
                writer.write_text("description", description.as_ref());
                writer.write_json("schema", Some(schema));
                // Formats without this setting always match exactly.
                let always = matches!(writer.from, Some(Format::Anthropic | Format::Bedrock));
                let requested = strict.or(always.then_some(true));
                if requested == Some(true) && !accepts_strict_schema(writer, schema) {
                    let note = "the response schema is not enforced: only schemas that require \
                    every field and allow no others are enforced in this format";
                    writer.record_loss(LossKind::Setting, note);
                    return;
                }
                writer.write_flag("strict", requested);
            };
            match writer.to {
                Format::OpenaiChat => writer.write_object("json_schema", inner),
                _ => inner(writer),
            }
        }
    });
}

/// Whether these formats accept a schema as strict.
pub(crate) fn accepts_strict_schema(writer: &RequestFieldWriter<'_, '_, '_>, schema: &str) -> bool {
    matches!(writer.from, Some(Format::OpenaiChat | Format::OpenaiResponses))
        || schema::is_strict_schema(schema)
}

/// Whether a tool is strict; records a loss if it should be but cannot.
pub(crate) fn is_strict(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
) -> bool {
    if tool.strict != Some(true) {
        return false;
    }
    let exact = accepts_strict_schema(writer, tools::input_schema(tool));
    if !exact {
        let name = &tool.name;
        let note = format!(
            "the schema of the tool `{name}` is not enforced: only schemas that require every field \
            and allow no others are enforced in this format"
        );
        writer.record_loss(LossKind::Tool, note);
    }
    exact
}
