//! Losses are listed with their location.

use super::*;

/// The losses of encoding a list of messages in another format: `what@message`.
fn losses(text: &str, from: Format, to: Format) -> String {
    let (_, losses) = encode(&decode(text, from).expect("readable"), to);
    let descriptions: Vec<String> =
        losses.iter().map(|loss| format!("{:?}@{}", loss.kind, index(loss))).collect();
    descriptions.join(" ")
}

#[test]
fn losses_are_listed() {
    use Format::{Anthropic, Bedrock, Gemini, OpenaiChat as Chat, OpenaiResponses as Responses};
    let system = r#"[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]"#;
    let thought = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[
        {"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"yo"}]}]"#;
    let failed = r#"[{"role":"user","content":"hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true}]}]"#;
    let audio = r#"[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}]}]"#;
    let file = r#"[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]"#;
    let cut = r#"[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[
        {"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":\"y"}}]},
        {"role":"tool","tool_call_id":"a","content":"ok"}]"#;
    let order = r#"[{"role":"user","content":"hi"},
        {"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
        {"role":"assistant","content":"late"},
        {"type":"function_call_output","call_id":"a","output":"ok"}]"#;
    let hosted = r#"[{"role":"user","content":"hi"},{"type":"web_search_call","id":"ws_1"}]"#;
    let drawn = r#"[{"role":"user","parts":[{"text":"draw"}]},
        {"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}]"#;
    let signed = r#"[{"role":"user","parts":[{"text":"draw"}]},{"role":"model","parts":[
        {"inlineData":{"mimeType":"image/png","data":"aGk="},"thoughtSignature":"s"}]}]"#;
    let swapped = r#"[{"role":"user","content":[{"type":"tool_use","id":"a","name":"f","input":{}},
        {"type":"text","text":"hi"}]},
        {"role":"assistant","content":[{"type":"tool_result","tool_use_id":"b","content":"x"},
        {"type":"text","text":"yo"}]}]"#;
    let table = [
        (system, Chat, Responses, ""),
        (signed, Gemini, Format::GeminiInteractions, "Signature@1"),
        (system, Chat, Anthropic, "Instructions@0"),
        (system, Chat, Gemini, "Instructions@0"),
        (system, Chat, Bedrock, "Instructions@0"),
        (thought, Anthropic, Anthropic, ""),
        (thought, Anthropic, Chat, "Reasoning@1"),
        (thought, Anthropic, Bedrock, ""),
        (failed, Anthropic, Bedrock, ""),
        (failed, Anthropic, Gemini, ""),
        (failed, Anthropic, Chat, "ErrorMark@2"),
        (failed, Anthropic, Responses, "ErrorMark@2"),
        (audio, Chat, Gemini, ""),
        (audio, Chat, Anthropic, "Media@0"),
        (audio, Chat, Bedrock, "Media@0"),
        (file, Chat, Responses, ""),
        (file, Chat, Anthropic, "Media@0"),
        (cut, Chat, Responses, ""),
        (cut, Chat, Gemini, "Arguments@1"),
        (order, Responses, Chat, "Order@2"),
        (order, Responses, Anthropic, "Order@1"),
        (order, Responses, Gemini, ""),
        (hosted, Responses, Chat, "ServerCall@1"),
        (drawn, Gemini, Chat, "Media@1"),
        (swapped, Anthropic, Chat, "Unknown@0 Unknown@1"),
    ];
    for (text, from, to, expected) in table {
        assert_eq!(losses(text, from, to), expected, "{} to {}: {text}", from.name(), to.name());
    }
}

/// The message index of a loss.
fn index(loss: &Loss) -> usize {
    match loss.location {
        LossLocation::Message(index) => index,
        LossLocation::Request | LossLocation::Reply => panic!("{loss:?} is of no message"),
    }
}
