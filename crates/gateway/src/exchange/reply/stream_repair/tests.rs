//! Generated streams: valid ones keep their bytes, faulty ones can be read afterwards.

mod chat;
mod cut;
mod responses;
mod sdk;
mod shared_index;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::*;

/// A source of numbers: the same seed gives the same stream.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A call of a reply, as a stream sends it.
struct SentCall {
    id: Option<String>,
    name: Option<String>,
    fragments: Vec<String>,
}

const FORMATS: [Format; 3] = [Format::OpenaiChat, Format::Anthropic, Format::OpenaiResponses];

fn arguments(numbers: &mut Numbers, depth: usize) -> Value {
    const TEXTS: [&str; 6] =
        ["", "ls -la", "it's, \"so\"", "two\nlines\\", "\u{1F98A} caf\u{e9}", "{\"a\":[1,}"];
    match numbers.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => numbers.chance(50).into(),
        2 => (numbers.below(2_000) as i64 - 1_000).into(),
        3 => json!(numbers.below(1_000) as f64 / 8.0),
        4 => TEXTS[numbers.below(TEXTS.len())].into(),
        5 => (0..numbers.below(4)).map(|_| arguments(numbers, depth - 1)).collect(),
        _ => Value::Object(object(numbers, depth - 1)),
    }
}

fn object(numbers: &mut Numbers, depth: usize) -> Map<String, Value> {
    (0..numbers.below(4)).map(|at| (format!("k{at}"), arguments(numbers, depth))).collect()
}

fn cut(text: &str, numbers: &mut Numbers) -> Vec<String> {
    let most = 1 + numbers.below(12);
    let mut fragments = vec![String::new()];
    for character in text.chars() {
        if fragments.last().is_some_and(|it| it.chars().count() >= most) {
            fragments.push(String::new());
        }
        fragments.last_mut().expect("one").push(character);
    }
    fragments
}

/// Damages a call as providers were seen to.
fn damage(call: &mut SentCall, others: &[SentCall], numbers: &mut Numbers) {
    let text: String = call.fragments.concat();
    let damaged = match numbers.below(13) {
        0 => {
            call.id = None;
            return;
        }
        1 => {
            call.name = None;
            return;
        }
        2 => {
            call.id = others.first().map(|other| other.id.clone()).unwrap_or_default();
            return;
        }
        3 => text.chars().take(numbers.below(text.chars().count().max(1))).collect(),
        4 => text.replacen('}', ",}", 1),
        5 => text.replace('"', "'"),
        6 => text.replace("true", "True").replace("null", "None"),
        7 => text.replace("\\n", "\n"),
        8 => format!("{text}{text}"),
        9 => format!("```json\n{text}\n```"),
        10 => ["null", "none", "None", "true", "42"][numbers.below(5)].to_owned(),
        11 => {
            call.fragments.insert(0, "{}".to_owned());
            return;
        }
        _ => text.replacen(',', " ", 1),
    };
    call.fragments = cut(&damaged, numbers);
}

