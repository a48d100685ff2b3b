//! What both formats of OpenAI share.

use std::collections::HashSet;

use foxwedge_core::Format;

use super::{
    field_writer::RequestFieldWriter,
    fields::{RequestFields, read_flag, read_text},
    schema,
    tools::{self, is_free_text},
};
use crate::{
    json::{JsonObject, JsonValue},
    model::{
        FormatSetting, JsonText, LossKind, RequestSettings, ResponseShape, ThinkingSetting,
        ToolChoice, ToolDeclaration,
    },
};

/// Reads what is called the same in both.
pub(super) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("model");
    settings.stream = fields.take_flag("stream");
    settings.temperature = fields.take_number("temperature");
    settings.top_p = fields.take_number("top_p");
    settings.top_k = fields.take_number("top_k");
    settings.parallel_calls = fields.take_flag("parallel_tool_calls");
    // The second is the newer name of the first; where both stand, they need not say the same.
    settings.user = fields.take_first(&["user", "safety_identifier"], read_text);
}

/// Writes what is called the same in both.
pub(super) fn write(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.write_text("model", settings.model.as_ref());
    sheet.write_flag("stream", settings.stream);
    sheet.write_json("temperature", settings.temperature);
    sheet.write_json("top_p", settings.top_p);
    sheet.record_unsupported_number("top_k", settings.top_k, None);
    sheet.write_text("user", settings.user.as_ref());
    let to = sheet.to;
    for setting in settings.others.iter().filter(|setting| is_shared(setting, to)) {
        sheet.write_key(&setting.key);
        sheet.write_member(setting.value);
    }
}

/// Whether a field means the same in the format of OpenAI that it does not come from.
pub(super) fn is_shared(setting: &FormatSetting<'_>, to: Format) -> bool {
    let other = match to {
        Format::OpenaiChat => Format::OpenaiResponses,
        Format::OpenaiResponses => Format::OpenaiChat,
        Format::Anthropic | Format::Gemini | Format::Bedrock => return false,
    };
    let known = matches!(
        &*setting.key,
        "metadata"
            | "store"
            | "service_tier"
            | "safety_identifier"
            | "prompt_cache_key"
            | "prompt_cache_retention"
            | "moderation"
    );
    known && setting.wire == other && setting.parent.is_empty() && setting.value != "null"
}

/// An effort in words; one of the words says that there shall be none.
pub(super) fn read_effort<'a>(word: Option<JsonText<'a>>, settings: &mut RequestSettings<'a>) {
    match word {
        Some(word) if word == "none" => settings.thinking = Some(ThinkingSetting::Off),
        word => settings.effort = word,
    }
}

/// The function or custom tool that a value names: its kind, and where the rest of it stands.
pub(super) fn read_tool_name<'a>(value: JsonValue<'_, 'a>) -> Option<JsonText<'a>> {
    let object = value.object()?;
    let inner = match &*object.text("type")? {
        kind @ ("function" | "custom") => object.object(kind).unwrap_or(object),
        _ => return None,
    };
    inner.get("name").and_then(read_text)
}

