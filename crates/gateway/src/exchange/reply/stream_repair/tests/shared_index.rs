//! Calls that a stream gives the same index.

use super::*;

#[test]
fn calls_without_ids_of_their_own_that_share_an_index_stay_apart() {
    let calls = [("get", "{\"a\":1}"), ("put", "{\"b\":2}"), ("put", "{\"b\":3}")];
    let ids = [None, Some(""), Some("a")];
    for (index, id) in ids.into_iter().flat_map(|id| [(None, id), (Some(0), id)]) {
        let delta = |name: Option<&str>, arguments: &str| {
            let mut delta = json!({ "type": "function", "function": { "arguments": arguments } });
            if let Some(name) = name {
                delta["function"]["name"] = name.into();
            }
            if let Some(id) = id.filter(|_| name.is_some()) {
                delta["id"] = id.into();
            }
            if let Some(index) = index {
                delta["index"] = json!(index);
            }
            delta
        };
        let whole = calls.map(|(name, arguments)| delta(Some(name), arguments));
        let in_parts = calls[..2].iter().flat_map(|(name, arguments)| {
            let (start, end) = arguments.split_at(3);
            [delta(Some(name), ""), delta(None, start), delta(None, end)]
        });
        let in_parts: Vec<Value> = in_parts.collect();
        for (deltas, frame, count) in
            [(&whole[..], 3, 3), (&whole[..], 1, 3), (&in_parts[..], 1, 2)]
        {
            let mut sent = String::new();
            for deltas in deltas.chunks(frame) {
                let choice = json!({ "index": 0, "delta": { "tool_calls": deltas } });
                sent += &format!("data: {}\n\n", json!({ "choices": [choice] }));
            }
            let end = json!({ "index": 0, "delta": {}, "finish_reason": "tool_calls" });
            sent += &format!("data: {}\n\n", json!({ "choices": [end] }));
            let repaired = repair(Format::OpenaiChat, &sent, &mut Numbers(8));
            assert!(is_readable(Format::OpenaiChat, &repaired, count), "{sent}\n->\n{repaired}");
            let read = read(Format::OpenaiChat, &repaired);
            let read: Vec<_> = read.iter().map(|call| (&*call[1][0], &*call[2][0])).collect();
            assert_eq!(read, calls[..count], "{sent}\n->\n{repaired}");
        }
    }
}

#[test]
fn a_call_whose_name_and_id_are_in_every_fragment_stays_one_call() {
    let mut numbers = Numbers(9);
    for round in 0..500 {
        let calls = calls(&mut numbers);
        let mut sent = String::new();
        for (index, call) in calls.iter().enumerate() {
            let deltas = call.fragments.iter().map(String::as_str).chain([""]).map(|fragment| {
                let function = json!({ "name": call.name, "arguments": fragment });
                json!({ "index": index, "id": call.id, "type": "function", "function": function })
            });
            for deltas in deltas.collect::<Vec<_>>().chunks(1 + round % 2) {
                let choice = json!({ "index": 0, "delta": { "tool_calls": deltas } });
                sent += &format!("data: {}\n\n", json!({ "choices": [choice] }));
            }
        }
        sent += "data: [DONE]\n\n";
        let repaired = repair(Format::OpenaiChat, &sent, &mut numbers);
        sdk::assert_calls(Format::OpenaiChat, &repaired, &calls, &sent);
    }
}

#[test]
fn blocks_that_share_an_index_get_their_own_from_start_to_stop() {
    // The index and the text of each block: a call, or "-" for a text.
    let table: [&[(u64, &str)]; 6] = [
        &[(0, "{\"a\":1}"), (0, "{\"b\":2}")],
        &[(0, "{\"a\":1}"), (0, "{\"b\":2}"), (0, "{\"c\":3}")],
        &[(0, "{\"a\":1}"), (0, "{\"b\":2}"), (1, "{\"c\":3}")],
        &[(0, "-"), (0, "{\"a\":1}"), (1, "-"), (1, "{\"b\":2}")],
        &[(1, "-"), (2, "{\"a\":1}"), (3, "{\"b\":2}")],
        &[(3, "{\"a\":1}"), (3, "{\"b\":2,}"), (4, "{\"c\":[3")],
    ];
    for blocks in table {
        let mut sent = String::new();
        for (at, (index, text)) in blocks.iter().enumerate() {
            let mut send = |kind: &str, field: &str, value: Value| {
                let mut body = json!({ "type": kind, "index": index });
                body[field] = value;
                sent += &event(kind, body);
            };
            if *text == "-" {
                let block = json!({ "type": "text", "text": "" });
                send("content_block_start", "content_block", block);
                let delta = json!({ "type": "text_delta", "text": "So" });
                send("content_block_delta", "delta", delta);
            } else {
                let id = format!("toolu_{at}");
                let block = json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
                send("content_block_start", "content_block", block);
                let (start, end) = text.split_at(text.len() - 1);
                for part in [start, end] {
                    let delta = json!({ "type": "input_json_delta", "partial_json": part });
                    send("content_block_delta", "delta", delta);
                }
            }
            send("content_block_stop", "stop", Value::Null);
        }
        let end = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } });
        sent += &event("message_delta", end);
        let repaired = repair(Format::Anthropic, &sent, &mut Numbers(10));
        assert_eq!(
            sdk::calls_of(Format::Anthropic, &repaired).len(),
            blocks.iter().filter(|(_, text)| *text != "-").count()
        );
        // The same without any index.
        let without = (0..5)
            .fold(sent.clone(), |sent, index| sent.replace(&format!("\"index\":{index},"), ""));
        assert_eq!(repair(Format::Anthropic, &without, &mut Numbers(10)), repaired);
        let frames = repaired.lines().filter_map(|line| line.strip_prefix("data: "));
        let frames = frames.map(|data| serde_json::from_str::<Value>(data).expect("JSON"));
        let mut indices: Vec<u64> = frames.filter_map(|frame| frame["index"].as_u64()).collect();
        // The frames of a block stand together.
        indices.dedup();
        assert_eq!(indices.len(), blocks.len(), "{sent}\n->\n{repaired}");
        indices.sort_unstable();
        indices.dedup();
        assert_eq!(indices.len(), blocks.len(), "{sent}\n->\n{repaired}");
        let calls = blocks.iter().filter(|(_, text)| *text != "-").count();
        assert!(is_readable(Format::Anthropic, &repaired, calls), "{sent}\n->\n{repaired}");
    }
}
