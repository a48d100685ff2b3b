//! Rules 304 to 306 and 310: which block may stand in which message, and in which order.

use serde_json::Value;

use super::reading::{Block, Kind, Layout, Role};
use super::{Case, Profile::*, Rule};
use crate::dialect::Dialect;

pub(super) const RULES: &[Rule] = &[
    (304, misplaced_block),
    (305, answer_after_text),
    (306, content_after_call),
    (310, shared_answer_message),
];

fn misplaced_block(case: &Case<'_>) -> Vec<String> {
    match case.reading.layout {
        Layout::Blocks => case.blocks(|message, at| {
            let message = &case.reading.messages[message];
            match message.blocks[at].kind {
                Kind::Call => message.role != Role::Assistant,
                Kind::Answer => message.role == Role::Assistant,
                Kind::Reasoning => message.role == Role::User,
                Kind::Text | Kind::ServerCall | Kind::ServerAnswer | Kind::Other => false,
            }
        }),
        Layout::Chat => case.messages(|index| {
            let message = &case.reading.messages[index];
            let calls = message.field("tool_calls").and_then(Value::as_array);
            message.role != Role::Assistant && calls.is_some_and(|calls| !calls.is_empty())
        }),
        Layout::Items => Vec::new(),
    }
}

fn answer_after_text(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Bedrock, Gemini, Strict]) || case.reading.layout != Layout::Blocks {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let message = &case.reading.messages[message];
        let answer = message.blocks[at].kind == Kind::Answer;
        let late = message.blocks[..at].iter().any(|block| block.kind != Kind::Answer);
        message.role == Role::User && answer && late
    })
}

fn content_after_call(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Strict]) || case.reading.layout != Layout::Blocks {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let message = &case.reading.messages[message];
        let words = message.blocks[at].kind == Kind::Text;
        let late = message.blocks[..at].iter().any(|block| block.kind == Kind::Call);
        let bound = |block: &Block<'_>| {
            matches!(block.kind, Kind::Reasoning | Kind::ServerCall | Kind::ServerAnswer)
        };
        let plain = case.under(&[Strict]) || !message.blocks.iter().any(bound);
        message.role == Role::Assistant && words && late && plain
    })
}

fn shared_answer_message(case: &Case<'_>) -> Vec<String> {
    if !answers_alone(case) || case.reading.layout != Layout::Blocks {
        return Vec::new();
    }
    case.messages(|index| {
        let message = &case.reading.messages[index];
        let other = message.blocks.iter().any(|block| block.kind != Kind::Answer);
        message.role == Role::User && message.has(Kind::Answer) && other
    })
}

/// Bedrock lets only Claude mix answers with other content; a request may not say which model.
pub(super) fn answers_alone(case: &Case<'_>) -> bool {
    let root = |key: &str| case.reading.root_text(key);
    let model = if root("modelId").is_empty() { root("model") } else { root("modelId") };
    let bedrock = case.under(&[Bedrock]) && case.reading.dialect == Dialect::Bedrock;
    case.under(&[Strict]) || (bedrock && !model.is_empty() && !model.contains("claude"))
}
