use super::{check, named, sse};
use foxwedge_core::Format;

const FORMAT: Format = Format::Anthropic;
const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-fable-5","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":0,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn thinking_text_and_a_call() {
    check(
        FORMAT,
        &named(&[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm\n"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let's 🦊"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://fox","title":"Fox","cited_text":"red"}}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"at\": "}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
            r#"{"type":"content_block_stop","index":3}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}"#,
            STOP,
        ]),
        r#"
        start msg_1 claude-fable-5 -
        usage 100 1 90 0 -
        open 0 reasoning
        more 0 "Hm\n"
        more 0 signature c2ln
        close 0
        open 1 redacted ZGF0YQ==
        close 1
        open 2 text
        more 2 "Let's 🦊"
        more 2 citation https://fox Fox red None
        close 2
        open 3 call toolu_1 look
        more 3 "{\"at\": "
        more 3 "1}"
        close 3
        usage - 42 - - -
        stop ToolCalls
        end
        "#,
    );
}

#[test]
fn arguments_in_the_start_event_count_without_deltas() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{"at":1}}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let expected =
        |arguments| format!("start - - -\nopen 0 call t look\nmore 0 {arguments}\nclose 0\ncut");
    check(FORMAT, &sse(&[call, stop]), &expected(r#""{\"at\":1}""#));
    check(FORMAT, &sse(&[call, delta, stop]), &expected(r#""{}""#));
}

#[test]
fn server_tools_are_left_out_completely() {
    check(
        FORMAT,
        &named(&[
            START,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":1}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[]}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"compaction","content":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"compaction_delta","content":"x"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"Hi"}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"mood_delta","mood":"x"}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"mood_delta","mood":"y"}}"#,
            r#"{"type":"content_block_stop","index":3}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"input_tokens":10,"output_tokens":2}}"#,
        ]),
        r#"
        start msg_1 claude-fable-5 -
        usage 100 1 90 0 -
        skip server-call: a block `server_tool_use` was left out
        skip server-call: a block `web_search_tool_result` was left out
        skip unknown: a block `compaction` was left out
        open 0 text
        more 0 "Hi"
        skip unknown: deltas `mood_delta` of a block were left out
        close 0
        usage 100 2 - - -
        stop Sequence(Some("END"))
        end
        "#,
    );
}

#[test]
fn failures_and_cuts() {
    let text =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}"#;
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let start = "start msg_1 claude-fable-5 -\nusage 100 1 90 0 -\nopen 0 text\nmore 0 \"Hi\"\n";
    let failed = "failed Overloaded overloaded_error: Overloaded";
    check(FORMAT, &named(&[START, text, error, STOP]), &format!("{start}{failed}"));
    check(FORMAT, error, failed);
    check(FORMAT, &named(&[START, text]), &format!("{start}cut"));
    check(FORMAT, &named(&[START, text, STOP]), &format!("{start}close 0\nend"));
}

#[test]
fn deltas_of_a_wrong_kind_are_rejected() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}"#;
    let text =
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#;
    let json = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let read = |frames: &[&str]| {
        super::read(FORMAT, [sse(frames).as_bytes()]).1.map_err(|e| e.to_string())
    };
    let at = call.len() + 14;
    assert_eq!(
        read(&[call, text]),
        Err(format!("byte {at}: a delta of another kind than its block"))
    );
    assert_eq!(read(&[json]), Err("byte 6: a delta of a call that was never started".to_owned()));
}
