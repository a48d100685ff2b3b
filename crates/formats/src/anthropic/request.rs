//! Settings of Anthropic requests.

use std::borrow::Cow;

use foxwedge_core::Format;

use super::WIRE;
use crate::conversation::{
    JsonText, LossKind, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
    ToolDeclaration, ToolInput,
    encode::cache_lifetime,
    request::{
        claude,
        field_writer::{RequestFieldWriter, setting_name},
        fields::{RequestFields, read_flag, read_text, read_texts},
        schema, setting_losses,
        tools::{self, provider_tool},
    },
};
use foxwedge_json::{JsonObject, JsonValue};

pub(crate) fn read<'t, 'a>(fields: &mut RequestFields<'t, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("model");
    settings.stream = fields.take_flag("stream");
    settings.max_tokens = fields.take_number("max_tokens");
    settings.temperature = fields.take_number("temperature");
    settings.top_p = fields.take_number("top_p");
    settings.top_k = fields.take_number("top_k");
    settings.stop_sequences = fields.take("stop_sequences", read_texts).unwrap_or_default();
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
        // The name before `output_config` was introduced.
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
        settings.parallel_calls =
            inner.take_flag("disable_parallel_tool_use").map(|disabled| !disabled);
        inner.collect_remaining(WIRE, "tool_choice", &mut settings.others);
    }
}

/// Reads the thinking settings of Claude, which are the same on every platform.
pub(crate) fn read_thinking<'t, 'a>(
    fields: &mut RequestFields<'t, 'a>,
    format: Format,
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
        inner.collect_remaining(format, within, &mut settings.others);
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
        // Server tools, and tools that the model is trained on.
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

pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    writer.write_text("model", settings.model.as_ref());
    writer.write_flag("stream", settings.stream);
    let written = tools::write_tools(writer, write_tool);
    let choice =
        tools::remaining_choice(writer, &written).map(|choice| tools::widen_choice(writer, choice));
    write_choice(writer, choice.as_deref(), !written.is_empty());
    let plan = claude::plan_thinking(writer, tools::is_forced(choice.as_deref()));
    writer.write_json("max_tokens", plan.max_tokens.as_deref());
    claude::write_thinking(writer, plan.mode, "thinking");
    let effort = plan.effort.map(JsonText::from);
    writer.write_object("output_config", |writer| {
        writer.write_text("effort", effort.as_ref());
        write_shape(writer);
        writer.write_other_settings("output_config");
    });
    let [temperature, top_p, top_k] = claude::allowed_sampling(writer, plan.mode);
    writer.write_json("temperature", temperature);
    writer.write_json("top_p", top_p);
    writer.write_json("top_k", top_k);
    writer.write_stops("stop_sequences", usize::MAX, |stop| !stop.trim().is_empty());
    writer.write_object("metadata", |writer| {
        writer.write_text("user_id", settings.user.as_ref());
        writer.write_other_settings("metadata");
    });
    setting_losses::record_numbers(writer);
    setting_losses::record_verbosity(writer);
}

fn write_tool(writer: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    writer.out.push('{');
    writer.write_text("name", Some(&tool.name));
    tools::write_description(writer, tool);
    writer.write_json("input_schema", Some(tools::input_schema(tool)));
    if tool.strict == Some(true) {
        writer.write_flag("strict", tool.strict);
    }
    if let Some(mark) = tool.cache {
        let lifetime = cache_lifetime(mark).map(JsonText::from);
        writer.write_object("cache_control", |writer| {
            writer.write_plain("type", "ephemeral");
            writer.write_text("ttl", lifetime.as_ref());
        });
    }
    writer.close_container('}');
}

/// Writes the tool choice, which includes whether parallel calls are allowed.
fn write_choice(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    choice: Option<&ToolChoice<'_>>,
    has_tools: bool,
) {
    let parallel = writer.settings.parallel_calls;
    let single_call = has_tools && parallel == Some(false);
    let choice = match choice {
        None if single_call => Cow::Owned(ToolChoice::Auto),
        None => return,
        Some(choice) => Cow::Borrowed(choice),
    };
    writer.write_object("tool_choice", |writer| {
        let kind = match &*choice {
            ToolChoice::Auto | ToolChoice::Among { required: false, .. } => "auto",
            ToolChoice::Any | ToolChoice::Among { required: true, .. } => "any",
            ToolChoice::Never => "none",
            ToolChoice::One(_) => "tool",
        };
        writer.write_plain("type", kind);
        if let ToolChoice::One(name) = &*choice {
            writer.write_text("name", Some(name));
        }
        if *choice != ToolChoice::Never {
            writer.write_flag("disable_parallel_tool_use", parallel.map(|parallel| !parallel));
        }
        writer.write_other_settings("tool_choice");
    });
}

fn write_shape(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    match &writer.settings.response_shape {
        None | Some(ResponseShape::Text) => {}
        Some(ResponseShape::Json) => {
            let field = setting_name(writer.from, "response_format");
            let note =
                format!("`{field}`: JSON output without a schema is not supported in this format");
            writer.record_loss(LossKind::Setting, note);
        }
        Some(ResponseShape::Schema { description, schema, .. }) => {
            let schema = claude::response_schema(writer, schema);
            writer.write_object("format", |writer| {
                writer.write_plain("type", "json_schema");
                writer.write_json("schema", Some(&schema));
            });
            if description.is_some() {
                let note = "the description of the response schema is not supported in this format";
                writer.record_loss(LossKind::Setting, note);
            }
        }
    }
}
