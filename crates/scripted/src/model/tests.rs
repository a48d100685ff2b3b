use super::*;
use crate::request::Tail;
use serde_json::json;

fn tool(name: &str, schema: Value) -> Tool {
    Tool { name: name.to_owned(), sort: Sort::Function, schema }
}

fn seen(words: &str) -> Seen {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
        "required": ["city", "days"]
    });
    Seen {
        stream: false,
        usage: false,
        tail: Tail { words: words.to_owned(), answers: Vec::new() },
        tools: vec![tool("get_weather", schema), tool("mcp.read", Value::Null)],
        choice: Choice::Auto,
        parallel: true,
        most: None,
        thinks: false,
    }
}

/// What is said, in one line.
fn line(seen: &Seen) -> String {
    let speech = speak(seen, false);
    let thought = speech.thought.map(|thought| format!("({thought}) ")).unwrap_or_default();
    let calls: Vec<String> =
        speech.calls.iter().map(|call| format!("{}{}", call.name, call.arguments)).collect();
    format!("{thought}{}{} {:?}", speech.text, calls.join(" "), speech.stop)
}

#[test]
fn words_decide_what_is_said() {
    let table = [
        ("hello", "You said: hello Said"),
        ("  ", "You said nothing. Said"),
        ("recall get_weather", "You said: recall get_weather Said"),
        ("call nobody", "You said: call nobody Said"),
        ("call get_weather", r#"get_weather{"city":"city","days":2} Called"#),
        ("Please Call `get_weather`.", r#"get_weather{"city":"city","days":2} Called"#),
        ("call get_weather with {\"city\": \"Ulm\"}", r#"get_weather{"city":"Ulm"} Called"#),
        (
            "call get_weather with {\"city\": \"call mcp.read\"} and call mcp.read",
            r#"get_weather{"city":"call mcp.read"} mcp.read{} Called"#,
        ),
        (
            "call mcp.read and get_weather, mcp.read with {\"a\":1}",
            r#"mcp.read{} get_weather{"city":"city","days":2} mcp.read{"a":1} Called"#,
        ),
        ("call get_weather with {broken", r#"get_weather{"city":"city","days":2} Called"#),
        ("use tools", r#"get_weather{"city":"city","days":2} mcp.read{} Called"#),
        ("think", "(They want: think) You said: think Said"),
        ("rethink", "You said: rethink Said"),
        ("think and call mcp.read", "(They want: think and call mcp.read) mcp.read{} Called"),
    ];
    for (words, said) in table {
        assert_eq!(line(&seen(words)), said, "{words}");
    }
}

/// A setting, and what is said under it.
type Row = (fn(&mut Seen), &'static str);

#[test]
fn settings_are_obeyed() {
    let with = |change: fn(&mut Seen)| {
        let mut seen = seen("use tools");
        change(&mut seen);
        line(&seen)
    };
    let table: [Row; 8] = [
        (|seen| seen.choice = Choice::None, "You said: use tools Said"),
        (|seen| seen.parallel = false, r#"get_weather{"city":"city","days":2} Called"#),
        (|seen| seen.choice = Choice::Named("mcp.read".to_owned()), "mcp.read{} Called"),
        (
            |seen| {
                seen.choice = Choice::Any;
                seen.tail.words = "hello".to_owned();
            },
            r#"get_weather{"city":"city","days":2} Called"#,
        ),
        (|seen| seen.tools.clear(), "You said: use tools Said"),
        (|seen| seen.most = Some(2), "I would Length"),
        (
            |seen| {
                seen.tail.words = String::new();
                seen.tail.answers = vec!["sunny".to_owned()];
            },
            "The tool said: sunny Said",
        ),
        (
            |seen| {
                seen.tail.words = String::new();
                seen.tail.answers = vec!["sunny".to_owned(), "late".to_owned()];
            },
            "The tools said: sunny | late Said",
        ),
    ];
    for (change, said) in table {
        assert_eq!(with(change), said);
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
        let found = arguments::fit(&schema);
        // A schema that holds itself is followed for a while.
        if !expected.is_null() {
            assert_eq!(found, expected, "{schema}");
        }
    }
}
