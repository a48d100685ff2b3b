//! A conversation as a client of chat completions holds it: every message that it sent and got, in
//! their order, sent again with every request.

use serde_json::{Value, json};

use super::wire::{Answer, Framing, post, send};

/// Where a gateway is, and what opens it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Door {
    pub(crate) address: String,
    pub(crate) token: String,
}

impl Door {
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Answer, String> {
        send(&self.address, &self.request(path, body)).map_err(|error| format!("{path}: {error}"))
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value, String> {
        let bytes = super::wire::get(path, &self.headers());
        let answer = send(&self.address, &bytes).map_err(|error| format!("{path}: {error}"))?;
        match answer.status {
            200 => Ok(answer.json()),
            _ => Err(format!("{path}: {answer:?}")),
        }
    }

    /// The bytes of a request.
    pub(crate) fn request(&self, path: &str, body: &Value) -> Vec<u8> {
        post(path, &self.headers(), body.to_string())
    }

    fn headers(&self) -> String {
        format!("x-foxwedge-token: {}\r\n", self.token)
    }
}

/// What a client knows of its conversation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Chat {
    pub(crate) model: String,
    pub(crate) tools: Vec<Value>,
    pub(crate) messages: Vec<Value>,
    pub(crate) stream: bool,
    /// More settings.
    pub(crate) more: Value,
}

/// A reply that came whole.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Turn {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: String,
    pub(crate) answer: Answer,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

pub(crate) const PATH: &str = "/v1/chat/completions";

impl Chat {
    /// A conversation with tools that take a number or a name.
    pub(crate) fn new(model: &str, tools: &[&str]) -> Chat {
        let tools = tools.iter().map(|name| tool(name)).collect();
        Chat { model: model.to_owned(), tools, messages: vec![], stream: false, more: json!({}) }
    }

    pub(crate) fn streaming(mut self) -> Chat {
        self.stream = true;
        self
    }

    pub(crate) fn say(&mut self, words: &str) -> &mut Chat {
        self.messages.push(json!({"role": "user", "content": words}));
        self
    }

    /// Answers a call with words that name it.
    pub(crate) fn answer(&mut self, call: &Call) -> &mut Chat {
        self.answer_with(call, &told(call))
    }

    pub(crate) fn answer_with(&mut self, call: &Call, text: &str) -> &mut Chat {
        let content = json!({"role": "tool", "tool_call_id": call.id, "content": text});
        self.messages.push(content);
        self
    }

    /// What is sent.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({"model": self.model, "messages": self.messages});
        if self.stream {
            body["stream"] = json!(true);
        }
        if !self.tools.is_empty() {
            body["tools"] = json!(self.tools);
        }
        for (key, value) in self.more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        body
    }

    /// Asks; whatever comes.
    pub(crate) fn raw(&self, door: &Door) -> Result<Answer, String> {
        door.post(PATH, &self.body())
    }

    /// Asks, and keeps the reply.
    pub(crate) fn ask(&mut self, door: &Door) -> Result<Turn, String> {
        let turn = self.peek(door)?;
        self.messages.push(turn.message());
        Ok(turn)
    }

    /// Asks, and forgets the reply.
    pub(crate) fn peek(&self, door: &Door) -> Result<Turn, String> {
        let answer = self.raw(door)?;
        Turn::read(answer, self.stream)
    }
}

impl Turn {
    pub(crate) fn read(answer: Answer, stream: bool) -> Result<Turn, String> {
        if answer.status != 200 || answer.framing == Framing::BrokenOff {
            return Err(format!("no whole reply: {answer:?}"));
        }
        let choice = match stream {
            true => streamed(&answer.body).ok_or_else(|| format!("a broken stream: {answer:?}"))?,
            false => answer.json()["choices"][0].clone(),
        };
        let message = &choice["message"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut calls = Vec::new();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let arguments = text(&function["arguments"]);
            let arguments = serde_json::from_str(&arguments)
                .map_err(|error| format!("arguments: {error}: {arguments}"))?;
            calls.push(Call { id: text(&call["id"]), name: text(&function["name"]), arguments });
        }
        let (finish, text) = (text(&choice["finish_reason"]), text(&message["content"]));
        Ok(Turn { text, calls, finish, answer })
    }

    /// The message that a client keeps.
    pub(crate) fn message(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|call| {
                let arguments = call.arguments.to_string();
                let function = json!({"name": call.name, "arguments": arguments});
                json!({"id": call.id, "type": "function", "function": function})
            });
            message["tool_calls"] = calls.collect();
            if self.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        message
    }

    pub(crate) fn ids(&self) -> Vec<&str> {
        self.calls.iter().map(|call| call.id.as_str()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.answer.header(name)
    }
}

/// What a tool says to a call: the same to the same.
pub(crate) fn told(call: &Call) -> String {
    format!("{} did {}", call.name, call.arguments)
}

/// A declaration of a tool.
pub(crate) fn tool(name: &str) -> Value {
    let parameters = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "filename": {"type": "string"}},
    });
    let function = json!({"name": name, "description": "does it", "parameters": parameters});
    json!({"type": "function", "function": function})
}

/// Words that make the scripted model call, behind an agent that knows the client's tools under
/// names of its own.
pub(crate) fn please(calls: &[(&str, Value)]) -> String {
    let calls: Vec<String> = calls
        .iter()
        .map(|(name, arguments)| format!("mcp__client__{name} with {arguments}"))
        .collect();
    format!("call {}", calls.join(" and "))
}

/// The pieces of a stream, put together as one choice; none if it did not end well.
fn streamed(body: &str) -> Option<Value> {
    let (mut text, mut finish) = (String::new(), Value::Null);
    let mut calls: Vec<[String; 3]> = Vec::new();
    for data in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        if data == "[DONE]" {
            let calls = calls.iter().map(|[id, name, arguments]| {
                json!({"id": id, "function": {"name": name, "arguments": arguments}})
            });
            let message = json!({"content": text, "tool_calls": calls.collect::<Vec<_>>()});
            return Some(json!({"message": message, "finish_reason": finish}));
        }
        let chunk: Value = serde_json::from_str(data).ok()?;
        let choice = &chunk["choices"][0];
        text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let at = usize::try_from(call["index"].as_u64()?).ok()?;
            calls.resize(calls.len().max(at + 1), Default::default());
            let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let [id, name, arguments] = calls.get_mut(at)?;
            id.push_str(&part(&call["id"]));
            name.push_str(&part(&call["function"]["name"]));
            arguments.push_str(&part(&call["function"]["arguments"]));
        }
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
    }
    None
}
