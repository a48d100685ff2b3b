//! What the encoders guarantee for any input.

mod scenes;
mod random;
mod judge;

/// `xtask` includes the scenes too, where this crate has another name.
mod run {
    pub(crate) use crate::*;
}

use serde_json::{Value, json};

use super::{
    AcpRevision, AgUiRevision, EncoderOptions, FrameId, RunEncoder, UiFormat, UiFrame,
    content_type, headers,
};
use crate::{
    EventPayload, Outcome, RawJson, RunEffect, RunEnd, RunEvent, RunProblem, RunSummary, SharedId,
    ToolRef, ToolStatus, TurnStart, UiChange, UiPart, wire,
};

#[test]
fn clients_accept_the_frames_of_every_scene() {
    for scene in scenes::all() {
        for (format, options) in voices() {
            let frames = encode(format, &options, &scene.changes);
            let verdict = judge::judge(format, &options, &frames);
            assert_eq!(verdict, Ok(()), "{} as {options:?}\n{}", scene.name, told(&frames));
        }
    }
}

#[test]
fn client_sees_text_calls_and_outcome_of_every_scene() {
    for scene in scenes::all() {
        for (format, options) in voices().into_iter().take(2) {
            let frames = encode(format, &options, &scene.changes);
            let parse = |frame: &UiFrame| serde_json::from_str::<Value>(&frame.data).expect("JSON");
            let events: Vec<Value> = frames.iter().map(parse).collect();
            let of_kind = |kind: &'static str| events.iter().filter(move |it| it["type"] == kind);
            let subagent_messages: Vec<&Value> = of_kind("TEXT_MESSAGE_START")
                .filter(|it| it.get("subagentRunId").is_some())
                .map(|it| &it["messageId"])
                .collect();
            let own_text: String = of_kind("TEXT_MESSAGE_CONTENT")
                .filter(|it| !subagent_messages.contains(&&it["messageId"]))
                .filter_map(|it| it["delta"].as_str())
                .collect();
            assert_eq!(own_text, scene.text, "{}", scene.name);
            let pending = events.last().and_then(|it| it.pointer("/outcome/pendingToolCallIds"));
            let is_pending = |id: &Value| {
                pending.is_some_and(|ids| ids.as_array().is_some_and(|ids| ids.contains(id)))
            };
            let status = |id: &Value| {
                if is_pending(id) {
                    return Some(ToolStatus::HandedOver);
                }
                let result = of_kind("TOOL_CALL_RESULT").find(|it| it["toolCallId"] == *id)?;
                ToolStatus::from_name(result.pointer("/metadata/status")?.as_str()?)
            };
            let call = |it: &Value| {
                let id = &it["toolCallId"];
                (id.as_str().unwrap_or_default().to_owned(), status(id))
            };
            let calls: Vec<(String, Option<ToolStatus>)> =
                of_kind("TOOL_CALL_START").map(call).collect();
            assert_eq!(calls, scene.calls, "{}", scene.name);
            let end = events.last().and_then(|it| it.pointer("/metadata/outcome"));
            assert_eq!(end, Some(&json!(scene.outcome.name())), "{}", scene.name);
        }
    }
}

#[test]
fn clients_accept_changes_in_any_order() {
    for seed in 0..400 {
        let changes = random::changes(seed);
        for (format, options) in voices() {
            let frames = encode(format, &options, &changes);
            let verdict = judge::judge(format, &options, &frames);
            assert_eq!(verdict, Ok(()), "seed {seed} as {options:?}\n{}", told(&frames));
        }
    }
}

/// Checks the judge itself: it must not accept everything.
#[test]
fn judge_rejects_runs_with_missing_frames() {
    let table = [
        (UiFormat::AgUi, "\"RUN_STARTED\""),
        (UiFormat::AgUi, "\"TEXT_MESSAGE_END\""),
        (UiFormat::AgUi, "\"TOOL_CALL_END\""),
        (UiFormat::AgUi, "\"TOOL_CALL_RESULT\""),
        (UiFormat::AgUi, "\"STEP_FINISHED\""),
        (UiFormat::AgUi, "\"REASONING_END\""),
        (UiFormat::AgUi, "\"RUN_FINISHED\""),
        (UiFormat::AiSdk, "\"start-step\""),
        (UiFormat::AiSdk, "\"text-end\""),
        (UiFormat::AiSdk, "\"tool-output-"),
        (UiFormat::AiSdk, "\"finish\""),
        (UiFormat::AiSdk, "[DONE]"),
        (UiFormat::Acp, "\"tool_call\""),
        (UiFormat::Acp, "\"completed\""),
        (UiFormat::Acp, "\"id\""),
    ];
    let scenes = scenes::all();
    let scene = scenes.iter().find(|scene| scene.name == "parallel-tools").expect("a scene");
    for (format, words) in table {
        let options = EncoderOptions::new(&SharedId::from("s"));
        let mut frames = encode(format, &options, &scene.changes);
        assert_eq!(judge::judge(format, &options, &frames), Ok(()));
        frames.retain(|frame| !frame.data.contains(words));
        assert!(judge::judge(format, &options, &frames).is_err(), "{words}");
    }
}

