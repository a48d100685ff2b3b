//! What binds the scripted model's thinking to its past.
//!
//! A signature has three parts: one for the text, one for everything before it, and one for the thinking
//! before it. So a changed text, a changed past, and a block taken out of the middle can be told
//! apart. Taking out the first blocks of a history is fine, as with the real models.

use serde_json::Value;

use crate::{json_fields::text, stable_hasher::StableHasher};

const SIGNATURE_MARK: &str = "fwsig";

/// Whether a signature was made here.
pub(crate) fn is_scripted(signature: &str) -> bool {
    signature.starts_with(SIGNATURE_MARK)
}

/// Everything that stands before a place in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct SignedPrefix {
    hasher: StableHasher,
    role: String,
    /// The signature of the thinking before.
    last_signature: Option<String>,
}

/// What a signature says about its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SignatureCheck {
    /// All is as it was.
    Intact,
    /// The text is another one, or the signature was never ours.
    TextChanged,
    /// What stands before is not what stood before.
    PrefixChanged,
}

impl SignedPrefix {
    /// The beginning: instructions and tools.
    pub(crate) fn new(request: &Value) -> SignedPrefix {
        let mut seal = StableHasher::new("prefix");
        match request.get("system") {
            Some(Value::String(words)) => seal = seal.with_field(words.as_bytes()),
            Some(Value::Array(blocks)) => {
                for words in blocks.iter().filter_map(|block| text(block, "text")) {
                    seal = seal.with_field(words.as_bytes());
                }
            }
            _ => {}
        }
        for tool in crate::json_fields::list(request, "tools") {
            seal = seal.with_field(without_client_fields(tool).to_string().as_bytes());
        }
        SignedPrefix { hasher: seal, role: String::new(), last_signature: None }
    }

    /// Goes past a message.
    pub(crate) fn add_message(&mut self, message: &Value) {
        let role = text(message, "role").unwrap_or_default();
        match message.get("content") {
            Some(Value::String(words)) => self.add_fields(role, &[b"text", words.as_bytes()]),
            Some(Value::Array(blocks)) => {
                blocks.iter().for_each(|block| self.add_block(role, block))
            }
            _ => {}
        }
    }

    /// Goes past a block. Thinking is not part of what later thinking stands on; it only has to be
    /// the same chain.
    pub(crate) fn add_block(&mut self, role: &str, block: &Value) {
        let word = |key: &str| text(block, key).unwrap_or_default().as_bytes();
        match text(block, "type") {
            Some("thinking") => self.last_signature = text(block, "signature").map(str::to_owned),
            Some("text") => self.add_fields(role, &[b"text", word("text")]),
            Some("tool_use") => {
                let input = block.get("input").unwrap_or(&Value::Null).to_string();
                self.add_fields(role, &[b"call", word("id"), word("name"), input.as_bytes()]);
            }
            Some("tool_result") => {
                let said = match block.get("content") {
                    Some(Value::String(words)) => words.clone(),
                    Some(Value::Array(blocks)) => match blocks.as_slice() {
                        [one] if text(one, "text").is_some() => {
                            text(one, "text").unwrap_or_default().to_owned()
                        }
                        blocks => blocks
                            .iter()
                            .map(|block| without_client_fields(block).to_string())
                            .collect(),
                    },
                    _ => String::new(),
                };
                self.add_fields(role, &[b"answer", word("tool_use_id"), said.as_bytes()]);
            }
            _ => self.add_fields(role, &[without_client_fields(block).to_string().as_bytes()]),
        }
    }

    /// Signs thinking that comes now.
    pub(crate) fn sign(&self, words: &str) -> String {
        let [text, past, chain] = self.signature_parts(words);
        format!("{SIGNATURE_MARK}.{text}.{past}.{chain}")
    }

    /// Looks at thinking that claims to have come now.
    pub(super) fn check_signature(&self, words: &str, signature: &str) -> SignatureCheck {
        let [text, past, chain] = self.signature_parts(words);
        let told: Vec<&str> = signature.split('.').collect();
        let [SIGNATURE_MARK, told_text, told_past, told_chain] = *told.as_slice() else {
            return SignatureCheck::TextChanged;
        };
        if told_text != text {
            SignatureCheck::TextChanged
        } else if told_past != past || self.last_signature.is_some() && told_chain != chain {
            SignatureCheck::PrefixChanged
        } else {
            SignatureCheck::Intact
        }
    }

    fn signature_parts(&self, words: &str) -> [String; 3] {
        let before = self.last_signature.as_deref().unwrap_or_default();
        [
            StableHasher::new("thinking").with_field(words.as_bytes()).letters(16),
            self.hasher.letters(16),
            StableHasher::new("chain").with_field(before.as_bytes()).letters(8),
        ]
    }

    /// Neighbours of one role are one message.
    fn add_fields(&mut self, role: &str, fields: &[&[u8]]) {
        if self.role != role {
            self.role = role.to_owned();
            self.hasher = self.hasher.with_field(role.as_bytes());
        }
        self.hasher = fields.iter().fold(self.hasher, |seal, field| seal.with_field(field));
    }
}

/// A block without what clients move and add: cache marks and nulls.
fn without_client_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept =
                fields.iter().filter(|(key, value)| *key != "cache_control" && !value.is_null());
            Value::Object(
                kept.map(|(key, value)| (key.clone(), without_client_fields(value))).collect(),
            )
        }
        Value::Array(elements) => {
            Value::Array(elements.iter().map(without_client_fields).collect())
        }
        other => other.clone(),
    }
}
