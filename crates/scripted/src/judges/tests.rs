//! Every refusal with its smallest request: the provider's message, its status, and the rule that
//! the message belongs to.

mod content;

use foxwedge_core::explain;

use super::*;

/// Provider, rule (0: none of ours), the keys of the request, and the message.
type Row = (ScriptedProvider, u16, &'static str, &'static str);

use ScriptedProvider::{
    Anthropic as A, Deepseek as D, Gemini as G, GeminiInteractions as I, Mistral as M,
    OpenaiChat as C, OpenaiResponses as R,
};

/// A request around a list of messages.
fn body(provider: ScriptedProvider, list: &str) -> String {
    match provider {
        C => format!(r#"{{"model":"scripted","messages":{list}}}"#),
        M => format!(r#"{{"model":"scripted-mistral","messages":{list}}}"#),
        D => format!(r#"{{"model":"scripted-deepseek","messages":{list}}}"#),
        A => format!(r#"{{"model":"scripted","max_tokens":9,"messages":{list}}}"#),
        R | I => format!(r#"{{"model":"scripted","input":{list}}}"#),
        G => format!(r#"{{"contents":{list}}}"#),
    }
}

fn refuse(table: &[Row]) {
    for (provider, code, list, expected) in table {
        let whole = list.starts_with('{').then(|| (*list).to_owned());
        let body = whole.unwrap_or_else(|| body(*provider, list));
        let Some(refusal) = check_request(*provider, body.as_bytes()) else {
            panic!("accepted by {}: {body}", provider.name());
        };
        assert!(
            refusal.message.contains(expected),
            "{body}\nsays: {}\nnot:  {expected}",
            refusal.message
        );
        assert!((400..=422).contains(&refusal.status), "{body}: {}", refusal.status);
        let explained = explain(&refusal.body).map_or(0, |explained| explained.code);
        assert_eq!(explained, *code, "{}", refusal.body);
        let read: Value = serde_json::from_str(&refusal.body).expect("an envelope is JSON");
        let envelope = match provider {
            A => read["type"] == "error" && read["error"]["message"] == refusal.message,
            C | R | D => read["error"]["message"] == refusal.message,
            G | I => read["error"]["code"] == 400 && read["error"]["status"] == "INVALID_ARGUMENT",
            M => read["object"] == "error",
        };
        assert!(envelope, "{}", refusal.body);
    }
}

#[test]
fn steps_that_do_not_match() {
    refuse(&[
        (
            I,
            101,
            r#"[{"type":"user_input"},{"type":"function_call","id":"x","name":"f","arguments":{}},{"type":"user_input"}]"#,
            "number of function response parts",
        ),
        (
            I,
            101,
            r#"[{"type":"function_call","id":"x","name":"f","arguments":{}},{"type":"function_call","id":"y","name":"f","arguments":{}},{"type":"function_result","call_id":"y","result":"r"},{"type":"model_output"}]"#,
            "number of function response parts",
        ),
        (
            I,
            204,
            r#"[{"type":"function_call","id":"x","name":"f","arguments":{}},{"type":"function_result","name":"f","result":"r"}]"#,
            "Missing call_id in content of type function_result",
        ),
    ]);
    let accepted = [
        r#"{"model":"m","input":"go"}"#,
        r#"{"model":"m","input":{"type":"text","text":"go"}}"#,
        r#"{"model":"m","input":[{"type":"user_input"},{"type":"thought"},{"type":"function_call","id":"x","name":"f","arguments":{}},{"type":"function_result","call_id":"x","result":{}},{"type":"future_step"}]}"#,
    ];
    for body in accepted {
        assert_eq!(check_request(I, body.as_bytes()), None, "{body}");
    }
}

const U: &str = r#"{"role":"user","content":"go"}"#;

#[test]
fn pairs_that_do_not_match() {
    refuse(&[
        (
            C,
            101,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"?"}]"#,
            "did not have response messages: x",
        ),
        (
            C,
            102,
            r#"[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"x","content":"r"}]"#,
            "must be a response to a preceeding message",
        ),
        (
            D,
            101,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#,
            "(insufficient tool messages following",
        ),
        (
            D,
            102,
            r#"[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"x","content":"r"}]"#,
            "must be a response to a preceding message",
        ),
        (
            M,
            101,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"abcdefgh1","function":{"name":"f","arguments":"{}"}},{"id":"abcdefgh2","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefgh1","content":"r"}]"#,
            "Not the same number of function calls and responses",
        ),
        (
            M,
            102,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"abcdefgh1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefgh2","content":"r"}]"#,
            "Unexpected tool call id abcdefgh2 in tool results",
        ),
        (
            M,
            103,
            r#"[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"abcdefgh1","content":"r"}]"#,
            "Unexpected role 'tool' after role 'user'",
        ),
        (
            M,
            104,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"abcdefgh1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefgh1","content":"r"},{"role":"tool","tool_call_id":"abcdefgh1","content":"r"}]"#,
            "Duplicate tool call id abcdefgh1 in tool results",
        ),
        (
            R,
            101,
            r#"[{"role":"user","content":"go"},{"type":"function_call","call_id":"x","name":"f","arguments":"{}"}]"#,
            "No tool output found for function call x.",
        ),
        (
            R,
            101,
            r#"[{"type":"custom_tool_call","call_id":"x","name":"f","input":"i"}]"#,
            "No tool output found for custom tool call x.",
        ),
        (
            R,
            102,
            r#"[{"type":"function_call_output","call_id":"x","output":"r"}]"#,
            "No tool call found for function call output with call_id x.",
        ),
        (
            R,
            102,
            r#"[{"type":"custom_tool_call","call_id":"x","name":"f","input":"i"},{"type":"function_call_output","call_id":"x","output":"r"}]"#,
            "No tool call found for function call output",
        ),
        (
            A,
            101,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]},{"role":"user","content":"?"}]"#,
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: x.",
        ),
        (
            A,
            101,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]},{"role":"user","content":[{"type":"text","text":"?"},{"type":"tool_result","tool_use_id":"x"}]}]"#,
            "immediately after: x.",
        ),
        (
            A,
            102,
            r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}]"#,
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: x.",
        ),
        (
            A,
            104,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"},{"type":"tool_result","tool_use_id":"x"}]}]"#,
            "each tool_use must have a single result",
        ),
        (
            A,
            601,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]},{"role":"user","content":"?"}]"#,
            "`web_search` tool use with id `s` was found without",
        ),
        (
            A,
            602,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"s","content":[]}]},{"role":"user","content":"?"}]"#,
            "must have a corresponding `server_tool_use` block before it",
        ),
        (
            G,
            101,
            r#"[{"parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]"#,
            "number of function response parts is equal",
        ),
        (
            G,
            102,
            r#"[{"parts":[{"text":"go"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]"#,
            "function response turn comes immediately after a function call turn",
        ),
        (
            G,
            401,
            r#"[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]"#,
            "function call turn comes immediately after a user turn",
        ),
    ]);
}

