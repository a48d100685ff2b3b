//! The conversation that a run leaves in its session, with a result for every tool call.
//!
//! The statuses of the tool table and the tool results of the history state the same facts. A call
//! without a result of its own gets a placeholder, with the same text that repairs use.

use serde_json::{Map, Value, json};

use crate::{Run, TextItem, TextKind, ToolCallState, ToolStatus};

/// A message in Anthropic's format.
#[derive(Clone, PartialEq, Debug)]
pub struct RunMessage {
    /// `assistant` or `user`.
    pub role: &'static str,
    /// Its content blocks.
    pub content: Vec<Value>,
}

impl RunMessage {
    /// Returns the message as JSON.
    pub fn value(&self) -> Value {
        json!({ "role": self.role, "content": self.content })
    }
}

/// Returns the messages of a run, in order. Text and calls of sub-agents are not part of the
/// conversation; neither are tool results whose call never came.
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

/// A text or a call, with its turn and its position in the log.
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
    let has_text = |text: &&TextItem| {
        text.kind == TextKind::Text && text.parent.is_none() && !text.text.trim().is_empty()
    };
    let is_own_call = |tool: &&ToolCallState| tool.was_called() && tool.parent.is_none();
    let texts = run.texts().iter().filter(has_text).map(HistoryEntry::Text);
    let calls = run.tools().iter().filter(is_own_call).map(HistoryEntry::Call);
    let mut entries: Vec<HistoryEntry<'_>> = texts.chain(calls).collect();
    entries.sort_by_key(|entry| (entry.turn(), entry.position()));
    entries
}

/// One assistant message, and the tool results for its calls.
#[derive(Default)]
struct MessageGroup<'a> {
    turn: Option<u32>,
    texts: Vec<&'a TextItem>,
    calls: Vec<&'a ToolCallState>,
    /// The log position of its first tool result.
    first_answer: Option<u64>,
}

impl<'a> MessageGroup<'a> {
    /// Whether an entry belongs to the next message: it has another turn, or the source reports no
    /// turns and a tool result came in between.
    fn belongs_to_next(&self, entry: &HistoryEntry<'_>) -> bool {
        let Some(turn) = self.turn else { return false };
        let answered = self.first_answer.is_some_and(|position| position < entry.position());
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

    /// Providers require the text of a message before its calls, and the results of all its calls
    /// in the next message.
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
    let mut block =
        json!({ "type": "tool_result", "tool_use_id": &*tool.call, "content": content });
    if let (true, Some(object)) = (is_error(tool.status()), block.as_object_mut()) {
        object.insert("is_error".into(), true.into());
    }
    block
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
