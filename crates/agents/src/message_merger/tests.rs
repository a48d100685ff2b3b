#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;

fn events(list: &[Value]) -> Vec<Value> {
    let mut merger = MessageMerger::default();
    let mut out = Vec::new();
    for event in list {
        merger.push_event(event.clone(), &mut out);
    }
    merger.finish(false, &mut out);
    assert!(merger.is_empty());
    out
}

fn start(usage: Value) -> Value {
    json!({"type": "message_start", "message": {"id": "m", "model": "x", "usage": usage}})
}

fn stop(reason: &str, usage: Value) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
}

#[test]
fn usage_is_summed_and_the_last_reason_counts() {
    let cache =
        |n| json!({"input_tokens": 10, "output_tokens": 1, "cache_creation": {"ephemeral_5m": n}});
    let merged = events(&[
        start(cache(5)),
        stop("tool_use", json!({"output_tokens": 7})),
        json!({"type": "message_stop"}),
        start(cache(6)),
        stop("max_tokens", json!({"output_tokens": 20, "input_tokens": 11})),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(merged.len(), 3);
    assert_eq!(merged[1]["delta"]["stop_reason"], "max_tokens");
    let usage =
        json!({"input_tokens": 21, "output_tokens": 27, "cache_creation": {"ephemeral_5m": 11}});
    assert_eq!(merged[1]["usage"], usage);
}

#[test]
fn a_continuation_by_the_agent_itself_is_not_a_stop_reason() {
    for (reason, expected) in
        [("tool_use", "end_turn"), ("pause_turn", "end_turn"), ("refusal", "refusal")]
    {
        let merged = events(&[start(json!({})), stop(reason, json!({}))]);
        assert_eq!(merged[1]["delta"]["stop_reason"], expected);
    }
}

#[test]
fn incomplete_events_still_give_a_complete_message() {
    let block = json!({"type": "text", "text": ""});
    let merged = events(&[
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "lost"}}),
        json!({"type": "content_block_start", "index": 3, "content_block": block}),
        json!({"type": "content_block_start", "index": 3, "content_block": block}),
        json!({"type": "content_block_start", "index": "x", "content_block": block}),
        json!({"type": "content_block_start", "index": 4}),
        json!({"type": "content_block_stop", "index": 9}),
        json!({"type": "error"}),
        json!(7),
        start(json!(null)),
    ]);
    let kinds: Vec<_> = merged.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let block = ["content_block_start", "content_block_stop"];
    let whole =
        ["message_start", block[0], block[1], block[0], block[1], "message_delta", "message_stop"];
    assert_eq!(kinds, whole);
    assert_eq!((&merged[1]["index"], &merged[3]["index"]), (&json!(0), &json!(1)));
}

fn text(content: &str) -> Value {
    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": content}})
}

fn block_start(block: Value) -> Value {
    json!({"type": "content_block_start", "index": 0, "content_block": block})
}

/// The joined texts of a reply.
fn texts(events: &[Value]) -> String {
    let texts =
        events.iter().flat_map(|event| [&event["delta"]["text"], &event["content_block"]["text"]]);
    texts.filter_map(Value::as_str).collect()
}

#[test]
fn a_blank_line_stands_between_the_texts_of_two_messages() {
    let (start_event, empty) = (start(json!({})), block_start(json!({"type": "text", "text": ""})));
    let stop_event = json!({"type": "content_block_stop", "index": 0});
    let message = |texts: &[&str]| {
        let mut all = vec![start_event.clone(), empty.clone()];
        all.extend(texts.iter().map(|content| text(content)));
        all.push(stop_event.clone());
        all
    };
    let whole = |content: &str| {
        let block = block_start(json!({"type": "text", "text": content}));
        vec![start_event.clone(), block, stop_event.clone()]
    };
    let second_block = vec![empty.clone(), text("in the same"), stop_event.clone()];
    let reasoning = vec![
        start_event.clone(),
        block_start(json!({"type": "thinking", "thinking": ""})),
        stop_event.clone(),
    ];
    let table = [
        (vec![message(&["one"]), message(&["two"])], "one\n\ntwo"),
        (
            vec![message(&["o", "ne"]), message(&["", "t", "wo"]), whole("three")],
            "one\n\ntwo\n\nthree",
        ),
        (vec![message(&[""]), message(&["two"]), message(&[]), reasoning], "two"),
        (vec![message(&["one"]), message(&[""]), message(&["three"])], "one\n\nthree"),
        (vec![message(&["one "]), second_block], "one in the same"),
        (vec![whole("one"), whole(""), whole("two")], "one\n\ntwo"),
    ];
    for (messages, expected) in table {
        assert_eq!(texts(&events(&messages.concat())), expected);
    }
    // A whole text after the others is a separate block.
    let (mut merger, mut out) = (MessageMerger::default(), Vec::new());
    message(&["one"]).into_iter().for_each(|event| merger.push_event(event, &mut out));
    merger.push_text("two", &mut out);
    merger.finish(false, &mut out);
    merger.push_text("a new reply", &mut out);
    assert_eq!(texts(&out), "one\n\ntwoa new reply");
}

#[test]
fn ids_are_made_of_the_seed_and_the_number() {
    let mut ids = Vec::new();
    for seed in [1, 2] {
        let mut merger = MessageMerger::default();
        merger.set_seed(seed);
        for _ in 0..3 {
            let mut out = Vec::new();
            let mut sibling = merger.new_sibling();
            sibling.push_text("x", &mut out);
            sibling.finish(false, &mut out);
            ids.push(out[0]["message"]["id"].to_string());
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}