#[test]
fn encoding_again_gives_the_same_frames_after_an_id() {
    for scene in scenes::all() {
        for (format, options) in voices() {
            let frames = encode(format, &options, &scene.changes);
            let second = encode(format, &options, &scene.changes);
            for (at, frame) in frames.iter().enumerate() {
                let id: FrameId = frame.id.to_string().parse().expect("an id");
                let rest: Vec<&UiFrame> = second.iter().filter(|frame| frame.id > id).collect();
                assert_eq!(rest, frames.iter().skip(at + 1).collect::<Vec<_>>(), "{}", scene.name);
            }
        }
    }
}

#[test]
fn every_outcome_ends_as_its_format_requires() {
    let [agui, agui1, ai_sdk, acp, acp2] = [0, 1, 2, 3, 4];
    let error = json!({ "type": "error", "errorText": "The run failed." });
    let table = [
        (agui, Outcome::Completed, "/outcome/type", json!("success")),
        (agui, Outcome::NoText, "/metadata/finishedReason", json!("no_text")),
        (agui, Outcome::Stopped, "/metadata/finishedReason", json!("cancelled")),
        (agui, Outcome::Stopped, "/outcome", Value::Null),
        (agui, Outcome::Replaced, "/metadata/outcome", json!("replaced")),
        (agui, Outcome::MaxTurns, "/outcome", Value::Null),
        (agui, Outcome::MaxTurns, "/metadata/finishedReason", json!("max_turns")),
        (agui, Outcome::Refused, "/outcome/type", json!("success")),
        (agui, Outcome::Failed, "/type", json!("RUN_ERROR")),
        (agui, Outcome::Interrupted, "/code", json!("interrupted")),
        (agui1, Outcome::Completed, "/outcome/type", json!("success")),
        (agui1, Outcome::Stopped, "/outcome/type", json!("cancelled")),
        (agui1, Outcome::Replaced, "/outcome/type", json!("cancelled")),
        (agui1, Outcome::MaxTurns, "/outcome", Value::Null),
        (ai_sdk, Outcome::Completed, "/finishReason", json!("stop")),
        (ai_sdk, Outcome::NoText, "/finishReason", json!("other")),
        (ai_sdk, Outcome::MaxTurns, "/finishReason", json!("other")),
        (ai_sdk, Outcome::MaxTurns, "/messageMetadata/foxwedge/outcome", json!("max_turns")),
        (ai_sdk, Outcome::Refused, "/finishReason", json!("content-filter")),
        (ai_sdk, Outcome::Stopped, "", json!({ "type": "abort", "reason": "stopped" })),
        (ai_sdk, Outcome::Replaced, "", json!({ "type": "abort", "reason": "replaced" })),
        (ai_sdk, Outcome::Failed, "", error),
        (ai_sdk, Outcome::Interrupted, "/type", json!("error")),
        (acp, Outcome::Completed, "/result/stopReason", json!("end_turn")),
        (acp, Outcome::NoText, "/result/stopReason", json!("end_turn")),
        (acp, Outcome::Stopped, "/result/stopReason", json!("cancelled")),
        (acp, Outcome::MaxTurns, "/result/stopReason", json!("max_turn_requests")),
        (acp, Outcome::Refused, "/result/stopReason", json!("refusal")),
        (acp, Outcome::Failed, "/error/code", json!(-32603)),
        (acp, Outcome::Interrupted, "/error/data/outcome", json!("interrupted")),
        (acp, Outcome::Replaced, "/result/_meta/foxwedge/outcome", json!("replaced")),
        (acp2, Outcome::Completed, "/params/update/stopReason", json!("end_turn")),
        (acp2, Outcome::Failed, "/params/update/stopReason", json!("error")),
        (acp2, Outcome::Failed, "/params/update/error/message", json!("The run failed.")),
    ];
    for (index, outcome, place, expected) in table {
        let (format, options) = voices().remove(index);
        let frames = encode(format, &options, &[ended(outcome)]);
        let last = frames.iter().rfind(|frame| frame.data != "[DONE]").expect("an end");
        let last: Value = serde_json::from_str(&last.data).expect("it is JSON");
        let found = last.pointer(place).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{outcome:?} as {options:?}, {place}");
    }
}

