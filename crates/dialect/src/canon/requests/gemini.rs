//! The settings of a Gemini request. Its fields may be spelled as in JSON or as in its protocol.

mod thinking;

use foxwedge_core::Wire;

use super::{
    fields::{Fields, flag, texts},
    foreign, reasoning, schema,
    sheet::Sheet,
    tools::{self, own},
};
use crate::{
    canon::{Answered, Choice, Lost, Settings, Takes, Tool},
    json::Value,
};

const WIRE: Wire = Wire::Gemini;
const GENERATION: &str = "generationConfig";
const TOOLS: &str = "toolConfig";
const CALLING: &str = "toolConfig.functionCallingConfig";

pub(super) fn read<'a>(fields: &mut Fields<'_, 'a>, settings: &mut Settings<'a>) {
    settings.model = fields.words("model");
    if let Some(mut inner) = fields.inner(&["generationConfig", "generation_config"]) {
        generation(&mut inner, settings);
        inner.leave(WIRE, GENERATION, &mut settings.others);
    }
    let list =
        |value: Value<'_, 'a>| value.is_list().then(|| value.list().flat_map(tool).collect());
    settings.tools = fields.take("tools", list).unwrap_or_default();
    if let Some(mut inner) = fields.inner(&["toolConfig", "tool_config"]) {
        let keys = &["functionCallingConfig", "function_calling_config"];
        if let Some(mut calling) = inner.inner(keys) {
            settings.choice = choice(&mut calling);
            calling.leave(WIRE, CALLING, &mut settings.others);
        }
        inner.leave(WIRE, TOOLS, &mut settings.others);
    }
}

fn generation<'a>(fields: &mut Fields<'_, 'a>, settings: &mut Settings<'a>) {
    let number = Value::number;
    settings.most = fields.first(&["maxOutputTokens", "max_output_tokens"], number);
    settings.temperature = fields.number("temperature");
    settings.top_p = fields.first(&["topP", "top_p"], number);
    settings.top_k = fields.first(&["topK", "top_k"], number);
    settings.seed = fields.number("seed");
    settings.presence = fields.first(&["presencePenalty", "presence_penalty"], number);
    settings.frequency = fields.first(&["frequencyPenalty", "frequency_penalty"], number);
    settings.answers = fields.first(&["candidateCount", "candidate_count"], number);
    let stops = fields.first(&["stopSequences", "stop_sequences"], texts);
    settings.stops = stops.unwrap_or_default();
    settings.shape = shape(fields);
    thinking::read(fields, settings);
}

fn shape<'a>(fields: &mut Fields<'_, 'a>) -> Option<Answered<'a>> {
    let kind = |value: Value<'_, 'a>| {
        let kind = value.text()?;
        matches!(&*kind, "application/json" | "text/plain").then_some(kind)
    };
    let kind = fields.first(&["responseMimeType", "response_mime_type"], kind)?;
    if kind == "text/plain" {
        return Some(Answered::Text);
    }
    let standard = &["responseJsonSchema", "response_json_schema", "_responseJsonSchema"];
    let schema = fields.first(standard, schema::plain);
    let older = || fields.first(&["responseSchema", "response_schema"], schema::from_gemini);
    Some(match schema.or_else(older) {
        Some(schema) => Answered::Schema { name: None, description: None, schema, strict: None },
        None => Answered::Json,
    })
}

/// An element of the list holds any number of functions, and tools of Google's own. The JSON of
/// those is the field they are.
fn tool<'a>(value: Value<'_, 'a>) -> Vec<Tool<'a>> {
    let Some(object) = value.object() else { return vec![nothing()] };
    let mut tools = Vec::new();
    for (key, value) in object.fields() {
        if value.is_null() {
            continue;
        }
        match &*key {
            "functionDeclarations" | "function_declarations" if value.is_list() => {
                tools.extend(value.list().map(function));
            }
            _ => tools.extend(object.member(&key).map(|json| own(Some(key.into()), WIRE, json))),
        }
    }
    tools
}

/// What is no tool has no place among them.
fn nothing<'a>() -> Tool<'a> {
    Tool { raw: None, ..own(None, WIRE, "") }
}

fn function<'a>(value: Value<'_, 'a>) -> Tool<'a> {
    let Some(object) = value.object() else { return nothing() };
    let mut fields = Fields::of(object);
    let standard = &["parametersJsonSchema", "parameters_json_schema"];
    let schema = fields.first(standard, schema::of_tool);
    let schema = schema.or_else(|| fields.take("parameters", schema::of_gemini_tool));
    Tool {
        name: fields.words("name").unwrap_or_default(),
        description: fields.words("description"),
        takes: Takes::Object(schema),
        strict: None,
        cache: None,
        others: fields.names(),
        raw: Some((WIRE, value.raw())),
    }
}

