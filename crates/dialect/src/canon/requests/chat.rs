//! The settings of a chat request.

use foxwedge_core::{Profile, Wire};

use super::{
    fields::{Fields, flag, texts, words},
    openai, reasoning, schema,
    sheet::Sheet,
    tools::{self, free_text, is_free_text, own},
};
use crate::{
    canon::{Choice, Lost, Settings, Takes, Tool, Words},
    json::{Object, Value},
};

const WIRE: Wire = Wire::OpenaiChat;

pub(super) fn read<'t, 'a>(fields: &mut Fields<'t, 'a>, settings: &mut Settings<'a>) {
    openai::read(fields, settings);
    // The second is the older name of the first.
    settings.most = fields.first(&["max_completion_tokens", "max_tokens"], Value::number);
    settings.seed = fields.number("seed");
    settings.presence = fields.number("presence_penalty");
    settings.frequency = fields.number("frequency_penalty");
    settings.answers = fields.number("n");
    settings.stops = fields.take("stop", stops).unwrap_or_default();
    openai::effort(fields.words("reasoning_effort"), settings);
    settings.verbosity = fields.words("verbosity");
    let inner = |object: Object<'t, 'a>| object.object("json_schema");
    settings.shape = fields.take("response_format", |value| openai::shape(value, inner));
    let list = |value: Value<'_, 'a>| value.is_list().then(|| value.list().map(tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    settings.choice = fields.take("tool_choice", openai::choice);
    // The older form of tools and of the choice between them.
    let older = |value: Value<'_, 'a>| value.is_list().then(|| value.list().map(older).collect());
    let older: Vec<Tool<'a>> = fields.take("functions", older).unwrap_or_default();
    settings.tools.extend(older);
    if settings.choice.is_none() {
        settings.choice = fields.take("function_call", older_choice);
    }
}

/// One text or a list of them.
fn stops<'a>(value: Value<'_, 'a>) -> Option<Vec<Words<'a>>> {
    words(value).map(|text| vec![text]).or_else(|| texts(value))
}

fn tool<'a>(value: Value<'_, 'a>) -> Tool<'a> {
    let json = value.raw();
    let Some(object) = value.object() else { return own(None, WIRE, json) };
    let kind = object.get("type").and_then(words);
    match kind.as_deref() {
        Some("custom") => custom(object.object("custom").unwrap_or(object), json),
        Some("function") | None => {
            let inner = object.object("function").unwrap_or(object);
            Tool { raw: Some((WIRE, json)), ..function(inner) }
        }
        Some(_) => own(kind, WIRE, json),
    }
}

fn function<'a>(object: Object<'_, 'a>) -> Tool<'a> {
    let mut fields = Fields::of(object);
    fields.skip(&["type"]);
    Tool {
        name: fields.words("name").unwrap_or_default(),
        description: fields.words("description"),
        takes: Takes::Object(fields.take("parameters", schema::of_tool)),
        strict: fields.take("strict", flag),
        cache: None,
        others: fields.names(),
        raw: None,
    }
}

fn custom<'a>(object: Object<'_, 'a>, json: &'a str) -> Tool<'a> {
    let mut fields = Fields::of(object);
    fields.skip(&["type"]);
    let grammar = |format: &Object<'_, 'a>| {
        let grammar = format.object("grammar")?;
        grammar.get("syntax").and_then(words).zip(grammar.get("definition").and_then(words))
    };
    Tool {
        name: fields.words("name").unwrap_or_default(),
        description: fields.words("description"),
        takes: free_text(fields.take("format", Value::object), grammar),
        strict: None,
        cache: None,
        others: fields.names(),
        raw: Some((WIRE, json)),
    }
}

/// A function of the older form is no element of the list of tools.
fn older<'a>(value: Value<'_, 'a>) -> Tool<'a> {
    let nothing = || Tool { raw: None, ..own(None, WIRE, "") };
    value.object().map_or_else(nothing, function)
}

fn older_choice<'a>(value: Value<'_, 'a>) -> Option<Choice<'a>> {
    let named = || value.object()?.get("name").and_then(words).map(Choice::One);
    openai::choice(value).or_else(named)
}

pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    openai::write(sheet);
    // Other formats always tell at the end of a stream what it cost.
    if settings.stream == Some(true) && sheet.from.is_some_and(|from| from != WIRE) {
        sheet.object("stream_options", |sheet| sheet.flag("include_usage", Some(true)));
    }
    sheet.json(most_key(settings, sheet.profile), settings.most);
    sheet.json("seed", settings.seed);
    sheet.json("presence_penalty", settings.presence);
    sheet.json("frequency_penalty", settings.frequency);
    sheet.json("n", settings.answers);
    sheet.stops("stop", 4, |_| true);
    let effort = reasoning::effort(sheet).map(Words::from);
    sheet.words("reasoning_effort", effort.as_ref());
    if settings.thoughts == Some(true) {
        sheet.lose(Lost::Setting, "what was reasoned cannot be asked for in this format");
    }
    sheet.words("verbosity", settings.verbosity.as_ref());
    openai::write_shape(sheet, "response_format");
    let written = tools::list(sheet, spell);
    openai::choose(sheet, &written);
}

/// The newer name of the limit, unless the request itself went by the older one: many servers that
/// speak this format know no other.
fn most_key(settings: &Settings<'_>, profile: Profile) -> &'static str {
    if matches!(profile, Profile::Mistral | Profile::Deepseek) {
        return "max_tokens";
    }
    let spelled = settings.spelled.iter().filter(|spelled| spelled.wire == WIRE);
    let mut members = spelled.flat_map(|spelled| &spelled.members);
    let older = members.clone().any(|member| member.starts_with("\"max_tokens\""));
    let newer = members.any(|member| member.starts_with("\"max_completion_tokens\""));
    if older && !newer { "max_tokens" } else { "max_completion_tokens" }
}

fn spell(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) {
    let kind = if is_free_text(tool) { "custom" } else { "function" };
    sheet.out.push('{');
    sheet.plain("type", kind);
    sheet.object(kind, |sheet| {
        sheet.words("name", Some(&tool.name));
        sheet.words("description", tool.description.as_ref());
        match &tool.takes {
            Takes::Object(schema) => {
                sheet.json("parameters", schema.as_deref());
                if openai::is_strict(sheet, tool) {
                    sheet.flag("strict", Some(true));
                }
            }
            Takes::Grammar { syntax, definition } => sheet.object("format", |sheet| {
                sheet.plain("type", "grammar");
                sheet.object("grammar", |sheet| {
                    sheet.words("syntax", Some(syntax));
                    sheet.words("definition", Some(definition));
                });
            }),
            Takes::Text | Takes::Own => {}
        }
    });
    sheet.close('}');
}