#[test]
fn ids_and_names() {
    refuse(&[
        (
            C,
            203,
            r#"[{"role":"assistant","tool_calls":[{"id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#,
            "string too long. Expected a string with maximum length 40, but got a string with length 43 instead.",
        ),
        (
            C,
            204,
            r#"[{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}]"#,
            "Missing required parameter: 'messages[0].tool_calls[0].id'.",
        ),
        (C, 204, r#"[{"role":"tool","content":"r"}]"#, "Missing parameter 'tool_call_id'"),
        (
            C,
            207,
            r#"[{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"","arguments":"{}"}}]}]"#,
            "function.name': empty string",
        ),
        (
            C,
            207,
            r#"[{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"a b","arguments":"{}"}}]}]"#,
            "function.name': string does not match pattern",
        ),
        (
            R,
            203,
            r#"[{"type":"function_call","call_id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","name":"f","arguments":""}]"#,
            "maximum length 64, but got a string with length 65",
        ),
        (R, 204, r#"[{"type":"function_call","name":"f","arguments":""}]"#, "'input[0].call_id'"),
        (
            R,
            205,
            r#"[{"type":"function_call","id":"call_1","call_id":"x","name":"f","arguments":""}]"#,
            "Invalid 'input[0].id': 'call_1'. Expected an ID that begins with 'fc'.",
        ),
        (
            R,
            206,
            r#"{"model":"m","store":false,"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"assistant","content":"a"}]}"#,
            "Items are not persisted when `store` is set to false.",
        ),
        (
            R,
            201,
            r#"[{"type":"function_call","id":"fc_1","call_id":"x","name":"f","arguments":""},{"type":"function_call","id":"fc_1","call_id":"y","name":"f","arguments":""}]"#,
            "Duplicate item found with id fc_1.",
        ),
        (
            R,
            207,
            r#"[{"type":"function_call","call_id":"x","name":"a b","arguments":""}]"#,
            "].name': string does not match pattern",
        ),
        (
            A,
            201,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}},{"type":"tool_use","id":"x","name":"f","input":{}}]}]"#,
            "messages.1.content.1: `tool_use` ids must be unique",
        ),
        (
            A,
            203,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"f.get:0","name":"f","input":{}}]}]"#,
            "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        ),
        (
            A,
            204,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}]"#,
            "tool_use.id: Field required",
        ),
        (
            A,
            207,
            r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"a b","input":{}}]}]"#,
            "tool_use.name: String should match pattern",
        ),
        (
            M,
            203,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"f","arguments":"{}"}}]}]"#,
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
        ),
        (
            M,
            204,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]"#,
            "Tool call id has to be defined",
        ),
        (
            M,
            201,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"abcdefgh1","function":{"name":"f","arguments":"{}"}},{"id":"abcdefgh1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefgh1","content":"r"}]"#,
            "Duplicate tool call id abcdefgh1 in assistant message",
        ),
        (
            M,
            207,
            r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"abcdefgh1","function":{"name":"a b","arguments":"{}"}}]}]"#,
            "Function name was a b but must be",
        ),
        (
            G,
            207,
            r#"[{"parts":[{"text":"go"}]},{"role":"model","parts":[{"functionCall":{"name":"9"}}]}]"#,
            "Invalid function name. Must start with a letter or an underscore.",
        ),
        (
            G,
            107,
            r#"[{"parts":[{"functionResponse":{"response":{}}}]}]"#,
            "function_response.name: Name cannot be empty",
        ),
    ]);
}

