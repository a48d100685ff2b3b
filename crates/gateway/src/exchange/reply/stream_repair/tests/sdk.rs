//! How the official SDKs put calls together: lists by index, texts appended.

use super::*;

/// The id, the name and the arguments of every call. Fails where an SDK does.
pub(super) fn calls_of(format: Format, text: &str) -> Vec<[String; 3]> {
    let frames = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let frames = frames.filter(|data| *data != "[DONE]");
    let frames: Vec<Value> = frames.map(|data| serde_json::from_str(data).expect("JSON")).collect();
    match format {
        Format::OpenaiChat => chat_calls(&frames),
        Format::Anthropic => anthropic_calls(&frames),
        _ => responses_calls(&frames),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn chat_calls(frames: &[Value]) -> Vec<[String; 3]> {
    let mut calls: Vec<[String; 3]> = Vec::new();
    for frame in frames {
        let deltas = frame["choices"][0]["delta"]["tool_calls"].as_array();
        for delta in deltas.into_iter().flatten() {
            let index = delta["index"].as_u64().expect("an index") as usize;
            assert!(index <= calls.len(), "a gap before {delta}");
            if index == calls.len() {
                calls.push(Default::default());
            }
            let is_custom = delta["custom"].is_object();
            assert!(!is_custom || delta["function"].is_null(), "two bodies: {delta}");
            let (body, arguments) =
                if is_custom { ("custom", "input") } else { ("function", "arguments") };
            calls[index][0] += &text(&delta["id"]);
            calls[index][1] += &text(&delta[body]["name"]);
            calls[index][2] += &text(&delta[body][arguments]);
        }
    }
    calls
}

fn anthropic_calls(frames: &[Value]) -> Vec<[String; 3]> {
    let mut blocks: Vec<Option<[String; 3]>> = Vec::new();
    for frame in frames {
        let index = frame["index"].as_u64().map(|index| index as usize);
        let block = &frame["content_block"];
        match (text(&frame["type"]).as_str(), index) {
            ("content_block_start", index) => {
                assert_eq!(index, Some(blocks.len()), "{frame}");
                let call = || [text(&block["id"]), text(&block["name"]), String::new()];
                blocks.push((block["type"] == "tool_use").then(call));
            }
            ("content_block_delta", Some(index)) => {
                let part = text(&frame["delta"]["partial_json"]);
                if let Some(call) = blocks.get_mut(index).expect("a block") {
                    call[2] += &part;
                }
            }
            _ => {}
        }
    }
    let mut calls: Vec<[String; 3]> = blocks.into_iter().flatten().collect();
    for call in calls.iter_mut().filter(|call| call[2].is_empty()) {
        call[2] = "{}".to_owned();
    }
    calls
}

fn responses_calls(frames: &[Value]) -> Vec<[String; 3]> {
    let of = |item: &Value| [&item["call_id"], &item["name"], &item["arguments"]].map(text);
    let mut calls: BTreeMap<u64, ([String; 3], String)> = BTreeMap::new();
    for frame in frames {
        let index = frame["output_index"].as_u64().unwrap_or(0);
        let is_call = frame["item"]["type"] == "function_call";
        match text(&frame["type"]).as_str() {
            "response.output_item.added" => {
                assert!(!calls.contains_key(&index), "two items: {frame}");
                if is_call {
                    calls.insert(index, (of(&frame["item"]), String::new()));
                }
            }
            "response.function_call_arguments.delta" => {
                calls.get_mut(&index).expect("a call").1 += &text(&frame["delta"]);
            }
            "response.function_call_arguments.done" => {
                calls.get_mut(&index).expect("a call").0[2] = text(&frame["arguments"]);
            }
            "response.output_item.done" if is_call => {
                let (call, deltas) = calls.get(&index).expect("a call");
                let item = of(&frame["item"]);
                assert_eq!(call, &item, "{frame}");
                assert!(deltas.is_empty() || *deltas == item[2], "{deltas}\n{frame}");
            }
            "response.completed" => {
                let output = frame["response"]["output"].as_array().expect("an output");
                let of_calls = output.iter().filter(|item| item["type"] == "function_call");
                let told: Vec<_> = calls.values().map(|(call, _)| call.clone()).collect();
                assert_eq!(of_calls.map(of).collect::<Vec<_>>(), told, "{frame}");
            }
            _ => {}
        }
    }
    calls.into_values().map(|(call, _)| call).collect()
}

/// Checks that the calls are those that were sent. A call that was sent without an id has one.
pub(super) fn assert_calls(format: Format, repaired: &str, sent: &[SentCall], context: &str) {
    let calls = calls_of(format, repaired);
    assert_eq!(calls.len(), sent.len(), "{context}\n->\n{repaired}");
    let mut ids: Vec<&String> = calls.iter().map(|call| &call[0]).collect();
    for ([id, name, arguments], call) in calls.iter().zip(sent) {
        match &call.id {
            Some(expected) => assert_eq!(id, expected, "{context}\n->\n{repaired}"),
            None => assert!((29..=30).contains(&id.len()), "{id}\n{context}\n->\n{repaired}"),
        }
        assert_eq!(Some(name), call.name.as_ref(), "{context}\n->\n{repaired}");
        let expected = call.fragments.concat();
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        let is_same = *arguments == expected || read(arguments) == read(&expected);
        assert!(is_same, "{arguments}\n{context}\n->\n{repaired}");
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), sent.len(), "{context}\n->\n{repaired}");
}