#[test]
fn a_reply_that_was_cut_off_does_not_end_as_a_whole_one() {
    let table = [
        (0, "/metadata/finishedReason", json!("length"), Value::Null),
        (1, "/metadata/finishedReason", json!("length"), Value::Null),
        (2, "/finishReason", json!("length"), json!("stop")),
    ];
    let cut = || UiChange::Problem(RunProblem::cut_reply());
    for (index, place, when_cut, when_whole) in table {
        let (format, options) = voices().remove(index);
        let end_of = |changes: &[UiChange]| {
            let frames = encode(format, &options, changes);
            assert_eq!(judge::judge(format, &options, &frames), Ok(()));
            let last = frames.iter().rfind(|frame| frame.data != "[DONE]").expect("an end");
            let last: Value = serde_json::from_str(&last.data).expect("it is JSON");
            last.pointer(place).cloned().unwrap_or_default()
        };
        let step = |turn| UiChange::StepStarted { turn };
        let end = || ended(Outcome::Completed);
        assert_eq!(end_of(&[step(1), cut(), end()]), when_cut);
        // A later reply of the run is whole.
        assert_eq!(end_of(&[step(1), cut(), step(2), end()]), when_whole);
    }
}

#[test]
fn every_call_status_ends_as_its_format_requires() {
    let table = [
        (ToolStatus::Succeeded, "succeeded", "tool-output-available", "completed", "completed"),
        (ToolStatus::HandedOver, "handed_over", "tool-output-available", "completed", "completed"),
        (ToolStatus::Failed, "failed", "tool-output-error", "failed", "failed"),
        (ToolStatus::Denied, "denied", "tool-output-denied", "failed", "failed"),
        (ToolStatus::Cancelled, "cancelled", "tool-output-error", "failed", "cancelled"),
        (ToolStatus::Interrupted, "interrupted", "tool-output-error", "failed", "cancelled"),
        // A status that is not final ends the call as the worst case.
        (ToolStatus::Running, "interrupted", "tool-output-error", "failed", "cancelled"),
    ];
    for (status, agui, ai_sdk, acp, acp2) in table {
        let tool = ToolRef { call: SharedId::from("a"), turn: 1 };
        let content = RawJson::string("words");
        let change = UiChange::ToolSettled { tool, status, reason: None, content };
        let statuses = [agui, agui, ai_sdk, acp, acp2];
        for ((format, options), expected) in voices().into_iter().zip(statuses) {
            let frames = encode(format, &options, std::slice::from_ref(&change));
            let values = frames.iter().filter_map(|frame| serde_json::from_str(&frame.data).ok());
            let found: Vec<String> = values.filter_map(|value| end_of_call(&value)).collect();
            assert_eq!(found, [expected], "{status:?} as {options:?}");
        }
    }
}

#[test]
fn calls_handed_over_at_the_end_are_left_to_the_application() {
    let asks = "start\n step 1\n call b Ask\n call a Ask\n call c Bash\n \
                settle a handed_over \"later\"\n settle b handed_over \"later\"\n \
                settle c succeeded \"ok\"\n done 1\n";
    let table = [
        ("end completed", json!(["b", "a"]), vec!["c"]),
        ("end no_text", json!(["b", "a"]), vec!["c"]),
        // The model has seen that they were handed over.
        ("step 2\n say m On.\n end completed", Value::Null, vec!["c", "a", "b"]),
        ("say m On.\n end completed", Value::Null, vec!["c", "a", "b"]),
        // Only a successful run leaves calls to the application.
        ("end stopped", Value::Null, vec!["c", "a", "b"]),
        ("end max_turns", Value::Null, vec!["c", "a", "b"]),
        ("fail x Too many requests", Value::Null, vec!["c", "a", "b"]),
        ("call w Bash\n ask w ask1 approval\n end completed", Value::Null, vec!["c", "a", "b"]),
    ];
    for (rest, pending, with_result) in table {
        let changes = scenes::script::changes(&format!("{asks}{rest}"));
        let options = EncoderOptions::new(&SharedId::from("s"));
        let frames = encode(UiFormat::AgUi, &options, &changes);
        assert_eq!(judge::judge(UiFormat::AgUi, &options, &frames), Ok(()), "{}", told(&frames));
        let events: Vec<Value> =
            frames.iter().map(|frame| serde_json::from_str(&frame.data).expect("JSON")).collect();
        let end = events.last().expect("an end");
        let found = end.pointer("/outcome/pendingToolCallIds").cloned().unwrap_or_default();
        assert_eq!(found, pending, "{rest}");
        let results = events.iter().filter(|event| event["type"] == "TOOL_CALL_RESULT");
        let calls: Vec<&str> = results.filter_map(|event| event["toolCallId"].as_str()).collect();
        assert_eq!(calls, with_result, "{rest}");

        let older = EncoderOptions { agui: AgUiRevision::V0, ..options };
        let frames = encode(UiFormat::AgUi, &older, &changes);
        assert!(!told(&frames).contains("pendingToolCallIds"), "{rest}");
    }
}

