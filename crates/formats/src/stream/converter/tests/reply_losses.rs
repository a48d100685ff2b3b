//! What a stream loses is what a whole reply loses.

use super::*;

fn sse(frames: &[Json]) -> Vec<u8> {
    let frame =
        |data: &Json| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or(""));
    frames.iter().map(frame).collect::<String>().into_bytes()
}

/// A Responses stream with one item, whose text arrives with the end of the item.
fn responses(item: &Json) -> Vec<u8> {
    let response = |status: &str, output: Json| {
        serde_json::json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status,
            "model": "m", "output": output, "usage": null})
    };
    sse(&[
        serde_json::json!({"type": "response.created", "response": response("in_progress", Json::Array(Vec::new()))}),
        serde_json::json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        serde_json::json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        serde_json::json!({"type": "response.completed",
            "response": response("completed", Json::Array(vec![item.clone()]))}),
    ])
}

fn notes(ending: &StreamEnding) -> Vec<&str> {
    ending.skipped.iter().map(|loss| loss.note.as_str()).collect()
}

#[test]
fn stream_of_responses_lists_the_fields_that_a_whole_reply_lists() {
    let table = [
        (
            serde_json::json!({"type": "function_call", "id": "fc_1", "call_id": "call_1",
                "name": "f", "arguments": "{}", "status": "completed", "async": true}),
            vec!["the field `async` is not supported in this format"],
        ),
        (
            serde_json::json!({"type": "function_call", "id": "fc_1", "call_id": "call_1",
                "name": "f", "arguments": "{}", "status": "completed", "async": false}),
            vec![],
        ),
        (
            serde_json::json!({"type": "tool_search_call", "id": "ts_1", "call_id": "call_1",
                "execution": "client", "arguments": {"q": "x"}, "status": "completed"}),
            vec!["the field `execution` is not supported in this format"],
        ),
        (
            serde_json::json!({"type": "message", "id": "msg_1", "role": "assistant",
                "status": "completed", "phase": "commentary",
                "content": [{"type": "output_text", "text": "T", "annotations": []}]}),
            vec!["`phase` is left out"],
        ),
    ];
    for (item, expected) in table {
        let source = responses(&item);
        let (_, ending) = convert(Format::OpenaiResponses, Format::Anthropic, &source, 64);
        assert_eq!(notes(&ending), expected, "{item}");
    }
    let shell = serde_json::json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1",
        "status": "completed", "action": {"type": "exec", "command": ["ls"]}});
    let own = Format::OpenaiResponses;
    let options = StreamOptions { model: Some("other".to_owned()), ..StreamOptions::default() };
    let mut converter = StreamConverter::new(own, own, options);
    let mut out = Vec::new();
    converter.push(&responses(&shell), &mut out).expect("a stream");
    let ending = converter.finish(&mut out).expect("a stream");
    assert_eq!(notes(&ending), ["a call of a built-in tool becomes a function call"]);
}

/// One loss for arguments that are no object, and only where the client gets something else.
#[test]
fn arguments_that_are_no_object_are_one_loss_that_is_true_for_the_target() {
    let passed_on = "the arguments of a call are not a JSON object and are passed on unchanged";
    let left_out = "a call whose arguments are not a JSON object is left out";
    let whole = StopReason::ToolCalls;
    for (arguments, stop) in
        [("[1]", whole.clone()), ("go", whole), ("{\"a\": ", StopReason::Length)]
    {
        let parts = vec![call("call_1", CallFamily::Function, arguments)];
        let reply = ModelReply {
            wire: Some(Format::OpenaiChat),
            id: Some("r".into()),
            parts,
            stop: Some(stop),
            ..ModelReply::default()
        };
        let (source, _) = stream(&reply, Format::OpenaiChat);
        for to in Format::ALL {
            let (_, ending) = convert(Format::OpenaiChat, to, &source, 64);
            let arguments_notes: Vec<&str> = ending
                .skipped
                .iter()
                .filter(|loss| loss.kind == LossKind::Arguments)
                .map(|loss| loss.note.as_str())
                .collect();
            let expected = match to {
                Format::OpenaiChat | Format::OpenaiResponses => vec![],
                Format::Gemini => vec![left_out],
                Format::Anthropic | Format::Bedrock | Format::GeminiInteractions => vec![passed_on],
            };
            assert_eq!(arguments_notes, expected, "{arguments} {to:?}");
        }
    }
}

/// An Anthropic stream of two texts. The second has a citation, before or behind its text.
fn cited(is_first: bool) -> Vec<u8> {
    let start = |index: u32| {
        serde_json::json!({"type": "content_block_start", "index": index,
            "content_block": {"type": "text", "text": ""}})
    };
    let delta = |index: u32, delta: Json| serde_json::json!({"type": "content_block_delta", "index": index, "delta": delta});
    let text = |index: u32, text: &str| {
        delta(index, serde_json::json!({"type": "text_delta", "text": text}))
    };
    let stop = |index: u32| serde_json::json!({"type": "content_block_stop", "index": index});
    let citation = serde_json::json!({"type": "web_search_result_location", "url": "https://fox",
        "title": "Fox", "cited_text": ""});
    let citation = delta(1, serde_json::json!({"type": "citations_delta", "citation": citation}));
    let mut parts = [citation, text(1, "a fox")];
    if !is_first {
        parts.reverse();
    }
    let [one, other] = parts;
    sse(&[
        serde_json::json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "m", "content": []}}),
        start(0),
        text(0, "It was "),
        stop(0),
        start(1),
        one,
        other,
        stop(1),
        serde_json::json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        serde_json::json!({"type": "message_stop"}),
    ])
}

#[test]
fn a_citation_before_its_text_points_at_the_text() {
    for (to, place) in [
        (Format::OpenaiChat, "\"start_index\":7,\"end_index\":12"),
        (Format::OpenaiResponses, "\"start_index\":0,\"end_index\":5"),
    ] {
        for is_first in [true, false] {
            let (out, ending) = convert(Format::Anthropic, to, &cited(is_first), 64);
            let out = String::from_utf8(out).expect("text");
            assert!(ending.complete && out.contains(place), "{to:?} {is_first}: {out}");
            assert!(!out.contains("\"end_index\":0"), "{out}");
        }
    }
}

#[test]
fn held_citations_count_as_buffered() {
    let source = String::from_utf8(cited(true)).expect("text");
    let at = source.find("citations_delta").expect("a citation");
    let start = source[..at].rfind("\n\n").expect("an event before it") + 2;
    let end = at + source[at..].find("\n\n").expect("its end") + 2;
    let (head, citation) = (&source[..start], &source[start..end]);
    let limits = StreamLimits { held: 2000, ..StreamLimits::default() };
    for to in [Format::OpenaiChat, Format::OpenaiResponses] {
        let options = StreamOptions { limits, ..StreamOptions::default() };
        let mut converter = StreamConverter::new(Format::Anthropic, to, options);
        let mut out = Vec::new();
        converter.push(head.as_bytes(), &mut out).expect("a stream");
        let is_refused = (0..100).any(|_| converter.push(citation.as_bytes(), &mut out).is_err());
        assert!(is_refused, "{to:?}");
    }
}
