//! Settings of Converse requests. Model-specific settings are in a separate field.

use std::cmp::Ordering;

use super::WIRE;
use crate::{
    anthropic::request::read_thinking,
    conversation::{
        JsonText, LossKind, RequestSettings, ResponseShape, ThinkingSetting, ToolChoice,
        ToolDeclaration, ToolInput,
        encode::cache_lifetime,
        request::{
            claude::{self, ThinkingPlan},
            field_writer::{RequestFieldWriter, setting_name},
            fields::{RequestFields, read_flag, read_text, read_texts},
            reasoning, schema, setting_losses,
            tools::{self, provider_tool},
        },
    },
    outline::is_json_object,
};
use foxwedge_json::{JsonObject, JsonValue, compare_number, quote};

const INFERENCE: &str = "inferenceConfig";
const TOOLS: &str = "toolConfig";
const OUTPUT: &str = "outputConfig";
const ADDITIONAL: &str = "additionalModelRequestFields";
const THINKING: &str = "additionalModelRequestFields.thinking";

pub(crate) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("modelId");
    if let Some(mut inner) = fields.take_object(&[INFERENCE]) {
        settings.max_tokens = inner.take_number("maxTokens");
        settings.temperature = inner.take_number("temperature");
        settings.top_p = inner.take_number("topP");
        settings.stop_sequences = inner.take("stopSequences", read_texts).unwrap_or_default();
        inner.collect_remaining(WIRE, INFERENCE, &mut settings.others);
    }
    if let Some(mut inner) = fields.take_object(&[TOOLS]) {
        let list = |value: JsonValue<'_, 'a>| value.is_list().then(|| read_tools(value));
        settings.tools = inner.take("tools", list).unwrap_or_default();
        settings.tool_choice = inner.take("toolChoice", |value| read_choice(&value.object()?));
        inner.collect_remaining(WIRE, TOOLS, &mut settings.others);
    }
    if let Some(mut inner) = fields.take_object(&[OUTPUT]) {
        settings.response_shape = inner.take("textFormat", |value| read_shape(&value.object()?));
        settings.effort = inner.take_text("effort");
        inner.collect_remaining(WIRE, OUTPUT, &mut settings.others);
    }
    if let Some(mut inner) = fields.take_object(&[ADDITIONAL]) {
        settings.top_k = inner.take_number("top_k");
        read_thinking(&mut inner, WIRE, THINKING, settings);
        inner.collect_remaining(WIRE, ADDITIONAL, &mut settings.others);
    }
}

/// Reads the tools. A cache marker in the list belongs to the tool before it.
fn read_tools<'a>(list: JsonValue<'_, 'a>) -> Vec<ToolDeclaration<'a>> {
    let mut tools: Vec<ToolDeclaration<'a>> = Vec::new();
    for value in list.list() {
        let object = value.object();
        let kind = object.as_ref().map(JsonObject::tag).unwrap_or_default();
        match (object.and_then(|object| object.object("toolSpec")), tools.last_mut()) {
            (Some(inner), _) => tools.push(read_tool(inner, value.raw())),
            (None, Some(last)) if kind == "cachePoint" && last.cache.is_none() => {
                last.cache = Some(value.raw());
            }
            (None, _) => tools.push(provider_tool(Some(kind.into()), WIRE, value.raw())),
        }
    }
    tools
}

fn read_tool<'a>(object: JsonObject<'_, 'a>, json: &'a str) -> ToolDeclaration<'a> {
    let mut fields = RequestFields::of(object);
    let schema =
        |value: JsonValue<'_, 'a>| value.object()?.get("json").and_then(schema::tool_schema);
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input: ToolInput::Object(fields.take("inputSchema", schema)),
        strict: fields.take("strict", read_flag),
        cache: None,
        others: fields.remaining_names(),
        raw: Some((WIRE, json)),
    }
}

fn read_choice<'a>(object: &JsonObject<'_, 'a>) -> Option<ToolChoice<'a>> {
    Some(match &*object.tag() {
        "auto" => ToolChoice::Auto,
        "any" => ToolChoice::Any,
        "tool" => ToolChoice::One(object.object("tool")?.get("name").and_then(read_text)?),
        _ => return None,
    })
}

/// Reads the response format. The schema is JSON inside a string.
fn read_shape<'a>(object: &JsonObject<'_, 'a>) -> Option<ResponseShape<'a>> {
    let inner = object.object("structure")?.object("jsonSchema")?;
    let schema = inner.get("schema").and_then(read_text).filter(|schema| is_json_object(schema))?;
    Some(ResponseShape::Schema {
        name: inner.get("name").and_then(read_text),
        description: inner.get("description").and_then(read_text),
        schema,
        strict: None,
    })
}

pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    writer.write_text("modelId", settings.model.as_ref());
    let mut forced = false;
    writer.write_object(TOOLS, |writer| {
        let written = tools::write_tools(writer, write_tool);
        let choice = tools::remaining_choice(writer, &written)
            .map(|choice| tools::widen_choice(writer, choice));
        forced = tools::is_forced(choice.as_deref());
        write_choice(writer, choice.as_deref());
        setting_losses::record_parallel(writer, &written);
        if !written.is_empty() {
            writer.write_other_settings(TOOLS);
        }
    });
    let (plan, [temperature, top_p, top_k]) = match is_other_maker(writer) {
        false => {
            let plan = claude::plan_thinking(writer, forced);
            let sampling = claude::allowed_sampling(writer, plan.mode);
            (plan, sampling)
        }
        true => plan_other_maker(writer),
    };
    writer.write_object(INFERENCE, |writer| {
        writer.write_json("maxTokens", plan.max_tokens.as_deref());
        writer.write_json("temperature", temperature);
        writer.write_json("topP", top_p);
        writer.write_stops("stopSequences", 2500, |stop| !stop.is_empty());
        writer.write_other_settings(INFERENCE);
    });
    let effort = plan.effort.map(JsonText::from);
    writer.write_object(OUTPUT, |writer| {
        write_shape(writer);
        writer.write_text("effort", effort.as_ref());
        writer.write_other_settings(OUTPUT);
    });
    writer.write_object(ADDITIONAL, |writer| {
        claude::write_thinking(writer, plan.mode, THINKING);
        writer.write_json("top_k", top_k);
        writer.write_other_settings(ADDITIONAL);
    });
    setting_losses::record_numbers(writer);
    setting_losses::record_user(writer);
    setting_losses::record_verbosity(writer);
}

fn write_tool(writer: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    writer.out.push('{');
    writer.write_object("toolSpec", |writer| {
        writer.write_text("name", Some(&tool.name));
        tools::write_description(writer, tool);
        writer.write_object("inputSchema", |writer| {
            writer.write_json("json", Some(tools::input_schema(tool)))
        });
        if tool.strict == Some(true) {
            writer.write_flag("strict", tool.strict);
        }
    });
    writer.close_container('}');
    if let Some(mark) = tools::cache_mark(writer, tool) {
        let lifetime = cache_lifetime(mark).map(JsonText::from);
        writer.out.push_str(",{");
        writer.write_object("cachePoint", |writer| {
            writer.write_plain("type", "default");
            writer.write_text("ttl", lifetime.as_ref());
        });
        writer.close_container('}');
    }
}

fn write_choice(writer: &mut RequestFieldWriter<'_, '_, '_>, choice: Option<&ToolChoice<'_>>) {
    match choice {
        None => {}
        Some(ToolChoice::Never) => {
            let note = "calls cannot be disabled in this format while tools are declared";
            writer.record_loss(LossKind::ToolChoice, note);
        }
        Some(ToolChoice::One(name)) => writer.write_object("toolChoice", |writer| {
            writer.write_object("tool", |writer| writer.write_text("name", Some(name)));
        }),
        Some(ToolChoice::Any | ToolChoice::Among { required: true, .. }) => {
            writer.write_json("toolChoice", Some("{\"any\":{}}"));
        }
        Some(ToolChoice::Auto | ToolChoice::Among { required: false, .. }) => {
            writer.write_json("toolChoice", Some("{\"auto\":{}}"));
        }
    }
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
        Some(ResponseShape::Schema { name, description, schema, .. }) => {
            let schema = claude::response_schema(writer, schema);
            writer.write_object("textFormat", |writer| {
                writer.write_plain("type", "json_schema");
                writer.write_object("structure", |writer| {
                    writer.write_object("jsonSchema", |writer| {
                        writer.write_json("schema", Some(&quote(&schema)));
                        writer.write_text("name", name.as_ref());
                        writer.write_text("description", description.as_ref());
                    });
                });
            });
        }
    }
}

/// Whether the model is not from Anthropic.
fn is_other_maker(writer: &RequestFieldWriter<'_, '_, '_>) -> bool {
    writer.settings.model.as_deref().is_some_and(foxwedge_core::is_other_maker)
}

/// Plans the reasoning of other vendors' models: these take an effort, but no budget.
fn plan_other_maker<'s>(
    writer: &mut RequestFieldWriter<'_, 's, '_>,
) -> (ThinkingPlan<'s>, [Option<&'s str>; 3]) {
    let settings = writer.settings;
    if let Some(ThinkingSetting::Budget(tokens)) = settings.thinking {
        let note = format!("a reasoning budget of {tokens} tokens is not supported by this model");
        writer.record_loss(LossKind::Setting, note);
    }
    let effort = settings.effort.as_deref().filter(|name| {
        let known = reasoning::budget_of_effort(name).is_some();
        if !known {
            reasoning::record_unknown_effort(writer, name);
        }
        known
    });
    writer.record_unsupported_number("top_k", settings.top_k, None);
    let high =
        settings.temperature.filter(|text| compare_number(text, 1000) == Some(Ordering::Greater));
    if let Some(text) = high {
        let note = format!("`temperature` {text} becomes 1, the maximum in this format");
        writer.record_loss(LossKind::Setting, note);
    }
    let temperature = high.map(|_| "1").or(settings.temperature);
    let max_tokens = settings.max_tokens.map(std::borrow::Cow::Borrowed);
    (ThinkingPlan { mode: None, effort, max_tokens }, [temperature, settings.top_p, None])
}
