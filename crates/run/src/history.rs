//! What a run leaves in its session: the conversation, with every call answered.
//!
//! The statuses of the tool table and the answers of the history are the same facts. A call that
//! has no answer of its own gets the words that stand for one, in the spelling that repairs use.

use serde_json::{Map, Value, json};

use crate::{Run, Status, TextItem, TextKind, Tool};

/// A message in Anthropic's format.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// `assistant` or `user`.
    pub role: &'static str,
    /// Its blocks.
    pub content: Vec<Value>,
}

impl Message {
    /// The message as JSON.
    pub fn value(&self) -> Value {
        json!({ "role": self.role, "content": self.content })
    }
}

/// The messages of a run, in order. What sub-agents said and did is not part of the conversation,
/// nor is an answer whose call never came.
pub fn history(run: &Run) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut group = Group::default();
    for entry in entries(run) {
        if group.is_behind(&entry) {
            std::mem::take(&mut group).tell(&mut messages);
        }
        group.take(entry);
    }
    group.tell(&mut messages);
    messages
}

/// Something the model said or called, with its turn and its place in the log.
enum Entry<'a> {
    Text(&'a TextItem),
    Call(&'a Tool),
}

impl Entry<'_> {
    fn turn(&self) -> u32 {
        match self {
            Entry::Text(text) => text.turn,
            Entry::Call(tool) => tool.turn(),
        }
    }

    fn born(&self) -> u64 {
        match self {
            Entry::Text(text) => text.born,
            Entry::Call(tool) => tool.born,
        }
    }
}

fn entries(run: &Run) -> Vec<Entry<'_>> {
    let said = |text: &&TextItem| {
        text.kind == TextKind::Text && text.parent.is_none() && !text.text.trim().is_empty()
    };
    let called = |tool: &&Tool| tool.was_called() && tool.parent.is_none();
    let texts = run.texts().iter().filter(said).map(Entry::Text);
    let calls = run.tools().iter().filter(called).map(Entry::Call);
    let mut entries: Vec<Entry<'_>> = texts.chain(calls).collect();
    entries.sort_by_key(|entry| (entry.turn(), entry.born()));
    entries
}

/// One message of the model, and the answers to its calls.
#[derive(Default)]
struct Group<'a> {
    turn: Option<u32>,
    texts: Vec<&'a TextItem>,
    calls: Vec<&'a Tool>,
    /// Where the first of its answers stands in the log.
    answered: Option<u64>,
}

impl<'a> Group<'a> {
    /// Whether an entry belongs to the next message: it is of another turn, or nobody ever spoke
    /// of turns and answers came in between.
    fn is_behind(&self, entry: &Entry<'_>) -> bool {
        let Some(turn) = self.turn else { return false };
        let answered = self.answered.is_some_and(|place| place < entry.born());
        turn != entry.turn() || turn == 0 && answered
    }

    fn take(&mut self, entry: Entry<'a>) {
        self.turn = Some(entry.turn());
        match entry {
            Entry::Text(text) => self.texts.push(text),
            Entry::Call(tool) => {
                let first = self.answered.unwrap_or(u64::MAX);
                self.answered = Some(first.min(tool.answered.max(tool.born)));
                self.calls.push(tool);
            }
        }
    }

    /// Providers want the text of a message in front of its calls, and the answers of all its
    /// calls in the message behind it.
    fn tell(self, messages: &mut Vec<Message>) {
        let texts = self.texts.iter().map(|text| json!({ "type": "text", "text": text.text }));
        let calls = self.calls.iter().map(|tool| call(tool));
        let content: Vec<Value> = texts.chain(calls).collect();
        if !content.is_empty() {
            messages.push(Message { role: "assistant", content });
        }
        if !self.calls.is_empty() {
            let content = self.calls.iter().map(|tool| answer(tool)).collect();
            messages.push(Message { role: "user", content });
        }
    }
}

fn call(tool: &Tool) -> Value {
    let input = match tool.input.as_ref().map(crate::Json::value) {
        Some(Value::Object(input)) => Value::Object(input),
        Some(other) => json!({ "value": other }),
        None => Value::Object(Map::new()),
    };
    let name = tool.name.as_deref().unwrap_or("unknown");
    json!({ "type": "tool_use", "id": &*tool.call, "name": name, "input": input })
}

fn answer(tool: &Tool) -> Value {
    let content = match tool.told().value() {
        Value::String(text) => Value::String(text),
        Value::Array(blocks) if !blocks.is_empty() && blocks.iter().all(is_block) => {
            Value::Array(blocks)
        }
        other => Value::String(other.to_string()),
    };
    let mut told = json!({ "type": "tool_result", "tool_use_id": &*tool.call, "content": content });
    if let (true, Some(object)) = (is_error(tool.status()), told.as_object_mut()) {
        object.insert("is_error".into(), true.into());
    }
    told
}

fn is_block(value: &Value) -> bool {
    matches!(value.get("type").and_then(Value::as_str), Some("text" | "image" | "document"))
}

fn is_error(status: Status) -> bool {
    match status {
        Status::Succeeded | Status::HandedOver => false,
        Status::Failed
        | Status::Denied
        | Status::Cancelled
        | Status::Interrupted
        | Status::Unknown
        | Status::Pending
        | Status::AwaitingApproval
        | Status::Running => true,
    }
}
