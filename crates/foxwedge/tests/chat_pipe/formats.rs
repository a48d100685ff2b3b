//! The reply in every format, for programs.

use serde_json::Value;

use crate::stage::{Ran, Stage};

const PROMPT: &str = r#"call list and run with {"command":"true"}"#;

fn asked(stage: &Stage, format: &str, prompt: &str) -> Ran {
    let ran = stage.chat(&["-p", prompt, "-q", "--allow", "run", "--output-format", format], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{format} {ran:?}");
    ran
}

fn frames(ran: &Ran) -> Vec<Value> {
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'f>(frames: &'f [Value], kind: &str) -> Vec<&'f Value> {
    frames.iter().filter(|frame| frame["type"] == kind).collect()
}

#[test]
fn json_is_one_object_with_everything_in_it() {
    let stage = Stage::new();
    let ran = asked(&stage, "json", PROMPT);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&document["version"], &document["outcome"]), (&1.into(), &"completed".into()));
    assert!(document["text"].as_str().unwrap().starts_with("The tools said: "), "{document}");
    assert_eq!(document["problem"], Value::Null);
    assert!(document["usage"]["output"].as_u64().unwrap() > 0, "{document}");
    let mut tools: Vec<String> = document["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| format!("{} {}", tool["name"], tool["status"]))
        .collect();
    tools.sort();
    assert_eq!(tools, [r#""list" "succeeded""#, r#""run" "succeeded""#]);
    let shown = stage.run(&["runs", "show", document["run"].as_str().unwrap(), "--json"], "");
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.out.contains(document["session"].as_str().unwrap()), "{}", shown.out);
}

#[test]
fn jsonl_is_the_log_of_the_run() {
    let stage = Stage::new();
    let ran = asked(&stage, "jsonl", PROMPT);
    let events = frames(&ran);
    assert_eq!(of(&events, "run-started").len(), 1);
    assert_eq!(of(&events, "run-ended").len(), 1);
    assert_eq!(events.first().unwrap()["type"], "run-started");
    assert_eq!(events.last().unwrap()["type"], "run-ended");
    let places: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
    let run = events[0]["runId"].as_str().unwrap();
    let kept = stage.run(&["runs", "events", run], "");
    assert_eq!(kept.out, ran.out, "what is told is what is kept");
}

#[test]
fn agui_begins_and_ends_once_and_settles_every_call() {
    let stage = Stage::new();
    let ran = asked(&stage, "agui", PROMPT);
    let events = frames(&ran);
    assert_eq!(events.first().unwrap()["type"], "RUN_STARTED");
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
    assert_eq!((of(&events, "RUN_STARTED").len(), of(&events, "RUN_FINISHED").len()), (1, 1));
    let session = events[0]["threadId"].as_str().unwrap();
    assert!(session.starts_with("chat-"), "{session}");
    let ids = |kind: &str| {
        let mut ids: Vec<String> =
            of(&events, kind).iter().map(|it| it["toolCallId"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("TOOL_CALL_START").len(), 2);
    assert_eq!(ids("TOOL_CALL_START"), ids("TOOL_CALL_END"));
    assert_eq!(ids("TOOL_CALL_START"), ids("TOOL_CALL_RESULT"));
    let said: String =
        of(&events, "TEXT_MESSAGE_CONTENT").iter().filter_map(|it| it["delta"].as_str()).collect();
    assert!(said.starts_with("The tools said: "), "{said}");
    assert_eq!(of(&events, "TEXT_MESSAGE_START").len(), of(&events, "TEXT_MESSAGE_END").len());
}

#[test]
fn the_other_standards_are_whole_as_well() {
    let stage = Stage::new();
    let ran = asked(&stage, "ai-sdk", PROMPT);
    let lines: Vec<&str> = ran.out.lines().filter(|line| *line != "[DONE]").collect();
    let chunks: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(chunks.first().unwrap()["type"], "start");
    assert_eq!(of(&chunks, "finish").len(), 1);
    let answers =
        of(&chunks, "tool-output-available").len() + of(&chunks, "tool-output-error").len();
    assert_eq!((of(&chunks, "tool-input-available").len(), answers), (2, 2));

    let ran = asked(&stage, "acp", PROMPT);
    let messages = frames(&ran);
    let last = messages.last().unwrap();
    assert_eq!(last["result"]["stopReason"], "end_turn", "{last}");
    let ends = messages.iter().filter(|it| it.get("result").is_some()).count();
    assert_eq!(ends, 1);
    let done = messages.iter().filter(|it| it["params"]["update"]["status"] == "completed").count();
    assert_eq!(done, 2, "{}", ran.out);
}

#[test]
fn a_failed_run_is_whole_in_every_format() {
    let stage = Stage::new();
    for format in ["json", "jsonl", "agui", "ai-sdk", "acp"] {
        let model = ["--model", "scripted?status=400"];
        let arguments = [&["-p", "x", "-q", "--output-format", format][..], &model].concat();
        let ran = stage.chat(&arguments, "");
        assert_eq!(ran.code, 1, "{format} {ran:?}");
        let lines = ran.out.lines().filter(|line| *line != "[DONE]");
        let frames: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        let last = frames.last().unwrap();
        let told = match format {
            "json" => last["outcome"] == "failed" && last["problem"]["message"].is_string(),
            "jsonl" => last["type"] == "run-ended" && last["reason"] == "failed",
            "agui" => last["type"] == "RUN_ERROR",
            "ai-sdk" => !of(&frames, "error").is_empty(),
            _ => last.get("error").is_some() || last["result"].get("stopReason").is_some(),
        };
        assert!(told, "{format}: {}", ran.out);
    }
}
