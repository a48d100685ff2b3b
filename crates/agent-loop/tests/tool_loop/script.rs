//! What a model says, as data, and how each format spells it.

use foxwedge_core::{Format, Profile};
use foxwedge_run::RunUsage;
use foxwedge_scripted::ScriptedProvider;
use foxwedge_testkit::violations;
use foxwedge_upstream::model::{ModelError, ReplyStopReason, ReplyToolCall};
use serde_json::{Value, json};

/// One thing that a model does.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    Text(String),
    Thought(String),
    Call(ReplyToolCall),
    /// It breaks off.
    Break(ModelError),
    /// It says nothing more, and does not end.
    Hang,
}

/// One reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) says: Vec<Say>,
    pub(crate) stop: ReplyStopReason,
}

/// A reply of these things.
pub(crate) fn reply(says: impl IntoIterator<Item = Say>) -> Reply {
    Reply { says: says.into_iter().collect(), stop: ReplyStopReason::Done }
}

pub(crate) fn text(text: impl Into<String>) -> Say {
    Say::Text(text.into())
}

pub(crate) fn thought(text: &str) -> Say {
    Say::Thought(text.to_owned())
}

pub(crate) fn call(id: &str, name: &str, arguments: impl Into<String>) -> Say {
    let (id, name) = (id.to_owned(), name.to_owned());
    Say::Call(ReplyToolCall { id, name, arguments: arguments.into() })
}

pub(crate) fn trouble() -> ModelError {
    let message = "the model broke off, as it was planned".to_owned();
    ModelError { code: "cut", message, retryable: false }
}

pub(crate) const USAGE: RunUsage = RunUsage { input: 7, output: 3, cached: 0, reasoning: 0 };

/// The formats that plays are played in.
pub(crate) const WIRES: [Format; 4] =
    [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini];

/// The provider of a format.
pub(crate) fn provider(wire: Format) -> ScriptedProvider {
    ScriptedProvider::of(wire, "").expect("nobody plays Bedrock")
}

/// The name of a provider's model, and whose rules it has to obey.
pub(crate) fn named(provider: ScriptedProvider) -> (&'static str, Profile) {
    match provider {
        ScriptedProvider::OpenaiChat => ("gpt-test", Profile::OpenaiChat),
        ScriptedProvider::OpenaiResponses => ("gpt-test", Profile::OpenaiResponses),
        ScriptedProvider::Anthropic => ("claude-test", Profile::Anthropic),
        ScriptedProvider::Gemini => ("gemini-test", Profile::Gemini),
        ScriptedProvider::Mistral => ("mistral-test", Profile::Mistral),
        ScriptedProvider::Deepseek => ("deepseek-test", Profile::Deepseek),
    }
}

/// What was said so far, as one message of the assistant; none if it was nothing.
pub(crate) fn message(provider: ScriptedProvider, number: usize, said: &[Say]) -> Option<String> {
    let texts: String = said.iter().filter_map(as_text).collect();
    let thoughts: String = said.iter().filter_map(as_thought).collect();
    let calls: Vec<&ReplyToolCall> = said.iter().filter_map(as_call).collect();
    // A thought counts once something follows it.
    let is_closed = said.last().is_some_and(|last| !matches!(last, Say::Thought(_)));
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

/// Where a format holds an object, a text that is none becomes an empty one.
fn input(call: &ReplyToolCall) -> Value {
    let read: Option<Value> = serde_json::from_str(&call.arguments).ok();
    read.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

fn as_text(say: &Say) -> Option<&str> {
    if let Say::Text(text) = say { Some(text) } else { None }
}

fn as_thought(say: &Say) -> Option<&str> {
    if let Say::Thought(text) = say { Some(text) } else { None }
}

fn as_call(say: &Say) -> Option<&ReplyToolCall> {
    if let Say::Call(call) = say { Some(call) } else { None }
}

/// What a provider would object to in a document, once the person has said something behind it.
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
    let told = found.iter().map(|it| format!("{wire}: {it:?} in {}", short(&document.to_string())));
    told.collect()
}

/// A long text in short.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(1_500) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}
