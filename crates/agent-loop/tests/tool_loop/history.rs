//! A naive reader of conversations in Anthropic's format.

use serde_json::Value;

/// The items of a conversation in order, each result with its call.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct HistoryView {
    pub(crate) items: Vec<HistoryItem>,
    /// Results without a call in the message before.
    pub(crate) orphans: Vec<String>,
}

/// One item of a conversation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum HistoryItem {
    User(String),
    Model(String),
    Call(Call),
    /// Something else, such as reasoning or an image.
    Other(String),
}

/// A call and its result.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) arguments: Value,
    pub(crate) answer: Option<Answer>,
}

/// The result of a call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) error: bool,
}

impl HistoryView {
    /// Reads a request.
    pub(crate) fn of(document: &Value) -> HistoryView {
        let mut history = HistoryView::default();
        for message in document["messages"].as_array().into_iter().flatten() {
            let is_assistant = message["role"] == "assistant";
            // Results belong to calls that only results follow.
            let open = history.open();
            for block in blocks(&message["content"]) {
                let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str().unwrap_or_default() {
                    "text" if is_assistant => history.items.push(HistoryItem::Model(text("text"))),
                    "text" => history.items.push(HistoryItem::User(text("text"))),
                    "tool_use" => {
                        let (id, arguments) = (text("id"), block["input"].clone());
                        history.items.push(HistoryItem::Call(Call { id, arguments, answer: None }));
                    }
                    "tool_result" => history.answer(&open, &text("tool_use_id"), &block),
                    other => history.items.push(HistoryItem::Other(other.to_owned())),
                }
            }
        }
        history
    }

    /// The calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.items.iter().filter_map(|item| match item {
            HistoryItem::Call(call) => Some(call),
            HistoryItem::User(_) | HistoryItem::Model(_) | HistoryItem::Other(_) => None,
        })
    }

    /// One line: `u:…` the user, `a:…` the model, `id=…` a call and its result.
    pub(crate) fn shape(&self) -> String {
        let items = self.items.iter().filter_map(|item| match item {
            HistoryItem::User(text) => Some(format!("u:{text}")),
            HistoryItem::Model(text) => Some(format!("a:{text}")),
            HistoryItem::Call(call) => {
                let answer = call.answer.as_ref().map_or("-", |answer| answer.text.as_str());
                Some(format!("{}={answer}", call.id))
            }
            HistoryItem::Other(_) => None,
        });
        items.collect::<Vec<_>>().join(" | ")
    }

    /// The calls of the last message, if nothing follows it.
    fn open(&self) -> Vec<usize> {
        let is_call = |place: &usize| matches!(self.items.get(*place), Some(HistoryItem::Call(_)));
        (0..self.items.len()).rev().take_while(is_call).collect()
    }

    fn answer(&mut self, open: &[usize], id: &str, block: &Value) {
        let texts = blocks(&block["content"]);
        let texts: Vec<&str> = texts.iter().filter_map(|block| block["text"].as_str()).collect();
        let answer = Answer { text: texts.join("\n"), error: block["is_error"] == true };
        for place in open.iter().rev() {
            if let Some(HistoryItem::Call(call)) = self.items.get_mut(*place)
                && call.id == id
                && call.answer.is_none()
            {
                call.answer = Some(answer);
                return;
            }
        }
        self.orphans.push(id.to_owned());
    }
}

/// The blocks of a content; a string is one block of text.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}
