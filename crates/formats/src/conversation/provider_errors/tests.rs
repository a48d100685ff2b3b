//! Provider errors in every format.

use serde_json::{Value as Json, json};

use super::*;
use foxwedge_json::JsonTape;

const KINDS: [ProviderErrorKind; 10] = [
    ProviderErrorKind::InvalidRequest,
    ProviderErrorKind::ContextOverflow,
    ProviderErrorKind::Authentication,
    ProviderErrorKind::Permission,
    ProviderErrorKind::NotFound,
    ProviderErrorKind::TooLarge,
    ProviderErrorKind::RateLimit,
    ProviderErrorKind::Overloaded,
    ProviderErrorKind::Timeout,
    ProviderErrorKind::Server,
];

fn parsed(format: Format, json: &str) -> ProviderError<'static> {
    let tape = JsonTape::read(json).expect("JSON");
    let failure = read(format, &tape.root(json).object().expect("an object"));
    ProviderError {
        kind: failure.kind,
        message: failure.message.to_static(),
        code: failure.code.map(|code| code.to_static()),
    }
}

fn written(format: Format, failure: &ProviderError<'_>) -> Json {
    let mut out = String::new();
    write(format, failure, &mut out);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn every_error_kind_round_trips_through_every_format() {
    for format in Format::ALL {
        for kind in KINDS {
            let failure = ProviderError { kind, message: "No \"way\"".into(), code: None };
            let body = written(format, &failure);
            let error = if format == Format::Bedrock { &body } else { &body["error"] };
            let back = parsed(format, &error.to_string());
            let vague =
                matches!(format, Format::Gemini | Format::GeminiInteractions | Format::Bedrock);
            let expected = match kind {
                ProviderErrorKind::TooLarge | ProviderErrorKind::ContextOverflow if vague => {
                    ProviderErrorKind::InvalidRequest
                }
                kind => kind,
            };
            let text = match (format, kind) {
                (Format::Anthropic, ProviderErrorKind::ContextOverflow) => {
                    "prompt is too long: No \"way\""
                }
                (_, _) => "No \"way\"",
            };
            assert_eq!((back.kind, &*back.message), (expected, text), "{body}");
        }
    }
}

#[test]
fn error_bodies_match_their_format() {
    let failure = ProviderError {
        kind: ProviderErrorKind::RateLimit,
        message: "Slow down".into(),
        code: Some("rate_limit_error".into()),
    };
    let table = [
        (
            Format::OpenaiChat,
            json!({"error": {"message": "Slow down", "type": "rate_limit_error", "param": null, "code": null}}),
        ),
        (
            Format::Anthropic,
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down"}}),
        ),
        (
            Format::Gemini,
            json!({"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}}),
        ),
        (Format::Bedrock, json!({"message": "Slow down", "__type": "ThrottlingException"})),
    ];
    for (wire, body) in table {
        assert_eq!(written(wire, &failure), body);
        assert!(!loses_name(wire, &failure), "{wire:?}");
    }
    assert_eq!(written(Format::OpenaiResponses, &failure), written(Format::OpenaiChat, &failure));
}

#[test]
fn unrestricted_error_names_are_kept_and_others_are_lost() {
    let own = ProviderError {
        kind: ProviderErrorKind::InvalidRequest,
        message: "Too long".into(),
        code: Some("prompt_too_odd".into()),
    };
    let body = written(Format::OpenaiChat, &own);
    assert_eq!(body["error"]["code"], "prompt_too_odd");
    let lost = Format::ALL.map(|format| loses_name(format, &own));
    assert_eq!(lost, [false, false, true, true, true, true]);
}

#[test]
fn errors_are_recognized_by_their_names() {
    let table = [
        (
            Format::OpenaiChat,
            r#"{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}"#,
            ProviderErrorKind::Authentication,
            Some("invalid_api_key"),
        ),
        (
            Format::OpenaiChat,
            r#"{"message":"m","type":"tokens","code":"rate_limit_exceeded"}"#,
            ProviderErrorKind::RateLimit,
            Some("rate_limit_exceeded"),
        ),
        (
            Format::OpenaiChat,
            r#"{"message":"m","type":"invalid_request_error","param":"x","code":null}"#,
            ProviderErrorKind::InvalidRequest,
            Some("invalid_request_error"),
        ),
        (
            Format::OpenaiChat,
            r#"{"message":"m","code":429}"#,
            ProviderErrorKind::RateLimit,
            Some("429"),
        ),
        (
            Format::OpenaiChat,
            r#"{"message":"m","type":"BadRequestError","code":400}"#,
            ProviderErrorKind::InvalidRequest,
            Some("BadRequestError"),
        ),
        (
            Format::OpenaiResponses,
            r#"{"message":"m","code":"server_error"}"#,
            ProviderErrorKind::Server,
            Some("server_error"),
        ),
        (
            Format::Anthropic,
            r#"{"message":"m","type":"overloaded_error"}"#,
            ProviderErrorKind::Overloaded,
            Some("overloaded_error"),
        ),
        (
            Format::Gemini,
            r#"{"message":"m","code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}"#,
            ProviderErrorKind::Authentication,
            Some("INVALID_ARGUMENT"),
        ),
        (
            Format::Gemini,
            r#"{"message":"m","code":503}"#,
            ProviderErrorKind::Overloaded,
            Some("503"),
        ),
        (
            Format::Bedrock,
            r#"{"Message":"m","__type":"com.amazon.coral.service#UnrecognizedClientException"}"#,
            ProviderErrorKind::Authentication,
            Some("UnrecognizedClientException"),
        ),
        (
            Format::Bedrock,
            r#"{"message":"m","__type":"throttlingException:http://a/"}"#,
            ProviderErrorKind::RateLimit,
            Some("throttlingException"),
        ),
        (Format::Bedrock, r#"{"message":"m"}"#, ProviderErrorKind::Server, None),
    ];
    for (format, json, kind, code) in table {
        let error = parsed(format, json);
        let found = (error.kind, &*error.message, error.code.as_deref());
        assert_eq!(found, (kind, "m", code), "{json}");
    }
    assert_eq!(
        parsed(Format::Anthropic, r#"{"type":3,"message":[]}"#).kind,
        ProviderErrorKind::Server
    );
}

#[test]
fn errors_between_formats_of_openai_keep_type_parameter_and_code() {
    let table = [
        json!({"type": "insufficient_quota", "param": null, "code": "insufficient_quota"}),
        json!({"type": "invalid_request_error", "param": null, "code": null}),
        json!({"type": "invalid_request_error", "param": "messages[1]", "code": "invalid_value"}),
        json!({"type": "tokens", "param": null, "code": "rate_limit_exceeded"}),
        json!({"type": "BadRequestError", "param": null, "code": 400}),
        json!({"type": "odd \"type\"", "param": "\u{e9}", "code": "a:b#c"}),
    ];
    for fields in table {
        let mut error = fields.clone();
        error["message"] = json!("m");
        let pretty = serde_json::to_string_pretty(&error).expect("JSON");
        for from in [Format::OpenaiChat, Format::OpenaiResponses] {
            let mut failure = parsed(from, &pretty);
            for to in [Format::OpenaiChat, Format::OpenaiResponses] {
                assert_eq!(written(to, &failure)["error"], error);
            }
            // The status of the response says more than the name.
            failure.kind = ProviderErrorKind::Authentication;
            assert_eq!(written(Format::OpenaiChat, &failure)["error"], error);
            let anthropic = written(Format::Anthropic, &failure);
            assert_eq!(anthropic["error"]["type"], "authentication_error");
        }
    }
}

#[test]
fn missing_and_odd_fields_of_an_error_are_filled_in() {
    let table = [
        (json!({"code": "server_error"}), json!(["server_error", null, "server_error"])),
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "param": null}),
            json!(["rate_limit_error", null, "rate_limit_exceeded"]),
        ),
        (json!({"type": 7, "code": "x", "param": {"a": [1]}}), json!(["server_error", null, "x"])),
        (json!({"param": "p"}), json!(["server_error", null, null])),
        (
            json!({"type": "BadRequestError", "param": "p", "code": 400,
                "message": "This model's maximum context length is 5 tokens."}),
            json!(["BadRequestError", "p", "context_length_exceeded"]),
        ),
    ];
    for (fields, expected) in table {
        let failure = parsed(Format::OpenaiResponses, &fields.to_string());
        let error = written(Format::OpenaiChat, &failure)["error"].clone();
        assert_eq!(json!([error["type"], error["param"], error["code"]]), expected, "{fields}");
    }
}
