//! Abstract histories in the formats of providers, and back.

use serde_json::{Value, json};

use super::{AbstractHistory, AbstractMessage, AbstractPart, SenderSide};
use crate::{
    dialect::TestFormat,
    generate::{
        draft::{
            GeneratedCall, GeneratedDraft, GeneratedPart, GeneratedResult, GeneratedTurn,
            TurnSpeaker,
        },
        render,
    },
};

/// The bare list of messages in a format.
pub(super) fn write(history: &AbstractHistory, format: TestFormat) -> Value {
    let mut draft = GeneratedDraft::new();
    for message in &history.0 {
        let speaker = match message.side {
            SenderSide::System => TurnSpeaker::System,
            SenderSide::User => TurnSpeaker::User,
            SenderSide::Model => TurnSpeaker::Assistant,
        };
        let parts = message.parts.iter().map(|part| generated(*part)).collect();
        draft.turns.push(GeneratedTurn::new(speaker, parts));
    }
    Value::Array(render::list(format, &draft))
}

/// The id of a call: nine letters and digits are legal everywhere.
fn call_id(id: u8) -> Value {
    json!(format!("call00{id:03}"))
}

fn text_of(number: u32) -> String {
    format!("text {number}.")
}

fn result_of(number: u32) -> String {
    format!("result {number}.")
}

fn generated(part: AbstractPart) -> GeneratedPart {
    let (name, family) = ("look".to_owned(), "function_call");
    match part {
        AbstractPart::Call(id) => GeneratedPart::Call(GeneratedCall {
            id: Some(call_id(id)),
            name,
            arguments: json!({"at": id}),
            family,
            item: None,
            signature: None,
        }),
        AbstractPart::Result(id, _) | AbstractPart::Placeholder(id) => {
            let text = match part {
                AbstractPart::Result(_, number) => result_of(number),
                _ => "none".to_owned(),
            };
            let id = Some(call_id(id));
            GeneratedPart::Answer(GeneratedResult { id, name, text, parts: false, family })
        }
        AbstractPart::Text(number) => GeneratedPart::Text(text_of(number)),
        AbstractPart::Quote(number) => GeneratedPart::Text(result_of(number)),
        AbstractPart::Filler => GeneratedPart::Text("filler".to_owned()),
    }
}

/// Reads the list that an engine returned. Texts and results are known by their numbers; what is
/// not in the original was written by the engine.
pub(super) fn read(list: &Value) -> AbstractHistory {
    let mut messages = Vec::new();
    for value in list.as_array().into_iter().flatten() {
        let kind = value["type"].as_str().unwrap_or_default();
        let side = match value["role"].as_str().unwrap_or(kind) {
            "assistant" | "model" | "model_output" | "function_call" => SenderSide::Model,
            "system" | "developer" => SenderSide::System,
            _ => SenderSide::User,
        };
        let mut parts = Vec::new();
        match (kind, value["role"].as_str()) {
            ("function_call", _) => parts.push(call(&value["call_id"], &value["id"])),
            ("function_call_output" | "function_result", _) => {
                let content =
                    if value["output"].is_null() { &value["result"] } else { &value["output"] };
                parts.push(result(&value["call_id"], content));
            }
            (_, Some("tool")) => parts.push(result(&value["tool_call_id"], &value["content"])),
            _ => {
                let content =
                    if value["parts"].is_null() { &value["content"] } else { &value["parts"] };
                read_content(content, &mut parts);
                for it in value["tool_calls"].as_array().into_iter().flatten() {
                    parts.push(call(&it["id"], &Value::Null));
                }
            }
        }
        messages.push(AbstractMessage { side, parts });
    }
    AbstractHistory(messages)
}

fn read_content(content: &Value, parts: &mut Vec<AbstractPart>) {
    let Some(list) = content.as_array() else {
        if let Some(text) = content.as_str() {
            read_text(text, parts);
        }
        return;
    };
    for block in list {
        if block["type"] == "tool_use" {
            parts.push(call(&block["id"], &Value::Null));
        } else if block["type"] == "tool_result" {
            parts.push(result(&block["tool_use_id"], &block["content"]));
        } else if let Some(body) = block.get("functionCall") {
            parts.push(call(&body["id"], &Value::Null));
        } else if let Some(body) = block.get("functionResponse") {
            parts.push(result(&body["id"], &body["response"]));
        } else if let Some(body) = block.get("toolUse") {
            parts.push(call(&body["toolUseId"], &Value::Null));
        } else if let Some(body) = block.get("toolResult") {
            parts.push(result(&body["toolUseId"], &body["content"]));
        } else if let Some(text) = block["text"].as_str() {
            read_text(text, parts);
        }
    }
}

fn call(id: &Value, other: &Value) -> AbstractPart {
    AbstractPart::Call(read_id(if id.is_null() { other } else { id }))
}

/// The number of an id. One that the engine wrote gets a number from its letters; two of them in one
/// history are hardly the same.
fn read_id(id: &Value) -> u8 {
    let id = id.as_str().unwrap_or_default();
    let ours = id.strip_prefix("call00").and_then(|number| number.parse().ok());
    ours.unwrap_or_else(|| 200 + id.bytes().map(u32::from).sum::<u32>() as u8 % 50)
}

fn result(id: &Value, content: &Value) -> AbstractPart {
    let id = read_id(id);
    match numbers(&content.to_string(), "result ").first() {
        Some(number) => AbstractPart::Result(id, *number),
        None => AbstractPart::Placeholder(id),
    }
}

/// A text may hold several that were joined.
fn read_text(text: &str, parts: &mut Vec<AbstractPart>) {
    let (texts, quotes) = (numbers(text, "text "), numbers(text, "result "));
    if texts.is_empty() && quotes.is_empty() {
        parts.push(AbstractPart::Filler);
    }
    parts.extend(quotes.into_iter().map(AbstractPart::Quote));
    parts.extend(texts.into_iter().map(AbstractPart::Text));
}

/// The numbers behind a word, each followed by a period.
fn numbers(text: &str, word: &str) -> Vec<u32> {
    let behind = text.split(word).skip(1);
    behind.filter_map(|rest| rest.split_once('.')?.0.parse().ok()).collect()
}
