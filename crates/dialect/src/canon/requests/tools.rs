//! Tools and the choice between them: what all formats share.

use std::{borrow::Cow, collections::HashSet};

use foxwedge_core::Wire;

use super::{schema::NOTHING, sheet::Sheet};
use crate::{
    canon::{Choice, Lost, Takes, Tool, Words},
    json::{Object, Tape, quote},
};

/// A tool that only its format knows.
pub(super) fn own<'a>(name: Option<Words<'a>>, wire: Wire, json: &'a str) -> Tool<'a> {
    Tool {
        name: name.unwrap_or_default(),
        description: None,
        takes: Takes::Own,
        strict: None,
        cache: None,
        others: Vec::new(),
        raw: Some((wire, json)),
    }
}

/// What a custom tool takes: the format of its input, and the object that holds a grammar in it.
pub(super) fn free_text<'a>(
    format: Option<Object<'_, 'a>>,
    grammar: impl FnOnce(&Object<'_, 'a>) -> Option<(Words<'a>, Words<'a>)>,
) -> Takes<'a> {
    match format.as_ref().and_then(grammar) {
        Some((syntax, definition)) => Takes::Grammar { syntax, definition },
        None => Takes::Text,
    }
}

/// Spells a tool in the format of the sheet.
pub(super) type Spell = fn(&mut Sheet<'_, '_, '_>, &Tool<'_>);

/// Writes the list of tools, and returns those that are in it.
pub(super) fn list<'s, 'a>(sheet: &mut Sheet<'_, 's, 'a>, spell: Spell) -> Vec<&'s Tool<'a>> {
    let taken: Vec<&Tool<'a>> =
        sheet.settings.tools.iter().filter(|tool| takes(sheet, tool)).collect();
    sheet.list("tools", |sheet| taken.iter().for_each(|tool| one(sheet, tool, spell)));
    taken
}

/// Writes a tool, with a comma behind it.
pub(super) fn one(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>, spell: Spell) {
    match spelled(sheet, tool) {
        Some(json) => {
            sheet.out.push_str(json);
            // Bedrock's mark stands behind the tool.
            if let Some(mark) = tool.cache.filter(|_| sheet.to == Wire::Bedrock) {
                sheet.out.push(',');
                sheet.out.push_str(mark);
            }
        }
        None => spell(sheet, tool),
    }
    sheet.out.push(',');
}

/// How the format spelled a tool itself.
pub(super) fn spelled<'a>(sheet: &Sheet<'_, '_, '_>, tool: &Tool<'a>) -> Option<&'a str> {
    tool.raw.filter(|(wire, _)| *wire == sheet.to).map(|(_, json)| json)
}

/// Whether a tool can be declared; tells what of it is lost.
pub(super) fn takes(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) -> bool {
    if spelled(sheet, tool).is_some() {
        return true;
    }
    let name = &tool.name;
    let free = matches!(sheet.to, Wire::OpenaiChat | Wire::OpenaiResponses);
    match tool.takes {
        _ if name.is_empty() => {
            sheet.lose(Lost::Tool, "a tool without a name is left out");
            return false;
        }
        Takes::Own => {
            let note = format!("only its own format knows the tool `{name}`");
            sheet.lose(Lost::Tool, note);
            return false;
        }
        Takes::Grammar { .. } if !free => {
            let note = format!("the grammar of the tool `{name}` is told, but not enforced");
            sheet.lose(Lost::Tool, note);
        }
        Takes::Grammar { .. } | Takes::Text | Takes::Object(_) => {}
    }
    for field in &tool.others {
        let note = format!("`{field}` of the tool `{name}` has no place in this format");
        sheet.lose(Lost::Tool, note);
    }
    if tool.strict == Some(true) && sheet.to == Wire::Gemini {
        let note = format!("the arguments of the tool `{name}` need not match their schema here");
        sheet.lose(Lost::Tool, note);
    }
    if tool.cache.is_some() && !matches!(sheet.to, Wire::Anthropic | Wire::Bedrock) {
        let note = format!("the cache mark behind the tool `{name}` has no place in this format");
        sheet.lose(Lost::CacheMark, note);
    }
    true
}

