//! Denials and hand-overs are recognized independent of the text of results.

use serde_json::{Value, json};

use crate::{
    MachineInput, MachineSettings, SessionMachine,
    follow::{
        StreamSource,
        tests::{
            recordings::{recordings, source},
            story::{Said, follow, said},
        },
    },
};

/// Texts of hosts, tools and people.
const WORDS: [&str; 9] = [
    "问题已交由界面处理，等待用户回答。",
    "The question is shown in the app.",
    "Question shown to the user; wait for their reply.",
    "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    "Der Nutzer hat abgelehnt: nein",
    "permission denied",
    "User answered: blue",
    "",
    "0",
];

/// The status of every call at the end of the stream, in call order.
fn statuses(source: StreamSource, stream: &str) -> Vec<String> {
    let mut session = SessionMachine::new(MachineSettings::default());
    let mut effects = Vec::new();
    for (at, event) in follow(source, stream) {
        session.apply(at as u64, MachineInput::Event(event), &mut effects);
    }
    session.apply(1_000_000, MachineInput::Tick, &mut effects);
    let told = |run: &crate::Run| {
        let id = run.id().clone();
        let one = move |tool: &crate::ToolCallState| {
            format!("{id} {} {}", tool.call, tool.status().name())
        };
        run.tools().iter().map(one).collect::<Vec<_>>()
    };
    session.runs().iter().flat_map(told).collect()
}

const CALLS: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":["AskUserQuestion","Bash"]}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"q","name":"AskUserQuestion","input":{"questions":[{"question":"Color?"}]}},{"type":"tool_use","id":"p","name":"ExitPlanMode","input":{"plan":"x"}},{"type":"tool_use","id":"b","name":"Bash","input":{"command":"ls"}}]}}"#;

fn answer(call: &str, words: &str, meta: Value) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": call, "is_error": true, "content": words});
    let mut line = json!({"type": "user", "message": {"role": "user", "content": [block]}});
    if !meta.is_null() {
        line["tool_result_meta"] = json!([meta]);
    }
    line.to_string()
}

fn over(denied: &[&str]) -> String {
    let denials: Vec<Value> = denied.iter().map(|id| json!({"tool_use_id": id})).collect();
    json!({"type": "result", "subtype": "success", "is_error": false, "result": "ok",
           "session_id": "s1", "permission_denials": denials})
    .to_string()
}

#[test]
fn the_list_of_denials_says_what_a_result_was_in_any_language() {
    for words in WORDS {
        let meta = || Value::Null;
        let lines = ["q", "p", "b"].map(|call| answer(call, words, meta())).join("\n");
        let stream = format!("{CALLS}\n{lines}\n{}\n! eof", over(&["q", "p", "b"]));
        let expected = ["run q handed_over", "run p handed_over", "run b denied"];
        assert_eq!(statuses(StreamSource::ClaudeCode, &stream), expected, "{words}");
    }
}

/// All three calls fail with this text, and no list of denials follows.
fn failed_with(words: &str) -> Vec<String> {
    let lines = ["q", "p", "b"].map(|call| answer(call, words, Value::Null)).join("\n");
    statuses(StreamSource::ClaudeCode, &format!("{CALLS}\n{lines}\n{}\n! eof", over(&[])))
}

#[test]
fn a_question_is_handed_over_and_other_errors_stay_errors_where_nothing_else_is_said() {
    for words in WORDS.into_iter().filter(|words| !words.starts_with("The user doesn't")) {
        let expected = ["run q handed_over", "run p handed_over", "run b failed"];
        assert_eq!(failed_with(words), expected, "{words}");
    }
}

#[test]
fn what_the_agent_did_not_accept_is_no_hand_over() {
    for words in [
        "<tool_use_error>InputValidationError: AskUserQuestion failed</tool_use_error>",
        "<tool_use_error>Error: No such tool available: AskUserQuestion</tool_use_error>",
    ] {
        let expected = ["run q failed", "run p failed", "run b failed"];
        assert_eq!(failed_with(words), expected, "{words}");
    }
}

#[test]
fn a_decision_of_the_host_counts_in_the_agents_own_stream_before_and_behind_the_result() {
    let ask = json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "b"}});
    let decided = |behavior: &str, words: &str| {
        let response = json!({"behavior": behavior, "message": words});
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": "r", "response": response}}).to_string()
    };
    for words in WORDS.into_iter().filter(|words| !words.starts_with("The user doesn't")) {
        for (behavior, expected) in [("deny", "run b denied"), ("allow", "run b failed")] {
            let (decision, result) = (decided(behavior, words), answer("b", words, Value::Null));
            for lines in [[&decision, &result], [&result, &decision]] {
                let stream =
                    format!("{CALLS}\n{ask}\n{}\n{}\n{}\n! eof", lines[0], lines[1], over(&[]));
                let told = statuses(StreamSource::ClaudeCode, &stream);
                assert_eq!(told.last().map(String::as_str), Some(expected), "{lines:?}");
            }
        }
    }
}

#[test]
fn no_text_of_a_recording_decides_what_became_of_a_call() {
    let mut replaced = 0;
    for (recording, stream) in recordings() {
        let source = source(&stream);
        let truth = statuses(source, &stream);
        for words in WORDS.into_iter().filter(|words| !words.starts_with("The user doesn't")) {
            let lines: Vec<String> = stream.lines().map(|line| reworded(line, words)).collect();
            let other = lines.join("\n");
            replaced += usize::from(other != stream.trim_end());
            assert_eq!(statuses(source, &other), truth, "{recording}: {words}");
        }
    }
    assert!(replaced > 100, "only {replaced} were replaced");
}

/// Replaces the texts of failed results in a line. Fields set by the agent are kept.
fn reworded(line: &str, words: &str) -> String {
    let (text, head) = match said(line) {
        Said::Agent(text) => (text, ""),
        Said::Host(text) => (text, "> "),
        Said::Exit(_) => return line.to_owned(),
    };
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return line.to_owned() };
    if let Some(message) = value.pointer_mut("/response/response/message") {
        *message = words.into();
    }
    let blocks = value.pointer_mut("/message/content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        let marked = block["content"].as_str().is_some_and(|text| text.starts_with('<'));
        if block["is_error"] == true && !marked {
            block["content"] = words.into();
        }
    }
    format!("{head}{value}")
}
