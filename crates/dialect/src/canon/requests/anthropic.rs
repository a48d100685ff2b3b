//! The settings of an Anthropic request.

use std::borrow::Cow;

use foxwedge_core::Wire;

use super::{
    claude,
    fields::{Fields, flag, words},
    foreign, schema,
    sheet::{Sheet, called},
    tools::{self, own},
};
use crate::{
    canon::{Answered, Choice, Lost, Settings, Takes, Thinking, Tool, Words},
    json::{Object, Value},
};

const WIRE: Wire = Wire::Anthropic;

pub(super) fn read<'t, 'a>(fields: &mut Fields<'t, 'a>, settings: &mut Settings<'a>) {
    settings.model = fields.words("model");
    settings.stream = fields.flag("stream");
    settings.most = fields.number("max_tokens");
    settings.temperature = fields.number("temperature");
    settings.top_p = fields.number("top_p");
    settings.top_k = fields.number("top_k");
    settings.stops = fields.take("stop_sequences", super::fields::texts).unwrap_or_default();
    if let Some(mut inner) = fields.inner(&["metadata"]) {
        settings.user = inner.words("user_id");
        inner.leave(WIRE, "metadata", &mut settings.others);
    }
    thinking(fields, WIRE, "thinking", settings);
    if let Some(mut inner) = fields.inner(&["output_config"]) {
        settings.effort = inner.words("effort");
        settings.shape = inner.take("format", shape);
        inner.leave(WIRE, "output_config", &mut settings.others);
    }
    if settings.shape.is_none() {
        // The name before there was `output_config`.
        settings.shape = fields.take("output_format", shape);
    }
    let list = |value: Value<'_, 'a>| value.is_list().then(|| value.list().map(tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    let known = |value: Value<'t, 'a>| value.object().filter(|object| choice(object).is_some());
    if let Some(object) = fields.take("tool_choice", known) {
        settings.choice = choice(&object);
        let mut inner = Fields::of(object);
        inner.skip(&["type", "name"]);
        settings.parallel = inner.flag("disable_parallel_tool_use").map(|alone| !alone);
        inner.leave(WIRE, "tool_choice", &mut settings.others);
    }
}

/// Reads how to reason, as Claude is told everywhere.
pub(super) fn thinking<'t, 'a>(
    fields: &mut Fields<'t, 'a>,
    wire: Wire,
    within: &'static str,
    settings: &mut Settings<'a>,
) {
    let known = |value: Value<'t, 'a>| {
        let object = value.object()?;
        let thinking = match &*object.text("type")? {
            "enabled" => {
                let budget = object.get("budget_tokens")?;
                Thinking::Budget(budget.number().filter(|_| budget.count().is_some())?)
            }
            "adaptive" => Thinking::Adaptive,
            "disabled" => Thinking::Off,
            _ => return None,
        };
        Some((thinking, Fields::of(object)))
    };
    if let Some((thinking, mut inner)) = fields.take("thinking", known) {
        inner.skip(match thinking {
            Thinking::Budget(_) => &["type", "budget_tokens"],
            Thinking::Adaptive | Thinking::Off => &["type"],
        });
        settings.thinking = Some(thinking);
        settings.thoughts = inner.take("display", |value| match &*value.text()? {
            "summarized" => Some(true),
            "omitted" => Some(false),
            _ => None,
        });
        inner.leave(wire, within, &mut settings.others);
    }
}

fn shape<'a>(value: Value<'_, 'a>) -> Option<Answered<'a>> {
    let object =
        value.object().filter(|object| object.text("type").as_deref() == Some("json_schema"))?;
    let schema = object.get("schema").and_then(schema::plain)?;
    Some(Answered::Schema { name: None, description: None, schema, strict: None })
}

fn tool<'a>(value: Value<'_, 'a>) -> Tool<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return own(None, WIRE, json) };
    let kind = object.get("type").and_then(words);
    if kind.as_ref().is_some_and(|kind| *kind != "custom") {
        // Tools that the provider runs, and those that the model has learnt.
        return own(kind, WIRE, json);
    }
    let mut fields = Fields::of(object);
    fields.skip(&["type"]);
    Tool {
        name: fields.words("name").unwrap_or_default(),
        description: fields.words("description"),
        takes: Takes::Object(fields.take("input_schema", schema::of_tool)),
        strict: fields.take("strict", flag),
        cache: fields.take("cache_control", |mark| mark.is_object().then(|| mark.raw())),
        others: fields.names(),
        raw: Some((WIRE, json)),
    }
}

fn choice<'a>(object: &Object<'_, 'a>) -> Option<Choice<'a>> {
    Some(match &*object.text("type")? {
        "auto" => Choice::Auto,
        "any" => Choice::Any,
        "none" => Choice::Never,
        "tool" => Choice::One(object.get("name").and_then(words)?),
        _ => return None,
    })
}

pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.words("model", settings.model.as_ref());
    sheet.flag("stream", settings.stream);
    let written = tools::list(sheet, spell);
    let choice = tools::choice(sheet, &written).map(|choice| tools::without_some(sheet, choice));
    write_choice(sheet, choice.as_deref(), !written.is_empty());
    let plan = claude::plan(sheet, tools::is_forced(choice.as_deref()));
    sheet.json("max_tokens", plan.most.as_deref());
    claude::write(sheet, plan.thinks, "thinking");
    let effort = plan.effort.map(Words::from);
    sheet.object("output_config", |sheet| {
        sheet.words("effort", effort.as_ref());
        write_shape(sheet);
        sheet.others("output_config");
    });
    let [temperature, top_p, top_k] = claude::sampling(sheet, plan.thinks);
    sheet.json("temperature", temperature);
    sheet.json("top_p", top_p);
    sheet.json("top_k", top_k);
    sheet.stops("stop_sequences", usize::MAX, |stop| !stop.trim().is_empty());
    sheet.object("metadata", |sheet| {
        sheet.words("user_id", settings.user.as_ref());
        sheet.others("metadata");
    });
    foreign::numbers(sheet);
    foreign::verbosity(sheet);
}

