//! What both formats of OpenAI share.

use std::collections::HashSet;

use foxwedge_core::Wire;

use super::{
    fields::{Fields, flag, words},
    schema,
    sheet::Sheet,
    tools::{self, is_free_text},
};
use crate::{
    canon::{Answered, Choice, Lost, Setting, Settings, Thinking, Tool, Words},
    json::{Object, Value},
};

/// Reads what is called the same in both.
pub(super) fn read<'a>(fields: &mut Fields<'_, 'a>, settings: &mut Settings<'a>) {
    settings.model = fields.words("model");
    settings.stream = fields.flag("stream");
    settings.temperature = fields.number("temperature");
    settings.top_p = fields.number("top_p");
    settings.top_k = fields.number("top_k");
    settings.parallel = fields.flag("parallel_tool_calls");
    // The second is the newer name of the first; where both stand, they need not say the same.
    settings.user = fields.first(&["user", "safety_identifier"], words);
}

/// Writes what is called the same in both.
pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.words("model", settings.model.as_ref());
    sheet.flag("stream", settings.stream);
    sheet.json("temperature", settings.temperature);
    sheet.json("top_p", settings.top_p);
    sheet.lacks("top_k", settings.top_k, None);
    sheet.words("user", settings.user.as_ref());
    let to = sheet.to;
    for setting in settings.others.iter().filter(|setting| is_shared(setting, to)) {
        sheet.key(&setting.key);
        sheet.member(setting.value);
    }
}

/// Whether a field means the same in the format of OpenAI that it does not come from.
pub(super) fn is_shared(setting: &Setting<'_>, to: Wire) -> bool {
    let other = match to {
        Wire::OpenaiChat => Wire::OpenaiResponses,
        Wire::OpenaiResponses => Wire::OpenaiChat,
        Wire::Anthropic | Wire::Gemini | Wire::Bedrock => return false,
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
    known && setting.wire == other && setting.within.is_empty() && setting.value != "null"
}

/// An effort in words; one of the words says that there shall be none.
pub(super) fn effort<'a>(word: Option<Words<'a>>, settings: &mut Settings<'a>) {
    match word {
        Some(word) if word == "none" => settings.thinking = Some(Thinking::Off),
        word => settings.effort = word,
    }
}

/// The function or custom tool that a value names: its kind, and where the rest of it stands.
pub(super) fn named<'a>(value: Value<'_, 'a>) -> Option<Words<'a>> {
    let object = value.object()?;
    let inner = match &*object.text("type")? {
        kind @ ("function" | "custom") => object.object(kind).unwrap_or(object),
        _ => return None,
    };
    inner.get("name").and_then(words)
}

/// How tools are chosen.
pub(super) fn choice<'a>(value: Value<'_, 'a>) -> Option<Choice<'a>> {
    if let Some(word) = value.text() {
        return Some(match &*word {
            "auto" => Choice::Auto,
            "none" => Choice::Never,
            "required" | "any" => Choice::Any,
            _ => return None,
        });
    }
    let object = value.object()?;
    if object.text("type")? != "allowed_tools" {
        return named(value).map(Choice::One);
    }
    let allowed = object.object("allowed_tools").unwrap_or(object);
    let required = match &*allowed.text("mode")? {
        "auto" => false,
        "required" => true,
        _ => return None,
    };
    let list = allowed.get("tools").filter(|tools| tools.is_list())?;
    let names: Option<Vec<Words<'a>>> = list.list().map(named).collect();
    names.filter(|names| !names.is_empty()).map(|names| Choice::Among { names, required })
}

/// Writes how tools are chosen. Without tools there is nothing to say.
pub(super) fn choose<'a>(sheet: &mut Sheet<'_, '_, 'a>, written: &[&Tool<'a>]) {
    let choice = tools::choice(sheet, written);
    if !written.is_empty() {
        sheet.flag("parallel_tool_calls", sheet.settings.parallel);
    }
    match choice.as_deref() {
        None => {}
        Some(Choice::Auto) => sheet.plain("tool_choice", "auto"),
        Some(Choice::Never) => sheet.plain("tool_choice", "none"),
        Some(Choice::Any) => sheet.plain("tool_choice", "required"),
        Some(Choice::One(name)) => {
            sheet.key("tool_choice");
            let free = free_text(sheet.settings);
            name_tool(sheet, name, &free);
        }
        Some(Choice::Among { names, required }) => {
            let free = free_text(sheet.settings);
            let some = |sheet: &mut Sheet<'_, '_, 'a>| {
                sheet.plain("mode", if *required { "required" } else { "auto" });
                sheet.list("tools", |sheet| {
                    names.iter().for_each(|name| name_tool(sheet, name, &free));
                });
            };
            sheet.object("tool_choice", |sheet| {
                sheet.plain("type", "allowed_tools");
                match sheet.to {
                    Wire::OpenaiChat => sheet.object("allowed_tools", some),
                    _ => some(sheet),
                }
            });
        }
    }
}

