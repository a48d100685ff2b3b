//! Rules 304 to 306 and 310: allowed blocks of a message, and their order.

use serde_json::Value;

use super::reading::{OracleBlock, OracleBlockKind, OracleLayout, OracleRole};
use super::{OracleProfile::*, OracleRule, RuleCase};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[
    (304, misplaced_block),
    (305, answer_after_text),
    (306, content_after_call),
    (310, shared_answer_message),
];

fn misplaced_block(case: &RuleCase<'_>) -> Vec<String> {
    match case.reading.layout {
        OracleLayout::Blocks => case.blocks(|message, at| {
            let message = &case.reading.messages[message];
            match message.blocks[at].kind {
                OracleBlockKind::Call => message.role != OracleRole::Assistant,
                OracleBlockKind::Answer => message.role == OracleRole::Assistant,
                OracleBlockKind::Reasoning => message.role == OracleRole::User,
                OracleBlockKind::Text
                | OracleBlockKind::ServerCall
                | OracleBlockKind::ServerAnswer
                | OracleBlockKind::Fallback
                | OracleBlockKind::Other
                | OracleBlockKind::Unknown => false,
            }
        }),
        OracleLayout::Chat => case.messages(|index| {
            let message = &case.reading.messages[index];
            let calls = message.field("tool_calls").and_then(Value::as_array);
            message.role != OracleRole::Assistant && calls.is_some_and(|calls| !calls.is_empty())
        }),
        OracleLayout::Items => Vec::new(),
    }
}

fn answer_after_text(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Bedrock, Gemini, Strict])
        || case.reading.layout != OracleLayout::Blocks
    {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let message = &case.reading.messages[message];
        let answer = message.blocks[at].kind == OracleBlockKind::Answer;
        let late = message.blocks[..at].iter().any(|block| block.kind != OracleBlockKind::Answer);
        message.role == OracleRole::User && answer && late
    })
}

fn content_after_call(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Strict]) || case.reading.layout != OracleLayout::Blocks {
        return Vec::new();
    }
    case.blocks(|message, at| {
        let message = &case.reading.messages[message];
        let is_text = message.blocks[at].kind == OracleBlockKind::Text;
        let late = message.blocks[..at].iter().any(|block| block.kind == OracleBlockKind::Call);
        let bound = |block: &OracleBlock<'_>| {
            matches!(
                block.kind,
                OracleBlockKind::Reasoning
                    | OracleBlockKind::ServerCall
                    | OracleBlockKind::ServerAnswer
            )
        };
        let plain = case.under(&[Strict]) || !message.blocks.iter().any(bound);
        // What one model wrote is not mixed with the output of another.
        let plain = plain && !message.has(OracleBlockKind::Fallback);
        message.role == OracleRole::Assistant && is_text && late && plain
    })
}

fn shared_answer_message(case: &RuleCase<'_>) -> Vec<String> {
    if !answers_alone(case) || case.reading.layout != OracleLayout::Blocks {
        return Vec::new();
    }
    case.messages(|index| {
        let message = &case.reading.messages[index];
        let other = message.blocks.iter().any(|block| block.kind != OracleBlockKind::Answer);
        message.role == OracleRole::User && message.has(OracleBlockKind::Answer) && other
    })
}

/// On Bedrock only Claude may mix results with other content. A request may not name the model.
pub(super) fn answers_alone(case: &RuleCase<'_>) -> bool {
    let model = bedrock_model(case);
    let bedrock = case.under(&[Bedrock]) && case.reading.format == TestFormat::Bedrock;
    // The name of an inference profile does not show the maker.
    let opaque = model.is_empty() || model.contains("application-inference-profile/");
    case.under(&[Strict]) || (bedrock && !opaque && !model.contains("claude"))
}

/// The model that a request to Bedrock names.
pub(super) fn bedrock_model<'c>(case: &'c RuleCase<'_>) -> &'c str {
    let root = |key: &str| case.reading.root_text(key);
    if root("modelId").is_empty() { root("model") } else { root("modelId") }
}
