//! Provider errors: round trips.

use super::*;
use crate::model::{ProviderError, ProviderErrorKind};

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
fn output_before_an_error_is_recorded_as_a_loss() {
    let body = r#"{"status":"failed","error":{"code":"server_error","message":"m"},"output":[{"type":"reasoning"}]}"#;
    assert_eq!(lost(&decoded(body, Format::OpenaiResponses).losses), [LossKind::Unknown]);
}