#[test]
fn acp_2_shows_calls_that_started_and_wait_as_paused() {
    let table = [
        ("status a running", "in_progress", "in_progress"),
        // It has not started, so it is not paused.
        ("ask a ask1 approval\n status a awaiting_approval", "pending", "pending"),
        (
            "status a running\n ask a ask1 approval\n status a awaiting_approval",
            "pending",
            "paused",
        ),
        // Asking is what the tool does.
        ("ask a ask1 question\n status a awaiting_approval", "pending", "paused"),
        (
            "ask a ask1 question\n status a awaiting_approval\n reply a ask1 answered\n status a pending",
            "pending",
            "in_progress",
        ),
    ];
    for (rest, first, second) in table {
        let changes = scenes::script::changes(&format!(
            "start\n step 1\n open a Bash\n ready a {{}}\n {rest}"
        ));
        for (acp, expected) in [(AcpRevision::V1, first), (AcpRevision::V2, second)] {
            let options = EncoderOptions { acp, ..EncoderOptions::new(&SharedId::from("s")) };
            let frames = encode(UiFormat::Acp, &options, &changes);
            let values = frames.iter().map(|frame| serde_json::from_str::<Value>(&frame.data));
            let statuses: Vec<Value> = values
                .filter_map(|value| value.ok()?.pointer("/params/update/status").cloned())
                .collect();
            assert_eq!(statuses.last(), Some(&json!(expected)), "{rest} as {acp:?}");
        }
    }
}

#[test]
fn call_denied_after_it_settled_is_corrected_once() {
    let tool = ToolRef { call: SharedId::from("a"), turn: 1 };
    let (reason, content) = (None, RawJson::string("words"));
    let (failed, denied) = (ToolStatus::Failed, ToolStatus::Denied);
    let changes = [
        UiChange::ToolSettled {
            tool: tool.clone(),
            status: failed,
            reason,
            content: content.clone(),
        },
        UiChange::ToolCorrected {
            tool: tool.clone(),
            status: denied,
            reason,
            content: content.clone(),
        },
        UiChange::ToolCorrected { tool, status: denied, reason, content },
    ];
    for (format, options) in voices() {
        let before = encode(format, &options, &changes[..1]).len();
        let frames = encode(format, &options, &changes);
        assert_eq!(frames.len(), before + 1, "{format:?}");
        let is_denied = |frame: &&UiFrame| frame.data.contains(r#""status":"denied""#);
        assert_eq!(frames.iter().filter(is_denied).count(), 1, "{frames:?}");
    }
}

#[test]
fn encoder_ignores_other_runs() {
    let other = SharedId::from("other");
    let foreign = RunEffect::Show { run: other.clone(), change: text("x") };
    let own = RunEffect::Show { run: SharedId::from("r"), change: text("x") };
    for (run, expected) in [(None, 3), (Some(other), 4), (Some(SharedId::from("nobody")), 0)] {
        let options =
            EncoderOptions { run: run.clone(), ..EncoderOptions::new(&SharedId::from("s")) };
        let mut encoder = RunEncoder::new(UiFormat::AgUi, options);
        let mut frames = Vec::new();
        for effect in [&own, &foreign, &foreign] {
            encoder.push(effect, &mut frames);
        }
        assert_eq!(frames.len(), expected, "{run:?}");
    }
}

#[test]
fn jsonl_frames_are_events_with_their_sequence_number() {
    let run = SharedId::from("r");
    let mut event = RunEvent::new(&run, EventPayload::TurnStarted(TurnStart::default()));
    event.seq = Some(12);
    let mut encoder = RunEncoder::new(UiFormat::Jsonl, EncoderOptions::default());
    let mut frames = Vec::new();
    encoder.push(&RunEffect::Emit(event.clone()), &mut frames);
    encoder.push(&RunEffect::Show { run, change: ended(Outcome::Completed) }, &mut frames);
    encoder.finish(&mut frames);
    let expected = UiFrame { id: FrameId { seq: 12, part: 1 }, data: wire::write(&event) };
    assert_eq!(frames, [expected]);
}

#[test]
fn done_frame_is_sent_once_after_the_end() {
    let mut encoder = RunEncoder::new(UiFormat::AiSdk, EncoderOptions::default());
    let mut frames = Vec::new();
    encoder.finish(&mut frames);
    encoder.push(&RunEffect::Show { run: SharedId::from("r"), change: text("x") }, &mut frames);
    encoder.finish(&mut frames);
    let before = frames.len();
    let change = ended(Outcome::Completed);
    encoder.push(&RunEffect::Show { run: SharedId::from("r"), change }, &mut frames);
    encoder.finish(&mut frames);
    encoder.finish(&mut frames);
    let done: Vec<usize> =
        (0..).zip(&frames).filter(|it| it.1.data == "[DONE]").map(|it| it.0).collect();
    assert_eq!(done, [frames.len() - 1]);
    assert!(before < frames.len());
}

#[test]
fn acp_response_has_the_id_of_its_prompt() {
    let table = [
        (None, "\"r\""),
        (Some("7"), "7"),
        (Some("\"p-1\""), "\"p-1\""),
        // Not valid as JSON-RPC ids.
        (Some("null"), "\"r\""),
        (Some("1.5"), "\"r\""),
        (Some("{}"), "\"r\""),
    ];
    for (prompt, expected) in table {
        let prompt = prompt.and_then(RawJson::parse);
        let options = EncoderOptions { prompt: prompt.clone(), ..EncoderOptions::default() };
        let frames = encode(UiFormat::Acp, &options, &[ended(Outcome::Completed)]);
        let [response] = frames.as_slice() else { panic!("{}", told(&frames)) };
        let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{expected},\"result\":");
        assert!(response.data.starts_with(&start), "{prompt:?}: {}", response.data);
    }
}

