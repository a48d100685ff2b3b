//! The items of a response, and how events refer to them.

use serde_json::Value;

use super::super::text_of;

/// The items that have started.
#[derive(Debug, Default)]
pub(super) struct OutputItems {
    list: Vec<OutputItem>,
    /// Whether an item has another index in the stream.
    pub(super) is_moved: bool,
}

/// An item that has started.
#[derive(Debug)]
pub(super) struct OutputItem {
    /// Its index in the stream.
    source_index: Option<u64>,
    /// The client's index.
    pub(super) index: u64,
    pub(super) id: String,
    /// The arguments that events other than deltas told.
    pub(super) arguments: String,
    /// Whether its end was read, and it was not cut off.
    pub(super) is_complete: bool,
}

impl OutputItems {
    /// Adds an item that starts. Some servers give several items one index: later ones get another.
    /// `None` if the item has started before.
    pub(super) fn start(&mut self, event: &Value) -> Option<u64> {
        let source_index = event["output_index"].as_u64();
        let id = text_of(&event["item"]["id"]).to_owned();
        let is_known = |item: &OutputItem| item.id == id && item.source_index == source_index;
        if !id.is_empty() && self.list.iter().any(is_known) {
            return None;
        }
        let wanted = source_index.unwrap_or(0);
        let is_taken = self.list.iter().any(|item| item.index == wanted);
        let last = self.list.iter().map(|item| item.index).max();
        let index = if is_taken { last.map_or(0, |last| last.saturating_add(1)) } else { wanted };
        self.is_moved |= is_taken;
        let arguments = text_of(&event["item"]["arguments"]).to_owned();
        self.list.push(OutputItem { source_index, index, id, arguments, is_complete: false });
        Some(index)
    }

    /// The client's index of the item of an event.
    pub(super) fn find(&self, event: &Value) -> Option<u64> {
        let source_index = event["output_index"].as_u64();
        let id = event["item_id"].as_str().or_else(|| event["item"]["id"].as_str());
        if source_index.is_none() && id.is_none() {
            return None;
        }
        let of_index = || self.list.iter().rev().filter(|it| it.source_index == source_index);
        let item =
            of_index().find(|item| Some(item.id.as_str()) == id).or_else(|| of_index().next());
        item.map(|item| item.index)
    }

    /// The item with an index of the client.
    pub(super) fn get(&mut self, index: u64) -> Option<&mut OutputItem> {
        self.list.iter_mut().find(|item| item.index == index)
    }

    /// The client's index of the item with an id.
    pub(super) fn with_id(&self, id: &str) -> Option<u64> {
        self.list.iter().find(|item| item.id == id).map(|item| item.index)
    }
}
