//! A reasoning block is signed over everything before it, including the agent's own prompt, which
//! clients do not have. So a history may have to continue without its reasoning blocks.

use foxwedge_agents::BridgeError;
use foxwedge_upstream::{RejectionClass, classify_rejection};
use serde_json::Value;

/// Whether a provider refused the reasoning blocks of a history.
pub(super) fn is_about_reasoning(error: &BridgeError) -> bool {
    error.status == 400
        && matches!(classify_rejection(&error.message), (RejectionClass::Shape(501..=503), _))
}

/// Removes the reasoning blocks. Returns whether there were any.
pub(super) fn remove_reasoning(history: &mut Value) -> bool {
    let mut removed = false;
    let messages = history["messages"].as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
    for blocks in messages.iter_mut().filter_map(|message| message["content"].as_array_mut()) {
        let before = blocks.len();
        blocks.retain(|block| {
            !matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
        });
        removed |= blocks.len() < before;
    }
    // Messages that contained only reasoning are now empty.
    if let Some(messages) = history["messages"].as_array_mut() {
        messages.retain(|message| message["content"].as_array().is_none_or(|it| !it.is_empty()));
    }
    removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasoning_blocks_are_removed_from_a_history() {
        let reasoning = json!({ "type": "thinking", "thinking": "hm", "signature": "s" });
        let mut history = json!({ "messages": [
            { "role": "user", "content": "think" },
            { "role": "assistant", "content": [reasoning, { "type": "text", "text": "a" }] },
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
    fn only_errors_about_reasoning_blocks_match() {
        let bound = "messages.5.content.0: Invalid `signature` in `thinking` block. The block is \
                     bound to a different conversation";
        let table =
            [(400, bound, true), (502, bound, false), (400, "max_tokens: Field required", false)];
        for (status, message, expected) in table {
            let message = message.to_owned();
            let error = BridgeError { status, code: "agent_failed", message };
            assert_eq!(is_about_reasoning(&error), expected, "{error:?}");
        }
    }
}
