//! Failures, there and back.

use super::*;
use crate::canon::{Failure, Trouble};

fn failure(body: &str, wire: Wire) -> Failure<'_> {
    match told(body, wire).outcome {
        Outcome::Failure(failure) => failure,
        Outcome::Reply(reply) => panic!("{reply:?}: {body}"),
    }
}

#[test]
fn failures_are_recognised_in_every_form() {
    let table = [
        (Wire::OpenaiChat, r#"{"error":{"message":"m","type":"server_error"}}"#),
        (Wire::OpenaiChat, r#"{"error":"m"}"#),
        (
            Wire::OpenaiChat,
            r#"{"object":"error","message":"m","type":"InternalServerError","code":500}"#,
        ),
        (
            Wire::OpenaiChat,
            r#"{"choices":[{"error":{"message":"m","code":502},"finish_reason":"error"}]}"#,
        ),
        (Wire::OpenaiResponses, r#"{"error":{"message":"m","type":"server_error","code":null}}"#),
        (
            Wire::OpenaiResponses,
            r#"{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}"#,
        ),
        (
            Wire::Anthropic,
            r#"{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"x"}"#,
        ),
        (Wire::Gemini, r#"{"error":{"code":500,"message":"m","status":"INTERNAL"}}"#),
        (Wire::Gemini, r#"[{"error":{"code":500,"message":"m","status":"INTERNAL"}}]"#),
        (Wire::Bedrock, r#"{"message":"m"}"#),
        (Wire::Bedrock, r#"{"Message":"m","__type":"com.amazonaws#InternalServerException"}"#),
    ];
    for (wire, body) in table {
        let failure = failure(body, wire);
        assert_eq!((failure.kind, &*failure.message), (Trouble::Server, "m"), "{body}");
    }
}

#[test]
fn a_failure_keeps_its_kind_and_its_words_in_every_format() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Over\"loaded\n"}}"#;
    for to in WIRES {
        let encoded = converted(body, Wire::Anthropic, to);
        let back = failure(&encoded.body, to);
        assert_eq!((back.kind, &*back.message), (Trouble::Overloaded, "Over\"loaded\n"));
        assert_eq!(encoded.losses, [], "{to:?}");
    }
    assert_eq!(json(&converted(body, Wire::Anthropic, Wire::Anthropic).body), json(body));
}

#[test]
fn a_name_that_a_format_does_not_have_is_lost() {
    let body = r#"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"odd_thing"}}"#;
    let encoded = converted(body, Wire::OpenaiChat, Wire::Anthropic);
    assert_eq!(lost(&encoded.losses), [Lost::Unknown]);
    assert_eq!(
        json(&encoded.body),
        json(r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"}}"#)
    );
    assert_eq!(json(&converted(body, Wire::OpenaiChat, Wire::OpenaiResponses).body), json(body));
}

#[test]
fn what_was_said_before_a_failure_is_noted() {
    let body = r#"{"status":"failed","error":{"code":"server_error","message":"m"},"output":[{"type":"reasoning"}]}"#;
    assert_eq!(lost(&told(body, Wire::OpenaiResponses).losses), [Lost::Unknown]);
}