fn choice<'a>(fields: &mut Fields<'_, 'a>) -> Option<Choice<'a>> {
    let names = |value: Value<'_, 'a>| texts(value).filter(|names| !names.is_empty());
    // Which modes there are depends on whether tools are named.
    let keys = &["allowedFunctionNames", "allowed_function_names"];
    let named = fields.peek(keys, names);
    let choice = fields.take("mode", |value| {
        Some(match (&*value.text()?.to_ascii_uppercase(), &named) {
            ("AUTO", None) => Choice::Auto,
            ("NONE", None) => Choice::Never,
            ("ANY", None) => Choice::Any,
            ("ANY", Some(names)) => match names.as_slice() {
                [name] => Choice::One(name.clone()),
                names => Choice::Among { names: names.to_vec(), required: true },
            },
            ("VALIDATED", Some(names)) => Choice::Among { names: names.clone(), required: false },
            _ => return None,
        })
    });
    if choice.is_some() {
        fields.first(keys, names);
    }
    choice
}

pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.words("model", settings.model.as_ref());
    let written = write_tools(sheet);
    let choice = tools::choice(sheet, &written);
    sheet.object(TOOLS, |sheet| {
        sheet.object("functionCallingConfig", |sheet| {
            write_choice(sheet, choice.as_deref());
            sheet.others(CALLING);
        });
        sheet.others(TOOLS);
    });
    foreign::parallel(sheet, &written);
    sheet.object(GENERATION, |sheet| {
        sheet.json("maxOutputTokens", settings.most);
        sheet.json("temperature", settings.temperature);
        sheet.json("topP", settings.top_p);
        sheet.json("topK", settings.top_k);
        sheet.json("seed", settings.seed);
        sheet.asked("presencePenalty", settings.presence, 0.0);
        sheet.asked("frequencyPenalty", settings.frequency, 0.0);
        sheet.asked("candidateCount", settings.answers, 1.0);
        sheet.stops("stopSequences", 5, |_| true);
        write_shape(sheet);
        thinking::write(sheet);
        sheet.others(GENERATION);
    });
    foreign::user(sheet);
    foreign::verbosity(sheet);
}

/// Functions stand together, every tool of Google's own for itself.
fn write_tools<'s, 'a>(sheet: &mut Sheet<'_, 's, 'a>) -> Vec<&'s Tool<'a>> {
    let taken: Vec<&Tool<'a>> =
        sheet.settings.tools.iter().filter(|tool| tools::takes(sheet, tool)).collect();
    sheet.list("tools", |sheet| {
        let (own, functions): (Vec<&Tool<'a>>, Vec<&Tool<'a>>) =
            taken.iter().partition(|tool| tool.takes == Takes::Own);
        if !functions.is_empty() {
            sheet.out.push('{');
            sheet.list("functionDeclarations", |sheet| {
                functions.iter().for_each(|tool| tools::one(sheet, tool, spell));
            });
            sheet.close('}');
            sheet.out.push(',');
        }
        for tool in own {
            if let Some(field) = tools::spelled(sheet, tool) {
                sheet.out.push('{');
                sheet.out.push_str(field);
                sheet.out.push_str("},");
            }
        }
    });
    taken
}

fn spell(sheet: &mut Sheet<'_, '_, '_>, tool: &Tool<'_>) {
    sheet.out.push('{');
    sheet.words("name", Some(&tool.name));
    tools::describe(sheet, tool);
    if tool.takes != Takes::Object(None) {
        sheet.json("parametersJsonSchema", Some(tools::schema(tool)));
    }
    sheet.close('}');
}

fn write_choice(sheet: &mut Sheet<'_, '_, '_>, choice: Option<&Choice<'_>>) {
    let (mode, names) = match choice {
        None => return,
        Some(Choice::Auto) => ("AUTO", &[][..]),
        Some(Choice::Never) => ("NONE", &[][..]),
        Some(Choice::Any) => ("ANY", &[][..]),
        Some(Choice::One(name)) => ("ANY", std::slice::from_ref(name)),
        Some(Choice::Among { names, required: true }) => ("ANY", names.as_slice()),
        // The only mode that takes names and demands no call.
        Some(Choice::Among { names, required: false }) => ("VALIDATED", names.as_slice()),
    };
    sheet.plain("mode", mode);
    sheet.texts("allowedFunctionNames", names);
}

fn write_shape(sheet: &mut Sheet<'_, '_, '_>) {
    match &sheet.settings.shape {
        None => {}
        Some(Answered::Text) => sheet.plain("responseMimeType", "text/plain"),
        Some(Answered::Json) => sheet.plain("responseMimeType", "application/json"),
        Some(Answered::Schema { description, schema, .. }) => {
            sheet.plain("responseMimeType", "application/json");
            sheet.json("responseJsonSchema", Some(schema));
            if description.is_some() {
                let note = "what the schema of the answer is for has no place in this format";
                sheet.lose(Lost::Setting, note);
            }
        }
    }
}
