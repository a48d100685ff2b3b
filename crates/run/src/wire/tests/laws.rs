//! Properties of every event.

use super::{super::write_into, generate::Dice, *};

#[test]
fn written_events_round_trip() {
    let mut dice = Dice::new(6);
    for round in 0..3_000 {
        let event = dice.event(round % Dice::BODIES);
        let text = write(&event);
        let parsed = read(&text);
        assert_eq!(parsed.as_ref(), Ok(&event), "round {round}: {text}");
        assert_eq!(parsed.map(|event| write(&event)), Ok(text), "round {round}");
    }
}

#[test]
fn every_event_is_one_json_object_on_one_line_without_null() {
    let mut dice = Dice::new(7);
    for round in 0..2_000 {
        let event = dice.event(round % Dice::BODIES);
        let mut text = String::from("before");
        write_into(&event, &mut text);
        let text = text.strip_prefix("before").unwrap_or("");
        assert!(!text.contains(['\n', '\r']), "{text}");
        // Raw values may be too deep to parse.
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
            let fields = value.as_object().expect("an object");
            let nulls = fields.iter().filter(|(key, value)| *key != "raw" && value.is_null());
            assert_eq!(nulls.count(), 0, "{text}");
            assert_eq!(fields.get("toolCallId"), fields.get("toolId"), "{text}");
        }
    }
}

#[test]
fn every_outcome_and_reason_pair_round_trips() {
    use ToolOutcome::*;
    let outcomes = [Ok, Error, Denied, TimedOut, Cancelled, Interrupted, Skipped, HandedOver];
    let names =
        ["timed_out", "skipped", "parent_closed", "run_ended", "called_off", "never_called"];
    let reasons = names.map(ToolStatusReason::from_name);
    for outcome in outcomes {
        for reason in reasons.into_iter().chain([None]) {
            let result = ToolResult { call: c(), name: None, outcome, reason, content: None };
            let event = plain(EventPayload::ToolResult(result));
            assert_eq!(read(&write(&event)), Result::Ok(event));
        }
    }
}

/// Values that an event cannot carry are left out, and stay so when it is written again.
#[test]
fn empty_values_are_left_out() {
    let empty_id = Some(id(""));
    let call = CallRef { id: empty_id.clone(), turn: None };
    let null = Some(json("null"));
    let table = [
        (
            RunEvent { seq: Some(0), ..plain(EventPayload::Stop(StopRequest::default())) },
            r#""stop","runId":"r","grace":0}"#,
        ),
        (
            RunEvent {
                seq: Some((1 << 53) + 1),
                unknown_word: empty_id,
                ..plain(EventPayload::Stop(StopRequest::default()))
            },
            r#""stop","runId":"r","grace":0}"#,
        ),
        (
            plain(EventPayload::ToolCancelled { call: call.clone() }),
            r#""tool-cancelled","runId":"r"}"#,
        ),
        (
            plain(EventPayload::TimedOut { call: Some(call.clone()) }),
            r#""timed-out","runId":"r","toolCallId":"","toolId":""}"#,
        ),
        (
            plain(EventPayload::ToolCall(ToolCallUpdate {
                call,
                input: null,
                status: Some(ToolStatus::Failed),
                ..ToolCallUpdate::default()
            })),
            r#""tool-call","runId":"r"}"#,
        ),
        (
            plain(EventPayload::ToolProgress { call: c(), content: json("[1,\r\n2]") }),
            r#""tool-progress","runId":"r","toolCallId":"c","toolId":"c","content":[1,  2]}"#,
        ),
    ];
    for (event, expected) in table {
        let text = write(&event);
        assert_eq!(text, format!("{{\"type\":{expected}"));
        assert_eq!(read(&text).map(|event| write(&event)), Ok(text));
    }
}
