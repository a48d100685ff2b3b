//! Paths, bodies and keys of each platform.

use super::*;

fn azure(api_version: Option<&str>) -> CloudPlatform {
    CloudPlatform::Azure { api_version: api_version.map(Into::into) }
}

#[test]
fn every_platform_has_its_own_paths() {
    use Format::{Anthropic, Bedrock, Gemini, OpenaiChat, OpenaiResponses};
    use UpstreamOperation::{CountTokens, Generate};
    let dated = azure(Some("2024-10-21"));
    let vertex = CloudPlatform::Vertex;
    let table = [
        (
            &dated,
            Generate,
            OpenaiChat,
            "my gpt/4",
            true,
            Some("/o/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21"),
        ),
        (&dated, Generate, OpenaiResponses, "g", true, Some("/o/responses?api-version=2024-10-21")),
        (&azure(None), Generate, OpenaiChat, "gpt-4o", true, None),
        (
            &vertex,
            Generate,
            Anthropic,
            "claude-sonnet-4-5@20250929",
            true,
            Some("/o/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict"),
        ),
        (
            &vertex,
            Generate,
            Anthropic,
            "../x",
            false,
            Some("/o/publishers/anthropic/models/..%2Fx:rawPredict"),
        ),
        (
            &vertex,
            CountTokens,
            Anthropic,
            "claude-x",
            false,
            Some("/o/publishers/anthropic/models/count-tokens:rawPredict"),
        ),
        (
            &vertex,
            Generate,
            Gemini,
            "publishers/google/models/gemini-3-pro",
            true,
            Some("/o/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse"),
        ),
        (
            &vertex,
            CountTokens,
            Gemini,
            "gemini-3-pro",
            false,
            Some("/o/publishers/google/models/gemini-3-pro:countTokens"),
        ),
        (
            &vertex,
            Generate,
            OpenaiChat,
            "meta/llama",
            false,
            Some("/o/endpoints/openapi/chat/completions"),
        ),
        (&CloudPlatform::Bedrock, Generate, Bedrock, "m:0", false, None),
    ];
    for (platform, operation, format, model, stream, expected) in table {
        let call = ModelCall { operation, format, model, stream };
        assert_eq!(platform.request_path("/o", call).as_deref(), expected, "{model}");
    }
    let forwarded = dated.forwarded_path("/o", "/embeddings", Some("e"));
    assert_eq!(forwarded, "/o/deployments/e/embeddings?api-version=2024-10-21");
    let forwarded = dated.forwarded_path("/o", "/files", None);
    assert_eq!(forwarded, "/o/files?api-version=2024-10-21");
    let forwarded = vertex.forwarded_path("/o", "/models/e:predict", Some("e"));
    assert_eq!(forwarded, "/o/publishers/google/models/e:predict");
}

#[test]
fn a_body_changes_only_where_the_platform_wants_that() {
    let body =
        r#" {"model": "m",  "modelId":"m","anthropic_version":"x","messages" : [ ],"s":1e2}"#;
    let changed = |platform: &CloudPlatform, operation, format| {
        let call = ModelCall { operation, format, model: "m", stream: false };
        let bytes = platform.platform_body(call, Bytes::from_static(body.as_bytes()));
        String::from_utf8(bytes.to_vec()).expect("text")
    };
    let vertex = &CloudPlatform::Vertex;
    assert_eq!(
        changed(vertex, UpstreamOperation::Generate, Format::Anthropic),
        r#"{"modelId":"m","anthropic_version":"vertex-2023-10-16","messages" : [ ],"s":1e2}"#
    );
    assert_eq!(
        changed(vertex, UpstreamOperation::CountTokens, Format::Anthropic),
        r#"{"model": "m",  "modelId":"m","anthropic_version":"vertex-2023-10-16","messages" : [ ],"s":1e2}"#
    );
    assert_eq!(
        changed(&CloudPlatform::Bedrock, UpstreamOperation::Generate, Format::Bedrock),
        r#"{"model": "m","anthropic_version":"x","messages" : [ ],"s":1e2}"#
    );
    for (platform, format) in [(vertex, Format::Gemini), (&azure(None), Format::OpenaiChat)] {
        assert_eq!(changed(platform, UpstreamOperation::Generate, format), body);
    }
}

#[test]
fn a_key_is_sent_as_the_platform_expects_it() {
    let table = [
        (azure(None), "0123abcd", "api-key: 0123abcd"),
        (azure(None), "eyJ0.eyJ1.sig", "authorization: Bearer eyJ0.eyJ1.sig"),
        (CloudPlatform::Vertex, "ya29.token", "authorization: Bearer ya29.token"),
        (CloudPlatform::Vertex, "AIzaKey", "x-goog-api-key: AIzaKey"),
        (CloudPlatform::Bedrock, "bedrock-api-key-x", "authorization: Bearer bedrock-api-key-x"),
    ];
    for (platform, secret, expected) in table {
        let (name, value) = platform.key_header(secret);
        assert_eq!(format!("{name}: {value}"), expected);
    }
    assert_eq!(vertex_url("us-east5"), "https://us-east5-aiplatform.googleapis.com");
    assert_eq!(vertex_url("global"), "https://aiplatform.googleapis.com");
    assert_eq!(vertex_url("eu"), "https://aiplatform.eu.rep.googleapis.com");
    assert_eq!(bedrock_url("us-east-1"), "https://bedrock-runtime.us-east-1.amazonaws.com");
}