fn event(name: &str, value: Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// A stream as a provider sends it.
fn stream(format: Format, calls: &[SentCall]) -> String {
    let mut out = String::new();
    match format {
        Format::OpenaiChat => {
            let chunk = |delta: Value, end: Value| {
                let choice = json!({ "index": 0, "delta": delta, "finish_reason": end });
                let value =
                    json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] });
                format!("data: {value}\n\n")
            };
            out += &chunk(json!({ "role": "assistant", "content": "Looking, then" }), Value::Null);
            for (index, call) in calls.iter().enumerate() {
                let mut start =
                    json!({ "index": index, "type": "function", "function": { "arguments": "" } });
                if let Some(id) = &call.id {
                    start["id"] = id.as_str().into();
                }
                if let Some(name) = &call.name {
                    start["function"]["name"] = name.as_str().into();
                }
                out += &chunk(json!({ "tool_calls": [start] }), Value::Null);
                for fragment in &call.fragments {
                    let delta = json!({ "index": index, "function": { "arguments": fragment } });
                    out += &chunk(json!({ "tool_calls": [delta] }), Value::Null);
                }
            }
            out += &chunk(json!({}), "tool_calls".into());
            out += "data: [DONE]\n\n";
        }
        Format::Anthropic => {
            out += &event(
                "message_start",
                json!({ "type": "message_start", "message": { "id": "m" } }),
            );
            for (index, call) in calls.iter().enumerate() {
                let mut block = json!({ "type": "tool_use", "input": {} });
                if let Some(id) = &call.id {
                    block["id"] = id.as_str().into();
                }
                if let Some(name) = &call.name {
                    block["name"] = name.as_str().into();
                }
                let start = json!({ "type": "content_block_start", "index": index, "content_block": block });
                out += &event("content_block_start", start);
                out += "event: ping\ndata: {\"type\": \"ping\"}\n\n";
                for fragment in &call.fragments {
                    let delta = json!({ "type": "input_json_delta", "partial_json": fragment });
                    let delta =
                        json!({ "type": "content_block_delta", "index": index, "delta": delta });
                    out += &event("content_block_delta", delta);
                }
                let stop = json!({ "type": "content_block_stop", "index": index });
                out += &event("content_block_stop", stop);
            }
            let end = json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } });
            out += &event("message_delta", end);
            out += &event("message_stop", json!({ "type": "message_stop" }));
        }
        _ => {
            let mut output = Vec::new();
            for (index, call) in calls.iter().enumerate() {
                let mut item = json!({ "type": "function_call", "id": format!("fc_{index}"), "arguments": "" });
                if let Some(id) = &call.id {
                    item["call_id"] = id.as_str().into();
                }
                if let Some(name) = &call.name {
                    item["name"] = name.as_str().into();
                }
                let send = |kind: &str, field: &str, value: Value| {
                    let mut body = json!({ "type": kind, "output_index": index, "item_id": format!("fc_{index}") });
                    body[field] = value;
                    event(kind, body)
                };
                out += &send("response.output_item.added", "item", item.clone());
                for fragment in &call.fragments {
                    let kind = "response.function_call_arguments.delta";
                    out += &send(kind, "delta", fragment.as_str().into());
                }
                let whole = call.fragments.concat();
                let kind = "response.function_call_arguments.done";
                out += &send(kind, "arguments", whole.as_str().into());
                item["arguments"] = whole.into();
                out += &send("response.output_item.done", "item", item.clone());
                output.push(item);
            }
            let response = json!({ "id": "r", "output": output });
            let end = json!({ "type": "response.completed", "response": response });
            out += &event("response.completed", end);
        }
    }
    out
}

/// The calls that a client reads: id, name and arguments, each as often as the stream tells them.
fn read(format: Format, text: &str) -> Vec<[Vec<String>; 3]> {
    let mut calls: BTreeMap<u64, [Vec<String>; 3]> = BTreeMap::new();
    for frame in text.split("\n\n") {
        let Some(data) = frame.lines().find_map(|line| line.strip_prefix("data: ")) else {
            continue;
        };
        let Ok(value) = serde_json::from_str::<Value>(data) else { continue };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match format {
            Format::OpenaiChat => {
                let deltas = value["choices"][0]["delta"]["tool_calls"].as_array();
                for delta in deltas.into_iter().flatten() {
                    let call = calls.entry(delta["index"].as_u64().expect("an index")).or_default();
                    for (at, part) in [&delta["id"], &delta["function"]["name"]].iter().enumerate()
                    {
                        if !text(part).is_empty() {
                            call[at].push(text(part));
                        }
                    }
                    call[2].resize(1, String::new());
                    call[2][0] += &text(&delta["function"]["arguments"]);
                }
            }
            Format::Anthropic => {
                let index = value["index"].as_u64().unwrap_or(0);
                if value["content_block"]["type"] == "tool_use" {
                    let block = &value["content_block"];
                    let call =
                        [vec![text(&block["id"])], vec![text(&block["name"])], vec![String::new()]];
                    calls.insert(index, call);
                } else if value["delta"]["type"] == "input_json_delta" {
                    let call = calls.get_mut(&index).expect("a start");
                    call[2][0] += &text(&value["delta"]["partial_json"]);
                }
            }
            _ => {
                let mut item = |index: u64, item: &Value| {
                    let call = calls.entry(index).or_default();
                    call[0].push(text(&item["call_id"]));
                    call[1].push(text(&item["name"]));
                    if item["arguments"] != "" {
                        call[2].push(text(&item["arguments"]));
                    }
                };
                let index = value["output_index"].as_u64().unwrap_or(0);
                if value["item"].is_object() {
                    item(index, &value["item"]);
                }
                let output = value["response"]["output"].as_array().into_iter().flatten();
                output.enumerate().for_each(|(index, value)| item(index as u64, value));
                if let Some(delta) = value["delta"].as_str() {
                    let call = calls.entry(index + 1_000).or_default();
                    call[2].resize(1, String::new());
                    call[2][0] += delta;
                }
                if let Some(whole) = value["arguments"].as_str() {
                    calls.entry(index).or_default()[2].push(whole.to_owned());
                }
            }
        }
    }
    // The deltas of Responses, beside what repeats them.
    let deltas: Vec<u64> = calls.keys().copied().filter(|index| *index >= 1_000).collect();
    for index in deltas {
        let [_, _, deltas] = calls.remove(&index).expect("deltas");
        calls.get_mut(&(index - 1_000)).expect("a call")[2].extend(deltas);
    }
    calls.into_values().collect()
}

