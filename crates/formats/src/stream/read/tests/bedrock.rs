use super::{check, read_in_any_chunks, sse};
use crate::frame::binary::{self, BinaryMessageKind};
use foxwedge_core::Format;

const FORMAT: Format = Format::Bedrock;

const STREAM: [(&str, &str); 15] = [
    ("messageStart", r#"{"p":"abcd","role":"assistant"}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm"}}}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"ZGF0YQ=="}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":2,"delta":{"text":"Let's 🦊"}}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":2,"delta":{"citation":{"title":"Fox","location":{"web":{"url":"https://fox"}},"sourceContent":[{"text":"red"}]}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":2}"#),
    (
        "contentBlockStart",
        r#"{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"look"}}}"#,
    ),
    ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"at\":"}}}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"toolUse":{"input":"1}"}}}"#),
    ("contentBlockStop", r#"{"contentBlockIndex":3}"#),
    ("messageStop", r#"{"stopReason":"tool_use"}"#),
    (
        "metadata",
        r#"{"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cacheReadInputTokens":90},"metrics":{"latencyMs":1}}"#,
    ),
];

const EVENTS: &str = r#"
    start - - -
    open 0 reasoning
    more 0 "Hm"
    more 0 signature c2ln
    close 0
    open 1 redacted ZGF0YQ==
    close 1
    open 2 text
    more 2 "Let's 🦊"
    more 2 citation https://fox Fox red None
    close 2
    open 3 call tooluse_1 look
    more 3 "{\"at\":"
    more 3 "1}"
    close 3
    stop ToolCalls
    usage 100 5 90 - -
    end
"#;

fn tagged(events: &[(&str, &str)]) -> Vec<String> {
    events.iter().map(|(name, data)| format!("{{\"{name}\":{data}}}")).collect()
}

#[test]
fn all_framings_give_the_same_events() {
    let mut bytes = Vec::new();
    for (name, data) in STREAM {
        binary::write(&mut bytes, BinaryMessageKind::Event(name), data.as_bytes());
    }
    let lines: Vec<&str> = EVENTS.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(read_in_any_chunks(FORMAT, &bytes), lines);
    let events = tagged(&STREAM);
    check(FORMAT, &sse(&events.iter().map(String::as_str).collect::<Vec<_>>()), EVENTS);
    check(FORMAT, &events.join("\n"), EVENTS);
    let named: String =
        STREAM.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
    check(FORMAT, &named, EVENTS);
}

#[test]
fn server_tools_are_left_out_completely() {
    let events = tagged(&[
        (
            "contentBlockStart",
            r#"{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t","name":"search","type":"server_tool_use"}}}"#,
        ),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        (
            "contentBlockStart",
            r#"{"contentBlockIndex":1,"start":{"toolResult":{"toolUseId":"t"}}}"#,
        ),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"toolResult":[{"text":"x"}]}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        ("contentBlockStart", r#"{"contentBlockIndex":2,"start":{"image":{"format":"png"}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"news":{}}}"#),
        ("messageStop", r#"{"stopReason":"end_turn"}"#),
    ]);
    check(
        FORMAT,
        &events.join("\n"),
        r#"
        skip server-call: a block `server_tool_use` was left out
        skip server-call: a block `toolResult` was left out
        skip media: a block `image` was left out
        skip unknown: deltas `news` of a block were left out
        start - - -
        stop End
        end
        "#,
    );
}

#[test]
fn exceptions_and_cuts() {
    let mut bytes = Vec::new();
    binary::write(
        &mut bytes,
        BinaryMessageKind::Event("messageStart"),
        b"{\"role\":\"assistant\"}",
    );
    let start_length = bytes.len();
    binary::write(
        &mut bytes,
        BinaryMessageKind::Exception("throttlingException"),
        b"{\"message\":\"slow down\"}",
    );
    let failed = "failed RateLimit throttlingException: slow down";
    assert_eq!(read_in_any_chunks(FORMAT, &bytes), ["start - - -", failed]);
    assert_eq!(read_in_any_chunks(FORMAT, &bytes[..start_length]), ["start - - -", "cut"]);
    check(FORMAT, &sse(&[r#"{"throttlingException":{"message":"slow down"}}"#]), failed);
    let body = r#"{"__type":"ThrottlingException","message":"slow down"}"#;
    check(FORMAT, body, "failed RateLimit ThrottlingException: slow down");
}
