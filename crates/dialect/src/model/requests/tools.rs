//! Tools and the choice between them: what all formats share.

use std::{borrow::Cow, collections::HashSet};

use foxwedge_core::Format;

use super::{field_writer::RequestFieldWriter, schema::EMPTY_SCHEMA};
use crate::{
    json::{JsonObject, JsonTape, quote},
    model::{JsonText, LossKind, ToolChoice, ToolDeclaration, ToolInput},
};

/// A tool that only its format knows.
pub(super) fn provider_tool<'a>(
    name: Option<JsonText<'a>>,
    wire: Format,
    json: &'a str,
) -> ToolDeclaration<'a> {
    ToolDeclaration {
        name: name.unwrap_or_default(),
        description: None,
        input: ToolInput::ProviderDefined,
        strict: None,
        cache: None,
        others: Vec::new(),
        raw: Some((wire, json)),
    }
}

/// What a custom tool takes: the format of its input, and the object that holds a grammar in it.
pub(super) fn free_text_input<'a>(
    format: Option<JsonObject<'_, 'a>>,
    grammar: impl FnOnce(&JsonObject<'_, 'a>) -> Option<(JsonText<'a>, JsonText<'a>)>,
) -> ToolInput<'a> {
    match format.as_ref().and_then(grammar) {
        Some((syntax, definition)) => ToolInput::Grammar { syntax, definition },
        None => ToolInput::Text,
    }
}

/// Spells a tool in the format of the sheet.
pub(super) type ToolEncoder = fn(&mut RequestFieldWriter<'_, '_, '_>, &ToolDeclaration<'_>);

/// Writes the list of tools, and returns those that are in it.
pub(super) fn write_tools<'s, 'a>(
    sheet: &mut RequestFieldWriter<'_, 's, 'a>,
    spell: ToolEncoder,
) -> Vec<&'s ToolDeclaration<'a>> {
    let taken: Vec<&ToolDeclaration<'a>> =
        sheet.settings.tools.iter().filter(|tool| accepts_tool(sheet, tool)).collect();
    sheet.write_list("tools", |sheet| {
        taken.iter().for_each(|tool| write_one_tool(sheet, tool, spell))
    });
    taken
}

/// Writes a tool, with a comma behind it.
pub(super) fn write_one_tool(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
    spell: ToolEncoder,
) {
    match original_tool(sheet, tool) {
        Some(json) => {
            sheet.out.push_str(json);
            // Bedrock's mark stands behind the tool.
            if let Some(mark) = tool.cache.filter(|_| sheet.to == Format::Bedrock) {
                sheet.out.push(',');
                sheet.out.push_str(mark);
            }
        }
        None => spell(sheet, tool),
    }
    sheet.out.push(',');
}

/// How the format spelled a tool itself.
pub(super) fn original_tool<'a>(
    sheet: &RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'a>,
) -> Option<&'a str> {
    tool.raw.filter(|(wire, _)| *wire == sheet.to).map(|(_, json)| json)
}

/// Whether a tool can be declared; tells what of it is lost.
pub(super) fn accepts_tool(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
) -> bool {
    if original_tool(sheet, tool).is_some() {
        return true;
    }
    let name = &tool.name;
    let free = matches!(sheet.to, Format::OpenaiChat | Format::OpenaiResponses);
    match tool.input {
        _ if name.is_empty() => {
            sheet.record_loss(LossKind::Tool, "a tool without a name is left out");
            return false;
        }
        ToolInput::ProviderDefined => {
            let note = format!("only its own format knows the tool `{name}`");
            sheet.record_loss(LossKind::Tool, note);
            return false;
        }
        ToolInput::Grammar { .. } if !free => {
            let note = format!("the grammar of the tool `{name}` is told, but not enforced");
            sheet.record_loss(LossKind::Tool, note);
        }
        ToolInput::Grammar { .. } | ToolInput::Text | ToolInput::Object(_) => {}
    }
    for field in &tool.others {
        let note = format!("`{field}` of the tool `{name}` has no place in this format");
        sheet.record_loss(LossKind::Tool, note);
    }
    if tool.strict == Some(true) && sheet.to == Format::Gemini {
        let note = format!("the arguments of the tool `{name}` need not match their schema here");
        sheet.record_loss(LossKind::Tool, note);
    }
    if tool.cache.is_some() && !matches!(sheet.to, Format::Anthropic | Format::Bedrock) {
        let note = format!("the cache mark behind the tool `{name}` has no place in this format");
        sheet.record_loss(LossKind::CacheMark, note);
    }
    true
}

