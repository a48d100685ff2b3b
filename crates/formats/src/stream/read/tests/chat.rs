use super::{check, sse};
use foxwedge_core::Format;

const HEAD: &str =
    r#""id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"gpt-5""#;

/// Chunks with these deltas and an end.
fn deltas(deltas: &[&str], end: &str) -> String {
    let mut chunks: Vec<String> = deltas
        .iter()
        .map(|delta| {
            format!(r#"{{{HEAD},"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
        })
        .collect();
    chunks.push(format!(
        r#"{{{HEAD},"choices":[{{"index":0,"delta":{{}},"finish_reason":"{end}"}}]}}"#
    ));
    chunks.push("[DONE]".to_owned());
    sse(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn check_deltas(chunks: &[&str], end: &str, expected: &str) {
    let expected = format!("start chatcmpl-1 gpt-5 1700000000\n{expected}\nend");
    check(Format::OpenaiChat, &deltas(chunks, end), &expected);
}

#[test]
fn text_and_usage() {
    let usage = r#"{"id":"chatcmpl-1","model":"gpt-5","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let text = deltas(
        &[
            r#"{"role":"assistant","content":"","refusal":null}"#,
            r#"{"content":"Hel"}"#,
            r#"{"content":"lo\n\"🦊\""}"#,
        ],
        "stop",
    );
    let stream = text.replace("data: [DONE]", &format!("data: {usage}\n\ndata: [DONE]"));
    check(
        Format::OpenaiChat,
        &stream,
        r#"
        start chatcmpl-1 gpt-5 1700000000
        open 0 text
        more 0 "Hel"
        more 0 "lo\n\"🦊\""
        close 0
        stop End
        usage 9 3 4 - -
        end
        "#,
    );
}

#[test]
fn reasoning_and_refusals_are_blocks_of_their_own() {
    check_deltas(
        &[
            r#"{"reasoning_content":"Hm"}"#,
            r#"{"reasoning_content":"m.","reasoning":"m."}"#,
            r#"{"content":"Well"}"#,
            r#"{"reasoning":"no"}"#,
            r#"{"refusal":"I won't."}"#,
        ],
        "content_filter",
        r#"
        open 0 reasoning
        more 0 "Hm"
        more 0 "m."
        close 0
        open 1 text
        more 1 "Well"
        close 1
        open 2 reasoning
        more 2 "no"
        close 2
        open 3 refusal
        more 3 "I won't."
        close 3
        stop Refusal
        "#,
    );
}

#[test]
fn a_content_that_is_a_list_is_read_part_by_part() {
    check_deltas(
        &[
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}"#,
            r#"{"content":[{"type":"text","text":"Yes"},{"type":"reference","reference_ids":[1]}]}"#,
        ],
        "stop",
        r#"
        open 0 reasoning
        more 0 "Hm"
        close 0
        open 1 text
        more 1 "Yes"
        skip unknown: parts `reference` of the content were left out
        close 1
        stop End
        "#,
    );
}

#[test]
fn calls_come_in_fragments_that_may_interleave() {
    check_deltas(
        &[
            r#"{"role":"assistant","content":"Let me see."}"#,
            r#"{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\":"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"go","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        r#"
        open 0 text
        more 0 "Let me see."
        close 0
        open 1 call call_a look
        more 1 "{\"at\":"
        open 2 call call_b go
        more 1 "1}"
        more 2 "{}"
        stop ToolCalls
        "#,
    );
}

#[test]
fn fragments_find_their_call_without_an_index() {
    // Fragments without an index belong to the call with their id, or to the last call.
    check_deltas(
        &[
            r#"{"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"function":{"arguments":"}"}}]}"#,
            r#"{"tool_calls":[{"id":"b","function":{"name":"look","arguments":"{\"x\":"}}]}"#,
            r#"{"tool_calls":[{"id":"b","function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"look","arguments":{"y":2}}}]}"#,
        ],
        "tool_calls",
        r#"
        open 0 call a look
        more 0 "{"
        more 0 "}"
        open 1 call b look
        more 1 "{\"x\":"
        more 1 "1}"
        open 2 call - look
        more 2 "{\"y\":2}"
        stop ToolCalls
        "#,
    );
}

#[test]
fn servers_may_repeat_the_id_and_name_of_a_call() {
    // The id and the name in every fragment, and then all calls with the same index.
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"x\""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"look","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"","function":{"name":"go","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"","function":{"name":"go","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        r#"
        open 0 call a look
        more 0 "{\"x\""
        more 0 ":1}"
        open 1 call b look
        more 1 "{}"
        open 2 call - go
        more 2 "{}"
        open 3 call - go
        more 3 "{}"
        stop ToolCalls
        "#,
    );
}

#[test]
fn a_call_waits_for_its_name() {
    check_deltas(
        &[
            r#"{"content":"So"}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"arguments":"1"}}]}"#,
            r#"{"tool_calls":[{"index":0,"function":{"name":"look","arguments":"}"}}]}"#,
        ],
        "tool_calls",
        r#"
        open 0 text
        more 0 "So"
        close 0
        open 1 call a look
        more 1 "{\"x\":1"
        more 1 "}"
        stop ToolCalls
        "#,
    );
}

#[test]
fn a_call_whose_name_never_comes_is_a_failure_unless_it_was_cut_off() {
    let nameless = r#"{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"{}"}}]}"#;
    let start = "start chatcmpl-1 gpt-5 1700000000\n\
                 skip unknown: a call without a name was left out\n";
    let failed = "failed Server -: the provider sent a call without the name of its tool";
    for (end, expected) in
        [("tool_calls", failed), ("stop", failed), ("length", "stop Length\nend")]
    {
        let expected = format!("{start}{expected}");
        check(Format::OpenaiChat, &deltas(&[nameless], end), &expected);
    }
}

#[test]
fn other_kinds_of_calls() {
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"patch","input":"*** Be"}}]}"#,
            r#"{"tool_calls":[{"index":0,"custom":{"input":"gin"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"go","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}"#,
        ],
        "tool_calls",
        r#"
        open 0 call of Custom a patch
        more 0 "*** Be"
        more 0 "gin"
        open 1 call b go signed c2ln
        more 1 "{}"
        stop ToolCalls
        "#,
    );
    check_deltas(
        &[
            r#"{"function_call":{"name":"go","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{}"}}"#,
        ],
        "function_call",
        r#"
        open 0 call - go
        more 0 "{}"
        stop ToolCalls
        "#,
    );
}

