#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;

/// `U` is the user, `A` the assistant, `T` tool results, `S` instructions. `A(a b)` has two calls,
/// `A:text(a)` also has text, `A~(a)` has reasoning; `T(a b)` has both results.
fn body(shape: &str, format: Format) -> (String, Vec<String>) {
    let mut messages = Vec::new();
    for turn in split_shape(shape) {
        let (who, ids) = turn.split_once('(').unwrap_or((turn, ""));
        let ids: Vec<&str> = ids.trim_end_matches(')').split_whitespace().collect();
        let content = who.split_once(':').map(|(_, text)| text);
        messages.extend(match format {
            Format::OpenaiChat => chat(who, &ids, content),
            Format::Anthropic => anthropic(who, &ids, content),
            _ => items(who, &ids, content),
        });
    }
    let list = messages.join(",\n  ");
    let text = match format {
        Format::OpenaiResponses => {
            format!("{{ \"instructions\":\"x\", \"input\" : [ {list} ], \"y\":1}}")
        }
        Format::Anthropic => format!("{{\"system\":\"x\",\"messages\":[{list}], \"y\":1}}"),
        _ => format!("{{\"x\":0, \"messages\":[\n{list}\n]}}"),
    };
    (text, messages)
}

fn split_shape(shape: &str) -> Vec<&str> {
    let mut turns = Vec::new();
    let mut rest = shape.trim();
    while !rest.is_empty() {
        let end = match (rest.find(' '), rest.find(')')) {
            (Some(space), Some(end)) if !rest[..space].contains('(') => space.min(end + 1),
            (_, Some(end)) if rest.contains('(') => end + 1,
            (Some(space), _) => space,
            (None, _) => rest.len(),
        };
        turns.push(rest[..end].trim());
        rest = rest[end..].trim();
    }
    turns
}

