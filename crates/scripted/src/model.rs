//! What the scripted model says: a few rules that a person can learn in a minute.

mod commands;
mod arguments;

use serde_json::Value;

use crate::request::{RequestOutline, ScriptedTool, ScriptedToolChoice, ToolInputKind};

/// How much of what it heard the model says again, in characters.
const MAX_ECHO_CHARS: usize = 400;

/// What the model says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptedReply {
    /// What it thinks first.
    pub(crate) reasoning: Option<String>,
    /// What it says.
    pub(crate) text: String,
    /// What it calls.
    pub(crate) calls: Vec<ScriptedCall>,
    /// Why it stops.
    pub(crate) stop: ScriptedStopReason,
}

/// One call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ScriptedCall {
    pub(crate) name: String,
    pub(crate) input_kind: ToolInputKind,
    /// An object, or the text of a free-text tool.
    pub(crate) arguments: Value,
}

/// Why the model stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScriptedStopReason {
    EndTurn,
    ToolCalls,
    Length,
    Refusal,
}

/// Decides what to say.
pub(crate) fn decide_reply(seen: &RequestOutline, refuse: bool) -> ScriptedReply {
    if refuse {
        let text = "I cannot help with that.".to_owned();
        return ScriptedReply {
            reasoning: None,
            text,
            calls: Vec::new(),
            stop: ScriptedStopReason::Refusal,
        };
    }
    let words = &seen.tail.user_text;
    let thinks = seen.thinking || commands::contains_phrase(words, "think");
    let thought = thinks.then(|| format!("They want: {}", shorten_echo(words)));
    let calls = decide_calls(seen);
    let speech = if calls.is_empty() {
        ScriptedReply {
            reasoning: thought,
            text: reply_text(seen),
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
    limit_tokens(speech, seen.max_tokens)
}

/// How many tokens a text has: a quarter of its letters, and one for the rest.
pub(crate) fn count_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// How many tokens a call has.
pub(crate) fn count_call_tokens(call: &ScriptedCall) -> u64 {
    count_tokens(&call.name) + count_tokens(&call.arguments.to_string()) + 4
}

fn decide_calls(seen: &RequestOutline) -> Vec<ScriptedCall> {
    if seen.choice == ScriptedToolChoice::None {
        return Vec::new();
    }
    let mut calls = commands::parse_calls(&seen.tail.user_text, &seen.tools);
    match &seen.choice {
        ScriptedToolChoice::Any if calls.is_empty() => {
            calls.extend(seen.tools.first().map(generate_call))
        }
        ScriptedToolChoice::Named(name) => {
            calls.retain(|call| call.name == *name);
            if calls.is_empty() {
                let named = seen.tools.iter().find(|tool| tool.name == *name);
                calls.extend(named.map(generate_call));
            }
        }
        ScriptedToolChoice::Auto | ScriptedToolChoice::None | ScriptedToolChoice::Any => {}
    }
    if !seen.parallel {
        calls.truncate(1);
    }
    calls
}

/// A call with arguments that fit the tool.
fn generate_call(tool: &ScriptedTool) -> ScriptedCall {
    let arguments = match tool.input_kind {
        ToolInputKind::Function => arguments::generate_arguments(&tool.schema),
        ToolInputKind::Custom => Value::String("scripted".to_owned()),
    };
    ScriptedCall { name: tool.name.clone(), input_kind: tool.input_kind, arguments }
}

fn reply_text(seen: &RequestOutline) -> String {
    let tail = &seen.tail;
    match tail.tool_results.as_slice() {
        [] if tail.user_text.trim().is_empty() => "You said nothing.".to_owned(),
        [] => format!("You said: {}", shorten_echo(&tail.user_text)),
        [one] => format!("The tool said: {}", shorten_echo(one)),
        many => {
            let each = MAX_ECHO_CHARS / many.len().max(1);
            let told: Vec<String> =
                many.iter().map(|one| truncate_chars(one, each.max(20))).collect();
            format!("The tools said: {}", truncate_chars(&told.join(" | "), 4 * MAX_ECHO_CHARS))
        }
    }
}

fn shorten_echo(text: &str) -> String {
    truncate_chars(text, MAX_ECHO_CHARS)
}

fn truncate_chars(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Cuts what is too long. A call that would be cut is not made.
fn limit_tokens(mut speech: ScriptedReply, most: Option<u64>) -> ScriptedReply {
    let Some(most) = most else { return speech };
    let thought = speech.reasoning.as_deref().map_or(0, count_tokens);
    let called: u64 = speech.calls.iter().map(count_call_tokens).sum();
    if thought + called + count_tokens(&speech.text) <= most {
        return speech;
    }
    if let Some(call) = speech.calls.first() {
        speech.text = format!("I would call {} now, if I were allowed to say more.", call.name);
        speech.calls.clear();
    }
    // Thinking leaves room for at least one word, as providers do.
    if thought >= most {
        speech.reasoning = None;
    }
    let left = most - speech.reasoning.as_deref().map_or(0, count_tokens);
    let letters = usize::try_from(left.saturating_mul(4)).unwrap_or(usize::MAX);
    if count_tokens(&speech.text) > left {
        speech.text = speech.text.chars().take(letters).collect::<String>().trim_end().to_owned();
        speech.stop = ScriptedStopReason::Length;
    } else {
        speech.stop = ScriptedStopReason::EndTurn;
    }
    speech
}

#[cfg(test)]
mod tests;