#[test]
fn citations_belong_to_the_text_before() {
    check_deltas(
        &[
            r#"{"content":"Foxes [1]."}"#,
            r#"{"annotations":[{"type":"url_citation","url_citation":{"url":"https://fox","title":"Fox","start_index":0,"end_index":5}}]}"#,
            r#"{"audio":{"id":"x"},"images":[],"custom_field":null,"vendor":"x"}"#,
            r#"{"vendor":"y"}"#,
        ],
        "stop",
        r#"
        open 0 text
        more 0 "Foxes [1]."
        more 0 citation https://fox Fox - Some((0, 5))
        skip media: `audio` was left out
        skip unknown: `vendor` was left out
        close 0
        stop End
        "#,
    );
}

#[test]
fn only_the_first_choice_is_read() {
    check(
        Format::OpenaiChat,
        &sse(&[
            r#"{"id":"","model":"","created":0,"choices":[],"prompt_filter_results":[]}"#,
            r#"{"id":"c","choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}"#,
            r#"{"id":"c","model":"m","choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"length","usage":{"prompt_tokens":1}}],"x_groq":{"usage":{"completion_tokens":2}}}"#,
            r#"{"id":"c","choices":[{"index":0,"delta":{"content":"late"},"finish_reason":"stop"}]}"#,
        ]),
        r#"
        start c - -
        skip candidates: all choices but the first were left out
        open 0 text
        more 0 "yes"
        start - m -
        close 0
        usage 1 - - - -
        stop Length
        usage - 2 - - -
        skip unknown: content after the stop reason was left out
        end
        "#,
    );
}

#[test]
fn whole_reply_is_read_like_one_chunk() {
    check(
        Format::OpenaiChat,
        "{\n  \"id\": \"c\", \"model\": \"m\", \"created\": 7,\n  \"choices\": [{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": \"Hi\",\n \"tool_calls\": [{\"id\": \"a\", \"type\": \"function\", \"function\": {\"name\": \"go\", \"arguments\": \"{}\"}}]}, \"finish_reason\": \"tool_calls\"}]\n}\n",
        r#"
        start c m 7
        open 0 text
        more 0 "Hi"
        close 0
        open 1 call a go
        more 1 "{}"
        stop ToolCalls
        end
        "#,
    );
}

#[test]
fn failures_and_cuts() {
    let start =
        r#"{"id":"c","model":"m","created":7,"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#;
    let error = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}"#;
    let events = "start c m 7\nopen 0 text\nmore 0 \"Hi\"\n";
    let failed = "failed RateLimit rate_limit_exceeded: slow down";
    check(Format::OpenaiChat, &sse(&[start, error, start, "[DONE]"]), &format!("{events}{failed}"));
    check(Format::OpenaiChat, &format!("event: error\ndata: {error}\n\n"), failed);
    check(Format::OpenaiChat, error, failed);
    check(Format::OpenaiChat, &sse(&[start]), &format!("{events}cut"));
    check(Format::OpenaiChat, &sse(&[start, "[DONE]", start]), &format!("{events}close 0\nend"));
}
