//! Detection of complete inputs and of their prefixes.

use super::*;

#[track_caller]
fn whole(table: &[(&str, DetectedInput)]) {
    for (text, expected) in table {
        assert_eq!(detect_input(text.as_bytes(), true), *expected, "{text}");
        assert_eq!(
            detect_input(format!("\u{feff}\r\n {text}\n").as_bytes(), true),
            *expected,
            "{text}"
        );
    }
}

#[test]
fn conversations_are_requests() {
    let request = |text| (text, DetectedInput::Request);
    whole(&[
        request(""),
        request("hello"),
        request("{"),
        request("[]"),
        request(r#"[{"role":"user","content":"hi"}]"#),
        request(r#"[{"role":"user","parts":[{"text":"hi"}]}]"#),
        request(r#"{"messages":[],"model":"m"}"#),
        request(r#"{"model":"m","error":null,"input":"go"}"#),
        request(r#"{"contents":[{"role":"user","parts":[]}]}"#),
        request(r#"[{"type":"message","role":"user","content":"hi"}]"#),
        request(r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user"}}"#),
        request(r#"{"type":"message","uuid":"u","role":"user","content":"x"}"#),
        request("data is not a field\nof this text"),
    ]);
}

#[test]
fn responses_are_detected_by_their_shape() {
    let response = |text, formats| (text, DetectedInput::Response(formats));
    whole(&[
        response(r#"{"id":"x","object":"chat.completion","choices":[]}"#, CHAT),
        response(r#"{"choices":[{"index":0,"message":{"content":"\"delta\""}}]}"#, CHAT),
        response(r#"{"id":"x","object":"response","output":[],"error":null}"#, RESPONSES),
        response(
            r#"{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}"#,
            ANTHROPIC,
        ),
        response(r#"{"candidates":[{"content":{"parts":[]}}]}"#, GEMINI),
        response(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, GEMINI),
        response(r#"{"output":{"message":{"role":"assistant"}},"stopReason":"end_turn"}"#, BEDROCK),
    ]);
}

#[test]
fn errors_are_detected_unless_two_formats_share_them() {
    let response = |text, formats| (text, DetectedInput::Response(formats));
    whole(&[
        response(r#"{"error":{"message":"no","type":"t","param":null,"code":"c"}}"#, OPENAI),
        response(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"no"}}"#,
            ANTHROPIC,
        ),
        response(r#"{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED"}}"#, GEMINI),
        response(r#"{"message":"Too many requests"}"#, BEDROCK),
        response(r#"{"__type":"ThrottlingException","message":"no"}"#, BEDROCK),
        (r#"{"message":"hello","from":"me"}"#, DetectedInput::Request),
        (r#"{"error":"no"}"#, DetectedInput::Request),
    ]);
}

#[test]
fn streams_are_detected_by_their_first_frames() {
    let stream = |text, formats| (text, DetectedInput::Stream(formats));
    whole(&[
        stream("data: {\"object\":\"chat.completion.chunk\",\"choices\":[]}\n\n", CHAT),
        stream("data: {\"choices\":[],\"object\":\"\"}\n\n", CHAT),
        stream("data:{\"choices\":[{\"delta\":{}}]}", CHAT),
        stream(": WORKING ON IT\n\n: STILL\n\ndata: {\"choices\":[{\"delta\":{}}]}", CHAT),
        stream("data: [DONE]\n\n", CHAT),
        stream("data: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n", CHAT),
        stream("event: message_start\r\ndata: {}\r\n", ANTHROPIC),
        stream("data: {\"type\":\"message_start\",\"message\":{}}\n\n", ANTHROPIC),
        stream("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"x\"}}\n", ANTHROPIC),
        stream("event: response.created\ndata: {}\n", RESPONSES),
        stream("data: {\"type\":\"response.created\",\"response\":{}}\n", RESPONSES),
        stream(
            "event: error\ndata: {\"type\":\"error\",\"code\":\"c\",\"message\":\"no\"}\n",
            RESPONSES,
        ),
        stream("id: 1\nretry: 5\ndata: {\"candidates\":[]}\n", GEMINI),
        stream("[{\"candidates\":[]}\n,\r\n{\"candidates\":[]}]", GEMINI),
        stream(
            "[{\"error\":{\"code\":503,\"message\":\"no\",\"status\":\"UNAVAILABLE\"}}]",
            GEMINI,
        ),
        stream("{\"candidates\":[]}\n{\"candidates\":[]}", GEMINI),
        stream("{\"object\":\"chat.completion.chunk\"}\n{}", CHAT),
        stream("{\"type\":\"content_block_delta\"}", ANTHROPIC),
        stream("{\"messageStart\":{\"role\":\"assistant\"}}\n", BEDROCK),
        stream("event: hello\ndata: {\"a\":1}\n\n", &[]),
        stream(": nobody speaks\n\n", &[]),
    ]);
    assert_eq!(detect_input(&[0, 0, 0, 0x7f, 0, 0], false), DetectedInput::Stream(BEDROCK));
}

#[test]
fn streams_are_detected_before_they_end() {
    let table = [
        (
            "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"cr",
            DetectedInput::Stream(CHAT),
        ),
        ("event: message_start\nda", DetectedInput::Stream(ANTHROPIC)),
        ("event: message_sta", DetectedInput::NeedMoreBytes),
        ("event: response.created\n", DetectedInput::Stream(RESPONSES)),
        ("data: {\"candidates\": [{\"content\": {\"par", DetectedInput::Stream(GEMINI)),
        ("[{\"candidates\": [{\"con", DetectedInput::Stream(GEMINI)),
        ("[{\"role\": \"us", DetectedInput::NeedMoreBytes),
        ("{\"candidates\": [{\"con", DetectedInput::NeedMoreBytes),
        ("{\"candidates\": []}\n", DetectedInput::NeedMoreBytes),
        ("{\"candidates\": []}\n{", DetectedInput::Stream(GEMINI)),
        ("{\"model\":\"m\",\"mess", DetectedInput::NeedMoreBytes),
        ("", DetectedInput::NeedMoreBytes),
        (" \n", DetectedInput::NeedMoreBytes),
        ("da", DetectedInput::NeedMoreBytes),
        (": one moment\n", DetectedInput::NeedMoreBytes),
    ];
    for (text, expected) in table {
        assert_eq!(detect_input(text.as_bytes(), false), expected, "{text}");
    }
}

#[test]
fn detection_of_a_prefix_agrees_with_the_whole() {
    let texts = [
        "event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
        "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"delta\":{}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"é\"}}]}\n\n",
        ": hi\n\ndata: {\"type\":\"response.created\",\"sequence_number\":0}\n\n",
        "[{\"candidates\":[{\"content\":{\"role\":\"model\"}}]}]",
        "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"no\"}}",
        "{\"error\":{\"code\":1,\"message\":\"no\",\"status\":\"X\"}}",
        "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"stop_reason\":null}",
        "[{\"role\":\"user\",\"content\":\"hi\"}]",
    ];
    for text in texts {
        let all = detect_input(text.as_bytes(), true);
        for end in 0..text.len() {
            let part = detect_input(&text.as_bytes()[..end], false);
            assert!(
                part == DetectedInput::NeedMoreBytes || part == all,
                "{text} up to {end}: {part:?}, {all:?}"
            );
        }
    }
}

#[test]
fn detection_gives_up_after_the_limit() {
    let long = format!("{{\"a\":\"{}", "x".repeat(MAX_DETECTION_BYTES));
    assert_eq!(detect_input(long.as_bytes(), false), DetectedInput::Request);
    let silent = ": still there\n".repeat(MAX_DETECTION_BYTES / 8);
    assert_eq!(detect_input(silent.as_bytes(), false), DetectedInput::Stream(&[]));
}
