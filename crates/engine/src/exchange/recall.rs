//! What clients of the Responses API name instead of repeating it: earlier items and whole replies.
//! The provider that is asked does not have them, so they are served from memory; what is not there
//! is refused in the words that clients know, and never passed over.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
};

use foxwedge_core::Marks;
use foxwedge_dialect::Reading;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::lock;
use crate::{Fault, Kind};

/// Longer conversations are not kept whole.
const LONGEST: usize = 4 << 20;

/// Items and conversations, by owner and id. Two generations bound them.
#[derive(Debug)]
pub(crate) struct Recall {
    /// Bytes of one generation.
    most: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    young: HashMap<u128, Arc<str>>,
    old: HashMap<u128, Arc<str>>,
    bytes: usize,
}

impl Recall {
    /// Keeps at most so many bytes.
    pub(crate) fn new(most: usize) -> Recall {
        Recall { most: most / 2, shelf: Mutex::default() }
    }

    /// The request with everything in it that it only names; `None` if it names nothing.
    pub(super) fn resolve(
        &self,
        owner: &str,
        reading: &Reading<'_>,
    ) -> Result<Option<String>, Fault> {
        let named = reading.draft.messages.iter().any(|it| it.marks.has(Marks::REFERENCE));
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
            *item = self.find(owner, "item", &id).ok_or_else(|| no_item(&id))?;
        }
        if let Some(id) = &envelope.previous_response {
            let Some(Value::Array(mut before)) = self.find(owner, "reply", id) else {
                return Err(no_reply(id));
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
        let Some(id) = reply["id"].as_str().filter(|_| asked.len() < LONGEST) else { return };
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
        let key = key(owner, kind, id);
        let found = {
            let shelf = lock(&self.shelf);
            shelf.young.get(&key).or_else(|| shelf.old.get(&key)).cloned()
        };
        serde_json::from_str(&found?).ok()
    }

    fn put(&self, owner: &str, kind: &str, id: &str, text: &str) {
        let mut shelf = lock(&self.shelf);
        if shelf.bytes + text.len() > self.most {
            shelf.old = mem::take(&mut shelf.young);
            shelf.bytes = 0;
        }
        shelf.bytes += text.len();
        shelf.young.insert(key(owner, kind, id), text.into());
    }
}

/// Others never meet.
fn key(owner: &str, kind: &str, id: &str) -> u128 {
    xxh3_128([owner, kind, id].join("\0").as_bytes())
}

fn no_item(id: &str) -> Fault {
    let words = format!("Item with id '{}' not found.", super::prepare::shortened(id));
    Fault::new(Kind::NotFound, "item_not_found", words).at("input")
}

pub(super) fn no_reply(id: &str) -> Fault {
    let words = format!("Previous response with id '{}' not found.", super::prepare::shortened(id));
    Fault::new(Kind::Request, "previous_response_not_found", words).at("previous_response_id")
}
