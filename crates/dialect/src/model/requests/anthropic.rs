//! The settings of an Anthropic request.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{
    claude,
    field_writer::{RequestFieldWriter, setting_name},
    fields::{RequestFields, read_flag, read_text},
    schema, setting_losses,
    tools::{self, provider_tool},
};
use crate::{
    json::{JsonObject, JsonValue},
    model::{
        JsonText, LossKind, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
        ToolDeclaration, ToolInput,
    },
};

const WIRE: Format = Format::Anthropic;

pub(super) fn read<'t, 'a>(fields: &mut RequestFields<'t, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("model");
    settings.stream = fields.take_flag("stream");
    settings.max_tokens = fields.take_number("max_tokens");
    settings.temperature = fields.take_number("temperature");
    settings.top_p = fields.take_number("top_p");
    settings.top_k = fields.take_number("top_k");
    settings.stop_sequences =
        fields.take("stop_sequences", super::fields::read_texts).unwrap_or_default();
    if let Some(mut inner) = fields.take_object(&["metadata"]) {
        settings.user = inner.take_text("user_id");
        inner.collect_remaining(WIRE, "metadata", &mut settings.others);
    }
    read_thinking(fields, WIRE, "thinking", settings);
    if let Some(mut inner) = fields.take_object(&["output_config"]) {
        settings.effort = inner.take_text("effort");
        settings.response_shape = inner.take("format", read_shape);
        inner.collect_remaining(WIRE, "output_config", &mut settings.others);
    }
    if settings.response_shape.is_none() {
        // The name before there was `output_config`.
        settings.response_shape = fields.take("output_format", read_shape);
    }
    let list =
        |value: JsonValue<'_, 'a>| value.is_list().then(|| value.list().map(read_tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    let known =
        |value: JsonValue<'t, 'a>| value.object().filter(|object| read_choice(object).is_some());
    if let Some(object) = fields.take("tool_choice", known) {
        settings.tool_choice = read_choice(&object);
        let mut inner = RequestFields::of(object);
        inner.skip(&["type", "name"]);
        settings.parallel_calls = inner.take_flag("disable_parallel_tool_use").map(|alone| !alone);
        inner.collect_remaining(WIRE, "tool_choice", &mut settings.others);
    }
}

/// Reads how to reason, as Claude is told everywhere.
pub(super) fn read_thinking<'t, 'a>(
    fields: &mut RequestFields<'t, 'a>,
    wire: Format,
    within: &'static str,
    settings: &mut RequestSettings<'a>,
) {
    let known = |value: JsonValue<'t, 'a>| {
        let object = value.object()?;
        let thinking = match &*object.text("type")? {
            "enabled" => {
                let budget = object.get("budget_tokens")?;
                ThinkingSetting::Budget(budget.number().filter(|_| budget.count().is_some())?)
            }
            "adaptive" => ThinkingSetting::Adaptive,
            "disabled" => ThinkingSetting::Off,
            _ => return None,
        };
        Some((thinking, RequestFields::of(object)))
    };
    if let Some((thinking, mut inner)) = fields.take("thinking", known) {
        inner.skip(match thinking {
            ThinkingSetting::Budget(_) => &["type", "budget_tokens"],
            ThinkingSetting::Adaptive | ThinkingSetting::Off => &["type"],
        });
        settings.thinking = Some(thinking);
        settings.include_reasoning = inner.take("display", |value| match &*value.text()? {
            "summarized" => Some(true),
            "omitted" => Some(false),
            _ => None,
        });
        inner.collect_remaining(wire, within, &mut settings.others);
    }
}

fn read_shape<'a>(value: JsonValue<'_, 'a>) -> Option<ResponseShape<'a>> {
    let object =
        value.object().filter(|object| object.text("type").as_deref() == Some("json_schema"))?;
    let schema = object.get("schema").and_then(schema::object_schema)?;
    Some(ResponseShape::Schema { name: None, description: None, schema, strict: None })
}

fn read_tool<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return provider_tool(None, WIRE, json) };
    let kind = object.get("type").and_then(read_text);
    if kind.as_ref().is_some_and(|kind| *kind != "custom") {
        // Tools that the provider runs, and those that the model has learnt.
        return provider_tool(kind, WIRE, json);
    }
    let mut fields = RequestFields::of(object);
    fields.skip(&["type"]);
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input: ToolInput::Object(fields.take("input_schema", schema::tool_schema)),
        strict: fields.take("strict", read_flag),
        cache: fields.take("cache_control", |mark| mark.is_object().then(|| mark.raw())),
        others: fields.remaining_names(),
        raw: Some((WIRE, json)),
    }
}

