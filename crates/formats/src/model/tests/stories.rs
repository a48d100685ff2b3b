//! Hand-written histories, valid in their own format.

use foxwedge_core::Format;

/// A name, a format, and a list of messages.
pub(super) const STORIES: [(&str, Format, &str); 14] = [
    ("chat: parallel calls", Format::OpenaiChat, CHAT_PARALLEL),
    ("chat: media, refusal, vendor fields", Format::OpenaiChat, CHAT_MEDIA),
    ("chat: custom tools and odd texts", Format::OpenaiChat, CHAT_CUSTOM),
    ("chat: reused ids", Format::OpenaiChat, CHAT_REUSED),
    ("responses: parallel calls and reasoning", Format::OpenaiResponses, RESPONSES_PARALLEL),
    ("responses: late answer, text between calls", Format::OpenaiResponses, RESPONSES_LATE),
    ("responses: custom and built-in tools", Format::OpenaiResponses, RESPONSES_TOOLS),
    ("anthropic: parallel calls, images, failure", Format::Anthropic, ANTHROPIC_PARALLEL),
    ("anthropic: thinking and documents", Format::Anthropic, ANTHROPIC_THINKING),
    ("anthropic: strings and neighbours", Format::Anthropic, ANTHROPIC_PLAIN),
    ("gemini: calls without ids", Format::Gemini, GEMINI_NAMELESS),
    ("gemini: signatures and media", Format::Gemini, GEMINI_SIGNED),
    ("bedrock: parallel calls, json, failure", Format::Bedrock, BEDROCK_PARALLEL),
    ("bedrock: reasoning and documents", Format::Bedrock, BEDROCK_THINKING),
];

const CHAT_PARALLEL: &str = r#"[
{"role":"user","content":"Weather in Paris and Rome?"},
{"role":"assistant","content":null,"tool_calls":[
 {"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Paris\"}"}},
 {"id":"b","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Rome\"}"}}]},
{"role":"tool","tool_call_id":"b","content":"19 °C"},
{"role":"tool","tool_call_id":"a","content":"12 °C"},
{"role":"assistant","content":"Paris 12 °C, Rome 19 °C."},
{"role":"user","content":"Thanks 🦊 \"quoted\" \\ \u0001\n"}]"#;

const CHAT_MEDIA: &str = r#"[
{"role":"user","name":"ann","content":[{"type":"text","text":"What is this?"},
 {"type":"image_url","image_url":{"url":"data:image/png;base64,aGVsbG8=","detail":"low"}},
 {"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}},
 {"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]},
{"role":"assistant","content":null,"refusal":"I cannot say.","reasoning_content":"Hmm."},
{"role":"user","content":"Try."},
{"role":"assistant","content":"Looking.","reasoning_content":"","tool_calls":[
 {"id":"x","type":"function","function":{"name":"look","arguments":"{}"},"extra_content":{"k":1}}]},
{"role":"tool","tool_call_id":"x","content":[{"type":"text","text":"a fox"},{"type":"text","text":""}]},
{"role":"assistant","content":"A fox.","annotations":[]},
{"role":"user","content":"Good."}]"#;

const CHAT_CUSTOM: &str = r#"[
{"role":"user","content":"run it"},
{"role":"assistant","content":"","tool_calls":[
 {"id":"c1","type":"custom","custom":{"name":"shell","input":"echo \"hi\"\n"}},
 {"id":"c2","type":"function","function":{"name":"noop","arguments":""}}]},
{"role":"tool","tool_call_id":"c1","content":"hi\n"},
{"role":"tool","tool_call_id":"c2","content":""},
{"role":"user","content":"and?"},
{"role":"assistant","content":"done"},
{"role":"user","content":"ok"}]"#;

const CHAT_REUSED: &str = r#"[
{"role":"user","content":"list"},
{"role":"assistant","content":null,"tool_calls":[
 {"id":"functions.list:0","type":"function","function":{"name":"list","arguments":"{\"p\":\"a\"}"}}]},
{"role":"tool","tool_call_id":"functions.list:0","content":"one"},
{"role":"assistant","content":null,"tool_calls":[
 {"id":"functions.list:0","type":"function","function":{"name":"list","arguments":"{\"p\":\"b\"}"}}]},
{"role":"tool","tool_call_id":"functions.list:0","content":"two"},
{"role":"user","content":"enough"}]"#;

const RESPONSES_PARALLEL: &str = r#"[
{"type":"message","role":"user","content":[{"type":"input_text","text":"Look at both."},
 {"type":"input_image","image_url":"https://a.example/x.png","detail":"auto"}]},
{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Two files."}],"encrypted_content":"gAAA"},
{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"commentary",
 "content":[{"type":"output_text","text":"Reading.","annotations":[]}]},
{"type":"function_call","id":"fc_1","call_id":"call_a","name":"read","arguments":"{\"path\":\"a\"}","status":"completed"},
{"type":"function_call","call_id":"call_b","name":"read","arguments":"{\"path\":\"b\"}"},
{"type":"function_call_output","call_id":"call_a","output":"alpha"},
{"type":"function_call_output","call_id":"call_b","output":[{"type":"input_text","text":"beta"},
 {"type":"input_image","image_url":"data:image/png;base64,aGVsbG8="}]},
{"type":"message","role":"assistant","content":"Read both."},
{"type":"message","role":"user","content":"Thanks."}]"#;

const RESPONSES_LATE: &str = r#"[
{"type":"message","role":"user","content":"go"},
{"type":"function_call","call_id":"call_a","name":"slow","arguments":"{}"},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"meanwhile"}]},
{"type":"function_call","call_id":"call_b","name":"fast","arguments":"{}"},
{"type":"function_call_output","call_id":"call_b","output":"b"},
{"type":"message","role":"user","content":"still there?"},
{"type":"function_call_output","call_id":"call_a","output":"a"},
{"type":"message","role":"user","content":"fine"}]"#;

