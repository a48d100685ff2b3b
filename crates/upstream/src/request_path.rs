//! What is requested from an upstream, and the path for it in each provider's API.

use std::{collections::HashMap, fmt::Write as _};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{change_fields, text};
use serde::de::IgnoredAny;

/// What is requested from an upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpstreamOperation {
    /// A reply.
    Generate,
    /// The number of tokens in the request.
    CountTokens,
}

/// The path after the prefix of a base URL.
pub(crate) fn request_path(
    version: &str,
    operation: UpstreamOperation,
    format: Format,
    model: &str,
    stream: bool,
) -> String {
    match format {
        Format::OpenaiChat => format!("{version}/chat/completions"),
        Format::OpenaiResponses => format!("{version}/responses"),
        Format::Anthropic => {
            let count =
                if operation == UpstreamOperation::CountTokens { "/count_tokens" } else { "" };
            format!("{version}/messages{count}")
        }
        Format::GeminiInteractions => format!("{version}/interactions"),
        Format::Gemini => {
            let method = gemini_method(operation, stream);
            let model = model.strip_prefix("models/").unwrap_or(model);
            format!("{version}/models/{}:{method}", escape_segment(model))
        }
        Format::Bedrock => {
            let method = if stream { "converse-stream" } else { "converse" };
            format!("{version}/model/{}/{method}", escape_segment(model))
        }
    }
}

/// The method of Gemini's models for an operation.
pub(crate) fn gemini_method(operation: UpstreamOperation, stream: bool) -> &'static str {
    match (operation, stream) {
        (UpstreamOperation::CountTokens, _) => "countTokens",
        (UpstreamOperation::Generate, true) => "streamGenerateContent?alt=sse",
        (UpstreamOperation::Generate, false) => "generateContent",
    }
}

/// The body of a request to count tokens. Gemini's own API takes only `contents`, or a whole request
/// in a field.
pub(crate) fn count_body(format: Format, model: &str, body: Bytes) -> Bytes {
    let Some(source) = text(&body).ok().filter(|_| format == Format::Gemini) else { return body };
    let fields = serde_json::from_str::<HashMap<&str, IgnoredAny>>(source);
    if fields.is_ok_and(|fields| fields.keys().all(|key| *key == "contents")) {
        return body;
    }
    let name = model.strip_prefix("models/").unwrap_or(model);
    let name = serde_json::Value::from(format!("models/{name}")).to_string();
    let request = change_fields(source, &[], &[("model", &name)]);
    format!("{{\"generateContentRequest\":{request}}}").into()
}

/// Escapes a name as one path segment: a client chooses the model name, so it must not change the
/// path.
pub(crate) fn escape_segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    // A segment of dots would be a relative path.
    if out.bytes().all(|byte| byte == b'.') { out.replace('.', "%2E") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_cannot_change_the_path() {
        use Format::{Anthropic, Gemini, GeminiInteractions, OpenaiChat, OpenaiResponses};
        let table = [
            ("/v1", UpstreamOperation::Generate, OpenaiChat, false, "/v1/chat/completions"),
            ("", UpstreamOperation::Generate, OpenaiChat, true, "/chat/completions"),
            ("/v1", UpstreamOperation::Generate, OpenaiResponses, false, "/v1/responses"),
            ("/v1", UpstreamOperation::Generate, Anthropic, true, "/v1/messages"),
            ("/v1", UpstreamOperation::CountTokens, Anthropic, false, "/v1/messages/count_tokens"),
            (
                "/v1beta",
                UpstreamOperation::CountTokens,
                Gemini,
                false,
                "/v1beta/models/a%2F..%3Fb:countTokens",
            ),
            (
                "/v1beta",
                UpstreamOperation::Generate,
                GeminiInteractions,
                true,
                "/v1beta/interactions",
            ),
            (
                "/v1beta",
                UpstreamOperation::Generate,
                Gemini,
                false,
                "/v1beta/models/a%2F..%3Fb:generateContent",
            ),
            (
                "/v1beta",
                UpstreamOperation::Generate,
                Gemini,
                true,
                "/v1beta/models/a%2F..%3Fb:streamGenerateContent?alt=sse",
            ),
        ];
        for (version, operation, format, stream, expected) in table {
            assert_eq!(request_path(version, operation, format, "a/..?b", stream), expected);
        }
        assert_eq!(escape_segment(".."), "%2E%2E");
    }
}
