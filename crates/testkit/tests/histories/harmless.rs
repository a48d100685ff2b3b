//! What a vendor accepts passes byte for byte under that vendor's profile.
//!
//! A guard that changes healthy requests is worse than none. Everything here was accepted by the
//! vendor, or is promised by its documentation; every policy has to leave it alone.

use std::{fs, path::Path};

use crate::support::{bold, list, passes, touched};
use foxwedge_core::{Format, Profile};
use foxwedge_formats::detect;
use foxwedge_testkit::{
    Random, accepted_history, body, sound_history, spell_single_objects, spelled,
};
use serde_json::Value;

/// A sentence, a format, a profile, a document.
type Row = (&'static str, Format, Profile, &'static str);

fn pass(table: &[Row]) {
    for &(what, wire, profile, document) in table {
        passes(what, wire, profile, document);
    }
}

#[test]
fn assistant_messages_in_a_row() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic] {
        let shapes = [
            "u a a[x] r[x]",
            "u a a a u",
            "u a[x] a[y] r[x y] a",
            "u a[x] a[y] a[z] r[z x y] u",
            "u a a[x y] r[x y] a a u",
        ];
        for shape in shapes {
            passes(shape, wire, Profile::for_format(wire), &body(wire.name(), shape));
        }
    }
    for profile in [Profile::Mistral, Profile::Deepseek] {
        let text = body("openai-chat", "u a a[call00001] r[call00001]");
        passes("text, then a call", Format::OpenaiChat, profile, &text);
    }
}

#[test]
fn user_messages_in_a_row() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini] {
        for shape in ["u u a u u", "u a[x] r[x] u u a"] {
            passes(shape, wire, Profile::for_format(wire), &body(wire.name(), shape));
        }
    }
}

#[test]
fn one_id_for_calls_of_different_turns() {
    let shapes = [
        "u a[abcdefgh1] r[abcdefgh1] a[abcdefgh1] r[abcdefgh1] a u",
        "u a[abcdefgh1 abcdefgh2] r[abcdefgh2 abcdefgh1] a u a[abcdefgh2] r[abcdefgh2] a",
    ];
    let table = [
        (Format::OpenaiChat, Profile::OpenaiChat),
        (Format::OpenaiResponses, Profile::OpenaiResponses),
        (Format::OpenaiChat, Profile::Deepseek),
        (Format::OpenaiChat, Profile::Mistral),
        (Format::Gemini, Profile::Gemini),
        (Format::Bedrock, Profile::Bedrock),
        (Format::GeminiInteractions, Profile::GeminiInteractions),
    ];
    for (wire, profile) in table {
        for shape in shapes {
            passes(shape, wire, profile, &body(wire.name(), shape));
        }
    }
}

#[test]
fn answers_whose_call_lies_on_the_server() {
    use Profile::{Anthropic, OpenaiResponses as Responses};
    pass(&[
        (
            "previous_response_id",
            Format::OpenaiResponses,
            Responses,
            r#"{"model":"gpt-5.1","previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"call_1","output":"ok"},{"type":"custom_tool_call_output","call_id":"call_2","output":"ok"}]}"#,
        ),
        (
            "conversation by name",
            Format::OpenaiResponses,
            Responses,
            r#"{"model":"gpt-5.1","input":[{"type":"function_call_output","call_id":"call_1","output":"ok"}],"conversation":"conv_1"}"#,
        ),
        (
            "conversation as an object, after the list",
            Format::OpenaiResponses,
            Responses,
            r#"{"input":[{"type":"function_call_output","call_id":"call_1","output":"ok"}],"conversation":{"id":"conv_1"}}"#,
        ),
        (
            "item_reference",
            Format::OpenaiResponses,
            Responses,
            r#"[{"role":"user","content":"Go."},{"type":"item_reference","id":"fc_1"},{"type":"function_call_output","call_id":"call_1","output":"ok"}]"#,
        ),
        (
            "item_reference behind the answer",
            Format::OpenaiResponses,
            Responses,
            r#"[{"type":"function_call_output","call_id":"call_1","output":"ok"},{"type":"item_reference","id":"msg_1"}]"#,
        ),
        (
            "a thread that continues",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"claude-sonnet-4-5","max_tokens":9,"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"sunny"},{"type":"tool_result","tool_use_id":"toolu_2","content":"rainy"}]}]}"#,
        ),
    ]);
}

