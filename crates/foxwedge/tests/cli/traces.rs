//! Exported traces: which requests in them are broken.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A request whose second call has no result.
fn broken() -> Value {
    json!([
        {"role": "user", "parts": [{"type": "text", "content": "What is \"new\"?\nTell me."}]},
        {"role": "assistant", "parts": [
            {"type": "text", "content": "Let me look."},
            {"type": "tool_call", "id": "call_1", "name": "read", "arguments": {"path": "a"}},
            {"type": "tool_call", "id": "call_2", "name": "read", "arguments": {"path": "b"}},
        ]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": "x"}]},
        {"role": "user", "parts": [{"type": "text", "content": "And?"}]},
    ])
}

/// A request without findings.
fn valid() -> Value {
    json!([
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_1", "name": "read"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "result": "x"}]},
    ])
}

fn text(value: &str) -> Value {
    json!({"stringValue": value})
}

fn span(number: u8, provider: &str, messages: Value) -> Value {
    let attribute = |key: &str, value: Value| json!({"key": key, "value": value});
    json!({
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": format!("eee19b7ec3c1b1{number:02}"),
        "name": "chat some-model",
        "kind": 3,
        "startTimeUnixNano": "1763370000000000000",
        "endTimeUnixNano": "1763370001000000000",
        "attributes": [
            attribute("gen_ai.operation.name", text("chat")),
            attribute("gen_ai.provider.name", text(provider)),
            attribute("gen_ai.request.model", text("some-model")),
            attribute("gen_ai.usage.input_tokens", json!({"intValue": "7"})),
            attribute("gen_ai.system_instructions", text("[{\"type\":\"text\",\"content\":\"Be.\"}]")),
            attribute("gen_ai.input.messages", messages),
        ],
    })
}

fn export(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": text("shop")}]},
        "scopeSpans": [{"scope": {"name": "agent"}, "spans": spans}],
    }]})
}

fn json_string(messages: &Value) -> Value {
    text(&messages.to_string())
}

/// The form in which an attribute is not a string.
fn structured(value: &Value) -> Value {
    match value {
        Value::String(string) => text(string),
        Value::Array(items) => {
            json!({"arrayValue": {"values": items.iter().map(structured).collect::<Vec<_>>()}})
        }
        Value::Object(fields) => {
            let entry = |(key, value)| json!({"key": key, "value": structured(value)});
            json!({"kvlistValue": {"values": fields.iter().map(entry).collect::<Vec<_>>()}})
        }
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Null => json!({}),
    }
}

