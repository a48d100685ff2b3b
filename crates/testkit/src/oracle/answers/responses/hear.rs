//! Reads a stream of events: items by their index, parts by theirs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{WIRE, read_item, read_usage};
use crate::oracle::answers::{
    CutFrame, OracleStream, ReplyStop,
    draft::{DraftBlock, DraftBlockKind, ReplyDraft},
    fields::{list, said, text},
    stops,
};

pub(crate) fn hear(cuts: &[CutFrame]) -> OracleStream {
    let mut responses = ResponsesAssembler::default();
    for cut in cuts {
        // Proxies append this to every format.
        if cut.data == "[DONE]" {
            continue;
        }
        if let Some(event) = responses.draft.open(cut) {
            let kind = text(&event, "type");
            let named = cut.name.as_deref().is_none_or(|name| name == kind);
            responses.draft.must(named, "an event has two names");
            responses.event(&kind, &event);
        }
    }
    responses.finish()
}

#[derive(Default)]
struct ResponsesAssembler {
    draft: ReplyDraft,
    next: u64,
    items: BTreeMap<u64, AssembledItem>,
}

/// An item: as it was added, its texts so far, and as it was done.
#[derive(Default)]
struct AssembledItem {
    added: Value,
    /// Parts by their list and their index in it; a call has one.
    texts: BTreeMap<(bool, u64), AssembledText>,
    done: Option<Value>,
}

#[derive(Default)]
struct AssembledText {
    kind: DraftBlockKind,
    text: String,
    /// The complete text has arrived.
    told: bool,
    /// The part is done.
    closed: bool,
}

impl ResponsesAssembler {
    fn event(&mut self, kind: &str, event: &Value) {
        let number = event["sequence_number"].as_u64();
        if !matches!(kind, "error") {
            self.draft.must(number == Some(self.next), "events are not numbered in turn");
        }
        self.next = number.unwrap_or(self.next) + 1;
        let first = kind == "response.created";
        self.draft.must(first == (number == Some(0)), "`response.created` is not the first");
        match kind {
            "response.created" | "response.in_progress" => self.begin(&event["response"]),
            "response.output_item.added" => self.added(event),
            "response.output_item.done" => self.done(event),
            "response.content_part.added" | "response.reasoning_summary_part.added" => {
                self.part_added(event);
            }
            "response.content_part.done" | "response.reasoning_summary_part.done" => {
                self.part_done(event);
            }
            "response.completed" | "response.incomplete" => self.end(kind, &event["response"]),
            "response.failed" => {
                let error = &event["response"]["error"];
                self.draft.must(said(error, "code").is_some(), "a failure without a code");
                self.draft
                    .must(event["response"]["status"] == "failed", "a failure without status");
                self.draft.heard.error = Some(text(error, "message"));
            }
            "error" => self.draft.heard.error = Some(text(event, "message")),
            _ => match (kind.strip_suffix(".delta"), kind.strip_suffix(".done")) {
                (Some(kind), _) => self.delta(kind, event),
                (None, Some(kind)) => self.text_done(kind, event),
                (None, None) => self.draft.heard.unknown += 1,
            },
        }
    }

    fn begin(&mut self, response: &Value) {
        if response.is_null() {
            return;
        }
        self.draft.must(response["status"] == "in_progress", "it does not begin in progress");
        self.draft.must(list(response, "output").is_empty(), "it begins with items");
        let answer = &mut self.draft.heard.answer;
        (answer.id, answer.model) = (said(response, "id"), said(response, "model"));
    }

    fn item(&mut self, event: &Value) -> Option<&mut AssembledItem> {
        let at = event["output_index"].as_u64()?;
        let found = self.items.contains_key(&at);
        self.draft.must(found, "an event for an item that was not added");
        let item = self.items.get_mut(&at)?;
        let same = event.get("item_id").is_none_or(|id| *id == item.added["id"]);
        self.draft.must(same && item.done.is_none(), "an event for another item");
        Some(item)
    }

