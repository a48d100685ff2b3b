#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;

fn events(list: &[Value]) -> Vec<Value> {
    let mut speech = MessageMerger::default();
    let mut out = Vec::new();
    for event in list {
        speech.push_event(event.clone(), &mut out);
    }
    speech.finish(false, &mut out);
    assert!(speech.is_empty());
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
    let told = events(&[
        start(cache(5)),
        stop("tool_use", json!({"output_tokens": 7})),
        json!({"type": "message_stop"}),
        start(cache(6)),
        stop("max_tokens", json!({"output_tokens": 20, "input_tokens": 11})),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(told.len(), 3);
    assert_eq!(told[1]["delta"]["stop_reason"], "max_tokens");
    let usage =
        json!({"input_tokens": 21, "output_tokens": 27, "cache_creation": {"ephemeral_5m": 11}});
    assert_eq!(told[1]["usage"], usage);
}

#[test]
fn the_agents_own_going_on_is_no_reason_to_stop() {
    for (reason, expected) in
        [("tool_use", "end_turn"), ("pause_turn", "end_turn"), ("refusal", "refusal")]
    {
        let told = events(&[start(json!({})), stop(reason, json!({}))]);
        assert_eq!(told[1]["delta"]["stop_reason"], expected);
    }
}

#[test]
fn torn_events_leave_a_whole_message() {
    let block = json!({"type": "text", "text": ""});
    let told = events(&[
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
    let kinds: Vec<_> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let block = ["content_block_start", "content_block_stop"];
    let whole =
        ["message_start", block[0], block[1], block[0], block[1], "message_delta", "message_stop"];
    assert_eq!(kinds, whole);
    assert_eq!((&told[1]["index"], &told[3]["index"]), (&json!(0), &json!(1)));
}

fn text(words: &str) -> Value {
    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}})
}

fn begins(block: Value) -> Value {
    json!({"type": "content_block_start", "index": 0, "content_block": block})
}

/// The texts of a reply, as a client puts them together.
fn words(events: &[Value]) -> String {
    let texts =
        events.iter().flat_map(|event| [&event["delta"]["text"], &event["content_block"]["text"]]);
    texts.filter_map(Value::as_str).collect()
}

#[test]
fn a_blank_line_stands_between_the_texts_of_two_messages() {
    let (begin, empty) = (start(json!({})), begins(json!({"type": "text", "text": ""})));
    let ends = json!({"type": "content_block_stop", "index": 0});
    let said = |words: &[&str]| {
        let mut all = vec![begin.clone(), empty.clone()];
        all.extend(words.iter().map(|words| text(words)));
        all.push(ends.clone());
        all
    };
    let whole = |words: &str| {
        let block = begins(json!({"type": "text", "text": words}));
        vec![begin.clone(), block, ends.clone()]
    };
    let again = vec![empty.clone(), text("in the same"), ends.clone()];
    let thinks =
        vec![begin.clone(), begins(json!({"type": "thinking", "thinking": ""})), ends.clone()];
    let table = [
        (vec![said(&["one"]), said(&["two"])], "one\n\ntwo"),
        (vec![said(&["o", "ne"]), said(&["", "t", "wo"]), whole("three")], "one\n\ntwo\n\nthree"),
        (vec![said(&[""]), said(&["two"]), said(&[]), thinks], "two"),
        (vec![said(&["one"]), said(&[""]), said(&["three"])], "one\n\nthree"),
        (vec![said(&["one "]), again], "one in the same"),
        (vec![whole("one"), whole(""), whole("two")], "one\n\ntwo"),
    ];
    for (messages, expected) in table {
        assert_eq!(words(&events(&messages.concat())), expected);
    }
    // A whole text after the others is a block of its own.
    let (mut speech, mut out) = (MessageMerger::default(), Vec::new());
    said(&["one"]).into_iter().for_each(|event| speech.push_event(event, &mut out));
    speech.push_text("two", &mut out);
    speech.finish(false, &mut out);
    speech.push_text("a new reply", &mut out);
    assert_eq!(words(&out), "one\n\ntwoa new reply");
}

#[test]
fn ids_are_made_of_the_seed_and_the_number() {
    let mut ids = Vec::new();
    for seed in [1, 2] {
        let mut speech = MessageMerger::default();
        speech.set_seed(seed);
        for _ in 0..3 {
            let mut out = Vec::new();
            let mut apart = speech.new_sibling();
            apart.push_text("x", &mut out);
            apart.finish(false, &mut out);
            ids.push(out[0]["message"]["id"].to_string());
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}
