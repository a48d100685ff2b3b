use super::{check, named, sse};
use foxwedge_core::Format;

const FORMAT: Format = Format::OpenaiResponses;
const CREATED: &str = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1700000000,"status":"in_progress","model":"gpt-5","output":[]}}"#;
const START: &str = "start resp_1 gpt-5 1700000000\n";

#[test]
fn reasoning_text_and_calls() {
    check(
        FORMAT,
        &named(&[
            CREATED,
            r#"{"type":"response.in_progress","response":{"id":"resp_1","model":"gpt-5","created_at":1700000000}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}"#,
            r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"First"}"#,
            r#"{"type":"response.reasoning_summary_text.done","item_id":"rs_1","output_index":0,"summary_index":0,"text":"First"}"#,
            r#"{"type":"response.reasoning_summary_part.done","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"First"}}"#,
            r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}"#,
            r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Second"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"ZW5j","summary":[{"type":"summary_text","text":"First"},{"type":"summary_text","text":"Second"}]}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
            r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#,
            r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Foxes 🦊"}"#,
            r#"{"type":"response.output_text.annotation.added","item_id":"msg_1","output_index":1,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"https://fox","title":"Fox","start_index":0,"end_index":5}}"#,
            r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":1,"content_index":0,"text":"Foxes 🦊"}"#,
            r#"{"type":"response.content_part.done","item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Foxes 🦊","annotations":[{"type":"url_citation","url":"https://fox"}]}}"#,
            r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":1,"content_index":1,"part":{"type":"refusal","refusal":""}}"#,
            r#"{"type":"response.refusal.delta","item_id":"msg_1","output_index":1,"content_index":1,"delta":"No."}"#,
            r#"{"type":"response.refusal.done","item_id":"msg_1","output_index":1,"content_index":1,"refusal":"No."}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Foxes 🦊","annotations":[]},{"type":"refusal","refusal":"No."}]}}"#,
            r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":""}}"#,
            r#"{"type":"response.output_item.added","output_index":3,"item":{"id":"ctc_1","type":"custom_tool_call","call_id":"call_2","name":"patch","input":""}}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"at\":"}"#,
            r#"{"type":"response.custom_tool_call_input.delta","item_id":"ctc_1","output_index":3,"delta":"*** Begin"}"#,
            r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"1}"}"#,
            r#"{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":2,"arguments":"{\"at\":1}"}"#,
            r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":"{\"at\":1}"}}"#,
            r#"{"type":"response.custom_tool_call_input.done","item_id":"ctc_1","output_index":3,"input":"*** Begin"}"#,
            r#"{"type":"response.output_item.done","output_index":3,"item":{"id":"ctc_1","type":"custom_tool_call","call_id":"call_2","name":"patch","input":"*** Begin"}}"#,
            r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-5","output":[{"type":"message","content":[]}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":2},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":15}}}"#,
        ]),
        r#"
        start resp_1 gpt-5 1700000000
        open 0 reasoning
        more 0 "First"
        more 0 "\n\n"
        more 0 "Second"
        more 0 encrypted ZW5j
        close 0
        open 1 text
        more 1 "Foxes 🦊"
        more 1 citation https://fox Fox - Some((0, 5))
        close 1
        open 2 refusal
        more 2 "No."
        close 2
        open 3 call call_1 look
        open 4 call of Custom call_2 patch
        more 3 "{\"at\":"
        more 4 "*** Begin"
        more 3 "1}"
        close 3
        close 4
        usage 10 5 2 - 3
        stop ToolCalls
        end
        "#,
    );
}

