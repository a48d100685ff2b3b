//! What a model thought is sealed over everything that stood before it. An agent puts words of its
//! own there, and those no client knows: a history may have to go on without its thoughts.

use http::StatusCode;
use serde_json::Value;

use crate::{
    Fault,
    guard::{Class, classify},
};

/// Whether a provider refused the thoughts in a history.
pub(super) fn is_about_thoughts(fault: &Fault) -> bool {
    let refused = fault.status() == StatusCode::BAD_REQUEST;
    refused && matches!(classify(&fault.message), (Class::Shape(501..=503), _))
}

/// Takes out what the model thought; whether there was anything.
pub(super) fn without_thoughts(history: &mut Value) -> bool {
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
    use crate::Kind;

    #[test]
    fn a_history_goes_on_without_its_thoughts() {
        let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
        let mut history = json!({ "messages": [
            { "role": "user", "content": "think" },
            { "role": "assistant", "content": [thought, { "type": "text", "text": "a" }] },
            { "role": "assistant", "content": [{ "type": "redacted_thinking", "data": "x" }] },
        ] });
        assert!(without_thoughts(&mut history));
        let rest = json!({ "messages": [
            { "role": "user", "content": "think" },
            { "role": "assistant", "content": [{ "type": "text", "text": "a" }] },
        ] });
        assert_eq!(history, rest);
        assert!(!without_thoughts(&mut history));
    }

    #[test]
    fn only_a_refusal_of_thoughts_is_one() {
        let bound = "messages.5.content.0: Invalid `signature` in `thinking` block. The block is \
                     bound to a different conversation";
        let table = [
            (Kind::Request, bound, true),
            (Kind::Upstream, bound, false),
            (Kind::Request, "max_tokens: Field required", false),
        ];
        for (kind, words, expected) in table {
            let fault = Fault::new(kind, "agent_failed", words);
            assert_eq!(is_about_thoughts(&fault), expected, "{words}");
        }
    }
}
