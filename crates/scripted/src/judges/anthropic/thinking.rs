//! Checks thinking: where it is required, where it is forbidden, and whether it is unchanged.

use serde_json::Value;

use super::{blocks_of, has_type, role};
use crate::{
    json_fields::{claude_version, text},
    judges::{
        JudgeObjection, JudgeResult, SignedPrefix, binding::SignatureCheck, is_scripted, model_name,
    },
};

pub(super) fn judge(request: &Value, messages: &[Value]) -> JudgeResult {
    let thinking = request.get("thinking");
    let enabled = thinking.and_then(|thinking| text(thinking, "type")) == Some("enabled");
    let forced = request.get("tool_choice").and_then(|choice| text(choice, "type"));
    if enabled && matches!(forced, Some("any" | "tool")) {
        let detail = "Thinking may not be enabled when tool_choice forces tool use.";
        return Err(JudgeObjection::new(detail));
    }
    not_last(messages)?;
    if enabled {
        first(messages)?;
    }
    signatures(request, messages)
}

/// No turn ends with thinking.
fn not_last(messages: &[Value]) -> JudgeResult {
    for (at, message) in messages.iter().enumerate() {
        let ends = messages.get(at + 1).is_none_or(|next| role(next) != "assistant");
        let last = blocks_of(message).last();
        let thought =
            last.is_some_and(|it| has_type(it, "thinking") || has_type(it, "redacted_thinking"));
        if role(message) == "assistant" && ends && thought {
            return Err(JudgeObjection::new(format!(
                "messages.{at}: The final block in an assistant message cannot be `thinking`."
            )));
        }
    }
    Ok(())
}

/// The turn whose results are at the end begins with thinking. A tool loop is one turn: without
/// interleaved thinking only its first step thinks.
fn first(messages: &[Value]) -> JudgeResult {
    let Some((last, before)) = messages.split_last() else { return Ok(()) };
    let has_results = |message: &Value| {
        role(message) == "user"
            && blocks_of(message).iter().any(|block| has_type(block, "tool_result"))
    };
    if !has_results(last) {
        return Ok(());
    }
    let asks = |message: &Value| role(message) == "user" && !has_results(message);
    let question = before.iter().rposition(asks).map_or(0, |at| at + 1);
    let length = before.iter().rev().take_while(|message| role(message) == "assistant").count();
    let start = before.len() - length;
    let kind = |message: &Value| match message.get("content") {
        Some(Value::String(_)) => "text".to_owned(),
        _ => {
            let first = blocks_of(message).first().and_then(|block| text(block, "type"));
            first.unwrap_or_default().to_owned()
        }
    };
    let thinks = |kind: &str| matches!(kind, "thinking" | "redacted_thinking");
    let opening = before.iter().skip(question).find(|message| role(message) == "assistant");
    let Some(found) = before.get(start).map(kind) else { return Ok(()) };
    if thinks(&found) || opening.is_some_and(|message| thinks(&kind(message))) {
        return Ok(());
    }
    Err(JudgeObjection::new(format!(
        "messages.{start}.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
         `{found}`. When `thinking` is enabled, a final `assistant` message must start with a \
         thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
    )))
}

/// Only signatures of the scripted model can be judged; all others are accepted.
fn signatures(request: &Value, messages: &[Value]) -> JudgeResult {
    let drops = request.pointer("/thinking/block_binding/prefix_mismatch_behavior")
        == Some(&Value::String("drop_block".to_owned()));
    // Claude binds thinking to the history before it since 5.1; so does the scripted model.
    let bound = claude_version(model_name(request)).is_none_or(|version| version >= (5, 1));
    let mut prefix = SignedPrefix::new(request);
    for (at, message) in messages.iter().enumerate() {
        if !message.get("content").is_some_and(Value::is_array) {
            prefix.add_message(message);
        }
        for (index, block) in blocks_of(message).iter().enumerate() {
            if let (true, Some(thinking), Some(signature)) =
                (has_type(block, "thinking"), text(block, "thinking"), text(block, "signature"))
                && is_scripted(signature)
            {
                let place = format!("messages.{at}.content.{index}");
                match prefix.check_signature(thinking, signature) {
                    SignatureCheck::TextChanged => {
                        return Err(JudgeObjection::new(format!(
                            "{place}: Invalid `signature` in `thinking` block"
                        )));
                    }
                    SignatureCheck::PrefixChanged if bound && !drops => {
                        return Err(JudgeObjection::new(format!(
                            "{place}: Invalid `signature` in `thinking` block. The block is bound to \
                             a different conversation. Remove the block, or set \
                             `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
                        )));
                    }
                    SignatureCheck::PrefixChanged | SignatureCheck::Intact => {}
                }
            }
            prefix.add_block(role(message), block);
        }
    }
    Ok(())
}
