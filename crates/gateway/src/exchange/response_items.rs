//! Items and responses that clients of the Responses API reference by id instead of repeating them.
//! If the upstream does not have them, they are resolved from memory; an unknown reference is
//! rejected with OpenAI's error message, and never ignored.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
};

use foxwedge_core::{Format, Message, MessageFlags};
use foxwedge_formats::{
    OutlinedDocument,
    model::{ModelReply, ModelResponse, encode_reply},
};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::lock;
use crate::{ApiError, ApiErrorKind};

/// Longer conversations are not cached.
const MAX_REQUEST_BYTES: usize = 4 << 20;

/// Items and conversations, by owner and id. Two generations bound the cache.
#[derive(Debug)]
pub(crate) struct ResponseItemCache {
    /// Maximum bytes of one generation.
    max_bytes: usize,
    generations: Mutex<CacheGenerations>,
}

#[derive(Debug, Default)]
struct CacheGenerations {
    young: HashMap<u128, Arc<str>>,
    old: HashMap<u128, Arc<str>>,
    bytes: usize,
}

impl ResponseItemCache {
    /// Creates a cache of at most `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> ResponseItemCache {
        ResponseItemCache { max_bytes: max_bytes / 2, generations: Mutex::default() }
    }

    /// Replaces the references of a request by their content; `None` if it has none.
    pub(super) fn resolve(
        &self,
        owner: &str,
        reading: &OutlinedDocument<'_>,
    ) -> Result<Option<String>, ApiError> {
        let is_reference = |message: &&Message| message.flags.has(MessageFlags::REFERENCE);
        let messages = &reading.draft.messages;
        let envelope = &reading.envelope;
        if !messages.iter().any(|message| is_reference(&message))
            && envelope.previous_response.is_none()
        {
            return Ok(None);
        }
        let Ok(mut body) = serde_json::from_str::<Value>(reading.draft.source) else {
            return Ok(None);
        };
        let mut input = match body.get_mut("input").map(Value::take) {
            Some(Value::Array(items)) => items,
            Some(Value::String(text)) => vec![json!({ "role": "user", "content": text })],
            None => Vec::new(),
            Some(_) => return Ok(None),
        };
        // An item of the list is a message of the draft.
        let items = input.iter_mut().zip(messages).filter(|(_, message)| is_reference(message));
        for (item, _) in items {
            let id = item["id"].as_str().unwrap_or_default().to_owned();
            *item = self.find(owner, "item", &id).ok_or_else(|| item_not_found(&id))?;
        }
        if let Some(id) = &envelope.previous_response {
            let Some(Value::Array(mut before)) = self.find(owner, "reply", id) else {
                return Err(previous_response_not_found(id));
            };
            before.append(&mut input);
            input = before;
        }
        if let Some(body) = body.as_object_mut() {
            body.remove("previous_response_id");
            body.insert("input".to_owned(), Value::Array(input));
        }
        Ok(Some(body.to_string()))
    }

    /// Stores a request and its reply, so that later requests may reference them. `seed` is the one
    /// of the ids that the client got.
    pub(super) fn remember(&self, owner: &str, request: &[u8], reply: &ModelReply<'_>, seed: &str) {
        let outcome = ModelResponse::Reply(reply.clone());
        let encoded = encode_reply(&outcome, Format::OpenaiResponses, seed);
        let Ok(reply) = serde_json::from_str::<Value>(&encoded.body) else { return };
        let Some(output) = reply["output"].as_array() else { return };
        for item in output {
            if let Some(id) = item["id"].as_str() {
                self.put(owner, "item", id, &item.to_string());
            }
        }
        let Some(id) = reply["id"].as_str().filter(|_| request.len() < MAX_REQUEST_BYTES) else {
            return;
        };
        let Ok(mut request) = serde_json::from_slice::<Value>(request) else { return };
        // A request that continues a response which is not known here is only a part of its
        // conversation.
        let mut items = match request["previous_response_id"].as_str() {
            None => Vec::new(),
            Some(previous) => match self.find(owner, "reply", previous) {
                Some(Value::Array(items)) => items,
                _ => return,
            },
        };
        match request["input"].take() {
            Value::Array(input) => items.extend(input),
            Value::String(text) => items.push(json!({ "role": "user", "content": text })),
            Value::Null => {}
            Value::Object(_) | Value::Bool(_) | Value::Number(_) => return,
        }
        items.extend(output.iter().cloned());
        self.put(owner, "reply", id, &Value::Array(items).to_string());
    }

    fn find(&self, owner: &str, kind: &str, id: &str) -> Option<Value> {
        let key = cache_key(owner, kind, id);
        let found = {
            let generations = lock(&self.generations);
            generations.young.get(&key).or_else(|| generations.old.get(&key)).cloned()
        };
        serde_json::from_str(&found?).ok()
    }

    fn put(&self, owner: &str, kind: &str, id: &str, text: &str) {
        let mut generations = lock(&self.generations);
        if generations.bytes + text.len() > self.max_bytes {
            generations.old = mem::take(&mut generations.young);
            generations.bytes = 0;
        }
        generations.bytes += text.len();
        generations.young.insert(cache_key(owner, kind, id), text.into());
    }
}

/// The cache key. Entries of different owners never collide.
fn cache_key(owner: &str, kind: &str, id: &str) -> u128 {
    xxh3_128([owner, kind, id].join("\0").as_bytes())
}

fn item_not_found(id: &str) -> ApiError {
    let message = format!("Item with id '{}' not found.", super::prepare::shorten_name(id));
    ApiError::new(ApiErrorKind::NotFound, "item_not_found", message).at("input")
}

pub(super) fn previous_response_not_found(id: &str) -> ApiError {
    let message =
        format!("Previous response with id '{}' not found.", super::prepare::shorten_name(id));
    ApiError::new(ApiErrorKind::InvalidRequest, "previous_response_not_found", message)
        .at("previous_response_id")
}
