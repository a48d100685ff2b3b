//! Anthropic's Messages.
//!
//! Adjacent messages of one role are joined before they are judged, except that the results of a
//! turn must be together at the beginning of the first message after it. System messages in the
//! list are accepted after a user message.

mod blocks;
mod server;
mod thinking;

use serde_json::Value;
use std::collections::BTreeSet;

use super::{JudgeObjection, JudgeResult, RequestPurpose, model_name};
use crate::json_fields::{claude_version, list, non_null, text};

pub(super) fn judge(request: &Value, purpose: RequestPurpose) -> JudgeResult {
    let mut wanted = vec!["model", "max_tokens", "messages"];
    if purpose == RequestPurpose::Count {
        wanted.retain(|field| *field != "max_tokens");
    }
    for field in wanted {
        if request.get(field).is_none() {
            return Err(JudgeObjection::new(format!("{field}: Field required")));
        }
    }
    if text(request, "model").is_none() {
        return Err(JudgeObjection::new("model: Input should be a valid string"));
    }
    if let Some(max_tokens) =
        non_null(request, "max_tokens").filter(|_| purpose == RequestPurpose::Reply)
    {
        match max_tokens.as_i64() {
            None => return Err(JudgeObjection::new("max_tokens: Input should be a valid integer")),
            Some(max_tokens) if max_tokens < 1 => {
                let detail = "max_tokens: Input should be greater than or equal to 1";
                return Err(JudgeObjection::new(detail));
            }
            Some(_) => {}
        }
    }
    threads(request)?;
    let Some(messages) = request.get("messages").and_then(Value::as_array) else {
        return Err(JudgeObjection::new("messages: Input should be a valid list"));
    };
    if messages.is_empty() {
        return Err(JudgeObjection::new("messages: at least one message is required"));
    }
    tools(request)?;
    roles(messages)?;
    for (at, message) in messages.iter().enumerate() {
        blocks::judge(message, at, at + 1 == messages.len())?;
    }
    check_cache_marks(request)?;
    ids(messages)?;
    pairs(messages)?;
    server::judge(messages)?;
    references(request, messages)?;
    tail(request, messages)?;
    thinking::judge(request, messages)
}

/// No state is kept, so no thread can be started and none is known.
fn threads(request: &Value) -> JudgeResult {
    let Some(thread) = non_null(request, "thread") else { return Ok(()) };
    match text(thread, "type") {
        Some("continue") => Err(JudgeObjection::new(
            "thread.previous_message_id: no thread with this message was found",
        )
        .code("thread_not_found")),
        _ => Err(JudgeObjection::new("thread: this model does not support message threads")
            .code("thread_unsupported_request")),
    }
}

fn tools(request: &Value) -> JudgeResult {
    let mut names = BTreeSet::new();
    for (at, tool) in list(request, "tools").iter().enumerate() {
        let Some(name) = text(tool, "name") else { continue };
        if !names.insert(name) {
            return Err(JudgeObjection::new("tools: Tool names must be unique."));
        }
        if matches!(text(tool, "type"), None | Some("custom")) {
            if !blocks::is_name(name) {
                return Err(JudgeObjection::new(format!(
                    "tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
                )));
            }
            if tool.get("input_schema").is_none() {
                let detail = format!("tools.{at}.custom.input_schema: Field required");
                return Err(JudgeObjection::new(detail));
            }
        }
    }
    Ok(())
}

/// Tools may also come from MCP servers, toolsets and changes inside the conversation.
fn references(request: &Value, messages: &[Value]) -> JudgeResult {
    let tools = list(request, "tools");
    let text_of = Value::Array(messages.to_vec()).to_string();
    let from_elsewhere = request.get("mcp_servers").is_some()
        || tools.iter().any(|tool| text(tool, "name").is_none() || has_type(tool, "mcp_toolset"))
        || ["tool_addition", "mcp_tool_listing"].iter().any(|name| text_of.contains(name));
    if from_elsewhere {
        return Ok(());
    }
    for (at, message) in messages.iter().enumerate() {
        for block in blocks_of(message) {
            let content = block.get("content");
            let nested = content.and_then(|it| it.get("tool_references"));
            let found = content.into_iter().chain(nested).filter_map(Value::as_array).flatten();
            for tool in found.filter(|it| has_type(it, "tool_reference")) {
                let name = text(tool, "tool_name").unwrap_or_default();
                if !tools.iter().any(|tool| text(tool, "name") == Some(name)) {
                    let detail = format!(
                        "messages.{at}: Tool reference '{name}' not found in available tools"
                    );
                    return Err(JudgeObjection::new(detail).code("tool_reference_unresolved"));
                }
            }
        }
    }
    Ok(())
}

fn role(message: &Value) -> &str {
    text(message, "role").unwrap_or_default()
}

/// The blocks of a message; a string is none.
fn blocks_of(message: &Value) -> &[Value] {
    list(message, "content")
}

fn has_type(block: &Value, kind: &str) -> bool {
    text(block, "type") == Some(kind)
}

