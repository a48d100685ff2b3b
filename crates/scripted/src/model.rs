//! Decides what the scripted model replies, by a few simple rules.

mod commands;
mod arguments;

use serde_json::Value;

use crate::request::{RequestOutline, ScriptedTool, ScriptedToolChoice, ToolInputKind};

/// How much of its input the model repeats, in characters.
const MAX_ECHO_CHARS: usize = 400;

/// A reply of the model.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptedReply {
    /// Reasoning before the text.
    pub(crate) reasoning: Option<String>,
    pub(crate) text: String,
    pub(crate) calls: Vec<ScriptedCall>,
    pub(crate) stop: ScriptedStopReason,
}

/// One tool call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptedCall {
    pub(crate) name: String,
    pub(crate) input_kind: ToolInputKind,
    /// An object, or the text of a free-text tool.
    pub(crate) arguments: Value,
}

/// Stop reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScriptedStopReason {
    EndTurn,
    ToolCalls,
    Length,
    Refusal,
}

/// Decides the reply to a request.
pub(crate) fn decide_reply(request: &RequestOutline, refuse: bool) -> ScriptedReply {
    if refuse {
        let text = "I cannot help with that.".to_owned();
        return ScriptedReply {
            reasoning: None,
            text,
            calls: Vec::new(),
            stop: ScriptedStopReason::Refusal,
        };
    }
    let user_text = &request.tail.user_text;
    let thinks = request.thinking || commands::contains_phrase(user_text, "think");
    let thought = thinks.then(|| format!("They want: {}", shorten_echo(user_text)));
    let calls = decide_calls(request);
    let reply = if calls.is_empty() {
        ScriptedReply {
            reasoning: thought,
            text: reply_text(request),
            calls,
            stop: ScriptedStopReason::EndTurn,
        }
    } else {
        ScriptedReply {
            reasoning: thought,
            text: String::new(),
            calls,
            stop: ScriptedStopReason::ToolCalls,
        }
    };
    limit_tokens(reply, request.max_tokens)
}

/// The number of tokens of a text: a quarter of its characters, rounded up.
pub(crate) fn count_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// The number of tokens of a call.
pub(crate) fn count_call_tokens(call: &ScriptedCall) -> u64 {
    count_tokens(&call.name) + count_tokens(&call.arguments.to_string()) + 4
}

fn decide_calls(request: &RequestOutline) -> Vec<ScriptedCall> {
    if request.choice == ScriptedToolChoice::None {
        return Vec::new();
    }
    let mut calls = commands::parse_calls(&request.tail.user_text, &request.tools);
    match &request.choice {
        ScriptedToolChoice::Any if calls.is_empty() => {
            calls.extend(request.tools.first().map(generate_call))
        }
        ScriptedToolChoice::Named(name) => {
            calls.retain(|call| call.name == *name);
            if calls.is_empty() {
                let named = request.tools.iter().find(|tool| tool.name == *name);
                calls.extend(named.map(generate_call));
            }
        }
        ScriptedToolChoice::Auto | ScriptedToolChoice::None | ScriptedToolChoice::Any => {}
    }
    if !request.parallel {
        calls.truncate(1);
    }
    calls
}

/// A call with arguments that match the schema of the tool.
fn generate_call(tool: &ScriptedTool) -> ScriptedCall {
    let arguments = match tool.input_kind {
        ToolInputKind::Function => arguments::generate_arguments(&tool.schema),
        ToolInputKind::Custom => Value::String("scripted".to_owned()),
    };
    ScriptedCall { name: tool.name.clone(), input_kind: tool.input_kind, arguments }
}

fn reply_text(request: &RequestOutline) -> String {
    let tail = &request.tail;
    match tail.tool_results.as_slice() {
        [] if tail.user_text.trim().is_empty() => "You said nothing.".to_owned(),
        [] => format!("You said: {}", shorten_echo(&tail.user_text)),
        [one] => format!("The tool said: {}", shorten_echo(one)),
        many => {
            let each = MAX_ECHO_CHARS / many.len().max(1);
            let results: Vec<String> =
                many.iter().map(|one| truncate_chars(one, each.max(20))).collect();
            format!("The tools said: {}", truncate_chars(&results.join(" | "), 4 * MAX_ECHO_CHARS))
        }
    }
}

fn shorten_echo(text: &str) -> String {
    truncate_chars(text, MAX_ECHO_CHARS)
}

fn truncate_chars(text: &str, max: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Truncates a reply that is too long. A call that would be truncated is not made.
fn limit_tokens(mut reply: ScriptedReply, max: Option<u64>) -> ScriptedReply {
    let Some(max) = max else { return reply };
    let thought = reply.reasoning.as_deref().map_or(0, count_tokens);
    let called: u64 = reply.calls.iter().map(count_call_tokens).sum();
    if thought + called + count_tokens(&reply.text) <= max {
        return reply;
    }
    if let Some(call) = reply.calls.first() {
        reply.text = format!("I would call {} now, if I were allowed to say more.", call.name);
        reply.calls.clear();
    }
    // Thinking leaves at least one token for the text, as providers require.
    if thought >= max {
        reply.reasoning = None;
    }
    let left = max - reply.reasoning.as_deref().map_or(0, count_tokens);
    let letters = usize::try_from(left.saturating_mul(4)).unwrap_or(usize::MAX);
    if count_tokens(&reply.text) > left {
        reply.text = reply.text.chars().take(letters).collect::<String>().trim_end().to_owned();
        reply.stop = ScriptedStopReason::Length;
    } else {
        reply.stop = ScriptedStopReason::EndTurn;
    }
    reply
}

#[cfg(test)]
mod tests;
