//! What the encoders promise, whatever comes in.

mod scenes;
mod random;
mod judge;

/// The scenes are also read elsewhere, where the crate has its own name.
mod run {
    pub(crate) use crate::*;
}

use serde_json::{Value, json};

use super::{Acp, AgUi, Encoder, Format, Frame, FrameId, Options, content_type, headers};
use crate::{
    Body, Change, Effect, Ended, Event, Id, Json, Outcome, Part, Status, Summary, ToolRef, Turn,
    wire,
};

#[test]
fn every_run_is_one_that_clients_take() {
    for scene in scenes::all() {
        for (format, options) in voices() {
            let frames = encode(format, &options, &scene.changes);
            let verdict = judge::judge(format, &options, &frames);
            assert_eq!(verdict, Ok(()), "{} as {options:?}\n{}", scene.name, told(&frames));
        }
    }
}

#[test]
fn a_client_sees_what_happened() {
    for scene in scenes::all() {
        for (format, options) in voices().into_iter().take(2) {
            let frames = encode(format, &options, &scene.changes);
            let read = |frame: &Frame| serde_json::from_str::<Value>(&frame.data).expect("JSON");
            let events: Vec<Value> = frames.iter().map(read).collect();
            let of = |kind: &'static str| events.iter().filter(move |it| it["type"] == kind);
            let theirs: Vec<&Value> = of("TEXT_MESSAGE_START")
                .filter(|it| it.get("subagentRunId").is_some())
                .map(|it| &it["messageId"])
                .collect();
            let said: String = of("TEXT_MESSAGE_CONTENT")
                .filter(|it| !theirs.contains(&&it["messageId"]))
                .filter_map(|it| it["delta"].as_str())
                .collect();
            assert_eq!(said, scene.text, "{}", scene.name);
            let answer = |id: &Value| {
                let answer = of("TOOL_CALL_RESULT").find(|it| it["toolCallId"] == *id)?;
                Status::from_name(answer.pointer("/metadata/status")?.as_str()?)
            };
            let call = |it: &Value| {
                let id = &it["toolCallId"];
                (id.as_str().unwrap_or_default().to_owned(), answer(id))
            };
            let calls: Vec<(String, Option<Status>)> = of("TOOL_CALL_START").map(call).collect();
            assert_eq!(calls, scene.calls, "{}", scene.name);
            let end = events.last().and_then(|it| it.pointer("/metadata/outcome"));
            assert_eq!(end, Some(&json!(scene.outcome.name())), "{}", scene.name);
        }
    }
}

#[test]
fn changes_in_any_order_make_a_run_that_clients_take() {
    for seed in 0..400 {
        let changes = random::changes(seed);
        for (format, options) in voices() {
            let frames = encode(format, &options, &changes);
            let verdict = judge::judge(format, &options, &frames);
            assert_eq!(verdict, Ok(()), "seed {seed} as {options:?}\n{}", told(&frames));
        }
    }
}

/// The judge is no judge if it takes everything.
#[test]
fn what_is_left_out_is_found() {
    let table = [
        (Format::AgUi, "\"RUN_STARTED\""),
        (Format::AgUi, "\"TEXT_MESSAGE_END\""),
        (Format::AgUi, "\"TOOL_CALL_END\""),
        (Format::AgUi, "\"TOOL_CALL_RESULT\""),
        (Format::AgUi, "\"STEP_FINISHED\""),
        (Format::AgUi, "\"REASONING_END\""),
        (Format::AgUi, "\"RUN_FINISHED\""),
        (Format::AiSdk, "\"start-step\""),
        (Format::AiSdk, "\"text-end\""),
        (Format::AiSdk, "\"tool-output-"),
        (Format::AiSdk, "\"finish\""),
        (Format::AiSdk, "[DONE]"),
        (Format::Acp, "\"tool_call\""),
        (Format::Acp, "\"completed\""),
        (Format::Acp, "\"id\""),
    ];
    let scenes = scenes::all();
    let scene = scenes.iter().find(|scene| scene.name == "parallel-tools").expect("a scene");
    for (format, words) in table {
        let options = Options::new(&Id::from("s"));
        let mut frames = encode(format, &options, &scene.changes);
        assert_eq!(judge::judge(format, &options, &frames), Ok(()));
        frames.retain(|frame| !frame.data.contains(words));
        assert!(judge::judge(format, &options, &frames).is_err(), "{words}");
    }
}

