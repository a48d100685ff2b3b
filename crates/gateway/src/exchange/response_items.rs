//! Items and responses that clients of the Responses API reference by id instead of repeating them.
//! If the upstream does not have them, they are resolved from memory; an unknown reference is
//! rejected with OpenAI's error message, and never ignored.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
};

use foxwedge_core::{Message, MessageFlags};
use foxwedge_formats::OutlinedDocument;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::{GatewayEngine, lock};
use crate::{
    ApiError, ApiErrorKind,
    api_error::shorten_name,
    session::{SessionIndex, content_key},
};

/// Longer conversations are not cached.
const MAX_REQUEST_BYTES: usize = 4 << 20;

/// For how many responses and items one generation knows the upstream.
const MAX_UPSTREAM_NAMES: usize = 20_000;

/// How many ids of a response other nodes are told.
const MAX_ANNOUNCED_IDS: usize = 1_000;

/// Items and conversations, by owner and id, and the upstreams that created them.
#[derive(Debug)]
pub(crate) struct ResponseItemCache {
    /// Maximum bytes of one generation of items and conversations.
    max_bytes: usize,
    contents: Mutex<CacheGenerations>,
    upstreams: Mutex<CacheGenerations>,
    /// The owners for whom they were created, by id.
    owners: Mutex<CacheGenerations>,
    /// Tells other nodes which of them has a response; `None` if there are none.
    announcer: Option<SessionIndex>,
}

/// Texts by key. Two generations bound them.
#[derive(Debug, Default)]
struct CacheGenerations {
    young: HashMap<u128, Arc<str>>,
    old: HashMap<u128, Arc<str>>,
    /// The sizes of the young texts, added up.
    size: usize,
}

impl CacheGenerations {
    fn find(&self, key: u128) -> Option<Arc<str>> {
        self.young.get(&key).or_else(|| self.old.get(&key)).cloned()
    }

    fn put(&mut self, key: u128, text: Arc<str>, size: usize, max_size: usize) {
        if self.size + size > max_size {
            self.old = mem::take(&mut self.young);
            self.size = 0;
        }
        self.size += size;
        self.young.insert(key, text);
    }
}

impl ResponseItemCache {
    /// Creates a cache of at most `max_bytes`. `announcer`: tells other nodes what it has.
    pub(crate) fn new(max_bytes: usize, announcer: Option<SessionIndex>) -> ResponseItemCache {
        ResponseItemCache {
            max_bytes: max_bytes / 2,
            contents: Mutex::default(),
            upstreams: Mutex::default(),
            owners: Mutex::default(),
            announcer,
        }
    }

    /// Replaces the references of a request by their content. `may_store`: the upstream may know
    /// items that are not known here. Returns the body and how many reasoning items it leaves out;
    /// `None` if nothing is replaced.
    pub(super) fn resolve(
        &self,
        owner: &str,
        reading: &OutlinedDocument<'_>,
        may_store: bool,
    ) -> Result<Option<(String, usize)>, ApiError> {
        let messages = &reading.draft.messages;
        let envelope = &reading.envelope;
        if !messages.iter().any(is_reference) && envelope.previous_response.is_none() {
            return Ok(None);
        }
        let Ok(mut body) = serde_json::from_str::<Value>(reading.draft.source) else {
            return Ok(None);
        };
        let input = match body.get_mut("input").map(Value::take) {
            Some(Value::Array(items)) => items,
            Some(Value::String(text)) => vec![json!({ "role": "user", "content": text })],
            None => Vec::new(),
            Some(_) => return Ok(None),
        };
        let before = match &envelope.previous_response {
            None => Vec::new(),
            Some(id) => match self.find(owner, "reply", id) {
                Some(Value::Array(before)) => before,
                _ => return Err(previous_response_not_found(id)),
            },
        };
        // An item of the list is a message of the draft. `true`: it comes from the cache.
        let mut items: Vec<(Value, bool)> = before.into_iter().map(|item| (item, true)).collect();
        let mut messages = messages.iter();
        for item in input {
            if !messages.next().is_some_and(is_reference) {
                items.push((item, false));
                continue;
            }
            let id = item["id"].as_str().unwrap_or_default();
            match self.find(owner, "item", id) {
                Some(found) => items.push((found, true)),
                None if may_store => items.push((item, false)),
                None => return Err(item_not_found(id)),
            }
        }
        if envelope.previous_response.is_none() && !items.iter().any(|(_, is_cached)| *is_cached) {
            return Ok(None);
        }
        // Only an upstream with a storage looks up reasoning by its id.
        let left_out = if may_store { leave_out_unstored(&mut items) } else { 0 };
        if let Some(body) = body.as_object_mut() {
            body.remove("previous_response_id");
            let input = items.into_iter().map(|(item, _)| item).collect();
            body.insert("input".to_owned(), Value::Array(input));
        }
        Ok(Some((body.to_string(), left_out)))
    }