#[test]
fn system_messages_inside_the_list() {
    use Profile::{Anthropic, Deepseek, OpenaiChat, OpenaiResponses};
    pass(&[
        (
            "after the user and after results (Claude Code)",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"system","content":"Today is Monday."},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"gone"}]},{"role":"system","content":[{"type":"text","text":"Be brief."}]},{"role":"assistant","content":"Gone."},{"role":"user","content":"Back."}]}"#,
        ),
        (
            "after an assistant turn that ends in a server answer",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"Search."},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]},{"role":"system","content":"Be brief."},{"role":"assistant","content":"Found."},{"role":"user","content":"Thanks."}]}"#,
        ),
        (
            "anywhere in a chat",
            Format::OpenaiChat,
            OpenaiChat,
            r#"[{"role":"user","content":"Go."},{"role":"system","content":"A."},{"role":"assistant","content":"Going."},{"role":"developer","content":"B."},{"role":"system","content":"C."},{"role":"user","content":"And?"}]"#,
        ),
        (
            "anywhere in a chat",
            Format::OpenaiChat,
            Deepseek,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":"Going."},{"role":"system","content":"C."}]"#,
        ),
        (
            "anywhere among items",
            Format::OpenaiResponses,
            OpenaiResponses,
            r#"[{"role":"developer","content":"A."},{"role":"user","content":"Go."},{"role":"assistant","content":"Going."},{"role":"system","content":"B."}]"#,
        ),
    ]);
}

#[test]
fn ordinary_histories_in_every_format_bare_and_as_a_request() {
    let shapes = [
        "u",
        "u a u",
        "u a[x] r[x]",
        "u a\"both\"[x y] r[y x] a u",
        "u a[x] r[x] a[y] r[y] a[z] r[z] a u a[v w] r[v w]",
    ];
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        passes("an empty list", wire, profile, "[]");
        for shape in shapes {
            let text = body(wire.name(), shape);
            passes(shape, wire, profile, &text);
            let key = match wire {
                Format::OpenaiResponses | Format::GeminiInteractions => "input",
                Format::Gemini => "contents",
                _ => "messages",
            };
            let request = format!(
                "{{\"model\" : \"m\",\n\t\"{key}\":{text},\"toolConfig\":{{\"tools\":[{{}}]}},\"extra\":[1e5]}}\r\n"
            );
            passes(shape, wire, profile, &request);
            passes(shape, wire, profile, &format!("{{\"{key}\": {text}}}"));
        }
        // A bare list may end with the assistant: it is a history, not a request.
        passes("ends with the assistant", wire, profile, &body(wire.name(), "u a"));
    }
}