/// The names of the tools that take free text.
fn free_text(settings: &Settings<'_>) -> HashSet<String> {
    let free = settings.tools.iter().filter(|tool| is_free_text(tool));
    free.map(|tool| tool.name.to_string()).collect()
}

fn name_tool(sheet: &mut Sheet<'_, '_, '_>, name: &Words<'_>, free: &HashSet<String>) {
    let kind = if free.contains(&**name) { "custom" } else { "function" };
    sheet.out.push('{');
    sheet.plain("type", kind);
    match sheet.to {
        Wire::OpenaiChat => sheet.object(kind, |sheet| sheet.words("name", Some(name))),
        _ => sheet.words("name", Some(name)),
    }
    sheet.close('}');
    sheet.out.push(',');
}

/// What an answer has to look like. `inner` finds the object with the schema.
pub(super) fn shape<'t, 'a>(
    value: Value<'t, 'a>,
    inner: impl FnOnce(Object<'t, 'a>) -> Option<Object<'t, 'a>>,
) -> Option<Answered<'a>> {
    let object = value.object()?;
    Some(match &*object.text("type")? {
        "text" => Answered::Text,
        "json_object" => Answered::Json,
        "json_schema" => {
            let inner = inner(object)?;
            Answered::Schema {
                name: inner.get("name").and_then(words),
                description: inner.get("description").and_then(words),
                schema: inner.get("schema").and_then(schema::plain)?,
                strict: inner.get("strict").and_then(flag),
            }
        }
        _ => return None,
    })
}

/// Writes what an answer has to look like. A schema needs a name here.
pub(super) fn write_shape(sheet: &mut Sheet<'_, '_, '_>, key: &str) {
    let Some(shape) = &sheet.settings.shape else { return };
    sheet.object(key, |sheet| match shape {
        Answered::Text => sheet.plain("type", "text"),
        Answered::Json => sheet.plain("type", "json_object"),
        Answered::Schema { name, description, schema, strict } => {
            sheet.plain("type", "json_schema");
            let unnamed = Words::from("answer");
            let inner = |sheet: &mut Sheet<'_, '_, '_>| {
                sheet.words("name", Some(name.as_ref().unwrap_or(&unnamed)));
                sheet.words("description", description.as_ref());
                sheet.json("schema", Some(schema));
                // Formats that have no word for it always match exactly.
                let always = matches!(sheet.from, Some(Wire::Anthropic | Wire::Bedrock));
                let asked = strict.or(always.then_some(true));
                if asked == Some(true) && !takes_exactly(sheet, schema) {
                    let note = "the answer need not match its schema: only schemas that demand \
                                every field and allow no others are enforced here";
                    sheet.lose(Lost::Setting, note);
                    return;
                }
                sheet.flag("strict", asked);
            };
            match sheet.to {
                Wire::OpenaiChat => sheet.object("json_schema", inner),
                _ => inner(sheet),
            }
        }
    });
}

/// Whether a schema that has to be matched exactly is one that these formats take.
pub(super) fn takes_exactly(sheet: &Sheet<'_, '_, '_>, schema: &str) -> bool {
    matches!(sheet.from, Some(Wire::OpenaiChat | Wire::OpenaiResponses)) || schema::is_exact(schema)
}

/// Whether the arguments of a tool have to match their schema; tells if they should but cannot.
pub(super) fn is_strict(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) -> bool {
    if tool.strict != Some(true) {
        return false;
    }
    let exact = takes_exactly(sheet, tools::schema(tool));
    if !exact {
        let name = &tool.name;
        let note = format!(
            "the arguments of the tool `{name}` need not match their schema: only schemas that \
             demand every field and allow no others are enforced here"
        );
        sheet.lose(Lost::Tool, note);
    }
    exact
}
