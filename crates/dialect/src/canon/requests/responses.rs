//! The settings of a Responses request.

use foxwedge_core::Wire;

use super::{
    fields::{Fields, flag, words},
    foreign, openai, reasoning, schema,
    sheet::{Sheet, called},
    tools::{self, free_text, is_free_text, own},
};
use crate::{
    canon::{Setting, Settings, Takes, Tool, Words},
    json::{Object, Value},
};

const WIRE: Wire = Wire::OpenaiResponses;

pub(super) fn read<'a>(fields: &mut Fields<'_, 'a>, settings: &mut Settings<'a>) {
    openai::read(fields, settings);
    settings.most = fields.number("max_output_tokens");
    if let Some(mut inner) = fields.inner(&["reasoning"]) {
        openai::effort(inner.words("effort"), settings);
        settings.thoughts = inner.words("summary").map(|_| true);
        inner.leave(WIRE, "reasoning", &mut settings.others);
    }
    if let Some(mut inner) = fields.inner(&["text"]) {
        settings.shape = inner.take("format", |value| openai::shape(value, Some));
        settings.verbosity = inner.words("verbosity");
        inner.leave(WIRE, "text", &mut settings.others);
    }
    let list = |value: Value<'_, 'a>| value.is_list().then(|| value.list().map(tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    settings.choice = fields.take("tool_choice", openai::choice);
}

fn tool<'a>(value: Value<'_, 'a>) -> Tool<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return own(None, WIRE, json) };
    let kind = object.get("type").and_then(words);
    let takes_object = match kind.as_deref() {
        Some("custom") => false,
        Some("function") | None => true,
        // Hosted tools, and those that the model has learnt: shells, patches, computers.
        Some(_) => return own(kind, WIRE, json),
    };
    let mut fields = Fields::of(object);
    fields.skip(&["type"]);
    let grammar = |format: &Object<'_, 'a>| {
        format.get("syntax").and_then(words).zip(format.get("definition").and_then(words))
    };
    let takes = match takes_object {
        true => Takes::Object(fields.take("parameters", schema::of_tool)),
        false => free_text(fields.take("format", Value::object), grammar),
    };
    Tool {
        name: fields.words("name").unwrap_or_default(),
        description: fields.words("description"),
        takes,
        strict: fields.take("strict", flag),
        cache: None,
        others: fields.names(),
        raw: Some((WIRE, json)),
    }
}

pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    openai::write(sheet);
    // Nobody else stores an answer unless told to.
    let stores = |setting: &Setting<'_>| setting.key == "store" && openai::is_shared(setting, WIRE);
    if sheet.from.is_some_and(|from| from != WIRE) && !settings.others.iter().any(stores) {
        sheet.flag("store", Some(false));
    }
    sheet.json("max_output_tokens", settings.most);
    foreign::numbers(sheet);
    if !settings.stops.is_empty() {
        sheet.no_place(called(sheet.from, "stop"));
    }
    let effort = reasoning::effort(sheet).map(Words::from);
    sheet.object("reasoning", |sheet| {
        sheet.words("effort", effort.as_ref());
        if settings.thoughts == Some(true) {
            sheet.plain("summary", "auto");
        }
        sheet.others("reasoning");
    });
    sheet.object("text", |sheet| {
        openai::write_shape(sheet, "format");
        sheet.words("verbosity", settings.verbosity.as_ref());
        sheet.others("text");
    });
    let written = tools::list(sheet, spell);
    openai::choose(sheet, &written);
}

fn spell(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) {
    sheet.out.push('{');
    sheet.plain("type", if is_free_text(tool) { "custom" } else { "function" });
    sheet.words("name", Some(&tool.name));
    sheet.words("description", tool.description.as_ref());
    match &tool.takes {
        Takes::Object(_) => {
            sheet.json("parameters", Some(tools::schema(tool)));
            // Silence means strict here, and nowhere else.
            let strict = openai::is_strict(sheet, tool);
            sheet.flag("strict", Some(strict));
        }
        Takes::Grammar { syntax, definition } => sheet.object("format", |sheet| {
            sheet.plain("type", "grammar");
            sheet.words("syntax", Some(syntax));
            sheet.words("definition", Some(definition));
        }),
        Takes::Text | Takes::Own => {}
    }
    sheet.close('}');
}
