//! Scripted replies as data, and their message in each format.

use foxwedge_core::{Format, Profile};
use foxwedge_run::RunUsage;
use foxwedge_scripted::ScriptedProvider;
use foxwedge_testkit::violations;
use foxwedge_upstream::model::{ModelError, ReplyStopReason, ReplyToolCall};
use serde_json::{Value, json};

/// One step of a reply.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Text(String),
    Thought(String),
    Call(ReplyToolCall),
    /// It breaks off.
    Break(ModelError),
    /// It sends nothing more and does not end.
    Hang,
}

/// One reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) steps: Vec<Step>,
    pub(crate) stop: ReplyStopReason,
}

/// A reply of these steps.
pub(crate) fn reply(steps: impl IntoIterator<Item = Step>) -> Reply {
    Reply { steps: steps.into_iter().collect(), stop: ReplyStopReason::Done }
}

pub(crate) fn text(text: impl Into<String>) -> Step {
    Step::Text(text.into())
}

pub(crate) fn thought(text: &str) -> Step {
    Step::Thought(text.to_owned())
}

pub(crate) fn call(id: &str, name: &str, arguments: impl Into<String>) -> Step {
    let (id, name) = (id.to_owned(), name.to_owned());
    Step::Call(ReplyToolCall { id, name, arguments: arguments.into() })
}

pub(crate) fn failure() -> ModelError {
    let message = "the model broke off, as it was planned".to_owned();
    ModelError { code: "cut", message, retryable: false }
}

pub(crate) const USAGE: RunUsage = RunUsage { input: 7, output: 3, cached: 0, reasoning: 0 };

/// The formats that scenarios use.
pub(crate) const FORMATS: [Format; 4] =
    [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini];

/// The provider of a format.
pub(crate) fn provider(wire: Format) -> ScriptedProvider {
    ScriptedProvider::of(wire, "").expect("Bedrock is not supported")
}

/// The model name and the profile of a provider.
pub(crate) fn named(provider: ScriptedProvider) -> (&'static str, Profile) {
    match provider {
        ScriptedProvider::OpenaiChat => ("gpt-test", Profile::OpenaiChat),
        ScriptedProvider::OpenaiResponses => ("gpt-test", Profile::OpenaiResponses),
        ScriptedProvider::Anthropic => ("claude-test", Profile::Anthropic),
        ScriptedProvider::Gemini => ("gemini-test", Profile::Gemini),
        ScriptedProvider::GeminiInteractions => ("gemini-test", Profile::GeminiInteractions),
        ScriptedProvider::Mistral => ("mistral-test", Profile::Mistral),
        ScriptedProvider::Deepseek => ("deepseek-test", Profile::Deepseek),
    }
}

/// The steps so far as one assistant message; `None` without content.
pub(crate) fn message(provider: ScriptedProvider, number: usize, steps: &[Step]) -> Option<String> {
    let texts: String = steps.iter().filter_map(as_text).collect();
    let thoughts: String = steps.iter().filter_map(as_thought).collect();
    let calls: Vec<&ReplyToolCall> = steps.iter().filter_map(as_call).collect();
    // Reasoning counts once something follows it.
    let is_closed = steps.last().is_some_and(|last| !matches!(last, Step::Thought(_)));
    let thoughts = if is_closed { thoughts } else { String::new() };
    if texts.is_empty() && calls.is_empty() {
        return None;
    }
    let message = match provider {
        ScriptedProvider::OpenaiChat | ScriptedProvider::Mistral => chat(None, &texts, &calls),
        ScriptedProvider::Deepseek => chat(Some(&thoughts), &texts, &calls),
        ScriptedProvider::OpenaiResponses => responses(number, &texts, &calls),
        ScriptedProvider::Anthropic => anthropic(&thoughts, &texts, &calls),
        ScriptedProvider::Gemini => gemini(&texts, &calls),
        ScriptedProvider::GeminiInteractions => interactions(&texts, &calls),
    };
    Some(message.to_string())
}

