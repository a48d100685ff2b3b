use super::{check, sse};
use foxwedge_core::Format;

const FORMAT: Format = Format::Gemini;

const STREAM: [&str; 5] = [
    r#"{"candidates":[{"content":{"parts":[{"text":"Let me think","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":7,"totalTokenCount":7},"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":" more.","thought":true,"thoughtSignature":"c2lnMA=="},{"text":"Hel"}],"role":"model"},"index":0}],"modelVersion":"gemini-3-pro","responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"lo 🦊"}],"role":"model"},"finishReason":"STOP","index":0}],"responseId":"r1"}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"at":1}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"f2","name":"go"}}],"role":"model"},"index":0}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"bGFzdA=="}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5,"thoughtsTokenCount":3,"totalTokenCount":15}}"#,
];

const EVENTS: &str = r#"
    start r1 gemini-3-pro -
    open 0 reasoning
    more 0 "Let me think"
    usage 7 - - - -
    more 0 " more."
    more 0 signature c2lnMA==
    close 0
    open 1 text
    more 1 "Hel"
    more 1 "lo 🦊"
    close 1
    open 2 call - look signed c2ln
    more 2 "{\"at\":1}"
    close 2
    open 3 call f2 go
    more 3 "{}"
    close 3
    open 4 reasoning
    more 4 signature bGFzdA==
    usage 7 8 - - 3
    close 4
    stop ToolCalls
    end
"#;

#[test]
fn thoughts_text_and_calls() {
    check(FORMAT, &sse(&STREAM), EVENTS);
}

#[test]
fn streamed_list_gives_the_same_events() {
    check(FORMAT, &format!("[{}\n]", STREAM.join("\n,\r\n")), EVENTS);
}

#[test]
fn recording_gives_the_same_events() {
    check(FORMAT, &STREAM.join("\n"), EVENTS);
}

#[test]
fn snake_case_keys_and_the_gemini_cli_api() {
    check(
        FORMAT,
        &sse(&[
            r#"{"response":{"candidates":[{"content":{"parts":[{"function_call":{"name":"look","args":{}},"thought_signature":"c2ln"}]}}],"usage_metadata":{"promptTokenCount":1},"model_version":"m","response_id":"r"},"traceId":"t"}"#,
            r#"{"response":{"candidates":[{"finish_reason":"MAX_TOKENS"}]}}"#,
        ]),
        r#"
        start r m -
        open 0 call - look signed c2ln
        more 0 "{}"
        close 0
        usage 1 - - - -
        stop Length
        end
        "#,
    );
}

#[test]
fn arguments_may_be_streamed() {
    let call = |call: &str| {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{call}}}]}}}}]}}"#)
    };
    let chunks = [
        call(r#"{"name":"look","willContinue":true}"#),
        call(
            r#"{"partialArgs":[{"jsonPath":"$.place","stringValue":"Bos","willContinue":true}],"willContinue":true}"#,
        ),
        call(
            r#"{"partialArgs":[{"jsonPath":"$.place","stringValue":"ton"},{"jsonPath":"$.days[0]","numberValue":2}],"willContinue":true}"#,
        ),
        call("{}"),
        call(r#"{"name":"go","args":{},"willContinue":true}"#),
        call(r#"{"name":"look","partialArgs":[{"jsonPath":"$.x","boolValue":true}]}"#),
        call("{}"),
        r#"{"candidates":[{"finishReason":"STOP"}]}"#.to_owned(),
    ];
    check(
        FORMAT,
        &sse(&chunks.iter().map(String::as_str).collect::<Vec<_>>()),
        r#"
        start - - -
        open 0 call - look
        more 0 "{\"place\":\"Boston\",\"days\":[2]}"
        close 0
        open 1 call - go
        more 1 "{}"
        close 1
        open 2 call - look
        more 2 "{\"x\":true}"
        close 2
        skip unknown: a call without a name was left out
        stop ToolCalls
        end
        "#,
    );
}

#[test]
fn gemini_only_content_is_left_out() {
    check(
        FORMAT,
        &sse(&[
            r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}},{"index":0,"content":{"parts":[{"text":"Signed","thoughtSignature":"c2ln"}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"executableCode":{"code":"1"}},{"news":1},{}]},"groundingMetadata":{"webSearchQueries":["fox"]},"citationMetadata":{}}]}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        ]),
        r#"
        skip candidates: all candidates but the first were left out
        start - - -
        skip signature: the signature of a text was left out
        open 0 text
        more 0 "Signed"
        skip media: a part `inlineData` was left out
        skip server-call: a part `executableCode` was left out
        skip unknown: a part `news` was left out
        skip citation: `groundingMetadata` was left out
        close 0
        stop End
        end
        "#,
    );
}

#[test]
fn failures_refusals_and_cuts() {
    let error = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#;
    let failed = "failed RateLimit RESOURCE_EXHAUSTED: slow down";
    check(FORMAT, &sse(&[error]), failed);
    check(FORMAT, &format!("[{error}]\n"), failed);
    check(
        FORMAT,
        &sse(&[
            r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3},"responseId":"r"}"#,
        ]),
        "start r - -\nusage 3 - - - -\nstop Refusal\nend",
    );
    check(
        FORMAT,
        &sse(&[r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}"#]),
        "start - - -\nopen 0 text\nmore 0 \"Hi\"\ncut",
    );
}
