//! Responses streams as servers of several kinds write them.

use super::sdk::{assert_calls, calls_of};
use super::*;

/// What a server does with every call.
#[derive(Debug)]
struct ServerStyle {
    /// Whether a reasoning item comes first, and whether the last event has it.
    has_reasoning: bool,
    lists_reasoning: bool,
    /// Whether all items have one index.
    shares_index: bool,
    /// Which events have the arguments.
    in_added: bool,
    in_deltas: bool,
    in_done: bool,
    in_item: bool,
    has_keep_alives: bool,
}

impl ServerStyle {
    fn new(numbers: &mut Numbers) -> ServerStyle {
        let mut chance = || numbers.chance(50);
        let mut style = ServerStyle {
            has_reasoning: chance(),
            lists_reasoning: chance(),
            shares_index: chance(),
            in_added: chance(),
            in_deltas: chance(),
            in_done: chance(),
            in_item: chance(),
            has_keep_alives: chance(),
        };
        // An SDK appends the deltas to the arguments of the start.
        style.in_added &= !style.in_deltas;
        style.in_item |= !(style.in_added || style.in_deltas || style.in_done);
        style
    }

    fn is_plain(&self) -> bool {
        let is_told = self.in_deltas && self.in_done && self.in_item;
        is_told && !self.shares_index
    }

    /// Writes calls. The last event has the arguments `ended`.
    fn write(&self, calls: &[SentCall], ended: bool) -> String {
        let mut sent = String::new();
        let mut output = Vec::new();
        let first = u64::from(self.has_reasoning);
        let mut send = |index: u64, kind: &str, id: &str, field: &str, value: Value| {
            let index = if self.shares_index { 0 } else { index };
            let mut body = json!({ "type": kind, "output_index": index });
            if field != "item" {
                body["item_id"] = id.into();
            }
            body[field] = value;
            sent += &event(kind, body);
            if self.has_keep_alives {
                sent += "data: {\"type\":\"keepalive\"}\n\n: comment\n\n";
            }
        };
        if self.has_reasoning {
            let item = json!({ "type": "reasoning", "id": "rs", "summary": [] });
            send(0, "response.output_item.added", "rs", "item", item.clone());
            send(0, "response.output_item.done", "rs", "item", item.clone());
            output.extend(self.lists_reasoning.then_some(item));
        }
        for (at, call) in calls.iter().enumerate() {
            let (index, id, whole) =
                (first + at as u64, format!("fc_{at}"), call.fragments.concat());
            let told = |is_told: bool| if is_told { whole.as_str() } else { "" };
            let mut item = json!({ "type": "function_call", "id": id, "call_id": call.id, "name": call.name, "arguments": told(self.in_added) });
            send(index, "response.output_item.added", &id, "item", item.clone());
            for fragment in call.fragments.iter().filter(|_| self.in_deltas) {
                let kind = "response.function_call_arguments.delta";
                send(index, kind, &id, "delta", fragment.as_str().into());
            }
            let kind = "response.function_call_arguments.done";
            send(index, kind, &id, "arguments", told(self.in_done).into());
            item["arguments"] = told(self.in_item).into();
            item["status"] = "completed".into();
            send(index, "response.output_item.done", &id, "item", item.clone());
            if ended {
                item["arguments"] = whole.as_str().into();
            }
            output.push(item);
        }
        let body = json!({ "type": "response.completed", "response": { "output": output } });
        sent + &event("response.completed", body)
    }
}

#[test]
fn calls_of_every_server_are_read_as_they_were_sent() {
    let mut numbers = Numbers(31);
    let mut plain = 0;
    for _ in 0..2_000 {
        let mut calls = calls(&mut numbers);
        let style = ServerStyle::new(&mut numbers);
        let sent = style.write(&calls, numbers.chance(50));
        let repaired = repair(Format::OpenaiResponses, &sent, &mut numbers);
        if style.is_plain() {
            assert_eq!(repaired, sent);
            plain += 1;
        }
        let context = format!("{style:?}\n{sent}");
        assert_calls(Format::OpenaiResponses, &repaired, &calls, &context);
        let deltas =
            |text: &str| text.matches("event: response.function_call_arguments.delta").count();
        assert_eq!(deltas(&repaired), deltas(&sent), "{context}\n->\n{repaired}");

        // A call without an id is the same one everywhere.
        let nameless = numbers.below(calls.len());
        calls[nameless].id = None;
        let sent = style.write(&calls, true).replace("\"call_id\":null,", "");
        let repaired = repair(Format::OpenaiResponses, &sent, &mut numbers);
        assert_calls(Format::OpenaiResponses, &repaired, &calls, &sent);
    }
    assert!(plain > 30, "{plain}");
}

#[test]
fn an_empty_object_before_the_deltas_is_left_out_everywhere() {
    let mut numbers = Numbers(32);
    for _ in 0..300 {
        let mut calls = calls(&mut numbers);
        calls.iter_mut().for_each(|call| call.fragments.insert(0, "{}".to_owned()));
        let sent = stream(Format::OpenaiResponses, &calls);
        let repaired = repair(Format::OpenaiResponses, &sent, &mut numbers);
        calls.iter_mut().for_each(|call| drop(call.fragments.remove(0)));
        assert_calls(Format::OpenaiResponses, &repaired, &calls, &sent);
    }
}

#[test]
fn deltas_that_are_missing_are_taken_from_the_end() {
    let call = SentCall {
        id: Some("a".to_owned()),
        name: Some("f".to_owned()),
        fragments: ["{\"a\":", "12", "}"].map(str::to_owned).into(),
    };
    let sent = stream(Format::OpenaiResponses, &[call]);
    let frames: Vec<&str> = sent.split_inclusive("\n\n").collect();
    // The start, the deltas, and what ends the call.
    for kept in 2..=4 {
        let sent = frames[..kept].concat() + &frames[4..].concat();
        let repaired = repair(Format::OpenaiResponses, &sent, &mut Numbers(33));
        let calls = calls_of(Format::OpenaiResponses, &repaired);
        assert_eq!(calls[0][2], "{\"a\":12}", "{sent}\n->\n{repaired}");
    }
}
