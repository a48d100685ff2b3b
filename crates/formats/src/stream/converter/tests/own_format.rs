//! A stream of the target's format is passed on; another is converted, and its losses are those of
//! a whole reply.

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
fn stream_in_the_target_format_is_passed_on_unchanged() {
    let shell = serde_json::json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1",
        "status": "completed", "async": true, "action": {"type": "exec", "command": ["ls"]}});
    let unknown = "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[\
        {\"text\":\"Hi\",\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}],\
        \"responseId\":\"r\",\"modelVersion\":\"m\"}\r\n\r\n";
    let server = sse(&[
        serde_json::json!({"type": "message_start", "message": {"id": "msg_1", "type": "message",
            "role": "assistant", "model": "m", "content": [], "usage": {"input_tokens": 1}}}),
        serde_json::json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "compaction", "content": "so far"}}),
        serde_json::json!({"type": "content_block_stop", "index": 0}),
        serde_json::json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 1}}),
        serde_json::json!({"type": "message_stop"}),
    ]);
    let table = [
        (Format::OpenaiResponses, responses(&shell)),
        (Format::Gemini, unknown.as_bytes().to_vec()),
        (Format::Anthropic, server),
    ];
    for (format, source) in table {
        for chunk in [1, 7, source.len()] {
            let (out, ending) = convert(format, format, &source, chunk);
            assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&source));
            assert!(ending.complete && ending.skipped.is_empty(), "{format:?}: {ending:?}");
        }
    }
}

#[test]
fn passed_on_stream_that_is_cut_off_ends_with_a_failure() {
    for format in Format::ALL.into_iter().filter(|format| *format != Format::OpenaiChat) {
        let (source, _) = stream(&rich(format), format);
        let (out, ending) = convert(format, format, &source, 64);
        assert_eq!((out, ending.complete), (source.clone(), true), "{format:?}");
        let half = source.len() / 2;
        let (out, ending) = convert(format, format, &source[..half], 64);
        let (whole, collection) = (out.len(), collect(format, &out).expect("a stream"));
        assert!(!ending.complete, "{format:?}");
        let CollectedEnding::Failed(failure) = collection.ending else { panic!("{format:?}") };
        assert_eq!(failure.message, "the stream ended before the response was complete");
        let same = out.iter().zip(&source).take_while(|(one, other)| one == other).count();
        assert!(same > 0 && same < whole, "{format:?}");
    }
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
