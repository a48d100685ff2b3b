//! Thinking, signatures and reasoning items.

use super::{WordingGroup, advice, rule};

pub(super) const GROUPS: &[WordingGroup] = &[
    rule(
        502,
        &[],
        &advice::THINKING_FIRST,
        &[
            ("anthropic", &["Expected thinking or redacted_thinking, but found"]),
            ("anthropic", &["assistant message must start with a thinking block"]),
        ],
    ),
    rule(
        503,
        &[],
        &advice::BOUND_SIGNATURE,
        &[
            ("anthropic", &["signature in thinking block", "bound to a different conversation"]),
            ("anthropic", &["thinking.block_binding.prefix_mismatch_behavior"]),
            ("anthropic", &["prefix_binding_mismatch"]),
        ],
    ),
    rule(
        503,
        &[501, 502],
        &advice::SIGNATURE,
        &[
            ("anthropic", &["Invalid signature in thinking block"]),
            ("anthropic", &["redacted_thinking blocks in the latest assistant message cannot be"]),
            ("anthropic", &["thinking.signature: Field required"]),
            ("anthropic", &["thinking.signature", "Input should be a valid string"]),
            ("anthropic", &["each thinking block must contain thinking"]),
            ("anthropic", &["thinking blocks cannot be modified"]),
        ],
    ),
    rule(
        501,
        &[],
        &advice::DETACHED,
        &[
            ("anthropic", &["final block in an assistant message cannot be thinking"]),
            ("openai", &["of type 'reasoning' was provided without its required following item"]),
            ("openai", &["was provided without its required following item"]),
        ],
    ),
    rule(
        501,
        &[206],
        &advice::WANTS_REASONING,
        &[("openai", &["was provided without its required 'reasoning' item"])],
    ),
    rule(502, &[], &advice::THOUGHT_SIGNATURE, &[("gemini", &["missing a thought_signature"])]),
    rule(
        502,
        &[],
        &advice::WRONG_THOUGHT_SIGNATURE,
        &[
            ("gemini", &["Corrupted thought signature"]),
            ("gemini", &["Invalid thought signature"]),
            ("gemini", &["Thought signature is not valid"]),
        ],
    ),
    rule(
        502,
        &[],
        &advice::REASONING_CONTENT,
        &[
            ("deepseek", &["reasoning_content", "must be passed back"]),
            ("deepseek", &["Missing reasoning_content field in the assistant message"]),
            ("kimi", &["reasoning_content is missing in assistant tool call message"]),
        ],
    ),
    rule(
        502,
        &[103],
        &advice::REASONING_TEXT,
        &[("deepseek", &["reasoning_text", "must be passed back"])],
    ),
];
