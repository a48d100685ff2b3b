//! Events, put together again: items by their index, parts by theirs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{WIRE, read_item, read_usage};
use crate::oracle::answers::{
    Cut, Heard, Stop,
    draft::{Draft, Kind, Part},
    fields::{list, said, text},
    stops,
};

pub(crate) fn hear(cuts: &[Cut]) -> Heard {
    let mut responses = Responses::default();
    for cut in cuts {
        // Proxies put this behind every format.
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
struct Responses {
    draft: Draft,
    next: u64,
    items: BTreeMap<u64, Item>,
}

/// An item: how it was added, its texts so far, and how it was done.
#[derive(Default)]
struct Item {
    added: Value,
    /// Parts by the list they stand in and their place there; a call has one.
    texts: BTreeMap<(bool, u64), Text>,
    done: Option<Value>,
}

#[derive(Default)]
struct Text {
    kind: Kind,
    text: String,
    /// The whole of it was told.
    told: bool,
    /// The part is done.
    closed: bool,
}

impl Responses {
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

    fn item(&mut self, event: &Value) -> Option<&mut Item> {
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
        let mut new = Item { added: item.clone(), ..Item::default() };
        match item["type"].as_str() {
            Some("function_call") => {
                let text = Text { kind: Kind::Function, ..Text::default() };
                new.texts.insert((false, 0), text);
            }
            Some("custom_tool_call") => {
                let text = Text { kind: Kind::Custom, ..Text::default() };
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
            Some("output_text") => Kind::Text,
            Some("refusal") => Kind::Refusal,
            Some("summary_text" | "reasoning_text") => Kind::Reasoning,
            _ => return self.draft.fault("a part of no type"),
        };
        let place = place(event);
        let Some(item) = self.item(event) else { return };
        let turn = item.texts.len() as u64 == place.1;
        item.texts.insert(place, Text { kind, ..Text::default() });
        self.draft.must(turn, "parts are not added in turn");
    }

    fn delta(&mut self, kind: &str, event: &Value) {
        let piece = event["delta"].as_str().map(str::to_owned);
        self.draft.must(piece.is_some(), "a piece without a text");
        let Some(item) = self.item(event) else { return };
        let Some(open) = item.texts.get_mut(&place(event)) else {
            return self.draft.fault("a piece for a part that was not added");
        };
        let fits = fits(kind, open.kind) && !open.told;
        open.text.push_str(&piece.unwrap_or_default());
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
            text.told && (text.closed || matches!(text.kind, Kind::Function | Kind::Custom))
        });
        let texts: Vec<&str> = open.texts.values().map(|text| text.text.as_str()).collect();
        let told = match parts.as_slice() {
            [part] if part.kind == Kind::Reasoning => part.text == texts.join("\n\n"),
            parts => parts.iter().map(|part| part.text.as_str()).eq(texts),
        };
        // What is done is the truth: pieces may be missing.
        for (part, text) in parts.iter().zip(open.texts.values_mut()) {
            if part.kind != Kind::Reasoning {
                text.text.clone_from(&part.text);
            }
        }
        let statuses = ["completed", "incomplete"];
        let finished =
            item.get("status").is_none_or(|status| statuses.iter().any(|it| status == it));
        open.done = Some(item);
        self.draft.must(same && finished, "an item is done as another one");
        self.draft.must(ended && told, "a done item is not the pieces it came in");
    }

    fn end(&mut self, kind: &str, response: &Value) {
        let reason = response["incomplete_details"]["reason"].as_str();
        let word = if kind == "response.completed" { Some("completed") } else { reason };
        let ended = match word {
            Some("completed") => response["status"] == "completed",
            _ => response["status"] == "incomplete",
        };
        self.draft.must(ended, "the end and its status do not fit");
        let mut stop = stops::meaning(WIRE, word.unwrap_or_default());
        let is_call = |item: &Item| item.added.get("call_id").is_some();
        if stop == Stop::End && self.items.values().any(is_call) {
            stop = Stop::Calls;
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

    fn finish(mut self) -> Heard {
        for item in std::mem::take(&mut self.items).into_values() {
            let whole = item.done.is_some();
            if let Some(done) = &item.done {
                let parts = read_item(done).unwrap_or_default();
                self.draft.parts.extend(parts.into_iter().map(|part| Part { whole, ..part }));
                continue;
            }
            let thoughts = item.texts.values().filter(|text| text.kind == Kind::Reasoning);
            let thoughts: Vec<&str> = thoughts.map(|text| text.text.as_str()).collect();
            if item.added["type"] == "reasoning" {
                let part = Part { text: thoughts.join("\n\n"), ..Part::new(Kind::Reasoning) };
                self.draft.parts.push(part);
                continue;
            }
            for part in item.texts.values() {
                self.draft.parts.push(Part {
                    text: part.text.clone(),
                    id: said(&item.added, "call_id"),
                    name: text(&item.added, "name"),
                    whole: part.told,
                    ending: !part.closed,
                    ..Part::new(part.kind)
                });
            }
        }
        self.draft.finish()
    }
}

/// Where a part stands: in a summary or not, and its index there.
fn place(event: &Value) -> (bool, u64) {
    match event["summary_index"].as_u64() {
        Some(index) => (true, index),
        None => (false, event["content_index"].as_u64().unwrap_or(0)),
    }
}

fn fits(event: &str, kind: Kind) -> bool {
    match event {
        "response.output_text" => kind == Kind::Text,
        "response.refusal" => kind == Kind::Refusal,
        "response.reasoning_summary_text" | "response.reasoning_text" => kind == Kind::Reasoning,
        "response.function_call_arguments" => kind == Kind::Function,
        "response.custom_tool_call_input" => kind == Kind::Custom,
        _ => false,
    }
}