/// Whether a tool takes text and no object.
pub(super) fn is_free_text(tool: &ToolDeclaration<'_>) -> bool {
    matches!(tool.input, ToolInput::Text | ToolInput::Grammar { .. })
}

/// What a tool does, for formats whose tools all take objects: its grammar is told.
pub(super) fn write_description(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    tool: &ToolDeclaration<'_>,
) {
    let said = tool.description.as_ref().filter(|text| !text.is_empty());
    match &tool.input {
        ToolInput::Grammar { syntax, definition } => {
            let before = said.map(|text| format!("{text}\n\n")).unwrap_or_default();
            let text = format!("{before}The input follows this {syntax} grammar:\n{definition}");
            sheet.write_json("description", Some(&quote(&text)));
        }
        ToolInput::Object(_) | ToolInput::Text | ToolInput::ProviderDefined => {
            sheet.write_text("description", said)
        }
    }
}

/// The schema of a tool, for formats that demand one. Calls of free text are objects with one string.
pub(super) fn input_schema<'t>(tool: &'t ToolDeclaration<'_>) -> &'t str {
    match &tool.input {
        ToolInput::Object(Some(schema)) => schema,
        ToolInput::Text | ToolInput::Grammar { .. } => {
            "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\
             \"required\":[\"input\"]}"
        }
        ToolInput::Object(None) | ToolInput::ProviderDefined => EMPTY_SCHEMA,
    }
}

/// How long a cache mark holds, if it says so.
pub(super) fn cache_lifetime(mark: &str) -> Option<String> {
    let tape = JsonTape::read(mark).ok()?;
    let object = tape.root(mark).object()?;
    let inner = object.object("cachePoint").unwrap_or(object);
    inner.non_empty_text("ttl").map(Cow::into_owned)
}

/// The choice that is left among the tools that were written.
pub(super) fn remaining_choice<'s, 'a>(
    sheet: &mut RequestFieldWriter<'_, 's, 'a>,
    written: &[&ToolDeclaration<'a>],
) -> Option<Cow<'s, ToolChoice<'a>>> {
    let choice = sheet.settings.tool_choice.as_ref()?;
    if sheet.from == Some(sheet.to) {
        return (!written.is_empty()).then_some(Cow::Borrowed(choice));
    }
    let known: HashSet<&str> = written.iter().map(|tool| &*tool.name).collect();
    let is_there = |name: &JsonText<'_>| known.contains(&**name);
    let left = match choice {
        _ if written.is_empty() => None,
        ToolChoice::Auto | ToolChoice::Never | ToolChoice::Any => Some(Cow::Borrowed(choice)),
        ToolChoice::One(name) => is_there(name).then_some(Cow::Borrowed(choice)),
        ToolChoice::Among { names, required } => {
            let names: Vec<JsonText<'a>> =
                names.iter().filter(|name| is_there(name)).cloned().collect();
            let some = ToolChoice::Among { names: names.clone(), required: *required };
            (!names.is_empty()).then_some(Cow::Owned(some))
        }
    };
    // Without tools, none is called.
    if left.is_none() && !matches!(choice, ToolChoice::Auto | ToolChoice::Never) {
        sheet.record_loss(LossKind::ToolChoice, "the tools to choose from are not there any more");
    }
    left
}

/// The choice for formats that cannot choose among some of the tools.
pub(super) fn widen_choice<'s, 'a>(
    sheet: &mut RequestFieldWriter<'_, 's, 'a>,
    choice: Cow<'s, ToolChoice<'a>>,
) -> Cow<'s, ToolChoice<'a>> {
    let ToolChoice::Among { names, required } = &*choice else { return choice };
    if let ([name], true) = (names.as_slice(), required) {
        return Cow::Owned(ToolChoice::One(name.clone()));
    }
    let note = "the tools that may be called cannot be narrowed in this format";
    sheet.record_loss(LossKind::ToolChoice, note);
    Cow::Owned(if *required { ToolChoice::Any } else { ToolChoice::Auto })
}

/// Whether a call is demanded.
pub(super) fn is_forced(choice: Option<&ToolChoice<'_>>) -> bool {
    match choice {
        Some(ToolChoice::Any | ToolChoice::One(_)) => true,
        Some(ToolChoice::Among { required, .. }) => *required,
        Some(ToolChoice::Auto | ToolChoice::Never) | None => false,
    }
}