#[test]
fn contents_that_look_empty() {
    use Profile::{Anthropic, Bedrock, Deepseek, Gemini, Mistral, OpenaiChat, OpenaiResponses};
    const CALL: &str = r#"[{"role":"user","content":"Go."},{"role":"assistant","content":null,"tool_calls":[{"id":"abcdefgh1","type":"function","function":{"name":"go","arguments":""}}]},{"role":"tool","tool_call_id":"abcdefgh1","content":""},{"role":"assistant","tool_calls":[{"id":"abcdefgh2","type":"function","function":{"name":"go","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefgh2","content":[]}]"#;
    pass(&[
        ("null or no content beside calls", Format::OpenaiChat, OpenaiChat, CALL),
        ("null or no content beside calls", Format::OpenaiChat, Mistral, CALL),
        ("null or no content beside calls", Format::OpenaiChat, Deepseek, CALL),
        (
            "empty strings and null lists",
            Format::OpenaiChat,
            OpenaiChat,
            r#"[{"role":"user","content":""},{"role":"assistant","content":"","tool_calls":null,"refusal":null,"audio":null},{"role":"user","content":[{"type":"text","text":""}]},{"role":"assistant","content":null,"refusal":"No."},{"role":"assistant","content":null,"audio":{"id":"audio_1"}}]"#,
        ),
        (
            "an empty output",
            Format::OpenaiResponses,
            OpenaiResponses,
            r#"[{"role":"user","content":""},{"type":"function_call","call_id":"c","name":"go","arguments":""},{"type":"function_call_output","call_id":"c","output":""},{"type":"message","role":"assistant","content":[]}]"#,
        ),
        (
            "a result without content",
            Format::Anthropic,
            Anthropic,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":[]}]},{"role":"assistant","content":[]}]"#,
        ),
        (
            "an empty success",
            Format::Bedrock,
            Bedrock,
            r#"[{"role":"user","content":[{"text":"Go."}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"go","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"t","content":[]}}]}]"#,
        ),
        (
            "an empty response, no args, a signature on an empty text",
            Format::Gemini,
            Gemini,
            r#"[{"parts":[{"text":"Go."}]},{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"},{"functionCall":{"name":"go"},"thoughtSignature":"c2ln"}]},{"role":"function","parts":[{"functionResponse":{"name":"go","response":{}}}]}]"#,
        ),
    ]);
}

#[test]
fn unknown_fields_blocks_items_and_odd_spelling() {
    use Profile::{Anthropic, Bedrock, Gemini, OpenaiChat, OpenaiResponses};
    pass(&[
        (
            "numbers as they were written",
            Format::OpenaiChat,
            OpenaiChat,
            r#"{"temperature":1e5,"top_p":-0.0,"seed":12345678901234567890,"x":[1E+2,0.10,-1.5e-7],"messages":[{"role":"user","content":"Go.","n":1.0}],"model":"m"}"#,
        ),
        (
            "white space, key order, escapes",
            Format::OpenaiChat,
            OpenaiChat,
            "\r\n\t [ { \"content\" :\"Go\\u002e \\/ \\ud83d\\ude00\" , \"role\":\"user\"},\n\n{\"tool_calls\":[\t{\"function\":{\"arguments\":\"{ }\",\"name\":\"go\"},\"type\":\"function\",\"id\":\"call\\u005f1\"}],\"role\":\"assistant\"},{\"content\":\"gone\",\"tool_call_id\":\"call_1\",\"role\":\"tool\"} ] \n",
        ),
        (
            "an escaped id equals the plain one",
            Format::Anthropic,
            Anthropic,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c\u0061ll\u005f1","content":"gone"}]}]"#,
        ),
        (
            "an escaped key and an escaped role",
            Format::OpenaiChat,
            OpenaiChat,
            r#"[{"r\u006fle":"us\u0065r","content":"Go."},{"role":"assistant","content":null,"tool\u005fcalls":[{"id":"x","type":"function","function":{"name":"go","arguments":"{}"}}]},{"role":"tool","tool_call\u005fid":"x","content":"gone"}]"#,
        ),
        (
            "blocks and fields nobody knows",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"m","future":{"a":[null,true]},"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"x"}},{"type":"search_result","content":[]},{"type":"hologram","rays":7}],"id":5},{"role":"assistant","content":[{"type":"hologram","rays":8},{"type":"text","text":"Hm.","citations":[{"type":"char_location"}]},{"type":"tool_use","id":"t","name":"go","input":{},"caller":{"type":"direct"}}],"stop_reason":"tool_use"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{}}],"cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#,
        ),
        (
            "items nobody knows",
            Format::OpenaiResponses,
            OpenaiResponses,
            r#"{"model":"gpt-6","input":[{"role":"user","content":[{"type":"input_image","image_url":"x"}]},{"type":"web_search_call","id":"ws_1","status":"completed","action":{}},{"type":"hologram","rays":7},{"type":"mcp_list_tools","id":"mcpl_1","tools":[]},{"type":"mcp_call","id":"mcp_1","name":"n","arguments":"{}","output":"o"},{"type":"mcp_approval_request","id":"mcpr_1"},{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":true},{"type":"compaction","encrypted_content":"x"},{"type":"tool_search_call","id":"ts_1","status":"completed"},{"type":"message","role":"assistant","id":"msg_1","phase":"final","content":[{"type":"output_text","text":"Hm.","logprobs":[]}]}]}"#,
        ),
        (
            "parts nobody knows",
            Format::Gemini,
            Gemini,
            r#"{"contents":[{"role":"user","parts":[{"text":"Go."},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"hologram":7}]},{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"text":"1"}]},{"role":"user","parts":[{"fileData":{"fileUri":"x"}}]}],"cachedContent":"c"}"#,
        ),
        (
            "blocks nobody knows",
            Format::Bedrock,
            Bedrock,
            r#"{"modelId":"m","messages":[{"role":"user","content":[{"text":"Go."},{"cachePoint":{"type":"default"}},{"guardContent":{}},{"document":{}},{"hologram":7}]}],"inferenceConfig":{"maxTokens":5}}"#,
        ),
        (
            "legacy functions",
            Format::OpenaiChat,
            OpenaiChat,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":null,"function_call":{"name":"go","arguments":"{}"}},{"role":"function","name":"go","content":"gone"}]"#,
        ),
        (
            "custom calls",
            Format::OpenaiChat,
            OpenaiChat,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"custom","custom":{"name":"go","input":"not json"}}]},{"role":"tool","tool_call_id":"x","content":"gone"}]"#,
        ),
    ]);
}

