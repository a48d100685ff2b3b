//! The path of a request, as each kind of provider has it.

use std::fmt::Write as _;

use foxwedge_core::Wire;

use crate::Face;

/// The path behind the prefix of a base address.
pub(super) fn path(version: &str, face: Face, wire: Wire, model: &str, stream: bool) -> String {
    match wire {
        Wire::OpenaiChat => format!("{version}/chat/completions"),
        Wire::OpenaiResponses => format!("{version}/responses"),
        Wire::Anthropic => {
            let count = if face == Face::CountTokens { "/count_tokens" } else { "" };
            format!("{version}/messages{count}")
        }
        Wire::Gemini => {
            let what = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            let model = model.strip_prefix("models/").unwrap_or(model);
            format!("{version}/models/{}:{what}", escaped(model))
        }
        Wire::Bedrock => {
            let what = if stream { "converse-stream" } else { "converse" };
            format!("{version}/model/{}/{what}", escaped(model))
        }
    }
}

/// A name as one part of a path: a model's name comes from a client, and leads nowhere else.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    // A part of dots would climb.
    if out.bytes().all(|byte| byte == b'.') { out.replace('.', "%2E") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_leads_nowhere_but_to_its_endpoint() {
        use Wire::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        let table = [
            ("/v1", Face::Chat, OpenaiChat, false, "/v1/chat/completions"),
            ("", Face::Chat, OpenaiChat, true, "/chat/completions"),
            ("/v1", Face::Responses, OpenaiResponses, false, "/v1/responses"),
            ("/v1", Face::Messages, Anthropic, true, "/v1/messages"),
            ("/v1", Face::CountTokens, Anthropic, false, "/v1/messages/count_tokens"),
            ("/v1beta", Face::Chat, Gemini, false, "/v1beta/models/a%2F..%3Fb:generateContent"),
            (
                "/v1beta",
                Face::Chat,
                Gemini,
                true,
                "/v1beta/models/a%2F..%3Fb:streamGenerateContent?alt=sse",
            ),
        ];
        for (version, face, wire, stream, expected) in table {
            assert_eq!(path(version, face, wire, "a/..?b", stream), expected);
        }
        assert_eq!(escaped(".."), "%2E%2E");
    }
}