fn read_choice<'a>(object: &JsonObject<'_, 'a>) -> Option<ToolChoice<'a>> {
    Some(match &*object.text("type")? {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Any,
        "none" => ToolChoice::Never,
        "tool" => ToolChoice::One(object.get("name").and_then(read_text)?),
        _ => return None,
    })
}

pub(super) fn write(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.write_text("model", settings.model.as_ref());
    sheet.write_flag("stream", settings.stream);
    let written = tools::write_tools(sheet, write_tool);
    let choice =
        tools::remaining_choice(sheet, &written).map(|choice| tools::widen_choice(sheet, choice));
    write_choice(sheet, choice.as_deref(), !written.is_empty());
    let plan = claude::plan_thinking(sheet, tools::is_forced(choice.as_deref()));
    sheet.write_json("max_tokens", plan.max_tokens.as_deref());
    claude::write_thinking(sheet, plan.mode, "thinking");
    let effort = plan.effort.map(JsonText::from);
    sheet.write_object("output_config", |sheet| {
        sheet.write_text("effort", effort.as_ref());
        write_shape(sheet);
        sheet.write_other_settings("output_config");
    });
    let [temperature, top_p, top_k] = claude::allowed_sampling(sheet, plan.mode);
    sheet.write_json("temperature", temperature);
    sheet.write_json("top_p", top_p);
    sheet.write_json("top_k", top_k);
    sheet.write_stops("stop_sequences", usize::MAX, |stop| !stop.trim().is_empty());
    sheet.write_object("metadata", |sheet| {
        sheet.write_text("user_id", settings.user.as_ref());
        sheet.write_other_settings("metadata");
    });
    setting_losses::record_numbers(sheet);
    setting_losses::record_verbosity(sheet);
}

fn write_tool(sheet: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    sheet.out.push('{');
    sheet.write_text("name", Some(&tool.name));
    tools::write_description(sheet, tool);
    sheet.write_json("input_schema", Some(tools::input_schema(tool)));
    if tool.strict == Some(true) {
        sheet.write_flag("strict", tool.strict);
    }
    if let Some(mark) = tool.cache {
        let lifetime = tools::cache_lifetime(mark).map(JsonText::from);
        sheet.write_object("cache_control", |sheet| {
            sheet.write_plain("type", "ephemeral");
            sheet.write_text("ttl", lifetime.as_ref());
        });
    }
    sheet.close_container('}');
}

/// Whether calls may be made at once is said beside how they are chosen.
fn write_choice(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    choice: Option<&ToolChoice<'_>>,
    has_tools: bool,
) {
    let parallel = sheet.settings.parallel_calls;
    let alone = has_tools && parallel == Some(false);
    let choice = match choice {
        None if alone => Cow::Owned(ToolChoice::Auto),
        None => return,
        Some(choice) => Cow::Borrowed(choice),
    };
    sheet.write_object("tool_choice", |sheet| {
        let word = match &*choice {
            ToolChoice::Auto | ToolChoice::Among { required: false, .. } => "auto",
            ToolChoice::Any | ToolChoice::Among { required: true, .. } => "any",
            ToolChoice::Never => "none",
            ToolChoice::One(_) => "tool",
        };
        sheet.write_plain("type", word);
        if let ToolChoice::One(name) = &*choice {
            sheet.write_text("name", Some(name));
        }
        if *choice != ToolChoice::Never {
            sheet.write_flag("disable_parallel_tool_use", parallel.map(|parallel| !parallel));
        }
        sheet.write_other_settings("tool_choice");
    });
}

fn write_shape(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    match &sheet.settings.response_shape {
        None | Some(ResponseShape::Text) => {}
        Some(ResponseShape::Json) => {
            let field = setting_name(sheet.from, "response_format");
            let note = format!("`{field}`: JSON without a schema cannot be asked for here");
            sheet.record_loss(LossKind::Setting, note);
        }
        Some(ResponseShape::Schema { description, schema, .. }) => {
            sheet.write_object("format", |sheet| {
                sheet.write_plain("type", "json_schema");
                sheet.write_json("schema", Some(schema));
            });
            if description.is_some() {
                let note = "what the schema of the answer is for has no place in this format";
                sheet.record_loss(LossKind::Setting, note);
            }
        }
    }
}
