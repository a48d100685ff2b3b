//! A model that thinks, behind agents that die.

use serde_json::{Value, json};

use crate::{
    chat::please,
    faces::messages,
    stage::Stage,
    stories::{World as _, kill_all},
};

/// Three turns, each with a thought and two calls. In these the agent dies while it waits.
fn talk(stream: bool, deaths: &[usize]) -> Stage {
    let stage = Stage::plain();
    let door = stage.door();
    let prompt = please(&[("look", json!({"n": 1})), ("look", json!({"n": 2}))]);
    let prompt = format!("think, and {prompt}");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let mut body = json!({
        "model": "agent", "max_tokens": 1000,
        "tools": [{"name": "look", "description": "", "input_schema": schema}],
        "messages": [{"role": "user", "content": prompt}],
    });
    let add = |body: &mut Value, more: Vec<Value>| {
        body["messages"].as_array_mut().expect("a list").extend(more);
    };
    for turn in 0..3 {
        let first = messages(&door, &mut body, stream);
        assert_eq!((first.thoughts, first.calls.len()), (1, 2), "{first:?}");
        add(&mut body, first.kept.clone());
        if deaths.contains(&turn) {
            kill_all(&stage).expect("an end");
        }
        let answer = |(id, _): &(String, Value)| json!({"type": "tool_result", "tool_use_id": id, "content": "seen"});
        let answers: Vec<Value> = first.calls.iter().map(answer).collect();
        add(&mut body, vec![json!({"role": "user", "content": answers})]);
        let last = messages(&door, &mut body, stream);
        assert_eq!(last.text, "The tools said: seen | seen");
        add(&mut body, last.kept.clone());
        add(&mut body, vec![json!({"role": "user", "content": prompt})]);
    }
    stage
}

#[test]
fn thoughts_are_kept_and_still_sealed_when_another_agent_goes_on() {
    for stream in [false, true] {
        talk(stream, &[2]).end();
    }
}

#[test]
fn a_second_death_costs_the_thoughts_and_not_the_conversation() {
    for stream in [false, true] {
        let stage = talk(stream, &[0, 2]);
        // The seal of the second turn holds words of the agent's own that no client knows: it is
        // refused once, and the history goes on without it.
        let refused = stage.refused();
        let seals = refused.iter().filter(|it| it.more.to_string().contains("signature"));
        assert_eq!((refused.len(), seals.count()), (1, 1), "{refused:?}");
        stage.leave();
    }
}