const RESPONSES_TOOLS: &str = r#"[
{"type":"message","role":"user","content":"patch it"},
{"type":"custom_tool_call","id":"ctc_1","call_id":"call_p","name":"apply","input":"*** Begin\n+x"},
{"type":"custom_tool_call_output","call_id":"call_p","output":"ok"},
{"type":"local_shell_call","id":"lsh_1","call_id":"call_s","action":{"type":"exec","command":["ls"]},"status":"completed"},
{"type":"local_shell_call_output","id":"lsh_1","call_id":"call_s","output":"a.txt"},
{"type":"web_search_call","id":"ws_1","status":"completed"},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Patched."}]},
{"type":"message","role":"user","content":[{"type":"input_file","file_id":"file-1"},
 {"type":"input_text","text":"and this"}]}]"#;

const ANTHROPIC_PARALLEL: &str = r#"[
{"role":"user","content":[{"type":"text","text":"Check both.","cache_control":{"type":"ephemeral"}}]},
{"role":"assistant","content":[{"type":"text","text":"On it."},
 {"type":"tool_use","id":"toolu_1","name":"shot","input":{"url":"https://a.example","n":1.50}},
 {"type":"tool_use","id":"toolu_2","name":"run","input":{}}]},
{"role":"user","content":[
 {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"shot"},
  {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}]},
 {"type":"tool_result","tool_use_id":"toolu_2","content":"exit 1","is_error":true},
 {"type":"text","text":"Go on."}]},
{"role":"assistant","content":"One failed."},
{"role":"user","content":"Why? Zürich 東京 \u200b"}]"#;

const ANTHROPIC_THINKING: &str = r#"[
{"role":"user","content":[{"type":"document","title":"Notes","source":{"type":"text","media_type":"text/plain","data":"line"}},
 {"type":"image","source":{"type":"url","url":"https://a.example/y.png"}},
 {"type":"text","text":"Summarise."}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"Let me see.","signature":"sig=="},
 {"type":"redacted_thinking","data":"xyz"},
 {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
 {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},
 {"type":"tool_use","id":"toolu_1","name":"find","input":{"q":"line"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1"}]},
{"role":"assistant","content":[{"type":"text","text":"Nothing.","citations":[]}]},
{"role":"user","content":"ok"}]"#;

const ANTHROPIC_PLAIN: &str = r#"[
{"role":"user","content":"one"},
{"role":"user","content":"two"},
{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
{"role":"user","content":"three"}]"#;

const GEMINI_NAMELESS: &str = r#"[
{"role":"user","parts":[{"text":"lights"}]},
{"role":"model","parts":[{"text":"ok"},
 {"functionCall":{"name":"on","args":{"room":"a"}}},
 {"functionCall":{"name":"on","args":{"room":"b"}}},
 {"functionCall":{"name":"dim","args":{}}}]},
{"role":"user","parts":[
 {"functionResponse":{"name":"on","response":{"output":"a on"}}},
 {"functionResponse":{"name":"on","response":{"ok":true,"room":"b"}}},
 {"functionResponse":{"name":"dim","response":{"error":"no dimmer"}}}]},
{"role":"model","parts":[{"text":"done"}]},
{"parts":[{"text":"thanks"}]}]"#;

const GEMINI_SIGNED: &str = r#"[
{"role":"user","parts":[{"inlineData":{"mimeType":"image/jpeg","data":"aGVsbG8="}},{"text":"crop"}]},
{"role":"model","parts":[{"text":"Crop it then.","thought":true},
 {"functionCall":{"id":"f1","name":"crop","args":{"w":3}},"thoughtSignature":"c2ln"}]},
{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"crop","response":{"result":"cropped"},
 "parts":[{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}]}}]},
{"role":"model","parts":[{"text":"Here."},{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}},
 {"text":"","thoughtSignature":"ZW5k"}]},
{"role":"user","parts":[{"fileData":{"fileUri":"gs://b/o.pdf","mimeType":"application/pdf"}},{"text":"next"}]}]"#;

const BEDROCK_PARALLEL: &str = r#"[
{"role":"user","content":[{"text":"Two things."},{"cachePoint":{"type":"default"}}]},
{"role":"assistant","content":[{"text":"Yes."},
 {"toolUse":{"toolUseId":"t.1","name":"get","input":{"k":"a"}}},
 {"toolUse":{"toolUseId":"t:2","name":"get","input":{"k":"b"}}}]},
{"role":"user","content":[
 {"toolResult":{"toolUseId":"t.1","content":[{"json":{"v":1}},{"image":{"format":"png","source":{"bytes":"aGVsbG8="}}}]}},
 {"toolResult":{"toolUseId":"t:2","content":[{"text":"missing"}],"status":"error"}},
 {"text":"So?"}]},
{"role":"assistant","content":[{"text":"One."}]},
{"role":"user","content":[{"text":"Bye."}]}]"#;

const BEDROCK_THINKING: &str = r#"[
{"role":"user","content":[{"document":{"format":"pdf","name":"Report","source":{"bytes":"JVBERg=="}}},
 {"image":{"format":"webp","source":{"s3Location":{"uri":"s3://b/i.webp"}}}},{"text":"Read."}]},
{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"s=="}}},
 {"toolUse":{"toolUseId":"u1","name":"page","input":{"n":2}}}]},
{"role":"user","content":[{"toolResult":{"toolUseId":"u1","content":[]}}]},
{"role":"assistant","content":[{"text":"Empty."}]},
{"role":"user","content":[{"text":"ok"}]}]"#;
