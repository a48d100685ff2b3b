//! What a conversation in Anthropic's format says, read naively and word for word.

use serde_json::Value;

/// What is said, in order, each answer with its call.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Said {
    pub(crate) beats: Vec<Beat>,
    /// Answers without a call in the message before.
    pub(crate) orphans: Vec<String>,
}

/// One thing that is said.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Beat {
    User(String),
    Model(String),
    Call(Call),
    /// Something else, such as a thought or an image.
    Other(String),
}

/// A call, and what came back.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) arguments: Value,
    pub(crate) answer: Option<Answer>,
}

/// What came back.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) error: bool,
}

impl Said {
    /// Reads a request.
    pub(crate) fn of(document: &Value) -> Said {
        let mut said = Said::default();
        for message in document["messages"].as_array().into_iter().flatten() {
            let mine = message["role"] == "assistant";
            // Answers belong to calls that nothing but they stand behind.
            let open = said.open();
            for block in blocks(&message["content"]) {
                let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
                match block["type"].as_str().unwrap_or_default() {
                    "text" if mine => said.beats.push(Beat::Model(text("text"))),
                    "text" => said.beats.push(Beat::User(text("text"))),
                    "tool_use" => {
                        let (id, arguments) = (text("id"), block["input"].clone());
                        said.beats.push(Beat::Call(Call { id, arguments, answer: None }));
                    }
                    "tool_result" => said.answer(&open, &text("tool_use_id"), &block),
                    other => said.beats.push(Beat::Other(other.to_owned())),
                }
            }
        }
        said
    }

    /// The calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.beats.iter().filter_map(|beat| match beat {
            Beat::Call(call) => Some(call),
            Beat::User(_) | Beat::Model(_) | Beat::Other(_) => None,
        })
    }

    /// In a line: `u:…` the user, `a:…` the model, `id=…` a call and its answer.
    pub(crate) fn shape(&self) -> String {
        let beats = self.beats.iter().filter_map(|beat| match beat {
            Beat::User(text) => Some(format!("u:{text}")),
            Beat::Model(text) => Some(format!("a:{text}")),
            Beat::Call(call) => {
                let answer = call.answer.as_ref().map_or("-", |answer| answer.text.as_str());
                Some(format!("{}={answer}", call.id))
            }
            Beat::Other(_) => None,
        });
        beats.collect::<Vec<_>>().join(" | ")
    }

    /// The calls of the last message, if nothing stands behind it.
    fn open(&self) -> Vec<usize> {
        let is_call = |place: &usize| matches!(self.beats.get(*place), Some(Beat::Call(_)));
        (0..self.beats.len()).rev().take_while(is_call).collect()
    }

    fn answer(&mut self, open: &[usize], id: &str, block: &Value) {
        let texts = blocks(&block["content"]);
        let texts: Vec<&str> = texts.iter().filter_map(|block| block["text"].as_str()).collect();
        let answer = Answer { text: texts.join("\n"), error: block["is_error"] == true };
        for place in open.iter().rev() {
            if let Some(Beat::Call(call)) = self.beats.get_mut(*place)
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