#[test]
fn missing_deltas_are_taken_from_the_whole_item() {
    let reasoning = r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"A"},{"type":"summary_text","text":"B"}],"content":[{"type":"reasoning_text","text":"C"}]}"#;
    let message = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[{"type":"file_citation","filename":"fox.txt"}]}]}"#;
    let call =
        r#"{"id":"fc_1","type":"function_call","call_id":"c","name":"look","arguments":"{}"}"#;
    let shell = r#"{"id":"sh_1","type":"local_shell_call","call_id":"s","action":{"type":"exec","command":["ls"]}}"#;
    let items = [reasoning, message, call, shell];
    let expected = r#"
        open 0 reasoning
        more 0 "A"
        more 0 "\n\n"
        more 0 "B"
        more 0 "\n\n"
        more 0 "C"
        close 0
        open 1 text
        more 1 "Hi"
        more 1 citation - fox.txt - None
        close 1
        open 2 call c look
        more 2 "{}"
        close 2
        open 3 call of LocalShell s local_shell
        more 3 "{\"type\":\"exec\",\"command\":[\"ls\"]}"
        close 3
        stop ToolCalls
        end
    "#;
    let done = |added: bool| {
        let mut stream = vec![CREATED.to_owned()];
        for (index, item) in items.iter().enumerate() {
            for suffix in ["added", "done"].iter().skip(usize::from(!added)) {
                stream.push(format!(
                    r#"{{"type":"response.output_item.{suffix}","output_index":{index},"item":{item}}}"#
                ));
            }
        }
        stream.push(r#"{"type":"response.completed","response":{"id":"resp_1"}}"#.to_owned());
        named(&stream.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for stream in [done(true), done(false)] {
        check(FORMAT, &stream, &format!("{START}{expected}"));
    }
    // All items in the last event.
    let whole = format!(
        r#"{{"type":"response.completed","response":{{"id":"resp_1","model":"gpt-5","created_at":1700000000,"output":[{}]}}}}"#,
        items.join(",")
    );
    check(FORMAT, &sse(&[&whole]), &format!("{START}{expected}"));
}

#[test]
fn parts_without_a_start_event_are_opened_by_their_deltas() {
    check(
        FORMAT,
        &named(&[
            CREATED,
            r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"Hm"}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hi"}"#,
            r#"{"type":"response.incomplete","response":{"id":"resp_1","incomplete_details":{"reason":"max_output_tokens"}}}"#,
        ]),
        &format!(
            "{START}{}",
            r#"
            open 0 reasoning
            more 0 "Hm"
            open 1 text
            more 1 "Hi"
            close 0
            close 1
            stop Length
            end
            "#
        ),
    );
}

#[test]
fn server_tools_are_left_out_completely() {
    check(
        FORMAT,
        &named(&[
            CREATED,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}"#,
            r#"{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed"}}"#,
            r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"cmp_1","type":"compaction","encrypted_content":"x"}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"cmp_1","type":"compaction","encrypted_content":"x"}}"#,
            r#"{"type":"response.audio.delta","delta":"AA=="}"#,
            r#"{"type":"response.audio.delta","delta":"AA=="}"#,
            r#"{"type":"keepalive"}"#,
            r#"{"type":"response.completed","response":{"id":"resp_1"}}"#,
        ]),
        &format!(
            "{START}{}",
            r#"
            skip server-call: an item `web_search_call` was left out
            skip unknown: an item `compaction` was left out
            skip unknown: events `response.audio.delta` were left out
            stop End
            end
            "#
        ),
    );
}

#[test]
fn failures_and_cuts() {
    let failed = "failed RateLimit rate_limit_exceeded: slow down";
    let error = r#""code":"rate_limit_exceeded","message":"slow down""#;
    let response = format!(
        r#"{{"type":"response.failed","response":{{"id":"resp_1","status":"failed","error":{{{error}}}}}}}"#
    );
    check(FORMAT, &named(&[CREATED, &response]), &format!("{START}{failed}"));
    check(
        FORMAT,
        &named(&[CREATED, &format!(r#"{{"type":"error",{error}}}"#)]),
        &format!("{START}{failed}"),
    );
    check(FORMAT, &sse(&[&format!(r#"{{"error":{{{error}}}}}"#)]), failed);
    check(FORMAT, &named(&[CREATED]), &format!("{START}cut"));
    let cancelled =
        r#"{"type":"response.cancelled","response":{"id":"resp_1","status":"cancelled"}}"#;
    check(FORMAT, &named(&[CREATED, cancelled]), &format!("{START}cut"));
}
