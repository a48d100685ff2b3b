//! Settings of Gemini requests. Keys may be in camel case or snake case.

pub(crate) mod thinking;

use super::WIRE;
use crate::conversation::{
    LossKind, RequestSettings, ResponseShape, ToolChoice, ToolDeclaration, ToolInput,
    request::{
        field_writer::RequestFieldWriter,
        fields::{RequestFields, read_flag, read_texts},
        reasoning, schema, setting_losses,
        tools::{self, provider_tool},
    },
};
use foxwedge_json::{JsonShape, JsonValue};

const GENERATION: &str = "generationConfig";
const TOOLS: &str = "toolConfig";
const CALLING: &str = "toolConfig.functionCallingConfig";

pub(crate) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    settings.model = fields.take_text("model");
    if let Some(mut inner) = fields.take_object(&["generationConfig", "generation_config"]) {
        read_generation(&mut inner, settings);
        inner.collect_remaining(WIRE, GENERATION, &mut settings.others);
    }
    let tools = |value| Some(one_or_more(value)?.into_iter().flat_map(read_tools).collect());
    settings.tools = fields.take("tools", tools).unwrap_or_default();
    if let Some(mut inner) = fields.take_object(&["toolConfig", "tool_config"]) {
        let keys = &["functionCallingConfig", "function_calling_config"];
        if let Some(mut calling) = inner.take_object(keys) {
            settings.tool_choice = read_choice(&mut calling);
            calling.collect_remaining(WIRE, CALLING, &mut settings.others);
        }
        inner.collect_remaining(WIRE, TOOLS, &mut settings.others);
    }
}

fn read_generation<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    let number = JsonValue::number;
    settings.max_tokens = fields.take_first(&["maxOutputTokens", "max_output_tokens"], number);
    settings.temperature = fields.take_number("temperature");
    settings.top_p = fields.take_first(&["topP", "top_p"], number);
    settings.top_k = fields.take_first(&["topK", "top_k"], number);
    settings.seed = fields.take_number("seed");
    settings.presence_penalty = fields.take_first(&["presencePenalty", "presence_penalty"], number);
    settings.frequency_penalty =
        fields.take_first(&["frequencyPenalty", "frequency_penalty"], number);
    settings.candidate_count = fields.take_first(&["candidateCount", "candidate_count"], number);
    let stops = fields.take_first(&["stopSequences", "stop_sequences"], read_texts);
    settings.stop_sequences = stops.unwrap_or_default();
    settings.response_shape = read_shape(fields);
    thinking::read(fields, settings);
}

fn read_shape<'a>(fields: &mut RequestFields<'_, 'a>) -> Option<ResponseShape<'a>> {
    let kind = |value: JsonValue<'_, 'a>| {
        let kind = value.text()?;
        matches!(&*kind, "application/json" | "text/plain").then_some(kind)
    };
    let kind = fields.take_first(&["responseMimeType", "response_mime_type"], kind)?;
    if kind == "text/plain" {
        return Some(ResponseShape::Text);
    }
    let standard = &["responseJsonSchema", "response_json_schema", "_responseJsonSchema"];
    let schema = fields.take_first(standard, schema::object_schema);
    let older = || fields.take_first(&["responseSchema", "response_schema"], schema::from_gemini);
    Some(match schema.or_else(older) {
        Some(schema) => {
            ResponseShape::Schema { name: None, description: None, schema, strict: None }
        }
        None => ResponseShape::Json,
    })
}

/// The elements of a list, or the single object that Google accepts in its place. `None` for any
/// other value.
fn one_or_more<'t, 'a>(value: JsonValue<'t, 'a>) -> Option<Vec<JsonValue<'t, 'a>>> {
    match value.shape() {
        JsonShape::Array => Some(value.list().collect()),
        JsonShape::Object => Some(vec![value]),
        JsonShape::String | JsonShape::Number | JsonShape::Bool | JsonShape::Null => None,
    }
}

/// Reads the tools. An element of the list holds any number of functions, and tools of Google. The
/// JSON of a Google tool is its field.
fn read_tools<'a>(value: JsonValue<'_, 'a>) -> Vec<ToolDeclaration<'a>> {
    let Some(object) = value.object() else { return vec![empty_tool()] };
    let mut tools = Vec::new();
    for (key, value) in object.fields() {
        if value.is_null() {
            continue;
        }
        let declarations = match &*key {
            "functionDeclarations" | "function_declarations" => one_or_more(value),
            _ => None,
        };
        match declarations {
            Some(functions) => tools.extend(functions.into_iter().map(read_function)),
            None => tools.extend(
                object.member(&key).map(|json| provider_tool(Some(key.into()), WIRE, json)),
            ),
        }
    }
    tools
}

/// An empty declaration for an element that is not a tool.
fn empty_tool<'a>() -> ToolDeclaration<'a> {
    ToolDeclaration { raw: None, ..provider_tool(None, WIRE, "") }
}

fn read_function<'a>(value: JsonValue<'_, 'a>) -> ToolDeclaration<'a> {
    let Some(object) = value.object() else { return empty_tool() };
    let mut fields = RequestFields::of(object);
    let standard = &["parametersJsonSchema", "parameters_json_schema"];
    let schema = fields.take_first(standard, schema::tool_schema);
    let schema = schema.or_else(|| fields.take("parameters", schema::gemini_tool_schema));
    ToolDeclaration {
        name: fields.take_text("name").unwrap_or_default(),
        description: fields.take_text("description"),
        input: ToolInput::Object(schema),
        strict: None,
        cache: None,
        others: fields.remaining_names(),
        raw: Some((WIRE, value.raw())),
    }
}