fn spell(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) {
    sheet.out.push('{');
    sheet.words("name", Some(&tool.name));
    tools::describe(sheet, tool);
    sheet.json("input_schema", Some(tools::schema(tool)));
    if tool.strict == Some(true) {
        sheet.flag("strict", tool.strict);
    }
    if let Some(mark) = tool.cache {
        let lifetime = tools::lifetime(mark).map(Words::from);
        sheet.object("cache_control", |sheet| {
            sheet.plain("type", "ephemeral");
            sheet.words("ttl", lifetime.as_ref());
        });
    }
    sheet.close('}');
}

/// Whether calls may be made at once is said beside how they are chosen.
fn write_choice(sheet: &mut Sheet<'_, '_, '_>, choice: Option<&Choice<'_>>, has_tools: bool) {
    let parallel = sheet.settings.parallel;
    let alone = has_tools && parallel == Some(false);
    let choice = match choice {
        None if alone => Cow::Owned(Choice::Auto),
        None => return,
        Some(choice) => Cow::Borrowed(choice),
    };
    sheet.object("tool_choice", |sheet| {
        let word = match &*choice {
            Choice::Auto | Choice::Among { required: false, .. } => "auto",
            Choice::Any | Choice::Among { required: true, .. } => "any",
            Choice::Never => "none",
            Choice::One(_) => "tool",
        };
        sheet.plain("type", word);
        if let Choice::One(name) = &*choice {
            sheet.words("name", Some(name));
        }
        if *choice != Choice::Never {
            sheet.flag("disable_parallel_tool_use", parallel.map(|parallel| !parallel));
        }
        sheet.others("tool_choice");
    });
}

fn write_shape(sheet: &mut Sheet<'_, '_, '_>) {
    match &sheet.settings.shape {
        None | Some(Answered::Text) => {}
        Some(Answered::Json) => {
            let field = called(sheet.from, "response_format");
            let note = format!("`{field}`: JSON without a schema cannot be asked for here");
            sheet.lose(Lost::Setting, note);
        }
        Some(Answered::Schema { description, schema, .. }) => {
            sheet.object("format", |sheet| {
                sheet.plain("type", "json_schema");
                sheet.json("schema", Some(schema));
            });
            if description.is_some() {
                let note = "what the schema of the answer is for has no place in this format";
                sheet.lose(Lost::Setting, note);
            }
        }
    }
}