fn chat(thoughts: Option<&str>, texts: &str, calls: &[&ReplyToolCall]) -> Value {
    let content = if texts.is_empty() { Value::Null } else { texts.into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if let Some(thoughts) = thoughts {
        message["reasoning_content"] = thoughts.into();
    }
    if !calls.is_empty() {
        let spelled = calls.iter().map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        message["tool_calls"] = spelled.collect();
    }
    message
}

fn responses(number: usize, texts: &str, calls: &[&ReplyToolCall]) -> Value {
    let mut items = Vec::new();
    if !texts.is_empty() {
        let content = json!([{ "type": "output_text", "text": texts, "annotations": [] }]);
        let id = format!("msg_{number}");
        items.push(json!({ "type": "message", "id": id, "role": "assistant",
                           "status": "completed", "content": content }));
    }
    for (place, call) in calls.iter().enumerate() {
        let id = format!("fc_{number}_{place}");
        items.push(json!({ "type": "function_call", "id": id, "call_id": call.id,
                           "name": call.name, "arguments": call.arguments,
                           "status": "completed" }));
    }
    Value::Array(items)
}

fn anthropic(thoughts: &str, texts: &str, calls: &[&ReplyToolCall]) -> Value {
    let mut content = Vec::new();
    if !thoughts.is_empty() {
        let signature = "c2lnbmF0dXJlIG9mIGEgdGVzdA==";
        content.push(json!({ "type": "thinking", "thinking": thoughts, "signature": signature }));
    }
    if !texts.is_empty() {
        content.push(json!({ "type": "text", "text": texts }));
    }
    content.extend(calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input(call) })
    }));
    json!({ "role": "assistant", "content": content })
}

fn gemini(texts: &str, calls: &[&ReplyToolCall]) -> Value {
    let mut parts = Vec::new();
    if !texts.is_empty() {
        parts.push(json!({ "text": texts }));
    }
    parts.extend(calls.iter().map(
        |call| json!({ "functionCall": { "id": call.id, "name": call.name, "args": input(call) } }),
    ));
    json!({ "role": "model", "parts": parts })
}

fn interactions(texts: &str, calls: &[&ReplyToolCall]) -> Value {
    let mut steps = Vec::new();
    if !texts.is_empty() {
        let content = json!([{ "type": "text", "text": texts }]);
        steps.push(json!({ "type": "model_output", "content": content }));
    }
    steps.extend(calls.iter().map(|call| {
        json!({ "type": "function_call", "id": call.id, "name": call.name,
                "arguments": input(call) })
    }));
    Value::Array(steps)
}

/// The arguments as an object; other text becomes an empty object.
fn input(call: &ReplyToolCall) -> Value {
    let read: Option<Value> = serde_json::from_str(&call.arguments).ok();
    read.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

fn as_text(step: &Step) -> Option<&str> {
    if let Step::Text(text) = step { Some(text) } else { None }
}

fn as_thought(step: &Step) -> Option<&str> {
    if let Step::Thought(text) = step { Some(text) } else { None }
}

fn as_call(step: &Step) -> Option<&ReplyToolCall> {
    if let Step::Call(call) = step { Some(call) } else { None }
}

/// The violations in a document, with another prompt at its end.
pub(crate) fn objections(wire: &str, document: &Value) -> Vec<String> {
    let mut document = document.clone();
    let (list, next) = match wire {
        "gemini" => ("contents", json!({ "role": "user", "parts": [{ "text": "And?" }] })),
        "openai-responses" => ("input", json!({ "role": "user", "content": "And?" })),
        _ => ("messages", json!({ "role": "user", "content": "And?" })),
    };
    if let Some(list) = document[list].as_array_mut() {
        let open = list.last().is_none_or(|last| {
            last["role"] == "assistant" || last["role"] == "model" || last["role"].is_null()
        });
        if open {
            list.push(next);
        }
    }
    let found = violations(wire, wire, false, &document);
    let messages =
        found.iter().map(|it| format!("{wire}: {it:?} in {}", short(&document.to_string())));
    messages.collect()
}

/// Shortens a long text.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(1_500) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}
