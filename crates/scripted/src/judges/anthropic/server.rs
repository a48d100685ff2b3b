//! Provider-run tools.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{blocks_of, has_type, role};
use crate::{
    json_fields::text,
    judges::{JudgeObjection, JudgeResult},
};

/// Provider-run calls have their results in the same turn. Open ones are still running, as long as
/// only tool results follow.
pub(super) fn judge(messages: &[Value]) -> JudgeResult {
    let goes_on = |message: &Value| match role(message) {
        "assistant" => true,
        "user" => {
            message.get("content").is_some_and(Value::is_string)
                || blocks_of(message).iter().any(|block| !has_type(block, "tool_result"))
        }
        _ => false,
    };
    let overtaken = messages.iter().rposition(goes_on);
    let mut start = 0;
    while let Some(message) = messages.get(start) {
        if role(message) != "assistant" {
            start += 1;
            continue;
        }
        let rest = messages.get(start..).unwrap_or_default();
        // A provider-run tool may call client tools: the turn continues after their results.
        let results = |message: &Value| {
            let blocks = blocks_of(message);
            !blocks.is_empty() && blocks.iter().all(|block| has_type(block, "tool_result"))
        };
        let inside = |message: &&Value| match role(message) {
            "assistant" => true,
            "user" => results(message),
            _ => false,
        };
        let length = rest.iter().take_while(inside).count();
        let run = rest.get(..length).unwrap_or_default();
        for (at, name, id) in open_in(run, start)? {
            if overtaken.is_some_and(|later| later > at) {
                return Err(dead(at, name, id));
            }
        }
        start += length;
    }
    Ok(())
}

/// The provider-run calls of a turn without a result in it: position, tool and id.
pub(super) fn open_in(
    run: &[Value],
    start: usize,
) -> Result<Vec<(usize, &str, &str)>, JudgeObjection> {
    let mut called: Vec<(usize, &str, &str)> = Vec::new();
    let (mut known, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for (at, message) in run.iter().enumerate() {
        for (index, block) in blocks_of(message).iter().enumerate() {
            let kind = text(block, "type").unwrap_or_default();
            if matches!(kind, "server_tool_use" | "mcp_tool_use") {
                let id = text(block, "id").unwrap_or_default();
                called.push((start + at, text(block, "name").unwrap_or_default(), id));
                known.insert(id);
            } else if kind.ends_with("_tool_result") {
                let id = text(block, "tool_use_id").unwrap_or_default();
                if !known.contains(id) {
                    let call = if kind == "mcp_tool_result" { "mcp" } else { "server" };
                    return Err(JudgeObjection::new(format!(
                        "messages.{}.content.{index}: unexpected `tool_use_id` found in `{kind}` \
                         blocks: {id}. Each `{kind}` block must have a corresponding \
                         `{call}_tool_use` block before it.",
                        start + at
                    )));
                }
                answered.insert(id);
            }
        }
    }
    called.retain(|(_, _, id)| !answered.contains(id));
    Ok(called)
}

fn dead(at: usize, name: &str, id: &str) -> JudgeObjection {
    JudgeObjection::new(format!(
        "messages.{at}: `{name}` tool use with id `{id}` was found without a corresponding \
         `{name}_tool_result` block"
    ))
}