#[test]
fn frames_behind_an_id_are_the_same_when_they_are_made_again() {
    for scene in scenes::all() {
        for (format, options) in voices() {
            let frames = encode(format, &options, &scene.changes);
            let again = encode(format, &options, &scene.changes);
            for (at, frame) in frames.iter().enumerate() {
                let id: FrameId = frame.id.to_string().parse().expect("an id");
                let rest: Vec<&Frame> = again.iter().filter(|frame| frame.id > id).collect();
                assert_eq!(rest, frames.iter().skip(at + 1).collect::<Vec<_>>(), "{}", scene.name);
            }
        }
    }
}

#[test]
fn every_outcome_ends_as_its_standard_says() {
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
    for (voice, outcome, place, expected) in table {
        let (format, options) = voices().remove(voice);
        let frames = encode(format, &options, &[ended(outcome)]);
        let last = frames.iter().rfind(|frame| frame.data != "[DONE]").expect("an end");
        let last: Value = serde_json::from_str(&last.data).expect("it is JSON");
        let found = last.pointer(place).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{outcome:?} as {options:?}, {place}");
    }
}

#[test]
fn every_end_of_a_call_looks_as_its_standard_says() {
    let table = [
        (Status::Succeeded, "succeeded", "tool-output-available", "completed", "completed"),
        (Status::HandedOver, "handed_over", "tool-output-available", "completed", "completed"),
        (Status::Failed, "failed", "tool-output-error", "failed", "failed"),
        (Status::Denied, "denied", "tool-output-denied", "failed", "failed"),
        (Status::Cancelled, "cancelled", "tool-output-error", "failed", "cancelled"),
        (Status::Interrupted, "interrupted", "tool-output-error", "failed", "cancelled"),
        // What is no end is one here: the worst that it can mean.
        (Status::Running, "interrupted", "tool-output-error", "failed", "cancelled"),
    ];
    for (status, agui, ai_sdk, acp, acp2) in table {
        let tool = ToolRef { call: Id::from("a"), turn: 1 };
        let content = Json::string("words");
        let change = Change::ToolSettled { tool, status, reason: None, content };
        let told = [agui, agui, ai_sdk, acp, acp2];
        for ((format, options), expected) in voices().into_iter().zip(told) {
            let frames = encode(format, &options, std::slice::from_ref(&change));
            let values = frames.iter().filter_map(|frame| serde_json::from_str(&frame.data).ok());
            let found: Vec<String> = values.filter_map(|value| end_of_call(&value)).collect();
            assert_eq!(found, [expected], "{status:?} as {options:?}");
        }
    }
}

