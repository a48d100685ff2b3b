//! What binds the scripted model's thinking to its past.
//!
//! A signature has three parts: one for the text, one for everything before it, and one for the thinking
//! before it. So a changed text, a changed past, and a block taken out of the middle can be told
//! apart. Taking out the first blocks of a history is fine, as with the real models.

use serde_json::Value;

use crate::{seal::Seal, tree::text};

const MARK: &str = "fwsig";

/// Whether a signature was made here.
pub(crate) fn is_scripted(signature: &str) -> bool {
    signature.starts_with(MARK)
}

/// Everything that stands before a place in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    seal: Seal,
    role: String,
    /// The signature of the thinking before.
    thought: Option<String>,
}

/// What a signature says about its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    /// All is as it was.
    Whole,
    /// The text is another one, or the signature was never ours.
    Changed,
    /// What stands before is not what stood before.
    Moved,
}

impl Prefix {
    /// The beginning: instructions and tools.
    pub(crate) fn new(request: &Value) -> Prefix {
        let mut seal = Seal::new("prefix");
        match request.get("system") {
            Some(Value::String(words)) => seal = seal.with(words.as_bytes()),
            Some(Value::Array(blocks)) => {
                for words in blocks.iter().filter_map(|block| text(block, "text")) {
                    seal = seal.with(words.as_bytes());
                }
            }
            _ => {}
        }
        for tool in crate::tree::list(request, "tools") {
            seal = seal.with(plain(tool).to_string().as_bytes());
        }
        Prefix { seal, role: String::new(), thought: None }
    }

    /// Goes past a message.
    pub(crate) fn message(&mut self, message: &Value) {
        let role = text(message, "role").unwrap_or_default();
        match message.get("content") {
            Some(Value::String(words)) => self.take(role, &[b"text", words.as_bytes()]),
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| self.block(role, block)),
            _ => {}
        }
    }

    /// Goes past a block. Thinking is not part of what later thinking stands on; it only has to be
    /// the same chain.
    pub(crate) fn block(&mut self, role: &str, block: &Value) {
        let word = |key: &str| text(block, key).unwrap_or_default().as_bytes();
        match text(block, "type") {
            Some("thinking") => self.thought = text(block, "signature").map(str::to_owned),
            Some("text") => self.take(role, &[b"text", word("text")]),
            Some("tool_use") => {
                let input = block.get("input").unwrap_or(&Value::Null).to_string();
                self.take(role, &[b"call", word("id"), word("name"), input.as_bytes()]);
            }
            Some("tool_result") => {
                let said = match block.get("content") {
                    Some(Value::String(words)) => words.clone(),
                    Some(Value::Array(blocks)) => match blocks.as_slice() {
                        [one] if text(one, "text").is_some() => {
                            text(one, "text").unwrap_or_default().to_owned()
                        }
                        blocks => blocks.iter().map(|block| plain(block).to_string()).collect(),
                    },
                    _ => String::new(),
                };
                self.take(role, &[b"answer", word("tool_use_id"), said.as_bytes()]);
            }
            _ => self.take(role, &[plain(block).to_string().as_bytes()]),
        }
    }

    /// Signs thinking that comes now.
    pub(crate) fn sign(&self, words: &str) -> String {
        let [text, past, chain] = self.parts(words);
        format!("{MARK}.{text}.{past}.{chain}")
    }

    /// Looks at thinking that claims to have come now.
    pub(super) fn judge(&self, words: &str, signature: &str) -> Bound {
        let [text, past, chain] = self.parts(words);
        let told: Vec<&str> = signature.split('.').collect();
        let [MARK, told_text, told_past, told_chain] = *told.as_slice() else {
            return Bound::Changed;
        };
        if told_text != text {
            Bound::Changed
        } else if told_past != past || self.thought.is_some() && told_chain != chain {
            Bound::Moved
        } else {
            Bound::Whole
        }
    }

    fn parts(&self, words: &str) -> [String; 3] {
        let before = self.thought.as_deref().unwrap_or_default();
        [
            Seal::new("thinking").with(words.as_bytes()).letters(16),
            self.seal.letters(16),
            Seal::new("chain").with(before.as_bytes()).letters(8),
        ]
    }

    /// Neighbours of one role are one message.
    fn take(&mut self, role: &str, fields: &[&[u8]]) {
        if self.role != role {
            self.role = role.to_owned();
            self.seal = self.seal.with(role.as_bytes());
        }
        self.seal = fields.iter().fold(self.seal, |seal, field| seal.with(field));
    }
}

/// A block without what clients move and add: cache marks and nulls.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept =
                fields.iter().filter(|(key, value)| *key != "cache_control" && !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        Value::Array(elements) => Value::Array(elements.iter().map(plain).collect()),
        other => other.clone(),
    }
}
