//! What the answers of a request say, where that is kept. Read behind the request's back.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_dialect::model::{self, ContentPart, ModelRole};
use foxwedge_run::{CallRef, RawJson, ToolOutcome, ToolResult};

use super::reply_block::omitted_json;

/// Bytes of one answer that are kept.
const MAX_RESULT_BYTES: usize = 256 << 10;

/// Answers of which nothing is known but that they came, and which of them say that a tool failed.
pub(super) fn without_content(calls: &[Arc<str>], failed: &[Arc<str>]) -> Vec<ToolResult> {
    let how = |call| if failed.contains(call) { ToolOutcome::Error } else { ToolOutcome::Ok };
    calls.iter().map(|call| tool_result(call, how(call), None)).collect()
}

/// Answers with what they say, as far as the body can be read.
pub(super) fn with_content(
    calls: &[Arc<str>],
    failed: &[Arc<str>],
    body: &[u8],
    wire: Format,
) -> Vec<ToolResult> {
    let mut results = without_content(calls, failed);
    let Some(history) = std::str::from_utf8(body).ok().and_then(|it| model::decode(it, wire).ok())
    else {
        return results;
    };
    let said = history.messages.iter().rev();
    let tail = said.take_while(|message| message.role != ModelRole::Assistant);
    for part in tail.flat_map(|message| &message.parts) {
        let ContentPart::ToolResult(answer) = part.content() else { continue };
        let mut of_call = results.iter_mut();
        let Some(result) = of_call.find(|one| one.call.id.as_deref() == answer.id.as_deref())
        else {
            continue;
        };
        result.outcome = if answer.error { ToolOutcome::Error } else { ToolOutcome::Ok };
        result.content = Some(result_content(&answer.parts));
    }
    results
}

fn tool_result(call: &Arc<str>, how: ToolOutcome, content: Option<RawJson>) -> ToolResult {
    let call = CallRef { id: Some(call.clone()), turn: None };
    ToolResult { call, name: None, outcome: how, reason: None, content }
}

/// The texts of an answer; what is no text is named.
fn result_content(parts: &[model::ModelPart<'_>]) -> RawJson {
    let texts = parts.iter().map(|part| match part.content() {
        ContentPart::Text(words) => words.to_string(),
        ContentPart::Media(_) => "[media]".to_owned(),
        ContentPart::Reasoning(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => "[other]".to_owned(),
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.len() > MAX_RESULT_BYTES { omitted_json(text.len()) } else { RawJson::string(&text) }
}