#[test]
fn reasoning_and_tools_that_the_provider_runs() {
    use Profile::{Anthropic, Bedrock, Deepseek, Gemini, OpenaiResponses};
    pass(&[
        (
            "thinking without text, redacted thinking",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"claude-opus-4-6","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"tool_use","id":"t","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"gone"}]}]}"#,
        ),
        (
            "adaptive thinking without thinking",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"claude-opus-5-5","max_tokens":9,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"gone"}]}]}"#,
        ),
        (
            "server tools, complete",
            Format::Anthropic,
            Anthropic,
            r#"[{"role":"user","content":"Search."},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"server_tool_use","id":"srvtoolu_2","name":"code_execution","input":{}},{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_2","content":{"type":"code_execution_result"}},{"type":"text","text":"Found."}]},{"role":"user","content":"Thanks."}]"#,
        ),
        (
            "mcp tools, complete",
            Format::Anthropic,
            Anthropic,
            r#"[{"role":"user","content":"Ask."},{"role":"assistant","content":[{"type":"mcp_tool_use","id":"mcptoolu_1","name":"ask","server_name":"s","input":{}},{"type":"mcp_tool_result","tool_use_id":"mcptoolu_1","is_error":false,"content":[]},{"type":"text","text":"Asked."}]},{"role":"user","content":"Thanks."}]"#,
        ),
        (
            "a paused turn, sent back to go on",
            Format::Anthropic,
            Anthropic,
            r#"{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Search."},{"role":"assistant","content":[{"type":"text","text":"Searching."},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}]}"#,
        ),
        (
            "a server tool in flight beside answered calls",
            Format::Anthropic,
            Anthropic,
            r#"[{"role":"user","content":"Search."},{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"tool_use","id":"t","name":"go","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"gone"}]}]"#,
        ),
        (
            "server tools, complete",
            Format::Bedrock,
            Bedrock,
            r#"[{"role":"user","content":[{"text":"Search."}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"s","name":"nova_grounding","input":{},"type":"server_tool_use"}},{"toolResult":{"toolUseId":"s","content":[{"json":{}}],"type":"nova_grounding_result"}},{"text":"Found."}]},{"role":"user","content":[{"text":"Thanks."}]}]"#,
        ),
        (
            "unsigned reasoning of other models",
            Format::Bedrock,
            Bedrock,
            r#"[{"role":"user","content":[{"text":"Go."}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"text":"Going."}]}]"#,
        ),
        (
            "reasoning items, stored and encrypted",
            Format::OpenaiResponses,
            OpenaiResponses,
            r#"{"model":"gpt-5.1","store":true,"input":[{"role":"user","content":"Go."},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"x","name":"go","arguments":"{}"},{"type":"function_call_output","call_id":"x","output":"gone"},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gA=="},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Gone."}]}]}"#,
        ),
        (
            "reasoning_content kept, and left out where no call is",
            Format::OpenaiChat,
            Deepseek,
            r#"{"model":"deepseek-reasoner","messages":[{"role":"user","content":"Go."},{"role":"assistant","content":"","reasoning_content":"","tool_calls":[{"id":"x","type":"function","function":{"name":"go","arguments":"{}"}}]},{"role":"tool","tool_call_id":"x","content":"gone"},{"role":"assistant","content":"Gone."},{"role":"user","content":"Back."}]}"#,
        ),
        (
            "thoughts and signatures",
            Format::Gemini,
            Gemini,
            r#"{"model":"gemini-3-pro","contents":[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"go","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"go","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"go","response":{}}},{"functionResponse":{"name":"go","response":{}}}]}]}"#,
        ),
    ]);
}

