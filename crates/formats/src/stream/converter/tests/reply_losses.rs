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
