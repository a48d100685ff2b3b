#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;

fn describe(tail: &RequestTail) -> String {
    let blocks = |blocks: &[Value]| {
        let short = |block: &Value| match block["type"].as_str().unwrap() {
            "text" => block["text"].as_str().unwrap().to_owned(),
            other => format!("<{other}>"),
        };
        blocks.iter().map(short).collect::<Vec<_>>().join("+")
    };
    let mut parts = Vec::new();
    for answer in &tail.answers {
        let mark = if answer.error { "!" } else { "" };
        parts.push(format!("{}{mark}={}", answer.call, blocks(&answer.content)));
    }
    if !tail.user_content.is_empty() {
        parts.push(format!("says {}", blocks(&tail.user_content)));
    }
    parts.extend(tail.foreign.then(|| "foreign".to_owned()));
    parts.extend(tail.one_at_a_time.then(|| "serial".to_owned()));
    parts.join(", ")
}

const CHAT: &str = r#"{"model":"m","parallel_tool_calls":false,"messages":[
{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
{"role":"assistant","content":null,"tool_calls":[
 {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},
 {"id":"b","type":"custom","custom":{"name":"g","input":"free"}}]},
{"role":"tool","tool_call_id":"b","content":"two"},
{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"one"},{"type":"text","text":"1"}]},
{"role":"developer","content":"never mind"},
{"role":"user","content":[{"type":"text","text":"look"},
 {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
{"role":"user","content":"and go on"}]}"#;

const ANTHROPIC: &str = r#"{"model":"m","system":"be brief",
"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"messages":[
{"role":"user","content":"hi"},
{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},
 {"type":"tool_use","id":"b","name":"f","input":{}}]},
{"role":"user","content":[
 {"type":"tool_result","tool_use_id":"a","content":"one","is_error":true},
 {"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"two"},
  {"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},
 {"type":"text","text":"go on"}]}]}"#;

const RESPONSES: &str = r#"{"model":"m","instructions":"be brief","parallel_tool_calls":false,"input":[
{"role":"user","content":"hi"},
{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
{"type":"custom_tool_call","call_id":"b","name":"g","input":"free"},
{"type":"function_call_output","call_id":"a","output":"one"},
{"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"two"},
 {"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}]}"#;

const GEMINI: &str = r#"{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[
{"role":"user","parts":[{"text":"hi"}]},
{"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"output":"one"}}}]},
{"role":"user","parts":[{"text":"go on"}]}]}"#;

#[test]
fn tool_results_and_user_content_use_the_anthropic_format() {
    let (chat, items) = (Format::OpenaiChat, Format::OpenaiResponses);
    let table = [
        (CHAT, chat, 3, "b=two, a=one+1, says look+<image>+and go on, serial"),
        (CHAT, chat, 4, "a=one+1, says look+<image>+and go on, serial"),
        (CHAT, chat, 7, "says and go on, serial"),
        (CHAT, chat, 8, "serial"),
        (CHAT, chat, usize::MAX, "serial"),
        (CHAT, chat, 0, "b=two, a=one+1, says hi+look+<image>+and go on, foreign, serial"),
        (ANTHROPIC, Format::Anthropic, 2, "a!=one, b=two+<image>, says go on, serial"),
        (ANTHROPIC, Format::Anthropic, 0, "a!=one, b=two+<image>, says hi+go on, foreign, serial"),
        (RESPONSES, items, 3, "a=one, b=two+<image>, says go on, serial"),
        (RESPONSES, items, 2, "a=one, b=two+<image>, says go on, foreign, serial"),
        (r#"{"instructions":"be brief","input":"hi"}"#, items, 0, "says hi"),
        (r#"{"input":"hi"}"#, items, 1, ""),
        (GEMINI, Format::Gemini, 2, "a=one, says go on"),
        (r#"[{"role":"user","content":"hi"}]"#, chat, 0, "says hi"),
        (r#"[{"role":"tool","content":"lost"}]"#, chat, 0, "=lost"),
        (r#"[{"role":"tool","tool_call_id":"a","content":""}]"#, chat, 0, "a="),
        (r#"[{"role":"tool","tool_call_id":"a","content":[]}]"#, chat, 0, "a="),
        (r#"[{"role":"tool","tool_call_id":"a"}]"#, chat, 0, "a="),
        (r#"{"parallel_tool_calls":true,"messages":[]}"#, chat, 0, ""),
    ];
    for (source, format, from, expected) in table {
        let tail = RequestTail::read(source, format, from).unwrap();
        assert_eq!(describe(&tail), expected, "{source} from {from}");
        assert!(tail.answers.iter().all(|answer| !answer.content.is_empty()));
    }
}

#[test]
fn parts_without_an_anthropic_equivalent_become_text_notes() {
    let source = r#"[{"role":"tool","tool_call_id":"a","content":[
        {"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]"#;
    let tail = RequestTail::read(source, Format::OpenaiChat, 0).unwrap();
    let text = tail.answers[0].content.last().unwrap()["text"].as_str().unwrap();
    assert!(text.starts_with('[') && text.len() > 10, "{text}");
}

#[test]
fn a_body_without_a_message_list_is_an_error() {
    for source in ["", "{", "{}", "[1]", r#"{"messages":7}"#] {
        assert!(RequestTail::read(source, Format::OpenaiChat, 0).is_err(), "{source}");
    }
}