#[test]
fn a_call_that_was_denied_after_all_is_told_so_once_more() {
    let tool = ToolRef { call: Id::from("a"), turn: 1 };
    let (reason, content) = (None, Json::string("words"));
    let (failed, denied) = (Status::Failed, Status::Denied);
    let changes = [
        Change::ToolSettled {
            tool: tool.clone(),
            status: failed,
            reason,
            content: content.clone(),
        },
        Change::ToolCorrected {
            tool: tool.clone(),
            status: denied,
            reason,
            content: content.clone(),
        },
        Change::ToolCorrected { tool, status: denied, reason, content },
    ];
    for (format, options) in voices() {
        let before = encode(format, &options, &changes[..1]).len();
        let frames = encode(format, &options, &changes);
        assert_eq!(frames.len(), before + 1, "{format:?}");
        let behind = |frame: &&Frame| frame.data.contains(r#""status":"denied""#);
        assert_eq!(frames.iter().filter(behind).count(), 1, "{frames:?}");
    }
}

#[test]
fn an_encoder_speaks_for_one_run() {
    let other = Id::from("other");
    let foreign = Effect::Show { run: other.clone(), change: text("x") };
    let own = Effect::Show { run: Id::from("r"), change: text("x") };
    for (run, expected) in [(None, 3), (Some(other), 4), (Some(Id::from("nobody")), 0)] {
        let options = Options { run: run.clone(), ..Options::new(&Id::from("s")) };
        let mut encoder = Encoder::new(Format::AgUi, options);
        let mut frames = Vec::new();
        for effect in [&own, &foreign, &foreign] {
            encoder.push(effect, &mut frames);
        }
        assert_eq!(frames.len(), expected, "{run:?}");
    }
}

#[test]
fn events_are_lines_with_their_own_place() {
    let run = Id::from("r");
    let mut event = Event::new(&run, Body::Turn(Turn::default()));
    event.seq = Some(12);
    let mut encoder = Encoder::new(Format::Jsonl, Options::default());
    let mut frames = Vec::new();
    encoder.push(&Effect::Emit(event.clone()), &mut frames);
    encoder.push(&Effect::Show { run, change: ended(Outcome::Completed) }, &mut frames);
    encoder.finish(&mut frames);
    let expected = Frame { id: FrameId { seq: 12, part: 1 }, data: wire::write(&event) };
    assert_eq!(frames, [expected]);
}

#[test]
fn only_a_run_that_is_over_is_done() {
    let mut encoder = Encoder::new(Format::AiSdk, Options::default());
    let mut frames = Vec::new();
    encoder.finish(&mut frames);
    encoder.push(&Effect::Show { run: Id::from("r"), change: text("x") }, &mut frames);
    encoder.finish(&mut frames);
    let before = frames.len();
    let change = ended(Outcome::Completed);
    encoder.push(&Effect::Show { run: Id::from("r"), change }, &mut frames);
    encoder.finish(&mut frames);
    encoder.finish(&mut frames);
    let done: Vec<usize> =
        (0..).zip(&frames).filter(|it| it.1.data == "[DONE]").map(|it| it.0).collect();
    assert_eq!(done, [frames.len() - 1]);
    assert!(before < frames.len());
}

#[test]
fn the_answer_has_the_id_of_its_prompt() {
    let table = [
        (None, "\"r\""),
        (Some("7"), "7"),
        (Some("\"p-1\""), "\"p-1\""),
        // No ids in JSON-RPC.
        (Some("null"), "\"r\""),
        (Some("1.5"), "\"r\""),
        (Some("{}"), "\"r\""),
    ];
    for (prompt, expected) in table {
        let prompt = prompt.and_then(Json::parse);
        let options = Options { prompt: prompt.clone(), ..Options::default() };
        let frames = encode(Format::Acp, &options, &[ended(Outcome::Completed)]);
        let [answer] = frames.as_slice() else { panic!("{}", told(&frames)) };
        let start = format!("{{\"jsonrpc\":\"2.0\",\"id\":{expected},\"result\":");
        assert!(answer.data.starts_with(&start), "{prompt:?}: {}", answer.data);
    }
}

#[test]
fn formats_have_names_and_headers() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
        assert_eq!(headers(format).first(), Some(&("content-type", content_type(format))));
    }
    assert_eq!(Format::from_name("ag-ui"), Some(Format::AgUi));
    assert_eq!(Format::from_name("AGUI"), None);
}

fn voices() -> Vec<(Format, Options)> {
    let plain = Options::new(&Id::from("s"));
    vec![
        (Format::AgUi, plain.clone()),
        (Format::AgUi, Options { agui: AgUi::V1, ..plain.clone() }),
        (Format::AiSdk, plain.clone()),
        (Format::Acp, plain.clone()),
        (Format::Acp, Options { acp: Acp::V2, ..plain }),
    ]
}

/// Each change as if an event of its own had made it.
fn encode(format: Format, options: &Options, changes: &[Change]) -> Vec<Frame> {
    let run = Id::from("r");
    let mut encoder = Encoder::new(format, options.clone());
    let mut frames = Vec::new();
    for (seq, change) in (1..).zip(changes) {
        let mut event = Event::new(&run, Body::Tasks(Vec::new()));
        event.seq = Some(seq);
        encoder.push(&Effect::Emit(event), &mut frames);
        encoder.push(&Effect::Show { run: run.clone(), change: change.clone() }, &mut frames);
    }
    encoder.finish(&mut frames);
    frames
}

fn text(words: &str) -> Change {
    Change::TextDelta(Part { id: Id::from("m"), parent: None }, words.to_owned())
}

fn ended(outcome: Outcome) -> Change {
    let ended = Ended { outcome: Some(outcome), ..Ended::default() };
    Change::RunEnded { ended, summary: Summary::default(), at: None }
}

/// The status or the chunk that ends a call, if this is one.
fn end_of_call(value: &Value) -> Option<String> {
    let kind = value["type"].as_str().unwrap_or_default();
    let found = match kind {
        "TOOL_CALL_RESULT" => value.pointer("/metadata/status"),
        _ if kind.starts_with("tool-output") => value.get("type"),
        _ => value.pointer("/params/update/status").filter(|status| *status != "pending"),
    };
    found?.as_str().map(str::to_owned)
}

fn told(frames: &[Frame]) -> String {
    frames.iter().map(|frame| format!("{} {}\n", frame.id, frame.data)).collect()
}