#[test]
fn missing_fields_and_unknown_server_state_are_refused() {
    refuse(&[
        (C, 0, r#"{"messages":[]}"#, "you must provide a model parameter"),
        (C, 0, r#"{"model":"m"}"#, "Missing required parameter: 'messages'."),
        (
            C,
            0,
            r#"{"model":"m","messages":[{"role":"user","content":"x"}],"tool_choice":"auto"}"#,
            "only allowed when 'tools' are specified",
        ),
        (R, 0, r#"{"input":"x"}"#, "Missing required parameter: 'model'."),
        (R, 0, r#"{"model":"m"}"#, "must be provided"),
        (
            R,
            0,
            r#"{"model":"m","previous_response_id":"resp_1","input":"x"}"#,
            "Previous response with id 'resp_1' not found.",
        ),
        (
            R,
            0,
            r#"{"model":"m","conversation":{"id":"conv_1"},"input":"x"}"#,
            "Conversation with id 'conv_1' not found.",
        ),
        (A, 0, r#"{"max_tokens":9,"messages":[]}"#, "model: Field required"),
        (A, 0, r#"{"model":"m","messages":[]}"#, "max_tokens: Field required"),
        (A, 0, r#"{"model":"m","max_tokens":9}"#, "messages: Field required"),
        (
            A,
            0,
            r#"{"model":"m","max_tokens":9,"thread":{"type":"create"},"messages":[{"role":"user","content":"x"}]}"#,
            "message threads",
        ),
        (D, 0, r#"{"model":"m"}"#, "missing field `messages`"),
    ]);
    let refusal = |body: &str| check_request(R, body.as_bytes()).and_then(|refusal| refusal.code);
    let stored = r#"{"model":"m","previous_response_id":"resp_1","input":"x"}"#;
    assert_eq!(refusal(stored), Some("previous_response_not_found"));
}

#[test]
fn requests_that_vendors_accept_are_accepted() {
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"not json"}}}}]}}"#
        )
    };
    let answer = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":""}}"#);
    let (call_a, call_b, answer_a, answer_b) = (call("a"), call("b"), answer("a"), answer("b"));
    let table = [
        // Calls of one turn in two messages, with results in any order; repeated ids.
        (C, format!("[{U},{call_a},{call_b},{answer_b},{answer_a},{call_a},{answer_a},{U},{U}]")),
        (C, format!(r#"[{U},{{"role":"system","content":"s"}},{{"role":"assistant","content":"a"}},{{"role":"assistant","content":"","refusal":null}}]"#)),
        (D, format!("[{U},{call_a},{answer_a},{U},{call_a},{answer_a}]")),
        (R, r#"[{"role":"developer","content":"d"},{"type":"function_call","call_id":"x","name":"f","arguments":""},{"role":"user","content":"between"},{"type":"function_call_output","call_id":"x","output":""},{"type":"hologram"}]"#.to_owned()),
        (A, format!(r#"[{U},{{"role":"system","content":"s"}},{{"role":"assistant","content":"a"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"x","name":"f","input":{{}}}}]}},{{"role":"assistant","content":[{{"type":"tool_use","id":"y","name":"f","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"y"}},{{"type":"tool_result","tool_use_id":"x"}},{{"type":"text","text":"and"}}]}},{U}]"#)),
        (A, format!(r#"[{U},{{"role":"assistant","content":[{{"type":"server_tool_use","id":"s","name":"web_search","input":{{}}}}]}}]"#)),
        (G, r#"[{"parts":[{"text":"go"}]},{"parts":[{"text":"go"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"},{"functionCall":{"name":"f"}}]},{"role":"function","parts":[{"functionResponse":{"name":"f","response":{}}},{"text":"and"}]}]"#.to_owned()),
        (M, format!(r#"[{U},{U},{{"role":"assistant","content":"a"}},{{"role":"assistant","content":"b","prefix":true}}]"#)),
    ];
    for (provider, list) in table {
        let body = body(provider, &list);
        assert_eq!(check_request(provider, body.as_bytes()), None, "{} {body}", provider.name());
    }
}

#[test]
fn hostile_bodies_are_refused_and_nothing_breaks() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies = ["", "{", "null", "[]", "7", "\"x\"", "{}", "\u{feff}{}", deep.as_str()];
    for provider in ScriptedProvider::ALL {
        for body in bodies {
            assert!(
                check_request(provider, body.as_bytes()).is_some(),
                "{} {body:.20}",
                provider.name()
            );
        }
        assert!(check_request(provider, b"{\"model\":\"\xff\"}").is_some());
    }
}
