//! What clients of the Responses API name instead of repeating it: earlier items and whole replies.
//! The provider that is asked does not have them, so they are served from memory; what is not there
//! is refused in the words that clients know, and never passed over.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
};

use foxwedge_core::MessageFlags;
use foxwedge_dialect::OutlinedDocument;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::lock;
use crate::{ApiError, ApiErrorKind};

/// Longer conversations are not kept whole.
const MAX_REQUEST_BYTES: usize = 4 << 20;

/// Items and conversations, by owner and id. Two generations bound them.
#[derive(Debug)]
pub(crate) struct ResponseItemCache {
    /// Bytes of one generation.
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
    /// Keeps at most so many bytes.
    pub(crate) fn new(most: usize) -> ResponseItemCache {
        ResponseItemCache { max_bytes: most / 2, generations: Mutex::default() }
    }

    /// The request with everything in it that it only names; `None` if it names nothing.
    pub(super) fn resolve(
        &self,
        owner: &str,
        reading: &OutlinedDocument<'_>,
    ) -> Result<Option<String>, ApiError> {
        let named = reading.draft.messages.iter().any(|it| it.flags.has(MessageFlags::REFERENCE));
        let envelope = &reading.envelope;
        if !named && envelope.previous_response.is_none() {
            return Ok(None);
        }
        let Ok(mut body) = serde_json::from_str::<Value>(reading.draft.source) else {
            return Ok(None);
        };
        let mut input = match body.get_mut("input").map(Value::take) {
            Some(Value::Array(items)) => items,
            Some(Value::String(words)) => vec![json!({ "role": "user", "content": words })],
            _ => return Ok(None),
        };
        for item in input.iter_mut().filter(|item| item["type"] == "item_reference") {
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

    /// A reply was given to a request: both may be named from now on.
    pub(super) fn remember(&self, owner: &str, asked: &[u8], reply: &Value) {
        let Some(output) = reply["output"].as_array() else { return };
        for item in output {
            if let Some(id) = item["id"].as_str() {
                self.put(owner, "item", id, &item.to_string());
            }
        }
        let Some(id) = reply["id"].as_str().filter(|_| asked.len() < MAX_REQUEST_BYTES) else {
            return;
        };
        let Ok(mut asked) = serde_json::from_slice::<Value>(asked) else { return };
        let mut items = match asked["input"].take() {
            Value::Array(items) => items,
            Value::String(words) => vec![json!({ "role": "user", "content": words })],
            _ => return,
        };
        items.extend(output.iter().cloned());
        self.put(owner, "reply", id, &Value::Array(items).to_string());
    }

    fn find(&self, owner: &str, kind: &str, id: &str) -> Option<Value> {
        let key = cache_key(owner, kind, id);
        let found = {
            let shelf = lock(&self.generations);
            shelf.young.get(&key).or_else(|| shelf.old.get(&key)).cloned()
        };
        serde_json::from_str(&found?).ok()
    }

    fn put(&self, owner: &str, kind: &str, id: &str, text: &str) {
        let mut shelf = lock(&self.generations);
        if shelf.bytes + text.len() > self.max_bytes {
            shelf.old = mem::take(&mut shelf.young);
            shelf.bytes = 0;
        }
        shelf.bytes += text.len();
        shelf.young.insert(cache_key(owner, kind, id), text.into());
    }
}

/// Others never meet.
fn cache_key(owner: &str, kind: &str, id: &str) -> u128 {
    xxh3_128([owner, kind, id].join("\0").as_bytes())
}

fn item_not_found(id: &str) -> ApiError {
    let words = format!("Item with id '{}' not found.", super::prepare::shorten_name(id));
    ApiError::new(ApiErrorKind::NotFound, "item_not_found", words).at("input")
}

pub(super) fn previous_response_not_found(id: &str) -> ApiError {
    let words =
        format!("Previous response with id '{}' not found.", super::prepare::shorten_name(id));
    ApiError::new(ApiErrorKind::InvalidRequest, "previous_response_not_found", words)
        .at("previous_response_id")
}
