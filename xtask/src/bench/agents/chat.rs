//! A conversation of a client of chat completions.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::client::{TimedClient, TimedReply};

const PATH: &str = "/v1/chat/completions";

/// The only model there is.
pub(super) const MODEL: &str = "agent";

/// The client's only tool.
pub(super) const TOOL: &str = "look";

/// What the tool returns.
pub(super) const ANSWER: &str = "There are three files here, and none of them is what was wanted.";

/// How replies come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReplyMode {
    Whole,
    Stream,
}

/// What a client knows of its conversation.
pub(super) struct ClientChat {
    pub(super) mode: ReplyMode,
    pub(super) messages: Vec<Value>,
    /// Calls that wait for an answer.
    pub(super) open: Vec<String>,
}

impl ClientChat {
    pub(super) fn new(mode: ReplyMode) -> ClientChat {
        ClientChat { mode, messages: Vec::new(), open: Vec::new() }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// Answers everything that is open.
    pub(super) fn answer(&mut self) {
        for call in self.open.drain(..) {
            let answer = json!({"role": "tool", "tool_call_id": call, "content": ANSWER});
            self.messages.push(answer);
        }
    }

    /// Sends it, and keeps the reply, which has so many calls, or is text.
    pub(super) fn send(
        &mut self,
        client: &mut TimedClient,
        calls: usize,
    ) -> Result<TimedReply, String> {
        let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let function = json!({"name": TOOL, "description": "looks", "parameters": parameters});
        let mut body = json!({
            "model": MODEL, "messages": self.messages,
            "tools": [{"type": "function", "function": function}],
        });
        if self.mode == ReplyMode::Stream {
            body["stream"] = json!(true);
        }
        let reply = client.post(PATH, &body.to_string())?;
        let message = match self.mode {
            ReplyMode::Whole => serde_json::from_str::<Value>(&reply.body)
                .map(|body| body["choices"][0]["message"].clone())
                .map_err(|error| error.to_string())?,
            ReplyMode::Stream => assemble(&reply.body),
        };
        let found = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let ids = found.iter().filter_map(|call| call["id"].as_str().map(str::to_owned));
        self.open = ids.collect();
        let text = message["content"].as_str().unwrap_or_default();
        if self.open.len() != calls || (calls == 0 && text.is_empty()) {
            return Err(format!("not the reply that was expected: {}", reply.body));
        }
        self.messages.push(message);
        Ok(reply)
    }
}

/// The message of a stream.
fn assemble(body: &str) -> Value {
    let (mut text, mut calls) = (String::new(), Vec::<Value>::new());
    for data in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let chunk: Value = serde_json::from_str(data).unwrap_or_default();
        let delta = &chunk["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let part = call["function"]["arguments"].as_str().unwrap_or_default();
            if call["id"].is_string() {
                let function = json!({"name": call["function"]["name"], "arguments": part});
                calls.push(json!({"id": call["id"], "type": "function", "function": function}));
            } else if let Some(last) = calls.last_mut() {
                let before = last["function"]["arguments"].as_str().unwrap_or_default();
                last["function"]["arguments"] = json!(format!("{before}{part}"));
            }
        }
    }
    let text = if text.is_empty() { Value::Null } else { Value::String(text) };
    if calls.is_empty() {
        return json!({"role": "assistant", "content": text});
    }
    json!({"role": "assistant", "content": text, "tool_calls": calls})
}

/// A prompt, never used before, that makes the model call so many times at once.
pub(super) fn prompt(calls: usize) -> String {
    let calls: Vec<String> =
        (0..calls).map(|_| format!("mcp__client__{TOOL} with {{\"n\":{}}}", number())).collect();
    format!("call {}", calls.join(" and "))
}

/// A number that was never used before.
pub(super) fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_stream_are_kept_with_their_arguments() {
        let body = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\
                    \"function\":{\"name\":\"look\",\"arguments\":\"\"}}]}}]}\n\n\
                    data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\
                    \"function\":{\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n";
        let call = json!({"name": "look", "arguments": "{}"});
        let calls = json!([{"id": "a", "type": "function", "function": call}]);
        let expected = json!({"role": "assistant", "content": null, "tool_calls": calls});
        assert_eq!(assemble(body), expected);
    }
}
