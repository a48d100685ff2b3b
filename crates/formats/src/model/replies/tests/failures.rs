//! Provider errors: round trips.

use super::*;
use crate::model::{ProviderError, ProviderErrorKind};
use serde_json::json;

fn failure(body: &str, format: Format) -> ProviderError<'_> {
    match decoded(body, format).outcome {
        ModelResponse::Error(failure) => failure,
        ModelResponse::Reply(reply) => panic!("{reply:?}: {body}"),
    }
}

#[test]
fn provider_errors_are_recognized_in_every_form() {
    let table = [
        (Format::OpenaiChat, r#"{"error":{"message":"m","type":"server_error"}}"#),
        (Format::OpenaiChat, r#"{"error":"m"}"#),
        (
            Format::OpenaiChat,
            r#"{"object":"error","message":"m","type":"InternalServerError","code":500}"#,
        ),
        (
            Format::OpenaiChat,
            r#"{"choices":[{"error":{"message":"m","code":502},"finish_reason":"error"}]}"#,
        ),
        (Format::OpenaiResponses, r#"{"error":{"message":"m","type":"server_error","code":null}}"#),
        (
            Format::OpenaiResponses,
            r#"{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}"#,
        ),
        (
            Format::Anthropic,
            r#"{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"x"}"#,
        ),
        (Format::Gemini, r#"{"error":{"code":500,"message":"m","status":"INTERNAL"}}"#),
        (Format::Gemini, r#"[{"error":{"code":500,"message":"m","status":"INTERNAL"}}]"#),
        (Format::Bedrock, r#"{"message":"m"}"#),
        (Format::Bedrock, r#"{"Message":"m","__type":"com.amazonaws#InternalServerException"}"#),
    ];
    for (format, body) in table {
        let failure = failure(body, format);
        assert_eq!((failure.kind, &*failure.message), (ProviderErrorKind::Server, "m"), "{body}");
    }
}

#[test]
fn a_provider_error_keeps_its_kind_and_message_in_every_format() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Over\"loaded\n"}}"#;
    for to in WIRES {
        let encoded = converted(body, Format::Anthropic, to);
        let back = failure(&encoded.body, to);
        assert_eq!((back.kind, &*back.message), (ProviderErrorKind::Overloaded, "Over\"loaded\n"));
        assert_eq!(encoded.losses, [], "{to:?}");
    }
    assert_eq!(json(&converted(body, Format::Anthropic, Format::Anthropic).body), json(body));
}

#[test]
fn an_error_name_unknown_to_the_format_is_lost() {
    let body = r#"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"odd_thing"}}"#;
    let encoded = converted(body, Format::OpenaiChat, Format::Anthropic);
    assert_eq!(lost(&encoded.losses), [LossKind::Unknown]);
    assert_eq!(
        json(&encoded.body),
        json(r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"}}"#)
    );
    assert_eq!(
        json(&converted(body, Format::OpenaiChat, Format::OpenaiResponses).body),
        json(body)
    );
}

#[test]
fn an_exhausted_quota_keeps_its_code_between_formats_of_openai() {
    let body = r#"{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    for from in [Format::OpenaiChat, Format::OpenaiResponses] {
        for to in [Format::OpenaiChat, Format::OpenaiResponses] {
            let encoded = converted(body, from, to);
            assert_eq!((json(&encoded.body), encoded.losses), (json(body), Vec::new()));
        }
    }
}

#[test]
fn output_before_an_error_is_recorded_as_a_loss() {
    let body = r#"{"status":"failed","error":{"code":"server_error","message":"m"},"output":[{"type":"reasoning"}]}"#;
    assert_eq!(lost(&decoded(body, Format::OpenaiResponses).losses), [LossKind::Unknown]);
}

#[test]
fn a_conversation_that_is_too_long_is_named_so_in_every_format() {
    let anthropic = "prompt is too long: 5 tokens > 4 maximum";
    let table = [
        (
            Format::Anthropic,
            json!({"type": "error",
                "error": {"type": "invalid_request_error", "message": anthropic}}),
        ),
        (
            Format::OpenaiChat,
            json!({"error": {"message": "m", "type": "invalid_request_error", "param": "messages",
                "code": "context_length_exceeded"}}),
        ),
        (
            Format::OpenaiChat,
            json!({"error": "This model's maximum context length is 4 tokens. However, your messages \
                resulted in 5 tokens. Please reduce the length of the messages."}),
        ),
        (
            Format::Gemini,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token \
                count (5) exceeds the maximum number of tokens allowed (4)."}}),
        ),
        (Format::Bedrock, json!({"__type": "ValidationException", "message": anthropic})),
        // Its kind is in a header.
        (Format::Bedrock, json!({"message": anthropic})),
    ];
    for (from, body) in table {
        let body = body.to_string();
        assert_eq!(failure(&body, from).kind, ProviderErrorKind::ContextOverflow, "{body}");
        for to in [Format::OpenaiChat, Format::OpenaiResponses] {
            let encoded = converted(&body, from, to);
            let error = json(&encoded.body)["error"].clone();
            let found = (&error["type"], &error["code"]);
            let expected = ("invalid_request_error".into(), "context_length_exceeded".into());
            assert_eq!(found, (&expected.0, &expected.1), "{body}");
            assert_eq!(encoded.losses, [], "{body}");
        }
        let encoded = converted(&body, from, Format::Anthropic);
        let error = json(&encoded.body)["error"].clone();
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("prompt is too long: "), "{message}");
        assert_eq!(message.matches("prompt is too long").count(), 1, "{message}");
        assert_eq!(
            (error["type"].as_str(), encoded.losses.len()),
            (Some("invalid_request_error"), 0)
        );
    }
    let other = json!({"error": {"message": "the prompt is odd", "type": "invalid_request_error",
        "code": null}});
    let other = other.to_string();
    assert_eq!(failure(&other, Format::OpenaiChat).kind, ProviderErrorKind::InvalidRequest);
}
