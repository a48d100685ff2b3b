//! What belongs together, as shapes.
//!
//! Units are told by their messages: `0 1-3 4`. Behind one that has to stay is a sign: `i` for
//! instructions, `o` for open calls, `r` for answers to calls that lie on the server.

use foxwedge_core::{
    Format, Profile,
    compact::{UnitHold, split_units},
    pair_calls,
};
use foxwedge_formats::{outline_options, read};
use foxwedge_testkit::body;
use serde_json::{Value, json};

fn told(wire: Format, document: &str) -> String {
    let reading = read(document, wire, outline_options(Profile::for_format(wire)))
        .expect("a shape can be read");
    let units = split_units(&reading.draft, &pair_calls(&reading.draft));
    let unit = |unit: &foxwedge_core::compact::Unit| {
        let (first, last) = (unit.messages.start, unit.messages.end - 1);
        let sign = match unit.hold {
            UnitHold::Free => "",
            UnitHold::Instructions => "i",
            UnitHold::Open => "o",
            UnitHold::Remote => "r",
            UnitHold::Pinned
            | UnitHold::First
            | UnitHold::Last
            | UnitHold::End
            | UnitHold::Summary => "?",
        };
        if first == last { format!("{first}{sign}") } else { format!("{first}-{last}{sign}") }
    };
    units.iter().map(unit).collect::<Vec<_>>().join(" ")
}

#[test]
fn turns_and_all_their_answers_are_one() {
    // Anthropic's format: one message for each token.
    let table = [
        ("u", "0"),
        ("u a u a", "0 1 2 3"),
        ("u a[x] r[x] a u", "0 1-2 3 4"),
        ("u a[x y] r[y x] u", "0 1-2 3"),
        ("u a[x] r[x] a[y] r[y]", "0 1-2 3-4"),
        // Answers spread over messages, and somebody speaks in between.
        ("u a[x y z] r[x] u r[y z] u a", "0 1-4 5 6"),
        ("u a[x y] r[x] r[y] u", "0 1-3 4"),
        ("u a[x] u r[x] a", "0 1-3 4"),
        ("u a[x] u a r[x] u", "0 1-4 5"),
        // What the model says in one go.
        ("u a a[x] r[x] u", "0 1-3 4"),
        ("u a[x] a[y] r[x y] u", "0 1-3 4"),
        ("u a a u", "0 1-2 3"),
        // The same id again, and answers before their call.
        ("u a[x] r[x] u a[x] r[x] u", "0 1-2 3 4-5 6"),
        ("u r[x] a[x] u", "0 1-2 3"),
        ("u a[x] r[x] r[x] u", "0 1-3 4"),
        // Units that reach into each other are one.
        ("u a[x] u a[y] r[x] r[y] u", "0 1-5 6"),
        // What nobody answered, what nobody asked, and where it begins.
        ("u a[x] r[x] a[y]", "0 1-2 3o"),
        ("u a[x y] r[x]", "0 1-2o"),
        ("u r[x] a u", "0 1r 2 3"),
        ("s u a", "0i 1 2"),
        ("s s u s a", "0i 1i 2-4"),
        ("s s", "0i 1i"),
    ];
    for (shape, expected) in table {
        assert_eq!(told(Format::Anthropic, &body("anthropic", shape)), expected, "{shape}");
    }
}

#[test]
fn every_answer_has_a_message_of_its_own_in_the_chat_format() {
    let table = [
        ("u a[x y z] r[x y z] a u", "0 1-4 5 6"),
        ("u a[x y z] r[x] u r[y z] u a", "0 1-5 6 7"),
        ("s u a[x] r[x] u", "0i 1 2-3 4"),
    ];
    for (shape, expected) in table {
        assert_eq!(told(Format::OpenaiChat, &body("openai-chat", shape)), expected, "{shape}");
    }
}

#[test]
fn reasoning_and_calls_of_a_turn_are_one_in_the_responses_format() {
    let user = json!({"role": "user", "content": "go on"});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let answer = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "ok"});
    let say = json!({"role": "assistant", "content": "so be it"});
    let referred = json!({"type": "item_reference", "id": "msg_1"});
    let table = [
        (json!([user, thought, call("x"), answer("x"), user]), "0 1-3 4"),
        (json!([user, thought, say, call("x"), call("y"), answer("x"), answer("y")]), "0 1-6"),
        (json!([user, call("x"), user, answer("x"), thought, say]), "0 1-3 4-5"),
        (json!([user, thought, call("x"), answer("x"), thought, call("y")]), "0 1-3 4-5o"),
        (json!([user, say, referred, user]), "0 1 2r 3"),
    ];
    for (items, expected) in table {
        assert_eq!(told(Format::OpenaiResponses, &items.to_string()), expected, "{items}");
    }
}

#[test]
fn an_answer_to_a_call_on_the_server_stays() {
    let answer = json!({"type": "function_call_output", "call_id": "x", "output": "ok"});
    let user = json!({"role": "user", "content": "go on"});
    let body = json!({"model": "gpt-5", "previous_response_id": "resp_1", "input": [answer, user]});
    assert_eq!(told(Format::OpenaiResponses, &body.to_string()), "0r 1");
}

#[test]
fn functions_of_the_older_kind_hang_on_what_stands_before_them() {
    let list = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "ok"},
        {"role": "user", "content": "go on"}
    ]);
    assert_eq!(told(Format::OpenaiChat, &list.to_string()), "0 1-2 3");
}

#[test]
fn media_that_was_carried_out_of_an_answer_stays_with_it() {
    let mut list: Vec<Value> = foxwedge_testkit::messages("openai-chat", "u a[x] r[x] u a");
    list.insert(
        3,
        json!({"role": "user", "content": [
            {"type": "text", "text": "[foxwedge] Media from the answer to tool call x:"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
        ]}),
    );
    assert_eq!(told(Format::OpenaiChat, &Value::Array(list).to_string()), "0 1-3 4 5");
}

#[test]
fn units_cover_every_history_without_gaps() {
    for wire in Format::ALL {
        for seed in 0..200 {
            let mut random = foxwedge_testkit::Random::new(seed);
            let text = foxwedge_testkit::history(&mut random, wire.name(), 12).to_string();
            let Ok(reading) = read(&text, wire, outline_options(Profile::for_format(wire))) else {
                continue;
            };
            let mut next = 0;
            for unit in split_units(&reading.draft, &pair_calls(&reading.draft)) {
                assert_eq!(unit.messages.start, next, "{text}");
                assert!(!unit.messages.is_empty(), "{text}");
                next = unit.messages.end;
            }
            assert_eq!(next, reading.draft.messages.len(), "{text}");
        }
    }
}

#[test]
fn declarations_of_tools_stay_with_the_reply_that_follows_them() {
    let tool = json!({"type": "tool_addition", "tool": {"type": "tool_reference", "name": "x"}});
    let call = json!({"type": "tool_use", "id": "t", "name": "x", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "1"});
    let messages = json!([
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "system", "content": [tool]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "user", "content": "d"},
    ]);
    assert_eq!(told(Format::Anthropic, &messages.to_string()), "0 1 2-5i 6");
    let items = json!([
        {"role": "user", "content": "a"},
        {"type": "additional_tools", "role": "developer", "tools": []},
        {"role": "assistant", "content": "b"},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"role": "user", "content": "c"},
    ]);
    assert_eq!(told(Format::OpenaiResponses, &items.to_string()), "0 1i 2 3i 4");
}
