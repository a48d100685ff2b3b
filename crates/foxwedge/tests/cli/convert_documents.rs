//! What is converted: recorded answers of every provider, and a request with a little of everything.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::sandbox::Ran;

pub(crate) const WIRES: [&str; 5] =
    ["openai-chat", "openai-responses", "anthropic", "gemini", "bedrock"];

/// An id that Anthropic does not take, reasoning, a call that nobody answered, a setting that only
/// two formats know.
pub(crate) const REQUEST: &str = r#"{
  "model": "gpt-4.1",
  "seed": 7,
  "messages": [
    {"role": "system", "content": "You help at the harbour."},
    {"role": "user", "content": "Which ferry?"},
    {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
      {"id": "functions.tides:0", "type": "function", "function": {"name": "tides", "arguments": "{\"port\": \"Dagebüll\"}"}},
      {"id": "call_2", "type": "function", "function": {"name": "wind", "arguments": "{}"}}
    ]},
    {"role": "tool", "tool_call_id": "functions.tides:0", "content": "high at 07:30"},
    {"role": "user", "content": "Well?"}
  ],
  "tools": [
    {"type": "function", "function": {"name": "tides", "description": "Tides of a port", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "wind", "description": "Wind now", "parameters": {"type": "object", "properties": {}}}}
  ]
}
"#;

/// A list that crosses without a loss.
pub(crate) const PLAIN: &str = r#"[{"role":"user","content":"Which ferry?"},{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"tides","arguments":"{\"port\":\"Dagebüll\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"high at 07:30"},{"role":"assistant","content":"The first."},{"role":"user","content":"Thanks."}]
"#;

/// A recorded response.
pub(crate) fn response(name: &str, wire: &str) -> Vec<u8> {
    recorded(&format!("responses/{name}.{wire}.json"))
}

/// A recorded stream.
pub(crate) fn stream(name: &str, wire: &str) -> Vec<u8> {
    let ending = if wire == "bedrock" { "bin" } else { "sse" };
    recorded(&format!("streams/{name}.{wire}.{ending}"))
}

fn recorded(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/conversion");
    fs::read(folder.join(name)).unwrap()
}

/// The report on stderr.
#[track_caller]
pub(crate) fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.err).unwrap_or_else(|_| panic!("{}", ran.all()))
}

#[track_caller]
pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
