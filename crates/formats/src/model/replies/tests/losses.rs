//! Losses and their notes.

use super::*;
use crate::model::{PartNotes, StopReason};

#[test]
fn unsupported_fields_are_recorded_when_a_body_is_read() {
    let table = [
        (
            Format::OpenaiChat,
            r#"{"choices":[{"message":{"role":"assistant","content":"a","audio":{"id":"x"},"thinking_blocks":[1],"reasoning_content":7},
                "logprobs":{"content":[]}},{"message":{}}],"citations":["https://a.example"]}"#,
            vec!["candidates", "citation", "unknown", "media", "unknown", "unknown"],
        ),
        (
            Format::OpenaiResponses,
            r#"{"status":"completed","output":[{"type":"message","role":"assistant","phase":"commentary","content":7},5]}"#,
            vec!["unknown", "unknown", "unknown"],
        ),
        (
            Format::Anthropic,
            r#"{"content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio"},"container":{"id":"x"}}"#,
            vec!["stop-reason", "unknown"],
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"content":{"parts":7},"groundingMetadata":{"x":1},"finishMessage":"m","avgLogprobs":-0.5},{}]}"#,
            vec!["citation", "stop-reason", "unknown", "unknown", "candidates"],
        ),
        (Format::Gemini, r#"{"promptFeedback":{"blockReason":"JAILBREAK"}}"#, vec!["stop-reason"]),
        (
            Format::Bedrock,
            r#"{"output":{"message":{"content":[]}},"trace":{"guardrail":{"x":1}},"additionalModelResponseFields":{"x":1}}"#,
            vec!["unknown", "unknown"],
        ),
    ];
    for (format, body, expected) in table {
        let decoded = decoded(body, format);
        assert_eq!(names(&decoded.losses), expected, "{:?}", decoded.losses);
    }
}

#[test]
fn format_specific_content_is_lost_in_other_formats() {
    let table = [
        (
            Format::Anthropic,
            r#"{"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},
                {"type":"web_search_tool_result","tool_use_id":"s","content":[]},
                {"type":"text","text":"a","novelty":1},{"type":"hologram"}],"stop_reason":"end_turn"}"#,
            Format::OpenaiChat,
            vec!["server-call", "server-call", "unknown", "unknown"],
        ),
        (
            Format::OpenaiResponses,
            r#"{"status":"completed","output":[{"type":"web_search_call","id":"w"},{"type":"image_generation_call","result":"aGk="},
                {"type":"function_call","call_id":"x","name":"f","arguments":"{}","namespace":"n"},
                {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","logprobs":[{"token":"a"}]}]}]}"#,
            Format::Anthropic,
            vec!["server-call", "server-call", "unknown", "unknown"],
        ),
        (
            Format::Gemini,
            r#"{"candidates":[{"content":{"parts":[{"executableCode":{"code":"1"}},{"inlineData":{"mimeType":"image/png","data":"aGk="}},
                {"text":"a","thoughtSignature":"CiQB"}]},"finishReason":"STOP"}]}"#,
            Format::Bedrock,
            vec!["server-call", "media", "signature"],
        ),
        (
            Format::Bedrock,
            r#"{"output":{"message":{"content":[{"toolUse":{"toolUseId":"s","name":"n","input":{},"type":"server_tool_use"}},
                {"image":{"format":"png","source":{"bytes":"aGk="}}}]}},"stopReason":"end_turn"}"#,
            Format::Anthropic,
            vec!["server-call", "media"],
        ),
    ];
    for (from, body, to, expected) in table {
        let encoded = converted(body, from, to);
        assert_eq!(names(&encoded.losses), expected, "{:?}", encoded.losses);
        assert_eq!(converted(body, from, from).losses, []);
    }
}

#[test]
fn stop_reasons_without_an_equivalent_are_lost() {
    let table = [
        ("\"pause_turn\",\"stop_sequence\":null", [true, true, false, true, true]),
        ("\"stop_sequence\",\"stop_sequence\":\"END\"", [true, true, false, true, false]),
        ("\"stop_sequence\",\"stop_sequence\":null", [false; 5]),
        ("\"model_context_window_exceeded\"", [true, true, false, true, false]),
        ("\"refusal\"", [false; 5]),
        ("\"end_turn\"", [false; 5]),
        ("\"max_tokens\"", [false; 5]),
    ];
    for (stop, expected) in table {
        let body = format!("{{\"content\":[],\"stop_reason\":{stop}}}");
        let found = WIRES.map(|to| {
            lost(&converted(&body, Format::Anthropic, to).losses).contains(&LossKind::StopReason)
        });
        assert_eq!(found, expected, "{stop}");
    }
}

#[test]
fn a_refusal_is_marked_where_possible() {
    let notes = PartNotes { refusal: true, ..PartNotes::default() };
    let parts = vec![ModelPart::new(ContentPart::Text("No.".into())).with_notes(notes)];
    let outcome = ModelResponse::Reply(ModelReply {
        parts,
        stop: Some(StopReason::End),
        ..ModelReply::default()
    });
    for format in WIRES {
        let encoded = encode_reply(&outcome, format, "seed");
        let marked = matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
        assert_eq!(encoded.body.contains("\"refusal\":\"No.\""), marked, "{}", encoded.body);
        assert_eq!(lost(&encoded.losses), [LossKind::Refusal].repeat(usize::from(!marked)));
    }
}
