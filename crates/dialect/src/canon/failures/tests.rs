//! Failures in the form of every format.

use serde_json::{Value as Json, json};

use super::*;
use crate::json::Tape;

const KINDS: [Trouble; 9] = [
    Trouble::Request,
    Trouble::Credentials,
    Trouble::Permission,
    Trouble::NotFound,
    Trouble::TooLarge,
    Trouble::RateLimit,
    Trouble::Overloaded,
    Trouble::Timeout,
    Trouble::Server,
];

fn told(wire: Wire, json: &str) -> Failure<'static> {
    let tape = Tape::read(json).expect("JSON");
    let failure = read(wire, &tape.root(json).object().expect("an object"));
    Failure {
        kind: failure.kind,
        message: failure.message.to_static(),
        code: failure.code.map(|code| code.to_static()),
    }
}

fn written(wire: Wire, failure: &Failure<'_>) -> Json {
    let mut out = String::new();
    write(wire, failure, &mut out);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn every_kind_of_trouble_comes_back_from_every_format() {
    for wire in WIRES {
        for kind in KINDS {
            let failure = Failure { kind, message: "No \"way\"".into(), code: None };
            let body = written(wire, &failure);
            let error = if wire == Wire::Bedrock { &body } else { &body["error"] };
            let back = told(wire, &error.to_string());
            let vague = matches!(wire, Wire::Gemini | Wire::Bedrock);
            let expected = match kind {
                Trouble::TooLarge if vague => Trouble::Request,
                kind => kind,
            };
            assert_eq!((back.kind, &*back.message), (expected, "No \"way\""), "{body}");
        }
    }
}

#[test]
fn bodies_have_the_form_of_their_format() {
    let failure = Failure {
        kind: Trouble::RateLimit,
        message: "Slow down".into(),
        code: Some("rate_limit_error".into()),
    };
    let table = [
        (
            Wire::OpenaiChat,
            json!({"error": {"message": "Slow down", "type": "rate_limit_error", "param": null, "code": null}}),
        ),
        (
            Wire::Anthropic,
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}}),
        ),
        (
            Wire::Gemini,
            json!({"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}}),
        ),
        (Wire::Bedrock, json!({"message": "Slow down", "__type": "ThrottlingException"})),
    ];
    for (wire, body) in table {
        assert_eq!(written(wire, &failure), body);
        assert!(!loses(wire, &failure), "{wire:?}");
    }
    assert_eq!(written(Wire::OpenaiResponses, &failure), written(Wire::OpenaiChat, &failure));
}

#[test]
fn names_that_are_free_are_kept_and_others_are_lost() {
    let own = Failure {
        kind: Trouble::Request,
        message: "Too long".into(),
        code: Some("prompt_too_odd".into()),
    };
    let body = written(Wire::OpenaiChat, &own);
    assert_eq!(body["error"]["code"], "prompt_too_odd");
    assert_eq!(WIRES.map(|wire| loses(wire, &own)), [false, false, true, true, true]);
}

#[test]
fn trouble_is_recognised_by_its_names() {
    let table = [
        (
            Wire::OpenaiChat,
            r#"{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}"#,
            Trouble::Credentials,
            Some("invalid_api_key"),
        ),
        (
            Wire::OpenaiChat,
            r#"{"message":"m","type":"tokens","code":"rate_limit_exceeded"}"#,
            Trouble::RateLimit,
            Some("rate_limit_exceeded"),
        ),
        (
            Wire::OpenaiChat,
            r#"{"message":"m","type":"invalid_request_error","param":"x","code":null}"#,
            Trouble::Request,
            Some("invalid_request_error"),
        ),
        (Wire::OpenaiChat, r#"{"message":"m","code":429}"#, Trouble::RateLimit, Some("429")),
        (
            Wire::OpenaiChat,
            r#"{"message":"m","type":"BadRequestError","code":400}"#,
            Trouble::Request,
            Some("BadRequestError"),
        ),
        (
            Wire::OpenaiResponses,
            r#"{"message":"m","code":"server_error"}"#,
            Trouble::Server,
            Some("server_error"),
        ),
        (
            Wire::Anthropic,
            r#"{"message":"m","type":"overloaded_error"}"#,
            Trouble::Overloaded,
            Some("overloaded_error"),
        ),
        (
            Wire::Gemini,
            r#"{"message":"m","code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}"#,
            Trouble::Credentials,
            Some("INVALID_ARGUMENT"),
        ),
        (Wire::Gemini, r#"{"message":"m","code":503}"#, Trouble::Overloaded, Some("503")),
        (
            Wire::Bedrock,
            r#"{"Message":"m","__type":"com.amazon.coral.service#UnrecognizedClientException"}"#,
            Trouble::Credentials,
            Some("UnrecognizedClientException"),
        ),
        (
            Wire::Bedrock,
            r#"{"message":"m","__type":"throttlingException:http://a/"}"#,
            Trouble::RateLimit,
            Some("throttlingException"),
        ),
        (Wire::Bedrock, r#"{"message":"m"}"#, Trouble::Server, None),
    ];
    for (wire, json, kind, code) in table {
        let expected = Failure { kind, message: "m".into(), code: code.map(Words::from) };
        assert_eq!(told(wire, json), expected, "{json}");
    }
    assert_eq!(told(Wire::Anthropic, r#"{"type":3,"message":[]}"#).kind, Trouble::Server);
}
