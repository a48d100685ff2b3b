//! What a run leaves in its session: the conversation, with every call answered.
//!
//! The statuses of the tool table and the answers of the history are the same facts. A call that
//! has no answer of its own gets the words that stand for one, in the spelling that repairs use.

use serde_json::{Map, Value, json};

use crate::{Run, TextItem, TextKind, ToolCallState, ToolStatus};

/// A message in Anthropic's format.
#[derive(Clone, PartialEq, Debug)]
pub struct RunMessage {
    /// `assistant` or `user`.
    pub role: &'static str,
    /// Its blocks.
    pub content: Vec<Value>,
}

impl RunMessage {
    /// The message as JSON.
    pub fn value(&self) -> Value {
        json!({ "role": self.role, "content": self.content })
    }
}

/// The messages of a run, in order. What sub-agents said and did is not part of the conversation,
/// nor is an answer whose call never came.
pub fn history(run: &Run) -> Vec<RunMessage> {
    let mut messages = Vec::new();
    let mut group = MessageGroup::default();
    for entry in entries(run) {
        if group.belongs_to_next(&entry) {
            std::mem::take(&mut group).write_messages(&mut messages);
        }
        group.push(entry);
    }
    group.write_messages(&mut messages);
    messages
}

/// Something the model said or called, with its turn and its place in the log.
enum HistoryEntry<'a> {
    Text(&'a TextItem),
    Call(&'a ToolCallState),
}

impl HistoryEntry<'_> {
    fn turn(&self) -> u32 {
        match self {
            HistoryEntry::Text(text) => text.turn,
            HistoryEntry::Call(tool) => tool.turn(),
        }
    }

    fn position(&self) -> u64 {
        match self {
            HistoryEntry::Text(text) => text.position,
            HistoryEntry::Call(tool) => tool.call_position,
        }
    }
}

fn entries(run: &Run) -> Vec<HistoryEntry<'_>> {
    let said = |text: &&TextItem| {
        text.kind == TextKind::Text && text.parent.is_none() && !text.text.trim().is_empty()
    };
    let called = |tool: &&ToolCallState| tool.was_called() && tool.parent.is_none();
    let texts = run.texts().iter().filter(said).map(HistoryEntry::Text);
    let calls = run.tools().iter().filter(called).map(HistoryEntry::Call);
    let mut entries: Vec<HistoryEntry<'_>> = texts.chain(calls).collect();
    entries.sort_by_key(|entry| (entry.turn(), entry.position()));
    entries
}

/// One message of the model, and the answers to its calls.
#[derive(Default)]
struct MessageGroup<'a> {
    turn: Option<u32>,
    texts: Vec<&'a TextItem>,
    calls: Vec<&'a ToolCallState>,
    /// Where the first of its answers stands in the log.
    first_answer: Option<u64>,
}

impl<'a> MessageGroup<'a> {
    /// Whether an entry belongs to the next message: it is of another turn, or nobody ever spoke
    /// of turns and answers came in between.
    fn belongs_to_next(&self, entry: &HistoryEntry<'_>) -> bool {
        let Some(turn) = self.turn else { return false };
        let answered = self.first_answer.is_some_and(|place| place < entry.position());
        turn != entry.turn() || turn == 0 && answered
    }

    fn push(&mut self, entry: HistoryEntry<'a>) {
        self.turn = Some(entry.turn());
        match entry {
            HistoryEntry::Text(text) => self.texts.push(text),
            HistoryEntry::Call(tool) => {
                let first = self.first_answer.unwrap_or(u64::MAX);
                self.first_answer = Some(first.min(tool.answer_position.max(tool.call_position)));
                self.calls.push(tool);
            }
        }
    }

    /// Providers want the text of a message in front of its calls, and the answers of all its
    /// calls in the message behind it.
    fn write_messages(self, messages: &mut Vec<RunMessage>) {
        let texts = self.texts.iter().map(|text| json!({ "type": "text", "text": text.text }));
        let calls = self.calls.iter().map(|tool| call_block(tool));
        let content: Vec<Value> = texts.chain(calls).collect();
        if !content.is_empty() {
            messages.push(RunMessage { role: "assistant", content });
        }
        if !self.calls.is_empty() {
            let content = self.calls.iter().map(|tool| result_block(tool)).collect();
            messages.push(RunMessage { role: "user", content });
        }
    }
}

fn call_block(tool: &ToolCallState) -> Value {
    let input = match tool.input.as_ref().map(crate::RawJson::value) {
        Some(Value::Object(input)) => Value::Object(input),
        Some(other) => json!({ "value": other }),
        None => Value::Object(Map::new()),
    };
    let name = tool.name.as_deref().unwrap_or("unknown");
    json!({ "type": "tool_use", "id": &*tool.call, "name": name, "input": input })
}

fn result_block(tool: &ToolCallState) -> Value {
    let content = match tool.result_content().value() {
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

fn is_error(status: ToolStatus) -> bool {
    match status {
        ToolStatus::Succeeded | ToolStatus::HandedOver => false,
        ToolStatus::Failed
        | ToolStatus::Denied
        | ToolStatus::Cancelled
        | ToolStatus::Interrupted
        | ToolStatus::Unknown
        | ToolStatus::Pending
        | ToolStatus::AwaitingApproval
        | ToolStatus::Running => true,
    }
}
