//! The settings of a Converse request. What only some models know stands in a field of its own.

use foxwedge_core::Wire;

use super::{
    anthropic,
    claude::{self, Plan},
    fields::{Fields, flag, texts, words},
    foreign, reasoning, schema,
    sheet::{Sheet, called},
    tools::{self, own},
};
use crate::{
    canon::{Answered, Choice, Lost, Settings, Takes, Thinking, Tool, Words},
    json::{Object, Value, quote},
    outline::is_object,
};

const WIRE: Wire = Wire::Bedrock;
const INFERENCE: &str = "inferenceConfig";
const TOOLS: &str = "toolConfig";
const OUTPUT: &str = "outputConfig";
const ADDITIONAL: &str = "additionalModelRequestFields";
const THINKING: &str = "additionalModelRequestFields.thinking";

pub(super) fn read<'a>(fields: &mut Fields<'_, 'a>, settings: &mut Settings<'a>) {
    settings.model = fields.words("modelId");
    if let Some(mut inner) = fields.inner(&[INFERENCE]) {
        settings.most = inner.number("maxTokens");
        settings.temperature = inner.number("temperature");
        settings.top_p = inner.number("topP");
        settings.stops = inner.take("stopSequences", texts).unwrap_or_default();
        inner.leave(WIRE, INFERENCE, &mut settings.others);
    }
    if let Some(mut inner) = fields.inner(&[TOOLS]) {
        let list = |value: Value<'_, 'a>| value.is_list().then(|| tools(value));
        settings.tools = inner.take("tools", list).unwrap_or_default();
        settings.choice = inner.take("toolChoice", |value| choice(&value.object()?));
        inner.leave(WIRE, TOOLS, &mut settings.others);
    }
    if let Some(mut inner) = fields.inner(&[OUTPUT]) {
        settings.shape = inner.take("textFormat", |value| shape(&value.object()?));
        settings.effort = inner.words("effort");
        inner.leave(WIRE, OUTPUT, &mut settings.others);
    }
    if let Some(mut inner) = fields.inner(&[ADDITIONAL]) {
        settings.top_k = inner.number("top_k");
        anthropic::thinking(&mut inner, WIRE, THINKING, settings);
        inner.leave(WIRE, ADDITIONAL, &mut settings.others);
    }
}

/// A mark in the list belongs to the tool before it.
fn tools<'a>(list: Value<'_, 'a>) -> Vec<Tool<'a>> {
    let mut tools: Vec<Tool<'a>> = Vec::new();
    for value in list.list() {
        let object = value.object();
        let kind = object.as_ref().map(Object::tag).unwrap_or_default();
        match (object.and_then(|object| object.object("toolSpec")), tools.last_mut()) {
            (Some(inner), _) => tools.push(tool(inner, value.raw())),
            (None, Some(last)) if kind == "cachePoint" && last.cache.is_none() => {
                last.cache = Some(value.raw());
            }
            (None, _) => tools.push(own(Some(kind.into()), WIRE, value.raw())),
        }
    }
    tools
}

fn tool<'a>(object: Object<'_, 'a>, json: &'a str) -> Tool<'a> {
    let mut fields = Fields::of(object);
    let schema = |value: Value<'_, 'a>| value.object()?.get("json").and_then(schema::of_tool);
    Tool {
        name: fields.words("name").unwrap_or_default(),
        description: fields.words("description"),
        takes: Takes::Object(fields.take("inputSchema", schema)),
        strict: fields.take("strict", flag),
        cache: None,
        others: fields.names(),
        raw: Some((WIRE, json)),
    }
}

fn choice<'a>(object: &Object<'_, 'a>) -> Option<Choice<'a>> {
    Some(match &*object.tag() {
        "auto" => Choice::Auto,
        "any" => Choice::Any,
        "tool" => Choice::One(object.object("tool")?.get("name").and_then(words)?),
        _ => return None,
    })
}

/// The schema is the text of one, in a string.
fn shape<'a>(object: &Object<'_, 'a>) -> Option<Answered<'a>> {
    let inner = object.object("structure")?.object("jsonSchema")?;
    let schema = inner.get("schema").and_then(words).filter(|schema| is_object(schema))?;
    Some(Answered::Schema {
        name: inner.get("name").and_then(words),
        description: inner.get("description").and_then(words),
        schema,
        strict: None,
    })
}

pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.words("modelId", settings.model.as_ref());
    let mut forced = false;
    sheet.object(TOOLS, |sheet| {
        let written = tools::list(sheet, spell);
        let choice =
            tools::choice(sheet, &written).map(|choice| tools::without_some(sheet, choice));
        forced = tools::is_forced(choice.as_deref());
        write_choice(sheet, choice.as_deref());
        foreign::parallel(sheet, &written);
        if !written.is_empty() {
            sheet.others(TOOLS);
        }
    });
    let (plan, [temperature, top_p, top_k]) = match is_stranger(sheet) {
        false => {
            let plan = claude::plan(sheet, forced);
            let sampling = claude::sampling(sheet, plan.thinks);
            (plan, sampling)
        }
        true => stranger(sheet),
    };
    sheet.object(INFERENCE, |sheet| {
        sheet.json("maxTokens", plan.most.as_deref());
        sheet.json("temperature", temperature);
        sheet.json("topP", top_p);
        sheet.stops("stopSequences", 2500, |stop| !stop.is_empty());
        sheet.others(INFERENCE);
    });
    let effort = plan.effort.map(Words::from);
    sheet.object(OUTPUT, |sheet| {
        write_shape(sheet);
        sheet.words("effort", effort.as_ref());
        sheet.others(OUTPUT);
    });
    sheet.object(ADDITIONAL, |sheet| {
        claude::write(sheet, plan.thinks, THINKING);
        sheet.json("top_k", top_k);
        sheet.others(ADDITIONAL);
    });
    foreign::numbers(sheet);
    foreign::user(sheet);
    foreign::verbosity(sheet);
}

fn spell(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) {
    sheet.out.push('{');
    sheet.object("toolSpec", |sheet| {
        sheet.words("name", Some(&tool.name));
        tools::describe(sheet, tool);
        sheet.object("inputSchema", |sheet| sheet.json("json", Some(tools::schema(tool))));
        if tool.strict == Some(true) {
            sheet.flag("strict", tool.strict);
        }
    });
    sheet.close('}');
    if let Some(mark) = tool.cache {
        let lifetime = tools::lifetime(mark).map(Words::from);
        sheet.out.push_str(",{");
        sheet.object("cachePoint", |sheet| {
            sheet.plain("type", "default");
            sheet.words("ttl", lifetime.as_ref());
        });
        sheet.close('}');
    }
}

fn write_choice(sheet: &mut Sheet<'_, '_, '_>, choice: Option<&Choice<'_>>) {
    match choice {
        None => {}
        Some(Choice::Never) => {
            let note = "calls cannot be forbidden in this format while there are tools";
            sheet.lose(Lost::ToolChoice, note);
        }
        Some(Choice::One(name)) => sheet.object("toolChoice", |sheet| {
            sheet.object("tool", |sheet| sheet.words("name", Some(name)));
        }),
        Some(Choice::Any | Choice::Among { required: true, .. }) => {
            sheet.json("toolChoice", Some("{\"any\":{}}"));
        }
        Some(Choice::Auto | Choice::Among { required: false, .. }) => {
            sheet.json("toolChoice", Some("{\"auto\":{}}"));
        }
    }
}

fn write_shape(sheet: &mut Sheet<'_, '_, '_>) {
    match &sheet.settings.shape {
        None | Some(Answered::Text) => {}
        Some(Answered::Json) => {
            let field = called(sheet.from, "response_format");
            let note = format!("`{field}`: JSON without a schema cannot be asked for here");
            sheet.lose(Lost::Setting, note);
        }
        Some(Answered::Schema { name, description, schema, .. }) => {
            sheet.object("textFormat", |sheet| {
                sheet.plain("type", "json_schema");
                sheet.object("structure", |sheet| {
                    sheet.object("jsonSchema", |sheet| {
                        sheet.json("schema", Some(&quote(schema)));
                        sheet.words("name", name.as_ref());
                        sheet.words("description", description.as_ref());
                    });
                });
            });
        }
    }
}

/// Whether the model is none of Anthropic's. Profiles have names that tell nothing.
fn is_stranger(sheet: &Sheet<'_, '_, '_>) -> bool {
    const MAKERS: [&str; 15] = [
        "ai21.",
        "amazon.",
        "cohere.",
        "deepseek.",
        "google.",
        "meta.",
        "minimax.",
        "mistral.",
        "moonshot",
        "nvidia.",
        "openai.",
        "qwen.",
        "stability.",
        "writer.",
        "zai.",
    ];
    let model = sheet.settings.model.as_deref().unwrap_or_default();
    !model.contains("claude") && MAKERS.iter().any(|maker| model.contains(maker))
}

/// What other makers' models take: an effort in words, and no number of tokens.
fn stranger<'s>(sheet: &mut Sheet<'_, 's, '_>) -> (Plan<'s>, [Option<&'s str>; 3]) {
    let settings = sheet.settings;
    if let Some(Thinking::Budget(tokens)) = settings.thinking {
        let note = format!("a budget of {tokens} tokens for reasoning is not known to this model");
        sheet.lose(Lost::Setting, note);
    }
    let effort = settings.effort.as_deref().filter(|word| {
        let known = reasoning::budget(word).is_some();
        if !known {
            reasoning::unknown(sheet, word);
        }
        known
    });
    sheet.lacks("top_k", settings.top_k, None);
    let high = settings.temperature.filter(|text| text.parse::<f64>().is_ok_and(|one| one > 1.0));
    if let Some(text) = high {
        let note = format!("`temperature` of {text} becomes 1, the highest in this format");
        sheet.lose(Lost::Setting, note);
    }
    let temperature = high.map(|_| "1").or(settings.temperature);
    let most = settings.most.map(std::borrow::Cow::Borrowed);
    (Plan { thinks: None, effort, most }, [temperature, settings.top_p, None])
}
