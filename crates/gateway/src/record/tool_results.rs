//! The tool results of a request as run events, with their content where that is stored. Parsed in
//! the background.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_formats::model::{self, ContentPart, ModelRole};
use foxwedge_run::{CallRef, RawJson, ToolOutcome, ToolResult};

use super::reply_block::omitted_json;

/// Maximum bytes of one result that are stored.
const MAX_RESULT_BYTES: usize = 256 << 10;

/// Results without content; only whether they are errors is known.
pub(super) fn without_content(calls: &[Arc<str>], failed: &[Arc<str>]) -> Vec<ToolResult> {
    let outcome = |call| if failed.contains(call) { ToolOutcome::Error } else { ToolOutcome::Ok };
    calls.iter().map(|call| tool_result(call, outcome(call), None)).collect()
}

/// Results with their content, as far as the body can be parsed.
pub(super) fn with_content(
    calls: &[Arc<str>],
    failed: &[Arc<str>],
    body: &[u8],
    format: Format,
) -> Vec<ToolResult> {
    let mut results = without_content(calls, failed);
    let Some(history) =
        std::str::from_utf8(body).ok().and_then(|it| model::decode(it, format).ok())
    else {
        return results;
    };
    let messages = history.messages.iter().rev();
    let tail = messages.take_while(|message| message.role != ModelRole::Assistant);
    for part in tail.flat_map(|message| &message.parts) {
        let ContentPart::ToolResult(answer) = part.content() else { continue };
        let mut candidates = results.iter_mut();
        let Some(result) =
            candidates.find(|candidate| candidate.call.id.as_deref() == answer.id.as_deref())
        else {
            continue;
        };
        result.outcome = if answer.error { ToolOutcome::Error } else { ToolOutcome::Ok };
        result.content = Some(result_content(&answer.parts));
    }
    results
}

fn tool_result(call: &Arc<str>, outcome: ToolOutcome, content: Option<RawJson>) -> ToolResult {
    let call = CallRef { id: Some(call.clone()), turn: None };
    ToolResult { call, name: None, outcome, reason: None, content }
}

/// The texts of a result; other parts are named.
fn result_content(parts: &[model::ModelPart<'_>]) -> RawJson {
    let texts = parts.iter().map(|part| match part.content() {
        ContentPart::Text(text) => text.to_string(),
        ContentPart::Media(_) => "[media]".to_owned(),
        ContentPart::Reasoning(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResult(_)
        | ContentPart::Unknown(_) => "[other]".to_owned(),
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.len() > MAX_RESULT_BYTES { omitted_json(text.len()) } else { RawJson::string(&text) }
}