    /// Stores a request and its response, as the client got it, so that later requests may
    /// reference them. `creator` is the upstream whose ids it has.
    pub(super) fn remember(
        &self,
        owner: &str,
        request: &[u8],
        response: &Value,
        creator: Option<&Arc<str>>,
    ) {
        let Some(output) = response["output"].as_array() else { return };
        for item in output {
            if let Some(id) = item["id"].as_str() {
                self.put(owner, "item", id, &item.to_string());
                creator.into_iter().for_each(|creator| self.remember_creator(owner, id, creator));
            }
        }
        self.announce(owner, response, output);
        let Some(id) = response["id"].as_str().filter(|_| request.len() < MAX_REQUEST_BYTES) else {
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

    /// Tells other nodes that this one has a response and its items.
    fn announce(&self, owner: &str, response: &Value, output: &[Value]) {
        let (Some(announcer), Some(id)) = (&self.announcer, response["id"].as_str()) else {
            return;
        };
        let ids = [id].into_iter().chain(output.iter().filter_map(|item| item["id"].as_str()));
        let keys = ids.take(MAX_ANNOUNCED_IDS).map(|id| content_key(owner, id)).collect();
        announcer.announce(id, keys);
    }

    /// Stores the name of the upstream that created a response or an item, and its owner.
    pub(super) fn remember_creator(&self, owner: &str, id: &str, upstream: &Arc<str>) {
        let key = cache_key(owner, "upstream", id);
        lock(&self.upstreams).put(key, upstream.clone(), 1, MAX_UPSTREAM_NAMES);
        lock(&self.owners).put(xxh3_128(id.as_bytes()), owner.into(), 1, MAX_UPSTREAM_NAMES);
    }

    /// The name of the upstream that created a response or an item, if that is known.
    pub(super) fn creator(&self, owner: &str, id: &str) -> Option<Arc<str>> {
        lock(&self.upstreams).find(cache_key(owner, "upstream", id))
    }

    /// Whether a response or an item is known to belong to another owner. Some upstreams give the
    /// same id twice: then it belongs to both.
    pub(super) fn is_foreign(&self, owner: &str, id: &str) -> bool {
        let known = lock(&self.owners).find(xxh3_128(id.as_bytes()));
        known.is_some_and(|known| &*known != owner) && self.creator(owner, id).is_none()
    }

    /// Whether references to a response or an item can be resolved here.
    pub(super) fn has(&self, owner: &str, id: &str) -> bool {
        let contents = lock(&self.contents);
        ["reply", "item"].iter().any(|kind| contents.find(cache_key(owner, kind, id)).is_some())
    }

    fn find(&self, owner: &str, kind: &str, id: &str) -> Option<Value> {
        let found = lock(&self.contents).find(cache_key(owner, kind, id));
        serde_json::from_str(&found?).ok()
    }

    fn put(&self, owner: &str, kind: &str, id: &str, text: &str) {
        let key = cache_key(owner, kind, id);
        lock(&self.contents).put(key, text.into(), text.len(), self.max_bytes);
    }
}

impl GatewayEngine {
    /// The name of the upstream that created a response of this owner, if that is known.
    pub(crate) fn response_upstream(&self, owner: &str, id: &str) -> Option<Arc<str>> {
        self.inner.response_items.creator(owner, id)
    }

    /// Whether a response or an item is known to belong to another owner.
    pub(crate) fn is_foreign_response(&self, owner: &str, id: &str) -> bool {
        self.inner.response_items.is_foreign(owner, id)
    }
}

/// Whether an item only references something stored on the server.
pub(super) fn is_reference(message: &Message) -> bool {
    message.flags.has(MessageFlags::REFERENCE)
}

/// Removes reasoning from the cache that the upstream would have to look up by its id, and the id
/// of the item that follows it, which would require the reasoning. Returns how many were removed.
fn leave_out_unstored(items: &mut Vec<(Value, bool)>) -> usize {
    let (before, mut follows_removed) = (items.len(), false);
    items.retain_mut(|(item, is_cached)| {
        let is_removed = *is_cached && is_unstored_reasoning(item);
        if follows_removed
            && !is_removed
            && matches!(
                item["type"].as_str(),
                Some("message" | "function_call" | "custom_tool_call")
            )
            && let Some(item) = item.as_object_mut()
        {
            item.remove("id");
        }
        follows_removed = is_removed;
        !is_removed
    });
    before - items.len()
}

/// Whether an item is reasoning that is useless without the server's storage: it has an id, and
/// neither encrypted content nor readable content. A summary is not the reasoning.
fn is_unstored_reasoning(item: &Value) -> bool {
    let is_empty = |key: &str| match &item[key] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        Value::Object(_) | Value::Bool(_) | Value::Number(_) => false,
    };
    item["type"] == "reasoning"
        && item["id"].is_string()
        && is_empty("encrypted_content")
        && is_empty("content")
}

/// The cache key. Entries of different owners never collide.
fn cache_key(owner: &str, kind: &str, id: &str) -> u128 {
    xxh3_128([owner, kind, id].join("\0").as_bytes())
}

pub(crate) fn item_not_found(id: &str) -> ApiError {
    let message = format!("Item with id '{}' not found.", shorten_name(id));
    ApiError::new(ApiErrorKind::NotFound, "item_not_found", message).at("input")
}

pub(crate) fn previous_response_not_found(id: &str) -> ApiError {
    let message = format!("Previous response with id '{}' not found.", shorten_name(id));
    ApiError::new(ApiErrorKind::InvalidRequest, "previous_response_not_found", message)
        .at("previous_response_id")
}