/// Whether a client can read every call: one id, one name, the same JSON wherever it is repeated.
fn is_readable(format: Format, text: &str, count: usize) -> bool {
    let calls = read(format, text);
    let mut ids: Vec<&String> = calls.iter().filter_map(|call| call[0].first()).collect();
    ids.sort();
    ids.dedup();
    let same =
        |values: &[String]| values.iter().all(|value| !value.is_empty() && *value == values[0]);
    calls.len() == count
        && ids.len() == count
        && calls.iter().all(|[ids, names, arguments]| {
            let values: Vec<_> = arguments
                .iter()
                .filter(|text| !(format == Format::Anthropic && text.is_empty()))
                .map(|text| serde_json::from_str::<Value>(text))
                .collect();
            let is_json = values.iter().all(Result::is_ok);
            let is_one =
                values.windows(2).all(|pair| pair[0].as_ref().ok() == pair[1].as_ref().ok());
            same(ids) && same(names) && !names.is_empty() && is_json && is_one
        })
}

fn repair(format: Format, stream: &str, numbers: &mut Numbers) -> String {
    let mut repair = StreamRepair::new(format, "seed", 1 << 20).expect("a format");
    let mut out = Vec::new();
    let mut rest = stream.as_bytes();
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at((1 + numbers.below(300)).min(rest.len()));
        repair.push(chunk, &mut out);
        rest = behind;
    }
    repair.finish(&mut out);
    String::from_utf8(out).expect("text")
}

fn calls(numbers: &mut Numbers) -> Vec<SentCall> {
    let count = 1 + numbers.below(3);
    let call = |at: usize, numbers: &mut Numbers| {
        let value = Value::Object(object(numbers, 3));
        let text = if numbers.chance(30) { format!("{value:#}") } else { value.to_string() };
        let fragments = cut(&text, numbers);
        SentCall { id: Some(format!("call_{at}")), name: Some(format!("tool_{at}")), fragments }
    };
    (0..count).map(|at| call(at, numbers)).collect()
}

#[test]
fn valid_streams_keep_their_bytes() {
    let mut numbers = Numbers(1);
    for round in 0..1_000 {
        let calls = calls(&mut numbers);
        let format = FORMATS[round % 3];
        let sent = stream(format, &calls);
        assert!(is_readable(format, &sent, calls.len()), "{sent}");
        assert_eq!(repair(format, &sent, &mut numbers), sent);
    }
}

#[test]
fn at_most_one_frame_waits_for_the_next() {
    let mut numbers = Numbers(5);
    for round in 0..1_000 {
        let format = FORMATS[round % 3];
        let sent = stream(format, &calls(&mut numbers));
        let mut repair = StreamRepair::new(format, "seed", 1 << 20).expect("a format");
        let mut out = Vec::new();
        let count = |text: &[u8]| text.windows(2).filter(|pair| *pair == b"\n\n").count();
        for (at, frame) in sent.split_inclusive("\n\n").enumerate() {
            repair.push(frame.as_bytes(), &mut out);
            assert!(count(&out) >= at, "{format:?}: frame {at} of\n{sent}");
        }
    }
}