/// Whether a tool takes text and no object.
pub(super) fn is_free_text(tool: &Tool<'_>) -> bool {
    matches!(tool.takes, Takes::Text | Takes::Grammar { .. })
}

/// What a tool does, for formats whose tools all take objects: its grammar is told.
pub(super) fn describe(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) {
    let said = tool.description.as_ref().filter(|text| !text.is_empty());
    match &tool.takes {
        Takes::Grammar { syntax, definition } => {
            let before = said.map(|text| format!("{text}\n\n")).unwrap_or_default();
            let text = format!("{before}The input follows this {syntax} grammar:\n{definition}");
            sheet.json("description", Some(&quote(&text)));
        }
        Takes::Object(_) | Takes::Text | Takes::Own => sheet.words("description", said),
    }
}

/// The schema of a tool, for formats that demand one. Calls of free text are objects with one string.
pub(super) fn schema<'t>(tool: &'t Tool<'_>) -> &'t str {
    match &tool.takes {
        Takes::Object(Some(schema)) => schema,
        Takes::Text | Takes::Grammar { .. } => {
            "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},\
             \"required\":[\"input\"]}"
        }
        Takes::Object(None) | Takes::Own => NOTHING,
    }
}

/// How long a cache mark holds, if it says so.
pub(super) fn lifetime(mark: &str) -> Option<String> {
    let tape = Tape::read(mark).ok()?;
    let object = tape.root(mark).object()?;
    let inner = object.object("cachePoint").unwrap_or(object);
    inner.word("ttl").map(Cow::into_owned)
}

/// The choice that is left among the tools that were written.
pub(super) fn choice<'s, 'a>(
    sheet: &mut Sheet<'_, 's, 'a>,
    written: &[&Tool<'a>],
) -> Option<Cow<'s, Choice<'a>>> {
    let choice = sheet.settings.choice.as_ref()?;
    if sheet.from == Some(sheet.to) {
        return (!written.is_empty()).then_some(Cow::Borrowed(choice));
    }
    let known: HashSet<&str> = written.iter().map(|tool| &*tool.name).collect();
    let is_there = |name: &Words<'_>| known.contains(&**name);
    let left = match choice {
        _ if written.is_empty() => None,
        Choice::Auto | Choice::Never | Choice::Any => Some(Cow::Borrowed(choice)),
        Choice::One(name) => is_there(name).then_some(Cow::Borrowed(choice)),
        Choice::Among { names, required } => {
            let names: Vec<Words<'a>> =
                names.iter().filter(|name| is_there(name)).cloned().collect();
            let some = Choice::Among { names: names.clone(), required: *required };
            (!names.is_empty()).then_some(Cow::Owned(some))
        }
    };
    // Without tools, none is called.
    if left.is_none() && !matches!(choice, Choice::Auto | Choice::Never) {
        sheet.lose(Lost::ToolChoice, "the tools to choose from are not there any more");
    }
    left
}

/// The choice for formats that cannot choose among some of the tools.
pub(super) fn without_some<'s, 'a>(
    sheet: &mut Sheet<'_, 's, 'a>,
    choice: Cow<'s, Choice<'a>>,
) -> Cow<'s, Choice<'a>> {
    let Choice::Among { names, required } = &*choice else { return choice };
    if let ([name], true) = (names.as_slice(), required) {
        return Cow::Owned(Choice::One(name.clone()));
    }
    let note = "the tools that may be called cannot be narrowed in this format";
    sheet.lose(Lost::ToolChoice, note);
    Cow::Owned(if *required { Choice::Any } else { Choice::Auto })
}

/// Whether a call is demanded.
pub(super) fn is_forced(choice: Option<&Choice<'_>>) -> bool {
    match choice {
        Some(Choice::Any | Choice::One(_)) => true,
        Some(Choice::Among { required, .. }) => *required,
        Some(Choice::Auto | Choice::Never) | None => false,
    }
}