#[test]
fn gemini_without_ids_and_in_snake_case() {
    pass(&[
        (
            "no ids, answers by name out of order",
            Format::Gemini,
            Profile::Gemini,
            r#"[{"role":"user","parts":[{"text":"Both."}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}},{"functionCall":{"name":"b","args":{}}}]},{"role":"tool","parts":[{"functionResponse":{"name":"b","response":{"r":2}}},{"functionResponse":{"name":"a","response":{"r":1}}}]}]"#,
        ),
        (
            "snake_case keys",
            Format::Gemini,
            Profile::Gemini,
            r#"{"system_instruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"function_call":{"name":"go","args":{}},"thought_signature":"c2ln"}]},{"role":"user","parts":[{"function_response":{"name":"go","response":{}}}]}],"generation_config":{}}"#,
        ),
        (
            "an id on one side only",
            Format::Gemini,
            Profile::Gemini,
            r#"[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"functionCall":{"id":"f1","name":"go","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"go","response":{}}}]}]"#,
        ),
    ]);
}

#[test]
fn outputs_further_down_and_requests_like_those_of_codex() {
    pass(&[
        (
            "an output further down",
            Format::OpenaiResponses,
            Profile::OpenaiResponses,
            r#"[{"role":"user","content":"Go."},{"type":"function_call","call_id":"x","name":"go","arguments":"{}"},{"type":"function_call","call_id":"y","name":"go","arguments":"{}"},{"type":"function_call_output","call_id":"y","output":"2"},{"role":"user","content":"And?"},{"role":"assistant","content":"Soon."},{"type":"function_call_output","call_id":"x","output":"1"}]"#,
        ),
        (
            "developer messages, ids on outputs",
            Format::OpenaiResponses,
            Profile::OpenaiResponses,
            r#"{"model":"gpt-5-codex","store":false,"stream":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions>"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]},{"type":"message","id":"msg_u","role":"user","content":[{"type":"input_text","text":"Go."}]},{"type":"reasoning","summary":[],"content":null,"encrypted_content":"gA=="},{"type":"function_call","id":"fc_1","status":"completed","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"call_1"},{"type":"custom_tool_call","status":"completed","call_id":"call_2","name":"apply_patch","input":"*** Begin Patch"},{"type":"local_shell_call","id":"lsh_1","call_id":"call_3","status":"completed","action":{"type":"exec","command":["ls"]}},{"type":"function_call_output","id":"fco_1","call_id":"call_1","output":"a"},{"type":"custom_tool_call_output","call_id":"call_2","output":"ok"},{"type":"local_shell_call_output","call_id":"call_3","output":"{}"}]}"#,
        ),
        (
            "input as a string",
            Format::OpenaiResponses,
            Profile::OpenaiResponses,
            r#"{"model":"gpt-5.1","input":"Go."}"#,
        ),
    ]);
}

