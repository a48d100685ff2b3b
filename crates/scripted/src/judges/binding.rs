//! Binds the thinking of the scripted model to the history before it.
//!
//! A signature has three parts: one for the text, one for everything before it, and one for the
//! thinking before it. So a changed text, a changed history, and a block removed from the middle
//! can be distinguished. Removing the first blocks of a history is accepted, as with the real
//! models.

use serde_json::Value;

use crate::{json_fields::text, stable_hasher::StableHasher};

const SIGNATURE_MARK: &str = "fwsig";

/// Whether a signature was made by the scripted model.
pub(crate) fn is_scripted(signature: &str) -> bool {
    signature.starts_with(SIGNATURE_MARK)
}

/// Everything before a position in a conversation.
#[derive(Clone, Debug)]
pub(crate) struct SignedPrefix {
    hasher: StableHasher,
    role: String,
    /// The signature of the previous thinking.
    last_signature: Option<String>,
}

/// The result of checking a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SignatureCheck {
    /// Nothing changed.
    Intact,
    /// The text changed, or the signature was never ours.
    TextChanged,
    /// The history before it changed.
    PrefixChanged,
}

impl SignedPrefix {
    /// The start: instructions and tools.
    pub(crate) fn new(request: &Value) -> SignedPrefix {
        let mut seal = StableHasher::new("prefix");
        match request.get("system") {
            Some(Value::String(content)) => seal = seal.with_field(content.as_bytes()),
            Some(Value::Array(blocks)) => {
                for content in blocks.iter().filter_map(|block| text(block, "text")) {
                    seal = seal.with_field(content.as_bytes());
                }
            }
            _ => {}
        }
        for tool in crate::json_fields::list(request, "tools") {
            seal = seal.with_field(without_client_fields(tool).to_string().as_bytes());
        }
        SignedPrefix { hasher: seal, role: String::new(), last_signature: None }
    }

    /// Adds a message.
    pub(crate) fn add_message(&mut self, message: &Value) {
        let role = text(message, "role").unwrap_or_default();
        match message.get("content") {
            Some(Value::String(content)) => self.add_fields(role, &[b"text", content.as_bytes()]),
            Some(Value::Array(blocks)) => {
                blocks.iter().for_each(|block| self.add_block(role, block))
            }
            _ => {}
        }
    }

    /// Adds a block. Thinking is not part of the history that later thinking is bound to; it only
    /// has to form the same chain.
    pub(crate) fn add_block(&mut self, role: &str, block: &Value) {
        let bytes_of = |key: &str| text(block, key).unwrap_or_default().as_bytes();
        match text(block, "type") {
            Some("thinking") => self.last_signature = text(block, "signature").map(str::to_owned),
            Some("text") => self.add_fields(role, &[b"text", bytes_of("text")]),
            Some("tool_use") => {
                let input = block.get("input").unwrap_or(&Value::Null).to_string();
                self.add_fields(
                    role,
                    &[b"call", bytes_of("id"), bytes_of("name"), input.as_bytes()],
                );
            }
            Some("tool_result") => {
                let result_text = match block.get("content") {
                    Some(Value::String(content)) => content.clone(),
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
                self.add_fields(
                    role,
                    &[b"answer", bytes_of("tool_use_id"), result_text.as_bytes()],
                );
            }
            _ => self.add_fields(role, &[without_client_fields(block).to_string().as_bytes()]),
        }
    }

    /// Signs thinking at this position.
    pub(crate) fn sign(&self, thinking: &str) -> String {
        let [text, past, chain] = self.signature_parts(thinking);
        format!("{SIGNATURE_MARK}.{text}.{past}.{chain}")
    }

    /// Checks thinking that claims to belong to this position.
    pub(super) fn check_signature(&self, thinking: &str, signature: &str) -> SignatureCheck {
        let [text, past, chain] = self.signature_parts(thinking);
        let stated: Vec<&str> = signature.split('.').collect();
        let [SIGNATURE_MARK, stated_text, stated_past, stated_chain] = *stated.as_slice() else {
            return SignatureCheck::TextChanged;
        };
        if stated_text != text {
            SignatureCheck::TextChanged
        } else if stated_past != past || self.last_signature.is_some() && stated_chain != chain {
            SignatureCheck::PrefixChanged
        } else {
            SignatureCheck::Intact
        }
    }

    fn signature_parts(&self, thinking: &str) -> [String; 3] {
        let before = self.last_signature.as_deref().unwrap_or_default();
        [
            StableHasher::new("thinking").with_field(thinking.as_bytes()).letters(16),
            self.hasher.letters(16),
            StableHasher::new("chain").with_field(before.as_bytes()).letters(8),
        ]
    }

    /// Adjacent messages of one role are one message.
    fn add_fields(&mut self, role: &str, fields: &[&[u8]]) {
        if self.role != role {
            self.role = role.to_owned();
            self.hasher = self.hasher.with_field(role.as_bytes());
        }
        self.hasher = fields.iter().fold(self.hasher, |seal, field| seal.with_field(field));
    }
}

/// A block without the fields that clients move and add: cache marks and nulls.
fn without_client_fields(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let remaining =
                fields.iter().filter(|(key, value)| *key != "cache_control" && !value.is_null());
            Value::Object(
                remaining.map(|(key, value)| (key.clone(), without_client_fields(value))).collect(),
            )
        }
        Value::Array(elements) => {
            Value::Array(elements.iter().map(without_client_fields).collect())
        }
        other => other.clone(),
    }
}
