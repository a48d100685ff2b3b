//! Calls that a server cut off under a stop reason of its own.

use super::*;

/// A reply of a Chat server with these arguments and this stop reason, whole and as a stream.
fn replies(arguments: &str, reason: &str) -> [String; 2] {
    let call = json!({"index": 0, "id": "a", "type": "function",
        "function": {"name": "f", "arguments": arguments}});
    let body = json!({"id": "c", "model": "m", "created": 1, "choices": [{"index": 0,
        "message": {"role": "assistant", "content": null, "tool_calls": [call]},
        "finish_reason": reason}]});
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!("data: {}\n\n", json!({"id": "c", "model": "m", "choices": [choice]}))
    };
    let chunks = [
        chunk(json!({"tool_calls": [call]}), Value::Null),
        chunk(json!({}), json!(reason)),
        "data: [DONE]\n\n".to_owned(),
    ];
    [body.to_string(), chunks.concat()]
}

/// The stop reason of both forms in a format, and what is told about it.
fn stops(arguments: &str, reason: &str, to: Format) -> Vec<(String, usize)> {
    let [body, stream] = replies(arguments, reason);
    let options = ConversionOptions::default();
    let done = response(&body, Format::OpenaiChat, to, &options).expect("readable");
    let told = done.losses.iter().filter(|loss| loss.kind == LossKind::StopReason).count();
    let mut converter = StreamConverter::new(Format::OpenaiChat, to, StreamOptions::default());
    let mut out = Vec::new();
    converter.push(stream.as_bytes(), &mut out).expect("a stream");
    let ending = converter.finish(&mut out).expect("a stream");
    assert!(ending.complete, "{ending:?}");
    let streamed = ending.skipped.iter().filter(|loss| loss.kind == LossKind::StopReason).count();
    let reply = collect(to, &out).expect("a stream").reply;
    let ModelResponse::Reply(whole) = decode_reply(&done.body, to).expect("readable").outcome
    else {
        panic!("{}", done.body);
    };
    vec![(format!("{:?}", whole.stop), told), (format!("{:?}", reply.stop), streamed)]
}

#[test]
fn half_a_call_under_an_unknown_stop_reason_is_not_a_complete_reply() {
    let same = |stop: &str, told| vec![(format!("Some({stop})"), told); 2];
    for to in [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses, Format::Bedrock] {
        for reason in ["abort", "insufficient_system_resource"] {
            for arguments in ["{\"a\":", "{\"a\":\"b", ""] {
                assert_eq!(stops(arguments, reason, to), same("Length", 1), "{to:?} {reason}");
            }
            let complete = stops("{\"a\":1}", reason, to);
            assert!(complete.iter().all(|(stop, _)| stop != "Some(Length)"), "{complete:?}");
        }
    }
    assert_eq!(stops("{\"a\":", "model_length", Format::Anthropic), same("ContextFull", 0));
    assert_eq!(stops("{\"a\":", "length", Format::Anthropic), same("Length", 0));
    // Plain ends of some servers.
    for reason in ["eos", "eos_token", "tool_calls"] {
        assert_eq!(stops("", reason, Format::Anthropic), same("ToolCalls", 0), "{reason}");
    }
}

#[test]
fn call_that_was_aborted_before_its_name_came_is_left_out() {
    let stream = concat!(
        r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"Hi","tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x"}}]}}]}"#,
        "\n\n",
        r#"data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}"#,
        "\n\ndata: [DONE]\n\n",
    );
    let options = StreamOptions::default();
    let mut converter = StreamConverter::new(Format::OpenaiChat, Format::Anthropic, options);
    let mut out = Vec::new();
    converter.push(stream.as_bytes(), &mut out).expect("a stream");
    let ending = converter.finish(&mut out).expect("a stream");
    assert!(ending.complete && !ending.failed, "{ending:?}");
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains("\"stop_reason\":\"max_tokens\""), "{text}");
    assert!(!text.contains("tool_use"), "{text}");
}
