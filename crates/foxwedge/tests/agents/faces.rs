//! The same agent for clients of other formats, whole and as streams.

use serde_json::{Value, json};

use crate::{
    chat::{Door, please},
    stage::Stage,
    stories::World as _,
    wire::Framing,
};

/// What a reply holds, whatever its format: the text, and the calls by id and arguments.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) thoughts: usize,
    /// The message or the items, as the client sends them back.
    pub(crate) kept: Vec<Value>,
}

fn parsed(arguments: &Value) -> Value {
    serde_json::from_str(arguments.as_str().unwrap_or_default()).expect("arguments")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The events of a stream.
fn events(body: &str) -> Vec<Value> {
    let datas = body.lines().filter_map(|line| line.strip_prefix("data: "));
    datas.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

pub(crate) fn messages(door: &Door, body: &mut Value, stream: bool) -> Heard {
    body["stream"] = json!(stream);
    let answer = door.post("/v1/messages", body).expect("a reply");
    assert_eq!((answer.status, answer.framing), (200, Framing::Whole), "{answer:?}");
    let blocks = match stream {
        false => answer.json()["content"].as_array().cloned().expect("blocks"),
        true => blocks(&events(&answer.body)),
    };
    let mut heard = Heard::default();
    for block in &blocks {
        match block["type"].as_str() {
            Some("text") => heard.text.push_str(&text(&block["text"])),
            Some("tool_use") => {
                heard.calls.push((text(&block["id"]), block["input"].clone()));
            }
            Some("thinking") => heard.thoughts += 1,
            _ => panic!("{block}"),
        }
    }
    heard.kept = vec![json!({"role": "assistant", "content": blocks})];
    heard
}

/// The blocks of a stream, put together.
fn blocks(events: &[Value]) -> Vec<Value> {
    let mut blocks: Vec<(Value, String)> = Vec::new();
    for event in events {
        match event["type"].as_str().unwrap_or_default() {
            "content_block_start" => {
                assert_eq!(event["index"].as_u64(), Some(blocks.len() as u64), "{events:#?}");
                blocks.push((event["content_block"].clone(), String::new()));
            }
            "content_block_delta" => {
                let (block, said) = blocks.last_mut().expect("a block");
                let delta = &event["delta"];
                said.push_str(&text(&delta["text"]));
                said.push_str(&text(&delta["partial_json"]));
                said.push_str(&text(&delta["thinking"]));
                if delta["type"] == "signature_delta" {
                    block["signature"] = delta["signature"].clone();
                }
            }
            _ => {}
        }
    }
    assert_eq!(events.last().map(|it| text(&it["type"])).as_deref(), Some("message_stop"));
    let whole = blocks.into_iter().map(|(mut block, said)| {
        match block["type"].as_str() {
            Some("tool_use") => block["input"] = parsed(&json!(said)),
            Some("thinking") => block["thinking"] = json!(said),
            _ => block["text"] = json!(said),
        }
        block
    });
    whole.collect()
}

fn responses(door: &Door, body: &mut Value, stream: bool) -> Heard {
    body["stream"] = json!(stream);
    let answer = door.post("/v1/responses", body).expect("a reply");
    assert_eq!((answer.status, answer.framing), (200, Framing::Whole), "{answer:?}");
    let response = match stream {
        false => answer.json(),
        true => {
            let events = events(&answer.body);
            let last = events.iter().rfind(|it| it["type"] == "response.completed");
            last.unwrap_or_else(|| panic!("{answer:?}"))["response"].clone()
        }
    };
    let mut heard = Heard::default();
    for item in response["output"].as_array().expect("items") {
        match item["type"].as_str() {
            Some("message") => heard.text.push_str(&text(&item["content"][0]["text"])),
            Some("function_call") => {
                heard.calls.push((text(&item["call_id"]), parsed(&item["arguments"])));
            }
            _ => panic!("{item}"),
        }
        heard.kept.push(item.clone());
    }
    heard
}

#[test]
fn clients_of_messages_are_served() {
    let wanted = [1, 2, 3].map(|n| json!({"n": n}));
    for stream in [false, true] {
        let stage = Stage::habits("words");
        let door = stage.door();
        let prompt = please(&wanted.clone().map(|arguments| ("look", arguments)));
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let mut body = json!({
            "model": "agent", "max_tokens": 1000, "system": "be brief",
            "tools": [{"name": "look", "description": "", "input_schema": schema}],
            "messages": [{"role": "user", "content": prompt}],
        });
        let add = |body: &mut Value, more: Vec<Value>| {
            body["messages"].as_array_mut().expect("a list").extend(more);
        };
        let first = messages(&door, &mut body, stream);
        assert_eq!(first.text, "I call what you asked for.");
        let found: Vec<&Value> = first.calls.iter().map(|(_, arguments)| arguments).collect();
        assert_eq!(found, wanted.iter().collect::<Vec<_>>());
        add(&mut body, first.kept.clone());
        let answers: Vec<Value> = first
            .calls
            .iter()
            .rev()
            .map(|(id, arguments)| {
                let content = json!([{"type": "text", "text": arguments.to_string()}]);
                json!({"type": "tool_result", "tool_use_id": id, "content": content})
            })
            .collect();
        add(&mut body, vec![json!({"role": "user", "content": answers})]);
        let last = messages(&door, &mut body, stream);
        assert_eq!(last.text, r#"The tools said: {"n":1} | {"n":2} | {"n":3}"#);
        assert_eq!(stage.count("start"), 1);
        stage.end();
    }
}

#[test]
fn clients_of_responses_are_served() {
    let wanted = [1, 2, 3].map(|n| json!({"n": n}));
    for stream in [false, true] {
        let stage = Stage::habits("words");
        let door = stage.door();
        let prompt = please(&wanted.clone().map(|arguments| ("look", arguments)));
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let mut body = json!({
            "model": "agent", "instructions": "be brief",
            "tools": [{"type": "function", "name": "look", "parameters": schema}],
            "input": [{"role": "user", "content": prompt}],
        });
        let add = |body: &mut Value, more: Vec<Value>| {
            body["input"].as_array_mut().expect("a list").extend(more);
        };
        let first = responses(&door, &mut body, stream);
        assert_eq!(first.text, "I call what you asked for.");
        let found: Vec<&Value> = first.calls.iter().map(|(_, arguments)| arguments).collect();
        assert_eq!(found, wanted.iter().collect::<Vec<_>>());
        add(&mut body, first.kept.clone());
        let answer = |(id, arguments): &(String, Value)| json!({"type": "function_call_output", "call_id": id, "output": arguments.to_string()});
        // Some first: the others are called once more.
        add(&mut body, vec![answer(&first.calls[1])]);
        let again = responses(&door, &mut body, stream);
        assert_eq!(again.calls, [first.calls[0].clone(), first.calls[2].clone()]);
        add(&mut body, again.kept.clone());
        add(&mut body, vec![answer(&first.calls[0]), answer(&first.calls[2])]);
        let last = responses(&door, &mut body, stream);
        assert_eq!(last.text, r#"The tools said: {"n":1} | {"n":2} | {"n":3}"#);
        assert_eq!(stage.count("start"), 1);
        stage.end();
    }
}