#[test]
fn generated_sound_histories_in_any_spelling() {
    for wire in Format::ALL {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let mut value = sound_history(&mut random, wire.name(), 12);
            spell_single_objects(&mut random, wire.name(), &mut value);
            let text = spelled(&mut random, &value);
            let found = touched(wire, &bold(Profile::for_format(wire)), &text);
            assert!(found.is_empty(), "{} seed {seed}\n{text}\n{}", wire.name(), found.join("\n"));
        }
    }
}

/// Hosted tools, media, null fields, cache marks, ids that are used again, programs that call tools.
#[test]
fn generated_histories_with_all_that_providers_take() {
    for wire in Format::ALL {
        for seed in 0..600 {
            let mut random = Random::new(seed);
            let mut value = accepted_history(&mut random, wire.name(), 12);
            spell_single_objects(&mut random, wire.name(), &mut value);
            let text = spelled(&mut random, &value);
            let found = touched(wire, &bold(Profile::for_format(wire)), &text);
            assert!(found.is_empty(), "{} seed {seed}\n{text}\n{}", wire.name(), found.join("\n"));
        }
    }
}

#[test]
fn our_recordings_of_real_clients() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recorded");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("the recordings are part of the project") {
        let path = entry.expect("a folder can be listed").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a plain name");
        let text = fs::read_to_string(&path).expect("a recording can be read");
        let wire = match name.split('-').next() {
            Some("claude" | "anthropic") => Format::Anthropic,
            Some("codex") => Format::OpenaiResponses,
            Some("gemini") => Format::Gemini,
            _ => Format::OpenaiChat,
        };
        assert_eq!(detect(&text).map(|found| found.wire), Some(wire), "{name}");
        passes(name, wire, Profile::for_format(wire), &text);
        seen += 1;
    }
    assert_eq!(seen, 23, "a recording came or went: look at it, then change the number");
}

/// Each line is a request that Claude Code sent.
#[test]
fn requests_of_claude_code_pass_byte_for_byte() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("../../fixtures/recorded/claude-code-requests.jsonl");
    let text = fs::read_to_string(file).expect("the recordings are part of the project");
    for (number, line) in text.lines().enumerate() {
        let name = format!("line {}", number + 1);
        assert_eq!(detect(line).map(|found| found.wire), Some(Format::Anthropic), "{name}");
        passes(&name, Format::Anthropic, Profile::Anthropic, line);
    }
    assert!(text.lines().count() > 20, "hardly any request is left");
}

/// Real conversations are never in the project. `FOXWEDGE_CONVERSATIONS` names a file of them: one
/// chat request that its vendor took on each line.
#[test]
fn real_conversations_where_they_are_at_hand() {
    let Some(file) = std::env::var_os("FOXWEDGE_CONVERSATIONS") else {
        println!("skipped: FOXWEDGE_CONVERSATIONS names no file");
        return;
    };
    let text = fs::read_to_string(file).expect("the file that is named can be read");
    for (number, line) in text.lines().enumerate() {
        let conversation: Value = serde_json::from_str(line).expect("a line is JSON");
        // The line itself, fields and all, and its messages alone.
        passes(&format!("line {number}"), Format::OpenaiChat, Profile::OpenaiChat, line);
        let messages = Value::Array(list(&conversation)).to_string();
        passes(&format!("line {number}"), Format::OpenaiChat, Profile::OpenaiChat, &messages);
    }
}