#[test]
fn broken_requests_are_named_with_their_spans() {
    let lines = [
        export(&[span(1, "openai", json_string(&valid()))]),
        export(&[
            span(2, "openai", json_string(&broken())),
            span(3, "groq", structured(&broken())),
        ]),
    ];
    let sandbox = Sandbox::with("trace.jsonl", lines.map(|line| line.to_string()).join("\n"));
    let ran = sandbox.run(&["check", "trace.jsonl"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    for expected in [
        "error[FW101]: call `call_2` to `read` has no result",
        "gen_ai.input.messages[1]",
        "= request: chat some-model · 2025-11-17T09:00:00Z · trace 5b8efff798038103d269b633813fc60c span eee19b7ec3c1b102",
        "span eee19b7ec3c1b103",
        "= why: openai-chat refuses this: a tool call without a result",
        "a trace is read-only",
        "calls read call_1 · calls read call_2",
    ] {
        assert!(ran.out.contains(expected), "{expected}\n{}", ran.out);
    }
    assert!(
        !ran.out.contains("eee19b7ec3c1b101") && !ran.all().contains("foxwedge fix"),
        "{}",
        ran.all()
    );
    let note = "a trace with 3 spans: 3 model requests checked, 2 with findings";
    assert!(ran.err.contains(note), "{}", ran.err);
    assert!(
        ran.err.contains("Found 2 findings in 1 file (11 messages): 2 have no fix."),
        "{}",
        ran.err
    );
}

#[test]
fn every_output_format_names_the_request() {
    let document = export(&[span(4, "anthropic", json_string(&broken()))]);
    let sandbox = Sandbox::with("trace.json", serde_json::to_string_pretty(&document).unwrap());
    for format in ["concise", "json", "json-lines", "github", "sarif", "markdown"] {
        let ran = sandbox.run(&["check", "trace.json", "--output-format", format]);
        assert_eq!(ran.code, 1, "{}", ran.all());
        for id in ["5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b104", "FW101"] {
            assert!(ran.out.contains(id), "{format}: {id}\n{}", ran.out);
        }
    }
    let ran = sandbox.run(&["check", "trace.json", "--output-format", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let finding = &report["findings"][0];
    let expected = json!({
        "trace_id": "5b8efff798038103d269b633813fc60c", "span_id": "eee19b7ec3c1b104",
        "span_name": "chat some-model", "provider": "anthropic", "model": "some-model",
        "time": "2025-11-17T09:00:00Z",
    });
    assert_eq!(finding["request"], expected);
    assert_eq!((&finding["message_index"], &finding["profile"]), (&json!(1), &json!("anthropic")));
    assert_eq!(finding["fix"]["applicability"], "none");
    let counts = json!({"spans": 1, "requests": 1, "broken": 1, "cut_off": 0, "unreadable": 0,
        "partly_judged": 0});
    assert_eq!(report["summary"]["traces"], counts);
    // The position is that of the call inside the escaped text.
    let (line, column) = (finding["line"].as_u64().unwrap(), finding["column"].as_u64().unwrap());
    let text = std::fs::read_to_string(sandbox.path("trace.json")).unwrap();
    let line = text.lines().nth(line as usize - 1).unwrap();
    let rest: String = line.chars().skip(column as usize - 1).collect();
    let call = r#"{\"arguments\":{\"path\":\"b\"},\"id\":\"call_2\""#;
    assert!(rest.starts_with(call), "{rest}");
}

#[test]
fn a_position_in_a_structured_attribute_is_that_of_the_message() {
    let document = export(&[span(5, "gcp.gemini", structured(&broken()))]).to_string();
    let sandbox = Sandbox::with("trace.json", &document);
    let ran = sandbox.run(&["check", "trace.json", "--output-format", "json"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let finding = &report["findings"][0];
    assert_eq!((&finding["code"], &finding["profile"]), (&json!("FW101"), &json!("gemini")));
    let column = finding["column"].as_u64().unwrap() as usize;
    let message = structured(&broken()[1]).to_string();
    assert!(document[column - 1..].starts_with(&message), "{}", &document[column - 1..]);
}

#[test]
fn a_trace_is_never_changed() {
    let document = export(&[span(6, "openai", json_string(&broken()))]).to_string();
    let sandbox = Sandbox::with("trace.json", &document);
    for arguments in [&["fix", "trace.json"][..], &["check", "--diff", "trace.json"]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("traces are read-only"), "{}", ran.err);
        assert!(
            ran.err.contains("help: `foxwedge check` names the broken requests"),
            "{}",
            ran.err
        );
        assert_eq!(std::fs::read_to_string(sandbox.path("trace.json")).unwrap(), document);
    }
    let ran = sandbox.run(&["fix", "."]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let ran = sandbox.run(&["check", "."]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    let ran = sandbox.pipe(&["fix", "-"], &document);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.all());
    let ran = sandbox.run(&["show", "trace.json"]);
    assert!(ran.err.contains("only `foxwedge check` reads"), "{}", ran.err);
}

#[test]
fn what_cannot_be_judged_is_said_and_not_found() {
    let whole = broken().to_string();
    let cut = |end: &str| text(&format!("{}{end}", &whole[..whole.len() - 20]));
    let note = |spans: &[Value]| {
        let sandbox = Sandbox::with("trace.json", export(spans).to_string());
        let ran = sandbox.run(&["check", "trace.json"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
        ran.err
    };
    for end in ["", "\\", "\\u00", "...", "…", "...[truncated]"] {
        let err = note(&[span(1, "openai", cut(end)), span(2, "openai", json_string(&valid()))]);
        assert!(err.contains("1 cut off by the exporter, not checked"), "{end}: {err}");
    }
    let err = note(&[
        span(1, "openai", text("hello")),
        span(2, "openai", json!({"boolValue": true})),
        span(3, "openai", json_string(&valid())),
    ]);
    let expected =
        "2 in an unknown form, not checked (the first at line 1: unexpected `h`, expected a value)";
    assert!(err.contains(expected), "{err}");
    let mut unknown = broken();
    unknown[1]["parts"][0] = json!({"type": "quantum"});
    let err = note(&[span(1, "openai", json_string(&unknown))]);
    assert!(err.contains("1 with parts of an unknown type, whose turns are not judged"), "{err}");
}

#[test]
fn messages_in_the_form_of_a_provider_are_read_too() {
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "user", "content": "and?"},
    ]);
    let sandbox =
        Sandbox::with("t.json", export(&[span(1, "xai", json_string(&messages))]).to_string());
    let ran = sandbox.run(&["check", "t.json", "--output-format", "concise"]);
    let place = "FW101 call `call_1` to `f` has no result (gen_ai.input.messages[1], trace ";
    assert!(ran.code == 1 && ran.out.contains(place), "{}", ran.all());
}

#[test]
fn torn_lines_are_errors_with_their_line_and_the_rest_is_checked() {
    let line = export(&[span(1, "openai", json_string(&broken()))]).to_string();
    let torn = &line[..line.len() - 5];
    for lines in [[torn, &line, &line], [&line, torn, &line], [&line, &line, torn]] {
        let sandbox = Sandbox::with("trace.jsonl", lines.join("\n"));
        let ran = sandbox.run(&["check", "trace.jsonl", "--output-format", "concise"]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        let at = lines.iter().position(|line| *line == torn).unwrap() + 1;
        let place = format!("trace.jsonl:{at}:{}: the trace is torn here", torn.len() + 1);
        assert!(ran.err.contains(&place), "{place}\n{}", ran.err);
        // The span was whole where only what follows it is torn.
        assert_eq!(ran.out.lines().count(), 3, "{}", ran.out);
    }
    let sandbox = Sandbox::with("trace.json", &line[..line.len() / 2]);
    let ran = sandbox.run(&["check", "trace.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.all());
    assert!(ran.err.contains("trace.json:1:") && ran.err.contains("torn here"), "{}", ran.err);
}

#[test]
fn a_trace_without_messages_says_how_to_get_them() {
    let mut document = export(&[span(1, "openai", json!({}))]);
    let attributes =
        document.pointer_mut("/resourceSpans/0/scopeSpans/0/spans/0/attributes").unwrap();
    attributes.as_array_mut().unwrap().pop();
    let sandbox = Sandbox::with("trace.json", document.to_string());
    let ran = sandbox.run(&["check", "trace.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("a trace with 1 span, but no `gen_ai.input.messages`"), "{}", ran.err);
    assert!(ran.err.contains("help: instrumentations record"), "{}", ran.err);
    let ran = sandbox.run(&["check", "."]);
    assert_eq!(ran.code, 0, "{}", ran.all());
}

#[test]
fn rules_and_profiles_can_be_chosen_and_open_calls_of_agents_wait() {
    let mut open = broken();
    open.as_array_mut().unwrap().truncate(2);
    let mut agent = span(1, "openai", json_string(&open));
    agent["attributes"][0]["value"] = text("invoke_agent");
    let sandbox = Sandbox::with("agent.json", export(&[agent]).to_string());
    assert_eq!(sandbox.run(&["check", "agent.json"]).code, 0);
    sandbox.write("chat.json", export(&[span(2, "openai", json_string(&open))]).to_string());
    let ran =
        sandbox.run(&["check", "chat.json", "--profile", "mistral", "--output-format", "concise"]);
    let codes: Vec<&str> = ran.out.split(' ').filter(|word| word.starts_with("FW")).collect();
    assert_eq!(codes, ["FW101", "FW203", "FW101", "FW203"], "{}", ran.out);
    assert_eq!(sandbox.run(&["check", "chat.json", "--ignore", "FW101"]).code, 0);
    assert_eq!(sandbox.run(&["check", "chat.json", "--tail", "pending"]).code, 0);
}

#[test]
fn no_trace_panics_however_hostile() {
    let line = export(&[span(1, "openai", structured(&broken()))]).to_string();
    let deep = format!("{{\"resourceSpans\":{}", "[{\"scopeSpans\":".repeat(600));
    let mut value = "{}".to_owned();
    for _ in 0..150 {
        value = format!("{{\"arrayValue\":{{\"values\":[{value}]}}}}");
    }
    let nested =
        export(&[span(1, "openai", json!("VALUE"))]).to_string().replace("\"VALUE\"", &value);
    let cuts = (0..line.len()).step_by(97).map(|end| line[..end].to_owned());
    let odd = [
        deep,
        nested,
        r#"{"resourceSpans":7}"#.to_owned(),
        r#"{"resourceSpans":[7,{"scopeSpans":[7,{"spans":[7,{"attributes":7},{"attributes":[7,{"key":"gen_ai.input.messages"}]}]}]}]}"#.to_owned(),
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":7}}],"startTimeUnixNano":"99999999999999999999"}]}]}]}"#.to_owned(),
    ];
    let sandbox = Sandbox::new();
    for (number, text) in cuts.chain(odd).enumerate() {
        sandbox.write(&format!("traces/{number:03}.json"), text);
    }
    let ran = sandbox.run(&["check", "traces", "--output-format", "concise"]);
    assert!(!ran.all().contains("panicked") && ran.code < 3, "{}", ran.all());
}

#[test]
fn a_trace_in_which_nothing_can_be_checked_is_not_valid() {
    let whole = broken().to_string();
    let cut = text(&whole[..whole.len() - 20]);
    let table = [
        (vec![cut.clone()], "1 cut off by the exporter, not checked"),
        (vec![text("5"), json!({"boolValue": true})], "2 in an unknown form, not checked"),
        (vec![text("[]")], "1 in an unknown form, not checked (the first at line 1: an empty list"),
        (vec![cut, text("[]")], "1 in an unknown form, not checked"),
    ];
    for (values, expected) in table {
        let spans: Vec<Value> = values.into_iter().map(|value| span(1, "openai", value)).collect();
        let sandbox = Sandbox::with("traces/trace.json", export(&spans).to_string());
        for format in ["full", "concise", "json", "junit", "sarif", "github", "markdown"] {
            let ran = sandbox.run(&["check", "traces/trace.json", "--output-format", format]);
            assert_eq!(ran.code, 2, "{format}: {}", ran.all());
            assert!(ran.err.contains(expected), "{format}: {}", ran.err);
            assert!(!ran.all().contains("All valid"), "{format}: {}", ran.all());
        }
        let ran = sandbox.run(&["check", "traces"]);
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert!(ran.err.contains("No conversations found."), "{}", ran.err);
    }
}
