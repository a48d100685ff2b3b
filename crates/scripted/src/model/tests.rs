use super::*;
use crate::request::ConversationTail;
use serde_json::json;

fn tool(name: &str, schema: Value) -> ScriptedTool {
    ScriptedTool { name: name.to_owned(), input_kind: ToolInputKind::Function, schema }
}

fn seen(text: &str) -> RequestOutline {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
        "required": ["city", "days"]
    });
    RequestOutline {
        stream: false,
        usage: false,
        tail: ConversationTail { user_text: text.to_owned(), tool_results: Vec::new() },
        tools: vec![tool("get_weather", schema), tool("mcp.read", Value::Null)],
        choice: ScriptedToolChoice::Auto,
        parallel: true,
        max_tokens: None,
        thinking: false,
    }
}

/// A reply in one line.
fn line(request: &RequestOutline) -> String {
    let reply = decide_reply(request, false);
    let thought = reply.reasoning.map(|thought| format!("({thought}) ")).unwrap_or_default();
    let calls: Vec<String> =
        reply.calls.iter().map(|call| format!("{}{}", call.name, call.arguments)).collect();
    format!("{thought}{}{} {:?}", reply.text, calls.join(" "), reply.stop)
}

#[test]
fn user_text_decides_the_reply() {
    let table = [
        ("hello", "You said: hello EndTurn"),
        ("  ", "You said nothing. EndTurn"),
        ("recall get_weather", "You said: recall get_weather EndTurn"),
        ("call nobody", "You said: call nobody EndTurn"),
        ("call get_weather", r#"get_weather{"city":"city","days":2} ToolCalls"#),
        ("Please Call `get_weather`.", r#"get_weather{"city":"city","days":2} ToolCalls"#),
        ("call get_weather with {\"city\": \"Ulm\"}", r#"get_weather{"city":"Ulm"} ToolCalls"#),
        (
            "call get_weather with {\"city\": \"call mcp.read\"} and call mcp.read",
            r#"get_weather{"city":"call mcp.read"} mcp.read{} ToolCalls"#,
        ),
        (
            "call mcp.read and get_weather, mcp.read with {\"a\":1}",
            r#"mcp.read{} get_weather{"city":"city","days":2} mcp.read{"a":1} ToolCalls"#,
        ),
        ("call get_weather with {broken", r#"get_weather{"city":"city","days":2} ToolCalls"#),
        ("use tools", r#"get_weather{"city":"city","days":2} mcp.read{} ToolCalls"#),
        ("think", "(They want: think) You said: think EndTurn"),
        ("rethink", "You said: rethink EndTurn"),
        ("think and call mcp.read", "(They want: think and call mcp.read) mcp.read{} ToolCalls"),
    ];
    for (text, expected) in table {
        assert_eq!(line(&seen(text)), expected, "{text}");
    }
}

/// A setting, and the expected reply.
type Row = (fn(&mut RequestOutline), &'static str);

#[test]
fn settings_are_obeyed() {
    let with = |change: fn(&mut RequestOutline)| {
        let mut request = seen("use tools");
        change(&mut request);
        line(&request)
    };
    let table: [Row; 8] = [
        (|request| request.choice = ScriptedToolChoice::None, "You said: use tools EndTurn"),
        (|request| request.parallel = false, r#"get_weather{"city":"city","days":2} ToolCalls"#),
        (
            |request| request.choice = ScriptedToolChoice::Named("mcp.read".to_owned()),
            "mcp.read{} ToolCalls",
        ),
        (
            |request| {
                request.choice = ScriptedToolChoice::Any;
                request.tail.user_text = "hello".to_owned();
            },
            r#"get_weather{"city":"city","days":2} ToolCalls"#,
        ),
        (|request| request.tools.clear(), "You said: use tools EndTurn"),
        (|request| request.max_tokens = Some(2), "I would Length"),
        (
            |request| {
                request.tail.user_text = String::new();
                request.tail.tool_results = vec!["sunny".to_owned()];
            },
            "The tool said: sunny EndTurn",
        ),
        (
            |request| {
                request.tail.user_text = String::new();
                request.tail.tool_results = vec!["sunny".to_owned(), "late".to_owned()];
            },
            "The tools said: sunny | late EndTurn",
        ),
    ];
    for (change, expected) in table {
        assert_eq!(with(change), expected);
    }
}

#[test]
fn arguments_fit_their_schema() {
    let table = [
        (json!(null), json!({})),
        (json!({"type": "string"}), json!({})),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}}), json!({})),
        (
            json!({"type": "OBJECT", "required": ["a", "b"], "properties": {
                "a": {"type": "STRING", "enum": ["x", "y"]}, "b": {"type": ["null", "boolean"]}}}),
            json!({"a": "x", "b": true}),
        ),
        (
            json!({"type": "object", "required": ["l", "o", "r", "n"], "properties": {
                "l": {"type": "array", "items": {"type": "number", "maximum": 0.5}},
                "o": {"type": "object", "required": ["p"], "properties": {"p": {"const": 7}}},
                "r": {"$ref": "#/$defs/day"}, "n": {"anyOf": [{"type": "null"}, {"type": "string"}]}},
                "$defs": {"day": {"type": "string", "format": "date"}}}),
            json!({"l": [0.5], "o": {"p": 7}, "r": "2026-01-02", "n": "n"}),
        ),
        (
            json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}),
            Value::Null,
        ),
    ];
    for (schema, expected) in table {
        let found = arguments::generate_arguments(&schema);
        // A recursive schema is followed up to the maximum depth.
        if !expected.is_null() {
            assert_eq!(found, expected, "{schema}");
        }
    }
}
