//! The tools of a request, and the tool choice.

use foxwedge_core::Format;
use serde_json::Value;

use crate::json_fields::{list, non_null, text};

/// A client tool.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptedTool {
    pub(crate) name: String,
    pub(crate) input_kind: ToolInputKind,
    /// The schema of its arguments.
    pub(crate) schema: Value,
}

/// The input of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToolInputKind {
    /// A JSON object.
    Function,
    /// Any text.
    Custom,
}

/// The tool choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ScriptedToolChoice {
    /// The model decides.
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Any,
    /// A call of this tool.
    Named(String),
}

/// Reads the tools and the choice. A choice among some tools removes the others.
pub(super) fn read_tools(
    format: Format,
    request: &Value,
) -> (Vec<ScriptedTool>, ScriptedToolChoice) {
    let mut tools: Vec<ScriptedTool> = match format {
        Format::Gemini => list(request, "tools")
            .iter()
            .flat_map(|tool| {
                let camel = list(tool, "functionDeclarations");
                if camel.is_empty() { list(tool, "function_declarations") } else { camel }
            })
            .filter_map(|tool| {
                let schema = ["parameters", "parametersJsonSchema", "parameters_json_schema"];
                function(tool, schema.iter().find_map(|key| non_null(tool, key)))
            })
            .collect(),
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Anthropic
        | Format::Bedrock
        | Format::GeminiInteractions => {
            list(request, "tools").iter().filter_map(|one| tool(format, one)).collect()
        }
    };
    let (choice, allowed) = choice(format, request);
    if let Some(allowed) = allowed {
        tools.retain(|tool| allowed.contains(&tool.name));
    }
    (tools, choice)
}

fn function(tool: &Value, schema: Option<&Value>) -> Option<ScriptedTool> {
    let name = text(tool, "name")?.to_owned();
    Some(ScriptedTool {
        name,
        input_kind: ToolInputKind::Function,
        schema: schema.cloned().unwrap_or(Value::Null),
    })
}

fn custom(tool: &Value) -> Option<ScriptedTool> {
    let name = text(tool, "name")?.to_owned();
    Some(ScriptedTool { name, input_kind: ToolInputKind::Custom, schema: Value::Null })
}

fn tool(format: Format, tool: &Value) -> Option<ScriptedTool> {
    match (format, text(tool, "type")) {
        (Format::OpenaiChat, Some("custom")) => custom(tool.get("custom")?),
        (Format::OpenaiChat, Some("function")) => {
            let body = tool.get("function")?;
            function(body, non_null(body, "parameters"))
        }
        (Format::OpenaiResponses, Some("custom")) => custom(tool),
        (Format::OpenaiResponses | Format::GeminiInteractions, Some("function")) => {
            function(tool, non_null(tool, "parameters"))
        }
        (Format::Anthropic, None | Some("custom")) => {
            function(tool, non_null(tool, "input_schema"))
        }
        // Provider-run tools.
        (_, _) => None,
    }
}

fn choice(format: Format, request: &Value) -> (ScriptedToolChoice, Option<Vec<String>>) {
    if format == Format::Gemini {
        return gemini(request);
    }
    if format == Format::GeminiInteractions {
        return interactions(request);
    }
    let Some(choice) = non_null(request, "tool_choice") else {
        return (ScriptedToolChoice::Auto, None);
    };
    if let Some(choice_name) = choice.as_str() {
        return (mode(choice_name), None);
    }
    let name = || {
        let inside = ["function", "custom"].iter().find_map(|key| text(choice.get(key)?, "name"));
        inside.or_else(|| text(choice, "name")).map(str::to_owned)
    };
    match text(choice, "type") {
        Some("tool" | "function" | "custom") => {
            (name().map_or(ScriptedToolChoice::Any, ScriptedToolChoice::Named), None)
        }
        Some("allowed_tools") => {
            let body = choice.get("allowed_tools").unwrap_or(choice);
            let names = list(body, "tools").iter().filter_map(|tool| {
                let inside = tool.get("function").and_then(|inside| text(inside, "name"));
                inside.or_else(|| text(tool, "name")).map(str::to_owned)
            });
            (mode(text(body, "mode").unwrap_or("auto")), Some(names.collect()))
        }
        Some(choice_name) => (mode(choice_name), None),
        None => (ScriptedToolChoice::Auto, None),
    }
}

fn mode(choice_name: &str) -> ScriptedToolChoice {
    match choice_name {
        "required" | "any" => ScriptedToolChoice::Any,
        "none" => ScriptedToolChoice::None,
        _ => ScriptedToolChoice::Auto,
    }
}

fn interactions(request: &Value) -> (ScriptedToolChoice, Option<Vec<String>>) {
    match request.pointer("/generation_config/tool_choice") {
        Some(Value::String(name)) => (mode(name), None),
        Some(choice) => {
            let allowed = choice.get("allowed_tools").unwrap_or(&Value::Null);
            let names = list(allowed, "tools").iter().filter_map(Value::as_str);
            let names = names.map(str::to_owned).collect();
            (mode(text(allowed, "mode").unwrap_or("auto")), Some(names))
        }
        None => (ScriptedToolChoice::Auto, None),
    }
}

fn gemini(request: &Value) -> (ScriptedToolChoice, Option<Vec<String>>) {
    let config = non_null(request, "toolConfig").or_else(|| non_null(request, "tool_config"));
    let config = config.and_then(|config| {
        non_null(config, "functionCallingConfig")
            .or_else(|| non_null(config, "function_calling_config"))
    });
    let Some(config) = config else { return (ScriptedToolChoice::Auto, None) };
    let names = |key: &str| -> Vec<String> {
        list(config, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut allowed = names("allowedFunctionNames");
    allowed.extend(names("allowed_function_names"));
    let allowed = (!allowed.is_empty()).then_some(allowed);
    match text(config, "mode") {
        Some("ANY") => (ScriptedToolChoice::Any, allowed),
        Some("NONE") => (ScriptedToolChoice::None, None),
        _ => (ScriptedToolChoice::Auto, allowed),
    }
}
