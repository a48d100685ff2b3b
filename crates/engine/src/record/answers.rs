//! What the answers of a request say, where that is kept. Read behind the request's back.

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_dialect::canon::{self, Bit, Speaker};
use foxwedge_run::{CallRef, How, Json, ToolResult};

use super::block::left_out;

/// Bytes of one answer that are kept.
const MOST: usize = 256 << 10;

/// Answers of which nothing is known but that they came, and which of them say that a tool failed.
pub(super) fn bare(calls: &[Arc<str>], failed: &[Arc<str>]) -> Vec<ToolResult> {
    let how = |call| if failed.contains(call) { How::Error } else { How::Ok };
    calls.iter().map(|call| result(call, how(call), None)).collect()
}

/// Answers with what they say, as far as the body can be read.
pub(super) fn read(
    calls: &[Arc<str>],
    failed: &[Arc<str>],
    body: &[u8],
    wire: Wire,
) -> Vec<ToolResult> {
    let mut results = bare(calls, failed);
    let Some(history) = std::str::from_utf8(body).ok().and_then(|it| canon::decode(it, wire).ok())
    else {
        return results;
    };
    let said = history.messages.iter().rev();
    let tail = said.take_while(|message| message.role != Speaker::Assistant);
    for part in tail.flat_map(|message| &message.parts) {
        let Bit::Answer(answer) = part.bit() else { continue };
        let mut of_call = results.iter_mut();
        let Some(result) = of_call.find(|one| one.call.id.as_deref() == answer.id.as_deref())
        else {
            continue;
        };
        result.how = if answer.error { How::Error } else { How::Ok };
        result.content = Some(content(&answer.parts));
    }
    results
}

fn result(call: &Arc<str>, how: How, content: Option<Json>) -> ToolResult {
    let call = CallRef { id: Some(call.clone()), turn: None };
    ToolResult { call, name: None, how, reason: None, content }
}

/// The texts of an answer; what is no text is named.
fn content(parts: &[canon::Part<'_>]) -> Json {
    let texts = parts.iter().map(|part| match part.bit() {
        Bit::Text(words) => words.to_string(),
        Bit::Media(_) => "[media]".to_owned(),
        Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) | Bit::Other(_) => "[other]".to_owned(),
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.len() > MOST { left_out(text.len()) } else { Json::string(&text) }
}