fn read_choice<'a>(fields: &mut RequestFields<'_, 'a>) -> Option<ToolChoice<'a>> {
    let names = |value: JsonValue<'_, 'a>| read_texts(value).filter(|names| !names.is_empty());
    // The modes depend on whether tools are named.
    let keys = &["allowedFunctionNames", "allowed_function_names"];
    let allowed_names = fields.peek_first(keys, names);
    let choice = fields.take("mode", |value| {
        Some(match (&*value.text()?.to_ascii_uppercase(), &allowed_names) {
            ("AUTO", None) => ToolChoice::Auto,
            ("NONE", None) => ToolChoice::Never,
            ("ANY", None) => ToolChoice::Any,
            ("ANY", Some(names)) => match names.as_slice() {
                [name] => ToolChoice::One(name.clone()),
                names => ToolChoice::Among { names: names.to_vec(), required: true },
            },
            ("VALIDATED", Some(names)) => {
                ToolChoice::Among { names: names.clone(), required: false }
            }
            _ => return None,
        })
    });
    if choice.is_some() {
        fields.take_first(keys, names);
    }
    choice
}

pub(crate) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    writer.write_text("model", settings.model.as_ref());
    let written = write_tools(writer);
    let choice = tools::remaining_choice(writer, &written);
    writer.write_object(TOOLS, |writer| {
        writer.write_object("functionCallingConfig", |writer| {
            write_choice(writer, choice.as_deref());
            writer.write_other_settings(CALLING);
        });
        writer.write_other_settings(TOOLS);
    });
    setting_losses::record_parallel(writer, &written);
    writer.write_object(GENERATION, |writer| {
        writer.write_json("maxOutputTokens", settings.max_tokens);
        writer.write_json("temperature", settings.temperature);
        writer.write_json("topP", settings.top_p);
        writer.write_json("topK", settings.top_k);
        writer.write_json("seed", settings.seed);
        writer.write_non_default("presencePenalty", settings.presence_penalty, 0);
        writer.write_non_default("frequencyPenalty", settings.frequency_penalty, 0);
        writer.write_non_default("candidateCount", settings.candidate_count, 1000);
        writer.write_stops("stopSequences", 5, |_| true);
        write_shape(writer);
        thinking::write(writer);
        writer.write_other_settings(GENERATION);
    });
    setting_losses::record_user(writer);
    setting_losses::record_verbosity(writer);
}

/// Writes the tools: all functions in one element, each Google tool in its own.
fn write_tools<'s, 'a>(
    writer: &mut RequestFieldWriter<'_, 's, 'a>,
) -> Vec<&'s ToolDeclaration<'a>> {
    let accepted: Vec<&ToolDeclaration<'a>> =
        writer.settings.tools.iter().filter(|tool| tools::accepts_tool(writer, tool)).collect();
    writer.write_list("tools", |writer| {
        let (own, functions): (Vec<&ToolDeclaration<'a>>, Vec<&ToolDeclaration<'a>>) =
            accepted.iter().partition(|tool| tool.input == ToolInput::ProviderDefined);
        if !functions.is_empty() {
            writer.out.push('{');
            writer.write_list("functionDeclarations", |writer| {
                functions.iter().for_each(|tool| tools::write_one_tool(writer, tool, write_tool));
            });
            writer.close_container('}');
            writer.out.push(',');
        }
        for tool in own {
            if let Some(field) = tools::original_tool(writer, tool) {
                writer.out.push('{');
                writer.out.push_str(field);
                writer.out.push_str("},");
            }
        }
    });
    accepted
}

fn write_tool(writer: &mut RequestFieldWriter<'_, '_, '_>, tool: &ToolDeclaration<'_>) {
    writer.out.push('{');
    writer.write_text("name", Some(&tool.name));
    tools::write_description(writer, tool);
    if tool.input != ToolInput::Object(None) {
        writer.write_json("parametersJsonSchema", Some(tools::input_schema(tool)));
    }
    writer.close_container('}');
}

fn write_choice(writer: &mut RequestFieldWriter<'_, '_, '_>, choice: Option<&ToolChoice<'_>>) {
    let (mode, names) = match choice {
        None => return,
        Some(ToolChoice::Auto) => ("AUTO", &[][..]),
        Some(ToolChoice::Never) => ("NONE", &[][..]),
        Some(ToolChoice::Any) => ("ANY", &[][..]),
        Some(ToolChoice::One(name)) => ("ANY", std::slice::from_ref(name)),
        Some(ToolChoice::Among { names, required: true }) => ("ANY", names.as_slice()),
        // The only mode that allows names without forcing a call.
        Some(ToolChoice::Among { names, required: false }) => ("VALIDATED", names.as_slice()),
    };
    writer.write_plain("mode", mode);
    writer.write_texts("allowedFunctionNames", names);
}

fn write_shape(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    match &writer.settings.response_shape {
        None => {}
        Some(ResponseShape::Text) => writer.write_plain("responseMimeType", "text/plain"),
        Some(ResponseShape::Json) => writer.write_plain("responseMimeType", "application/json"),
        Some(ResponseShape::Schema { description, schema, .. }) => {
            writer.write_plain("responseMimeType", "application/json");
            writer.write_json("responseJsonSchema", Some(schema));
            if description.is_some() {
                let note = "the description of the response schema is not supported in this format";
                writer.record_loss(LossKind::Setting, note);
            }
        }
    }
}