    fn added(&mut self, event: &Value) {
        let at = event["output_index"].as_u64().unwrap_or(u64::MAX);
        let item = &event["item"];
        let known = self.items.values().any(|other| other.added["id"] == item["id"]);
        let sound = at == self.items.len() as u64 && said(item, "id").is_some() && !known;
        self.draft.must(sound, "items are not added in turn, each with an id of its own");
        let empty = ["content", "summary", "arguments", "input"].iter().all(|key| {
            item.get(key).is_none_or(|value| *value == "" || *value == Value::Array(Vec::new()))
        });
        self.draft.must(empty, "an item is added with something in it");
        let mut new = AssembledItem { added: item.clone(), ..AssembledItem::default() };
        match item["type"].as_str() {
            Some("function_call") => {
                let text =
                    AssembledText { kind: DraftBlockKind::Function, ..AssembledText::default() };
                new.texts.insert((false, 0), text);
            }
            Some("custom_tool_call") => {
                let text =
                    AssembledText { kind: DraftBlockKind::Custom, ..AssembledText::default() };
                new.texts.insert((false, 0), text);
            }
            Some("message" | "reasoning") => {}
            _ => self.draft.fault("an item of no type"),
        }
        self.items.insert(at, new);
    }

    fn part_added(&mut self, event: &Value) {
        let part = &event["part"];
        let kind = match part["type"].as_str() {
            Some("output_text") => DraftBlockKind::Text,
            Some("refusal") => DraftBlockKind::Refusal,
            Some("summary_text" | "reasoning_text") => DraftBlockKind::Reasoning,
            _ => return self.draft.fault("a part of no type"),
        };
        let place = place(event);
        let Some(item) = self.item(event) else { return };
        let turn = item.texts.len() as u64 == place.1;
        item.texts.insert(place, AssembledText { kind, ..AssembledText::default() });
        self.draft.must(turn, "parts are not added in turn");
    }

    fn delta(&mut self, kind: &str, event: &Value) {
        let delta = event["delta"].as_str().map(str::to_owned);
        self.draft.must(delta.is_some(), "a piece without a text");
        let Some(item) = self.item(event) else { return };
        let Some(open) = item.texts.get_mut(&place(event)) else {
            return self.draft.fault("a piece for a part that was not added");
        };
        let fits = fits(kind, open.kind) && !open.told;
        open.text.push_str(&delta.unwrap_or_default());
        self.draft.must(fits, "a piece of another kind, or for a part that is done");
    }

    fn text_done(&mut self, kind: &str, event: &Value) {
        let whole =
            ["text", "refusal", "arguments", "input"].iter().find_map(|key| said(event, key));
        let Some(item) = self.item(event) else { return };
        let Some(open) = item.texts.get_mut(&place(event)) else {
            return self.draft.fault("the end of a part that was not added");
        };
        let same = whole.unwrap_or_default() == open.text && fits(kind, open.kind) && !open.told;
        open.told = true;
        self.draft.must(same, "a done text is not the pieces it came in");
    }

    fn part_done(&mut self, event: &Value) {
        let part = &event["part"];
        let whole = said(part, "text").or(said(part, "refusal")).unwrap_or_default();
        let Some(item) = self.item(event) else { return };
        let Some(open) = item.texts.get_mut(&place(event)) else {
            return self.draft.fault("the end of a part that was not added");
        };
        let same = open.told && !open.closed && whole == open.text;
        open.closed = true;
        self.draft.must(same, "a done part is not the pieces it came in");
    }