fn chat(who: &str, ids: &[&str], content: Option<&str>) -> Vec<String> {
    let call = |id: &&str| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"f_{id}","arguments":"{{}}"}}}}"#
        )
    };
    match &who[..1] {
        "U" => vec![r#"{"role":"user","content":"hi"}"#.into()],
        "S" => vec![r#"{"role":"system","content":"hi"}"#.into()],
        "T" => ids
            .iter()
            .map(|id| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"x"}}"#))
            .collect(),
        _ => {
            let content = content.map_or("null".to_owned(), |text| format!("\"{text}\""));
            let think = if who.contains('~') { r#","reasoning_content":"hm""# } else { "" };
            let calls = ids.iter().map(call).collect::<Vec<_>>().join(",");
            let calls =
                if ids.is_empty() { String::new() } else { format!(",\"tool_calls\":[{calls}]") };
            vec![format!(r#"{{"role":"assistant","content":{content}{think}{calls}}}"#)]
        }
    }
}

fn anthropic(who: &str, ids: &[&str], content: Option<&str>) -> Vec<String> {
    let call =
        |id: &&str| format!(r#"{{"type":"tool_use","id":"{id}","name":"f_{id}","input":{{}}}}"#);
    let answer =
        |id: &&str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let mut blocks: Vec<String> = content.map(text).into_iter().collect();
    let role = match &who[..1] {
        "U" => {
            blocks.push(text("hi"));
            "user"
        }
        "S" => {
            blocks.push(text("hi"));
            "system"
        }
        "T" => {
            blocks.extend(ids.iter().map(answer));
            "user"
        }
        _ => {
            if who.contains('~') {
                blocks.push(r#"{"type":"thinking","thinking":"hm","signature":"s"}"#.into());
            }
            blocks.extend(ids.iter().map(call));
            "assistant"
        }
    };
    vec![format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))]
}

fn items(who: &str, ids: &[&str], content: Option<&str>) -> Vec<String> {
    let item = |kind: &str, id: &str, more: &str| {
        format!(r#"{{"type":"{kind}","call_id":"{id}",{more}}}"#)
    };
    let role = match &who[..1] {
        "U" => "user",
        "S" => "system",
        _ => "assistant",
    };
    let text = |text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    match &who[..1] {
        "U" | "S" => vec![text("hi")],
        "T" => ids.iter().map(|id| item("function_call_output", id, r#""output":"x""#)).collect(),
        _ => {
            let mut list: Vec<String> = content.map(text).into_iter().collect();
            if who.contains('~') {
                list.push(r#"{"type":"reasoning","id":"rs_1","summary":[]}"#.into());
            }
            let call = |id: &&str| {
                item("function_call", id, &format!(r#""name":"f_{id}","arguments":"{{}}""#))
            };
            list.extend(ids.iter().map(call));
            list
        }
    }
}

/// Shape, expected shape without repeated turns, and open calls.
const TABLE: [(&str, &str, &str); 22] = [
    ("U A(a b c) T(a) A(b c) T(b c)", "U A(a b c) T(a) T(b c)", ""),
    ("U A(a b c) T(a) A(b c) T(b) A(c) T(c)", "U A(a b c) T(a) T(b) T(c)", ""),
    ("U A(a b c) T(a) A(b c) T(b)", "U A(a b c) T(a) T(b)", "c"),
    ("U A(a b c) T(b) A(a c)", "U A(a b c) T(b)", "a c"),
    ("U A(a b c) T(b) A(a c) T(c) A(a) T(a)", "U A(a b c) T(b) T(c) T(a)", ""),
    // One call at a time out of one turn.
    ("U A(a b c) T(a) A(b) T(b) A(c)", "U A(a b c) T(a) T(b)", "c"),
    ("U A(a b) T(a) A:(b) T(b)", "U A(a b) T(a) T(b)", ""),
    // Turns of one call each are left alone.
    ("U A(a) T(a) A(b) T(b) A(c) T(c)", "", ""),
    ("U A(a) T(a) A(a) T(a)", "", ""),
    ("U A(a b) T(a b) A(b) T(b)", "", ""),
    // Another message is in between, or the turn has more content.
    ("U A(a b) T(a) U A(b) T(b)", "", ""),
    ("U A(a b) T(a) S A(b) T(b)", "", ""),
    ("U A(a b) T(a) A:and(b) T(b)", "", ""),
    ("U A(a b) T(a) A~(b) T(b)", "", ""),
    ("U A(a b) T(a) A(b c) T(b c)", "", ""),
    ("U A(a b c) T(a) A(b c) T(b) A(b) T(b)", "U A(a b c) T(a) T(b) A(b) T(b)", ""),
    // The last turn.
    ("U A(a b)", "", "a b"),
    ("U A:text(a b) T(b)", "", "a"),
    ("U A(a b) T(b) U", "", ""),
    ("U A(a b) T(a b) A:done", "", ""),
    ("U", "", ""),
    ("U A(a b) T(a) U A(b)", "", "b"),
];

#[test]
fn calls_that_are_listed_again_are_listed_once() {
    for format in [Format::OpenaiChat, Format::Anthropic, Format::OpenaiResponses] {
        for (shape, expected, open) in TABLE {
            let (source, messages) = body(shape, format);
            let merged = merge_history(&source, format).unwrap();
            let found: Vec<_> = merged.open.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(found.join(" "), open, "{format:?} {shape}");
            assert!(merged.open.iter().all(|call| call.name == format!("f_{}", call.id)));
            let Some(text) = merged.body else {
                assert_eq!(expected, "", "{format:?} {shape}");
                continue;
            };
            // Remaining messages and the text around them keep their bytes.
            let (_, expected_messages) = body(expected, format);
            let mut rest = text.as_str();
            for message in &expected_messages {
                let at = rest
                    .find(message.as_str())
                    .unwrap_or_else(|| panic!("{format:?} {shape}: {text}"));
                assert!(!rest[..at].contains("role") && !rest[..at].contains("type"), "{text}");
                rest = &rest[at + message.len()..];
            }
            assert!(
                !rest.contains("role") && !rest.contains("call_id"),
                "{format:?} {shape}: {rest}"
            );
            let head = source.find(&messages[0]).unwrap();
            assert_eq!(&text[..head], &source[..head]);
            let tail =
                source.rfind(messages.last().unwrap()).unwrap() + messages.last().unwrap().len();
            assert!(text.ends_with(&source[tail..]), "{text}");
            assert!(read(&text, format, OutlineOptions::default()).is_ok(), "{text}");
            // Once more changes nothing.
            assert_eq!(
                super::merge_history(&text, format).unwrap().body,
                None,
                "{format:?} {shape}"
            );
        }
    }
}

#[test]
fn calls_that_are_listed_again_at_once_are_listed_once() {
    for format in [Format::OpenaiChat, Format::Anthropic] {
        for (shape, open) in
            [("U A(a b) A(a b) T(a b)", ""), ("U A:x(a b) A(a b) A(a b) T(b)", "a")]
        {
            let (source, _) = body(shape, format);
            let found = merge_history(&source, format).unwrap();
            let ids: Vec<_> = found.open.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids.join(" "), open, "{shape}");
            let text = found.body.unwrap();
            assert_eq!(text.matches("assistant").count(), 1, "{text}");
        }
    }
    // A turn in two messages is one turn.
    let (source, _) = body("U A(a b) A(c) T(b) A(a c) T(a)", Format::OpenaiChat);
    let found = merge_history(&source, Format::OpenaiChat).unwrap();
    assert_eq!(found.body.unwrap().matches("assistant").count(), 2);
    assert_eq!(found.open.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["c"]);
}

#[test]
fn ids_that_repeat_in_one_turn_are_counted() {
    let (source, _) = body("U A(a a) T(a) A(a) T(a)", Format::OpenaiChat);
    let found = merge_history(&source, Format::OpenaiChat).unwrap();
    assert!(found.body.is_some() && found.open.is_empty(), "{found:?}");
    let (source, _) = body("U A(a a) T(a)", Format::OpenaiChat);
    assert_eq!(merge_history(&source, Format::OpenaiChat).unwrap().open.len(), 1);
}

#[test]
fn arguments_are_passed_on_unchanged() {
    let source = r#"[{"role":"assistant","tool_calls":[
        {"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}},
        {"id":"b","type":"function","function":{"name":"f","arguments":"{\"n\":"}},
        {"id":"c","type":"custom","custom":{"name":"g","input":"1"}}]}]"#;
    let found = merge_history(source, Format::OpenaiChat).unwrap().open;
    let arguments: Vec<_> = found.iter().map(|call| call.arguments.to_string()).collect();
    assert_eq!(arguments, [r#"{"n":1}"#, r#""{\"n\":""#, "\"1\""]);
}

#[test]
fn calls_without_ids_and_texts_for_lists_are_left_alone() {
    let table = [
        (r#"[{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]"#, Format::Gemini),
        (r#"{"input":"hi","instructions":"x"}"#, Format::OpenaiResponses),
        (r#"{"messages":[]}"#, Format::OpenaiChat),
    ];
    for (source, format) in table {
        let found = merge_history(source, format).unwrap();
        assert_eq!((found.body, found.open, found.listed), (None, Vec::new(), Vec::new()));
    }
    assert!(merge_history("{", Format::OpenaiChat).is_err());
}
