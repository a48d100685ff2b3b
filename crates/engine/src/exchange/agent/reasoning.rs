//! What a model thought is sealed over everything that stood before it. An agent puts words of its
//! own there, and those no client knows: a history may have to go on without its thoughts.

use http::StatusCode;
use serde_json::Value;

use crate::{
    ApiError,
    guard::{RejectionClass, classify_rejection},
};

/// Whether a provider refused the thoughts in a history.
pub(super) fn is_about_reasoning(fault: &ApiError) -> bool {
    let refused = fault.status() == StatusCode::BAD_REQUEST;
    refused && matches!(classify_rejection(&fault.message), (RejectionClass::Shape(501..=503), _))
}

/// Takes out what the model thought; whether there was anything.
pub(super) fn remove_reasoning(history: &mut Value) -> bool {
    let mut any = false;
    let messages = history["messages"].as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
    for blocks in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()) {
        let before = blocks.len();
        blocks.retain(|block| {
            !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
        });
        any |= blocks.len() < before;
    }
    // A message that was nothing else has nothing left to say.
    if let Some(messages) = history["messages"].as_array_mut() {
        messages.retain(|message| message["content"].as_array().is_none_or(|it| !it.is_empty()));
    }
    any
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ApiErrorKind;

    #[test]
    fn a_history_goes_on_without_its_thoughts() {
        let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
        let mut history = json!({ "messages": [
            { "role": "user", "content": "think" },
            { "role": "assistant", "content": [thought, { "type": "text", "text": "a" }] },
            { "role": "assistant", "content": [{ "type": "redacted_thinking", "data": "x" }] },
        ] });
        assert!(remove_reasoning(&mut history));
        let rest = json!({ "messages": [
            { "role": "user", "content": "think" },
            { "role": "assistant", "content": [{ "type": "text", "text": "a" }] },
        ] });
        assert_eq!(history, rest);
        assert!(!remove_reasoning(&mut history));
    }

    #[test]
    fn only_a_refusal_of_thoughts_is_one() {
        let bound = "messages.5.content.0: Invalid `signature` in `thinking` block. The block is \
                     bound to a different conversation";
        let table = [
            (ApiErrorKind::InvalidRequest, bound, true),
            (ApiErrorKind::Upstream, bound, false),
            (ApiErrorKind::InvalidRequest, "max_tokens: Field required", false),
        ];
        for (kind, words, expected) in table {
            let fault = ApiError::new(kind, "agent_failed", words);
            assert_eq!(is_about_reasoning(&fault), expected, "{words}");
        }
    }
}