fn roles(messages: &[Value]) -> JudgeResult {
    let mut before: Option<&Value> = None;
    for (at, message) in messages.iter().enumerate() {
        match message.get("role") {
            None => return Err(JudgeObjection::new(format!("messages.{at}.role: Field required"))),
            Some(Value::String(role)) => match role.as_str() {
                "assistant" if before.is_none() => {
                    return Err(JudgeObjection::new(
                        "messages: first message must use the \"user\" role",
                    ));
                }
                "user" if before.is_some_and(|before| self::role(before) == "system") => {
                    return Err(JudgeObjection::new(format!(
                        "messages.{at}: role 'user' must not follow a 'system' message"
                    )));
                }
                "user" | "assistant" => {}
                "system" => {
                    let follows = before.is_some_and(|before| {
                        matches!(self::role(before), "user" | "system")
                            || ends_in_server_answer(before)
                    });
                    if !follows {
                        return Err(JudgeObjection::new(format!(
                            "messages.{at}: role 'system' must follow a 'user' message or an \
                             'assistant' message ending in a server tool result"
                        )));
                    }
                }
                other => {
                    return Err(JudgeObjection::new(format!(
                        "messages: Unexpected role \"{other}\". Allowed roles are \"user\" or \
                         \"assistant\"."
                    )));
                }
            },
            Some(_) => {
                let detail = format!("messages.{at}.role: Input should be 'user' or 'assistant'");
                return Err(JudgeObjection::new(detail));
            }
        }
        before = Some(message);
    }
    Ok(())
}

fn ends_in_server_answer(message: &Value) -> bool {
    let last = blocks_of(message).last().and_then(|block| text(block, "type"));
    last.is_some_and(|kind| kind.ends_with("_tool_result"))
}

fn check_cache_marks(request: &Value) -> JudgeResult {
    let marked = |block: &&Value| non_null(block, "cache_control").is_some();
    let mut found = list(request, "tools").iter().filter(marked).count();
    found += list(request, "system").iter().filter(marked).count();
    for block in list(request, "messages").iter().flat_map(blocks_of) {
        found += usize::from(marked(&block));
        found += list(block, "content").iter().filter(marked).count();
    }
    match found {
        0..=4 => Ok(()),
        found => Err(JudgeObjection::new(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        ))),
    }
}

fn ids(messages: &[Value]) -> JudgeResult {
    let mut used_ids = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        // An id of an earlier turn may repeat.
        if role(message) != "assistant" {
            used_ids.clear();
        }
        for (index, block) in blocks_of(message).iter().enumerate() {
            if has_type(block, "tool_use")
                && !used_ids.insert(text(block, "id").unwrap_or_default())
            {
                return Err(JudgeObjection::new(format!(
                    "messages.{at}.content.{index}: `tool_use` ids must be unique"
                )));
            }
        }
    }
    Ok(())
}

/// The results of a turn are at the beginning of the message after it: all of them, once.
fn pairs(messages: &[Value]) -> JudgeResult {
    let mut calls: Vec<&str> = Vec::new();
    let mut caller = 0;
    let mut fresh = false;
    for (at, message) in messages.iter().enumerate() {
        match role(message) {
            "assistant" => {
                if !fresh {
                    calls.clear();
                }
                fresh = true;
                let found = blocks_of(message).iter().filter(|block| has_type(block, "tool_use"));
                let before = calls.len();
                calls.extend(found.filter_map(|block| text(block, "id")));
                caller = if calls.len() > before { at } else { caller };
            }
            _ => {
                let open = std::mem::take(&mut calls);
                answers(message, at, if fresh { &open } else { &[] }, caller)?;
                fresh = false;
            }
        }
    }
    match calls.is_empty() {
        true => Ok(()),
        false => Err(unanswered(&calls, caller)),
    }
}

fn answers(message: &Value, at: usize, calls: &[&str], caller: usize) -> JudgeResult {
    let known: BTreeSet<&str> = calls.iter().copied().collect();
    let (mut leading, mut all) = (BTreeSet::new(), BTreeSet::new());
    let mut led = true;
    for (index, block) in blocks_of(message).iter().enumerate() {
        if !has_type(block, "tool_result") {
            led = false;
            continue;
        }
        let id = text(block, "tool_use_id").unwrap_or_default();
        if !known.contains(id) {
            return Err(JudgeObjection::new(format!(
                "messages.{at}.content.{index}: unexpected `tool_use_id` found in `tool_result` \
                 blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block \
                 in the previous message."
            )));
        }
        if !all.insert(id) {
            return Err(JudgeObjection::new(format!(
                "messages.{at}.content.{index}: each tool_use must have a single result. Found \
                 multiple `tool_result` blocks with id: {id}"
            )));
        }
        if led {
            leading.insert(id);
        }
    }
    let open: Vec<&str> = calls.iter().filter(|id| !leading.contains(**id)).copied().collect();
    if open.is_empty() { Ok(()) } else { Err(unanswered(&open, caller)) }
}

fn unanswered(open: &[&str], at: usize) -> JudgeObjection {
    JudgeObjection::new(format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. \
         Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    ))
}

fn tail(request: &Value, messages: &[Value]) -> JudgeResult {
    let Some(last) = messages.last().filter(|last| role(last) == "assistant") else {
        return Ok(());
    };
    // A turn that waits for provider-run tools is sent back to be continued.
    let length = messages.iter().rev().take_while(|message| role(message) == "assistant").count();
    let start = messages.len() - length;
    let paused = !server::open_in(messages.get(start..).unwrap_or_default(), start)?.is_empty();
    if claude_version(model_name(request)).is_some_and(|version| version >= (4, 6)) && !paused {
        return Err(JudgeObjection::new(
            "This model does not support assistant message prefill. The conversation must end with a \
             user message.",
        ));
    }
    let detail = match last.get("content") {
        Some(Value::String(detail)) => Some(detail.as_str()),
        Some(Value::Array(blocks)) => blocks.last().and_then(|block| text(block, "text")),
        _ => None,
    };
    match detail.is_some_and(|detail| detail.ends_with(char::is_whitespace)) {
        true => Err(JudgeObjection::new(
            "messages: final assistant content cannot end with trailing whitespace",
        )),
        false => Ok(()),
    }
}