#[test]
fn arguments_in_a_code_block_begin_with_their_first_value() {
    // Anthropic's SDK reads what there is after every part, and white space is no JSON.
    let text = ["```json", "\n", "{\"a\":", "1}", "\n```"].map(str::to_owned);
    let id = Some("a".to_owned());
    let call = SentCall { id: id.clone(), name: id, fragments: text.into() };
    let sent = stream(Format::Anthropic, &[call]);
    let repaired = repair(Format::Anthropic, &sent, &mut Numbers(6));
    let calls = read(Format::Anthropic, &repaired);
    assert!(calls[0][2][0].starts_with("{\"a\":1}"), "{repaired}");
}

#[test]
fn faulty_streams_can_be_read_afterwards() {
    let mut numbers = Numbers(2);
    let (mut faulty, mut readable) = (0, 0);
    while faulty < 1_000 {
        let mut calls = calls(&mut numbers);
        let damaged = numbers.below(calls.len());
        let mut call = calls.remove(damaged);
        damage(&mut call, &calls, &mut numbers);
        calls.insert(damaged, call);
        let format = FORMATS[faulty % 3];
        let sent = stream(format, &calls);
        if is_readable(format, &sent, calls.len()) {
            continue;
        }
        faulty += 1;
        let repaired = repair(format, &sent, &mut numbers);
        match is_readable(format, &repaired, calls.len()) {
            true => readable += 1,
            false => eprintln!("{format:?}\n{sent}\n->\n{repaired}"),
        }
    }
    assert_eq!(readable, faulty);
}

#[test]
fn a_call_that_was_cut_off_stays_as_it_is() {
    let call = || SentCall {
        id: Some("a".to_owned()),
        name: Some("run".to_owned()),
        fragments: vec!["{\"command\":".to_owned(), "\"rm -r /tmp".to_owned()],
    };
    for (format, from, to) in [
        (Format::OpenaiChat, "\"finish_reason\":\"tool_calls\"", "\"finish_reason\":\"length\""),
        (Format::Anthropic, "\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"max_tokens\""),
        (
            Format::OpenaiResponses,
            "\"type\":\"function_call\"",
            "\"status\":\"incomplete\",\"type\":\"function_call\"",
        ),
    ] {
        let sent = stream(format, &[call()]).replace(from, to);
        assert_eq!(repair(format, &sent, &mut Numbers(3)), sent, "{format:?}");
        // The same without an end, behind the last whole frame.
        let cut = sent.get(..sent.len() * 2 / 3).expect("a part");
        let (whole, _) = cut.rsplit_once("\n\n").expect("a frame");
        assert_eq!(repair(format, cut, &mut Numbers(3)), format!("{whole}\n\n"), "{format:?}");
    }
}

#[test]
fn calls_that_share_an_index_get_their_own() {
    let chunk = |calls: Value| {
        let choice = json!({ "index": 0, "delta": { "tool_calls": calls }, "finish_reason": null });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let call = |id: &str| json!({ "index": 0, "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let mut sent = chunk(json!([call("a")])) + &chunk(json!([call("b")]));
    sent += "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let repaired = repair(Format::OpenaiChat, &sent, &mut Numbers(4));
    assert!(is_readable(Format::OpenaiChat, &repaired, 2), "{repaired}");
}

#[test]
fn the_numbers_of_events_increase_where_events_are_added() {
    let mut numbers = Numbers(7);
    let mut added = 0;
    for _ in 0..500 {
        let mut calls = calls(&mut numbers);
        for call in &mut calls {
            damage(call, &[], &mut numbers);
        }
        let sent = stream(Format::OpenaiResponses, &calls);
        let mut number = 0;
        let frames = sent.split_inclusive("\n\n").map(|frame| {
            number += 1;
            frame.replacen("{", &format!("{{\"sequence_number\":{number},"), 1)
        });
        let repaired = repair(Format::OpenaiResponses, &frames.collect::<String>(), &mut numbers);
        let data = repaired.lines().filter_map(|line| line.strip_prefix("data: "));
        let found: Vec<u64> = data
            .map(|data| serde_json::from_str::<Value>(data).expect("JSON"))
            .map(|value| value["sequence_number"].as_u64().expect("a number"))
            .collect();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}\n{repaired}");
        added += found.len() - number;
    }
    assert!(added > 0, "no event was added");
}
