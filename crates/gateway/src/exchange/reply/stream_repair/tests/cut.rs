//! Streams that are cut off, and frames that are not part of the reply.

use super::*;

fn cut_call() -> SentCall {
    SentCall {
        id: Some("a".to_owned()),
        name: Some("run".to_owned()),
        fragments: ["{\"command\":", "\"rm -r /tmp", ""].map(str::to_owned).into(),
    }
}

/// The reasons after which a call is complete, and others.
const REASONS: [(Format, &str, &[&str], &[&str]); 2] = [
    (
        Format::OpenaiChat,
        "\"finish_reason\":\"tool_calls\"",
        &["stop", "tool_calls", "function_call"],
        &[
            "length",
            "content_filter",
            "model_length",
            "error",
            "insufficient_system_resource",
            "abort",
            "max_tokens",
        ],
    ),
    (
        Format::Anthropic,
        "\"stop_reason\":\"tool_use\"",
        &["tool_use", "end_turn", "stop_sequence", "pause_turn"],
        &["max_tokens", "model_context_window_exceeded", "refusal", "compaction", "error"],
    ),
];

#[test]
fn only_reasons_of_a_whole_reply_complete_calls() {
    for (format, reason, whole, cut) in REASONS {
        let sent = stream(format, &[cut_call()]);
        let with = |name: &str| {
            let (field, _) = reason.split_once(':').expect("a field");
            sent.replace(reason, &format!("{field}:\"{name}\""))
        };
        for name in whole {
            let repaired = repair(format, &with(name), &mut Numbers(41));
            assert!(is_readable(format, &repaired, 1), "{name}: {repaired}");
        }
        for name in cut {
            assert_eq!(repair(format, &with(name), &mut Numbers(41)), with(name), "{name}");
        }
    }
}

#[test]
fn errors_leave_calls_as_they_are() {
    let chat = stream(Format::OpenaiChat, &[cut_call()]);
    let error = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let ends = |frame: &&str| frame.contains("\"finish_reason\":\"tool_calls\"");
    let end = chat.split_inclusive("\n\n").find(ends).expect("an end").to_owned();
    let with_error = end.replacen('{', "{\"error\":{\"code\":502},", 1);
    for sent in [chat.replace(&end, &(error.to_owned() + &end)), chat.replace(&end, &with_error)] {
        assert_eq!(repair(Format::OpenaiChat, &sent, &mut Numbers(42)), sent);
    }

    let anthropic = stream(Format::Anthropic, &[cut_call()]);
    let (start, _) = anthropic.split_once("event: message_delta").expect("an end");
    let pings = [
        "event:ping\ndata:{\"type\":\"ping\"}\n\n",
        "data: {\"type\": \"ping\"}\n\n",
        ": ping\n\n",
    ];
    for ping in pings {
        let error = event("error", json!({ "type": "error", "error": { "type": "api_error" } }));
        let sent = [start, ping, &error].concat();
        assert_eq!(repair(Format::Anthropic, &sent, &mut Numbers(42)), sent);
        let sent = [start, ping].concat();
        assert_eq!(repair(Format::Anthropic, &sent, &mut Numbers(42)), sent);
    }

    let responses = stream(Format::OpenaiResponses, &[cut_call()]);
    let (start, _) = responses.split_once("event: response.output_item.done").expect("an end");
    let (start, end) =
        start.split_once("event: response.function_call_arguments.done").expect("an end");
    let end = format!("event: response.function_call_arguments.done{end}");
    let response = json!({ "id": "r", "output": [{ "type": "function_call", "id": "fc_0", "call_id": "a", "name": "run", "arguments": "{\"command\":\"rm -r /tmp" }] });
    for kind in ["response.failed", "response.incomplete", "error"] {
        let last = event(kind, json!({ "type": kind, "response": response }));
        for end in [end.as_str(), ""] {
            let keep_alive = "data: {\"type\":\"keepalive\"}\n\n";
            let sent = [start, end, keep_alive, &last].concat();
            assert_eq!(repair(Format::OpenaiResponses, &sent, &mut Numbers(42)), sent);
        }
    }
}

/// A frame that is not part of a reply.
fn aside(format: Format, numbers: &mut Numbers) -> &'static str {
    let asides: &[&str] = match format {
        Format::OpenaiChat => &[": wait\n\n", ":\n\n", "event: ping\ndata: {\"x\":\"\"}\n\n"],
        Format::Anthropic => &[
            ": wait\n\n",
            "event: ping\ndata: {\"type\": \"ping\"}\n\n",
            "event:ping\ndata:{\"type\":\"ping\"}\n\n",
            "data: {\"type\":\"ping\"}\n\n",
        ],
        _ => &[": wait\n\n", "data: {\"type\":\"keepalive\"}\n\n", "event: keepalive\n\n"],
    };
    asides[numbers.below(asides.len())]
}

#[test]
fn comments_and_pings_change_no_repair() {
    let mut numbers = Numbers(43);
    for round in 0..2_000 {
        let format = FORMATS[round % 3];
        let mut calls = calls(&mut numbers);
        if round % 2 == 0 {
            calls.iter_mut().for_each(|call| damage(call, &[], &mut numbers));
        }
        let sent = stream(format, &calls);
        let mut mixed = String::new();
        for frame in sent.split_inclusive("\n\n") {
            mixed += frame;
            if numbers.chance(40) {
                mixed += aside(format, &mut numbers);
            }
        }
        let repaired = repair(format, &mixed, &mut numbers);
        let plain = repair(format, &sent, &mut numbers);
        let is_aside = |frame: &&str| {
            frame.starts_with(':')
                || ["ping", "\"x\"", "keepalive"].iter().any(|text| frame.contains(text))
        };
        let without = |text: &str| -> String {
            text.split_inclusive("\n\n").filter(|frame| !is_aside(frame)).collect()
        };
        assert_eq!(without(&repaired), without(&plain), "{mixed}");
        let asides = |text: &str| text.split_inclusive("\n\n").filter(is_aside).count();
        assert_eq!(asides(&repaired), asides(&mixed));
        if plain == sent {
            assert_eq!(repaired, mixed);
        }
    }
}

#[test]
fn part_of_a_frame_is_not_sent() {
    let mut numbers = Numbers(44);
    for round in 0..2_000 {
        let format = FORMATS[round % 3];
        let mut calls = calls(&mut numbers);
        if round % 2 == 0 {
            calls.iter_mut().for_each(|call| damage(call, &[], &mut numbers));
        }
        let sent = stream(format, &calls);
        let mut end = numbers.below(sent.len());
        while !sent.is_char_boundary(end) {
            end += 1;
        }
        let cut = &sent[..end];
        let whole = cut.rfind("\n\n").map_or(0, |at| at + 2);
        let repaired = repair(format, cut, &mut numbers);
        let expected = repair(format, &cut[..whole], &mut numbers);
        let is_whole = has_whole_data(&cut.as_bytes()[whole..]);
        // The data may be whole without the end of its frame.
        match is_whole {
            true => assert!(round % 2 == 0 || repaired == cut, "{cut}\n->\n{repaired}"),
            false => assert_eq!(repaired, expected, "{cut}"),
        }
    }
    // A body that is no stream passes.
    let error = "{\"error\":{\"message\":\"no\"}}";
    assert_eq!(repair(Format::OpenaiChat, error, &mut numbers), error);
}
