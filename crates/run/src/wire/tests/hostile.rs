//! Truncated, invalid, deep and huge texts: each gives an event or an error, never a panic.

use std::collections::BTreeSet;

use super::*;

#[test]
fn only_four_kinds_of_text_are_rejected() {
    let table = [
        ("", EventParseError::NotJson),
        ("{", EventParseError::NotJson),
        ("nonsense", EventParseError::NotJson),
        ("[1,", EventParseError::NotJson),
        (r#"{"type":"stop","runId":"r"} x"#, EventParseError::NotJson),
        (r#"{"type":"stop","runId":"r"}{}"#, EventParseError::NotJson),
        ("{\"type\":\"stop\",\"runId\":\"r\",\"x\":\"\u{1}\"}", EventParseError::NotJson),
        (r#"{"type":"stop","runId":"r","x":tru}"#, EventParseError::NotJson),
        ("[]", EventParseError::NotObject),
        ("null", EventParseError::NotObject),
        ("\"text\"", EventParseError::NotObject),
        (" 7 ", EventParseError::NotObject),
        ("{}", EventParseError::NoRun),
        (r#"{"type":"stop"}"#, EventParseError::NoRun),
        (r#"{"type":"stop","runId":""}"#, EventParseError::NoRun),
        (r#"{"type":"stop","runId":null}"#, EventParseError::NoRun),
        (r#"{"type":"stop","runId":7}"#, EventParseError::NoRun),
        (r#"{"runId":"r"}"#, EventParseError::NoType),
        (r#"{"runId":"r","type":""}"#, EventParseError::NoType),
        (r#"{"runId":"r","type":["stop"]}"#, EventParseError::NoType),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), Err(expected), "{text}");
    }
    let stop = plain(EventPayload::Stop(StopRequest::default()));
    assert_eq!(read(" {\n\"type\" : \"stop\" ,\t\"run_id\":\"r\",\"\\ud800\":1}\r\n"), Ok(stop));
}

#[test]
fn error_messages_name_the_problem() {
    let errors = [
        EventParseError::NotJson,
        EventParseError::NotObject,
        EventParseError::NoRun,
        EventParseError::NoType,
    ];
    let messages: Vec<String> = errors.iter().map(EventParseError::to_string).collect();
    let expected = [
        "the event is not JSON",
        "the event is not a JSON object",
        "the event has no `runId`",
        "the event has no `type`",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn truncated_examples_are_not_json() {
    for text in examples() {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let torn = text.get(..end).unwrap_or("");
            assert_eq!(read(torn), Err(EventParseError::NotJson), "{torn}");
        }
    }
}

#[test]
fn changed_byte_gives_an_event_or_an_error() {
    let bytes: Vec<u8> = (0..=0x7f).collect();
    let mut events = 0;
    for text in examples() {
        for at in 0..text.len() {
            for byte in
                bytes.iter().filter(|byte| at % 3 == 0 || b"\"\\{}[],:-0en\n\0".contains(byte))
            {
                let mut changed = text.as_bytes().to_vec();
                changed[at] = *byte;
                let Ok(changed) = String::from_utf8(changed) else { continue };
                let Ok(event) = read(&changed) else { continue };
                // The result is an event that round-trips like any other.
                let rewritten = write(&event);
                assert_eq!(read(&rewritten), Ok(event), "{changed}");
                events += 1;
            }
        }
    }
    assert!(events > 10_000, "{events}");
}

#[test]
fn every_field_may_be_of_any_type() {
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        "\"\"",
        "\"x\"",
        "[]",
        "[[{}]]",
        "{}",
        "{\"message\":{}}",
    ];
    for text in examples() {
        let fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).expect("an object");
        for key in fields.keys().filter(|key| !["type", "runId"].contains(&key.as_str())) {
            for value in values {
                // The field is removed first: of two with the same name the last counts, but `null`
                // does not.
                let mut other = fields.clone();
                other.remove(key);
                let rest = serde_json::to_string(&other).unwrap_or_default();
                let rest = rest.strip_suffix('}').unwrap_or("");
                let changed = format!("{rest},\"{key}\":{value}}}");
                let event = read(&changed).unwrap_or_else(|error| panic!("{error}: {changed}"));
                assert_eq!(read(&write(&event)), Ok(event), "{changed}");
            }
        }
    }
}

#[test]
fn deeply_nested_values_are_accepted_in_every_field() {
    let lists = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let kinds: BTreeSet<&str> =
        examples().into_iter().filter_map(|text| text.split('"').nth(3)).collect();
    let keys = ["delta", "status", "error", "tokenUsage", "tasks", "tools", "content", "turn", "x"];
    for value in [&lists, &objects] {
        for kind in &kinds {
            for key in keys {
                let text = format!("{{\"type\":\"{kind}\",\"runId\":\"r\",\"{key}\":{value}}}");
                let event = read(&text).unwrap_or_else(|error| panic!("{error}: {kind} {key}"));
                assert!(read(&write(&event)) == Ok(event), "{kind} {key}");
            }
        }
    }
    assert_eq!(read(&lists), Err(EventParseError::NotObject));
    assert_eq!(read(&lists.repeat(2)), Err(EventParseError::NotJson));
    assert_eq!(read(&"{\"a\":".repeat(10_000)), Err(EventParseError::NotJson));
}

#[test]
fn megabyte_values_round_trip() {
    let huge = "x\n\u{1f600}".repeat(200_000);
    let content = Some(RawJson::string(&huge));
    let result =
        ToolResult { call: c(), name: None, outcome: ToolOutcome::Ok, reason: None, content };
    let text = TextUpdate { full: Some(huge.clone()), ..TextUpdate::default() };
    let unknown = EventPayload::Unknown { kind: huge.clone(), raw: RawJson::string(&huge) };
    for body in [EventPayload::ToolResult(result), EventPayload::Text(text), unknown] {
        let event = plain(body);
        assert!(read(&write(&event)) == Ok(event));
    }
}

#[test]
fn long_unknown_value_is_truncated() {
    let word = "\u{e9}".repeat(100_000);
    let event = read(&format!(r#"{{"type":"tool-call","runId":"r","status":"{word}"}}"#));
    let shown = event.ok().and_then(|event| event.unknown_word);
    assert_eq!(shown.as_deref(), Some("\u{e9}".repeat(200).as_str()));
}