    fn done(&mut self, event: &Value) {
        let item = event["item"].clone();
        let parts = match read_item(&item) {
            Ok(parts) => parts,
            Err(what) => return self.draft.fault(what),
        };
        let Some(open) = self.item(event) else { return };
        let same =
            ["id", "type", "call_id", "name"].iter().all(|key| open.added[*key] == item[*key]);
        let ended = open.texts.values().all(|text| {
            text.told
                && (text.closed
                    || matches!(text.kind, DraftBlockKind::Function | DraftBlockKind::Custom))
        });
        let texts: Vec<&str> = open.texts.values().map(|text| text.text.as_str()).collect();
        let matched = match parts.as_slice() {
            [part] if part.kind == DraftBlockKind::Reasoning => part.text == texts.join("\n\n"),
            parts => parts.iter().map(|part| part.text.as_str()).eq(texts),
        };
        // The `done` event is authoritative: deltas may be missing.
        for (part, text) in parts.iter().zip(open.texts.values_mut()) {
            if part.kind != DraftBlockKind::Reasoning {
                text.text.clone_from(&part.text);
            }
        }
        let statuses = ["completed", "incomplete"];
        let finished =
            item.get("status").is_none_or(|status| statuses.iter().any(|it| status == it));
        open.done = Some(item);
        self.draft.must(same && finished, "an item is done as another one");
        self.draft.must(ended && matched, "a done item is not the pieces it came in");
    }

    fn end(&mut self, kind: &str, response: &Value) {
        let reason = response["incomplete_details"]["reason"].as_str();
        let stop_value = if kind == "response.completed" { Some("completed") } else { reason };
        let ended = match stop_value {
            Some("completed") => response["status"] == "completed",
            _ => response["status"] == "incomplete",
        };
        self.draft.must(ended, "the end and its status do not fit");
        let mut stop = stops::meaning(WIRE, stop_value.unwrap_or_default());
        let is_call = |item: &AssembledItem| item.added.get("call_id").is_some();
        if stop == ReplyStop::End && self.items.values().any(is_call) {
            stop = ReplyStop::Calls;
        }
        self.draft.stop(stop);
        self.draft.heard.ended = true;
        let done: Vec<&Value> = self.items.values().filter_map(|item| item.done.as_ref()).collect();
        let all = list(response, "output").iter().eq(done.iter().copied());
        let whole = done.len() == self.items.len();
        self.draft.must(all && whole, "the response does not hold the items that were done");
        let answer = &mut self.draft.heard.answer;
        let same = answer.id == said(response, "id") && answer.model == said(response, "model");
        match read_usage(&response["usage"]) {
            Ok(usage) => answer.usage = usage,
            Err(what) => self.draft.fault(what),
        }
        self.draft.must(same, "the response is another one at its end");
    }

    fn finish(mut self) -> OracleStream {
        for item in std::mem::take(&mut self.items).into_values() {
            let whole = item.done.is_some();
            if let Some(done) = &item.done {
                let parts = read_item(done).unwrap_or_default();
                self.draft.parts.extend(parts.into_iter().map(|part| DraftBlock { whole, ..part }));
                continue;
            }
            let thoughts =
                item.texts.values().filter(|text| text.kind == DraftBlockKind::Reasoning);
            let thoughts: Vec<&str> = thoughts.map(|text| text.text.as_str()).collect();
            if item.added["type"] == "reasoning" {
                let part = DraftBlock {
                    text: thoughts.join("\n\n"),
                    ..DraftBlock::new(DraftBlockKind::Reasoning)
                };
                self.draft.parts.push(part);
                continue;
            }
            for part in item.texts.values() {
                self.draft.parts.push(DraftBlock {
                    text: part.text.clone(),
                    id: said(&item.added, "call_id"),
                    name: text(&item.added, "name"),
                    whole: part.told,
                    ending: !part.closed,
                    ..DraftBlock::new(part.kind)
                });
            }
        }
        self.draft.finish()
    }
}

/// The position of a part: whether it is in a summary, and its index.
fn place(event: &Value) -> (bool, u64) {
    match event["summary_index"].as_u64() {
        Some(index) => (true, index),
        None => (false, event["content_index"].as_u64().unwrap_or(0)),
    }
}

fn fits(event: &str, kind: DraftBlockKind) -> bool {
    match event {
        "response.output_text" => kind == DraftBlockKind::Text,
        "response.refusal" => kind == DraftBlockKind::Refusal,
        "response.reasoning_summary_text" | "response.reasoning_text" => {
            kind == DraftBlockKind::Reasoning
        }
        "response.function_call_arguments" => kind == DraftBlockKind::Function,
        "response.custom_tool_call_input" => kind == DraftBlockKind::Custom,
        _ => false,
    }
}