#[test]
fn formats_have_names_and_headers() {
    for format in UiFormat::ALL {
        assert_eq!(UiFormat::from_name(format.name()), Some(format));
        assert_eq!(headers(format).first(), Some(&("content-type", content_type(format))));
    }
    assert_eq!(UiFormat::from_name("ag-ui"), Some(UiFormat::AgUi));
    assert_eq!(UiFormat::from_name("AGUI"), None);
}

fn voices() -> Vec<(UiFormat, EncoderOptions)> {
    let plain = EncoderOptions::new(&SharedId::from("s"));
    vec![
        (UiFormat::AgUi, EncoderOptions { agui: AgUiRevision::V0, ..plain.clone() }),
        (UiFormat::AgUi, EncoderOptions { agui: AgUiRevision::V1, ..plain.clone() }),
        (UiFormat::AiSdk, plain.clone()),
        (UiFormat::Acp, plain.clone()),
        (UiFormat::Acp, EncoderOptions { acp: AcpRevision::V2, ..plain }),
    ]
}

/// Encodes each change as if it had an event of its own.
fn encode(format: UiFormat, options: &EncoderOptions, changes: &[UiChange]) -> Vec<UiFrame> {
    let run = SharedId::from("r");
    let mut encoder = RunEncoder::new(format, options.clone());
    let mut frames = Vec::new();
    for (seq, change) in (1..).zip(changes) {
        let mut event = RunEvent::new(&run, EventPayload::Tasks(Vec::new()));
        event.seq = Some(seq);
        encoder.push(&RunEffect::Emit(event), &mut frames);
        encoder.push(&RunEffect::Show { run: run.clone(), change: change.clone() }, &mut frames);
    }
    encoder.finish(&mut frames);
    frames
}

fn text(content: &str) -> UiChange {
    UiChange::TextDelta(UiPart { id: SharedId::from("m"), parent: None }, content.to_owned())
}

fn ended(outcome: Outcome) -> UiChange {
    let ended = RunEnd { outcome: Some(outcome), ..RunEnd::default() };
    UiChange::RunEnded { ended, summary: RunSummary::default(), at: None }
}

/// The status or the chunk that ends a call, if the frame has one.
fn end_of_call(value: &Value) -> Option<String> {
    let kind = value["type"].as_str().unwrap_or_default();
    let found = match kind {
        "TOOL_CALL_RESULT" => value.pointer("/metadata/status"),
        // The result of a call that was handed over is held back.
        "CUSTOM" => value.pointer("/value/status"),
        _ if kind.starts_with("tool-output") => value.get("type"),
        _ => value.pointer("/params/update/status").filter(|status| *status != "pending"),
    };
    found?.as_str().map(str::to_owned)
}

fn told(frames: &[UiFrame]) -> String {
    frames.iter().map(|frame| format!("{} {}\n", frame.id, frame.data)).collect()
}