/// How tools are chosen.
pub(super) fn read_choice<'a>(value: JsonValue<'_, 'a>) -> Option<ToolChoice<'a>> {
    if let Some(word) = value.text() {
        return Some(match &*word {
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

/// Writes how tools are chosen. Without tools there is nothing to say.
pub(super) fn write_choice<'a>(
    sheet: &mut RequestFieldWriter<'_, '_, 'a>,
    written: &[&ToolDeclaration<'a>],
) {
    let choice = tools::remaining_choice(sheet, written);
    if !written.is_empty() {
        sheet.write_flag("parallel_tool_calls", sheet.settings.parallel_calls);
    }
    match choice.as_deref() {
        None => {}
        Some(ToolChoice::Auto) => sheet.write_plain("tool_choice", "auto"),
        Some(ToolChoice::Never) => sheet.write_plain("tool_choice", "none"),
        Some(ToolChoice::Any) => sheet.write_plain("tool_choice", "required"),
        Some(ToolChoice::One(name)) => {
            sheet.write_key("tool_choice");
            let free = free_text_tools(sheet.settings);
            write_tool_reference(sheet, name, &free);
        }
        Some(ToolChoice::Among { names, required }) => {
            let free = free_text_tools(sheet.settings);
            let some = |sheet: &mut RequestFieldWriter<'_, '_, 'a>| {
                sheet.write_plain("mode", if *required { "required" } else { "auto" });
                sheet.write_list("tools", |sheet| {
                    names.iter().for_each(|name| write_tool_reference(sheet, name, &free));
                });
            };
            sheet.write_object("tool_choice", |sheet| {
                sheet.write_plain("type", "allowed_tools");
                match sheet.to {
                    Format::OpenaiChat => sheet.write_object("allowed_tools", some),
                    _ => some(sheet),
                }
            });
        }
    }
}

/// The names of the tools that take free text.
fn free_text_tools(settings: &RequestSettings<'_>) -> HashSet<String> {
    let free = settings.tools.iter().filter(|tool| is_free_text(tool));
    free.map(|tool| tool.name.to_string()).collect()
}

fn write_tool_reference(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    name: &JsonText<'_>,
    free: &HashSet<String>,
) {
    let kind = if free.contains(&**name) { "custom" } else { "function" };
    sheet.out.push('{');
    sheet.write_plain("type", kind);
    match sheet.to {
        Format::OpenaiChat => {
            sheet.write_object(kind, |sheet| sheet.write_text("name", Some(name)))
        }
        _ => sheet.write_text("name", Some(name)),
    }
    sheet.close_container('}');
    sheet.out.push(',');
}

/// What an answer has to look like. `inner` finds the object with the schema.
pub(super) fn read_shape<'t, 'a>(
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

/// Writes what an answer has to look like. A schema needs a name here.
pub(super) fn write_shape(sheet: &mut RequestFieldWriter<'_, '_, '_>, key: &str) {
    let Some(shape) = &sheet.settings.response_shape else { return };
    sheet.write_object(key, |sheet| match shape {
        ResponseShape::Text => sheet.write_plain("type", "text"),
        ResponseShape::Json => sheet.write_plain("type", "json_object"),
        ResponseShape::Schema { name, description, schema, strict } => {
            sheet.write_plain("type", "json_schema");
            let unnamed = JsonText::from("answer");
            let inner = |sheet: &mut RequestFieldWriter<'_, '_, '_>| {
                sheet.write_text("name", Some(name.as_ref().unwrap_or(&unnamed)));
                sheet.write_text("description", description.as_ref());
                sheet.write_json("schema", Some(schema));
                // Formats that have no word for it always match exactly.
                let always = matches!(sheet.from, Some(Format::Anthropic | Format::Bedrock));
                let asked = strict.or(always.then_some(true));
                if asked == Some(true) && !accepts_strict_schema(sheet, schema) {
                    let note = "the answer need not match its schema: only schemas that demand \
                                every field and allow no others are enforced here";
                    sheet.record_loss(LossKind::Setting, note);
                    return;
                }
                sheet.write_flag("strict", asked);
            };
            match sheet.to {
                Format::OpenaiChat => sheet.write_object("json_schema", inner),
                _ => inner(sheet),
            }
        }
    });
}

/// Whether a schema that has to be matched exactly is one that these formats take.
pub(super) fn accepts_strict_schema(sheet: &RequestFieldWriter<'_, '_, '_>, schema: &str) -> bool {
    matches!(sheet.from, Some(Format::OpenaiChat | Format::OpenaiResponses))
        || schema::is_strict_schema(schema)
}

/// Whether the arguments of a tool have to match their schema; tells if they should but cannot.
pub(super) fn is_strict(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
) -> bool {
    if tool.strict != Some(true) {
        return false;
    }
    let exact = accepts_strict_schema(sheet, tools::input_schema(tool));
    if !exact {
        let name = &tool.name;
        let note = format!(
            "the arguments of the tool `{name}` need not match their schema: only schemas that \
             demand every field and allow no others are enforced here"
        );
        sheet.record_loss(LossKind::Tool, note);
    }
    exact
}
