//! Chunks, as OpenAI and those who imitate it send them.

use serde_json::{Value, json};

use super::{call, usage};
use crate::{
    oracle::answers::{
        Answer, Block, Call, Frame, Input, Stop,
        fields::tidy,
        pen::{Pen, woven},
        stops,
    },
    random::Random,
};

/// What a server makes of the format.
struct Habits {
    /// A call comes in one chunk.
    whole: bool,
    /// The id and the name come with every fragment.
    again: bool,
    /// Fragments of several calls are mixed.
    woven: bool,
    /// Calls have no numbers.
    unnumbered: bool,
    /// Calls without arguments do not say so. What was cut short has to.
    silent: bool,
    /// The figures come with the finish.
    early: bool,
    /// What reasoning is called.
    reasoning: &'static [&'static str],
}

pub(crate) fn stream(random: &mut Random, answer: &Answer) -> Vec<Frame> {
    let habits = Habits {
        whole: random.chance(20),
        again: random.chance(15),
        woven: random.chance(50),
        unnumbered: random.chance(10) && are_told_apart(answer),
        silent: random.chance(50) && matches!(answer.stop, Some(Stop::End | Stop::Calls)),
        early: random.chance(30),
        reasoning: match random.below(4) {
            0 => &["reasoning"],
            1 => &["reasoning", "reasoning_content"],
            _ => &["reasoning_content"],
        },
    };
    let done = random.chance(85);
    let mut pen = Pen::sse(random);
    let content = if pen.random.chance(50) { json!("") } else { Value::Null };
    say(&mut pen, answer, json!({"role": "assistant", "content": content}));
    let mut calls = Vec::new();
    for block in &answer.blocks {
        let (keys, text): (&[&str], _) = match block {
            Block::Text(text) => (&["content"], text),
            Block::Refusal(text) => (&["refusal"], text),
            Block::Reasoning(text, _) => (habits.reasoning, text),
            Block::Call(call) => {
                let index = calls.len();
                calls.push(fragments(&mut pen, call, index, &habits));
                continue;
            }
        };
        for piece in pen.pieces(text) {
            let fields = keys.iter().map(|key| ((*key).to_owned(), json!(piece)));
            say(&mut pen, answer, Value::Object(fields.collect()));
        }
    }
    let mut fragments = woven(pen.random, calls, habits.woven && !habits.unnumbered);
    while !fragments.is_empty() {
        // Some send several fragments at once.
        let count = if pen.random.chance(10) { 2.min(fragments.len()) } else { 1 };
        let some: Vec<Value> = fragments.drain(..count).collect();
        say(&mut pen, answer, json!({"tool_calls": some}));
    }
    finish(&mut pen, answer, &habits);
    if done {
        pen.done("[DONE]");
    }
    pen.frames
}

fn fragments(pen: &mut Pen<'_>, one: &Call, index: usize, habits: &Habits) -> Vec<Value> {
    let text = one.input.text();
    let with_index = |mut value: Value| {
        if !habits.unnumbered {
            value["index"] = json!(index);
        }
        value
    };
    if habits.whole {
        return vec![with_index(call(one, text))];
    }
    // A call without an id is none any more when it repeats its name.
    let again = habits.again && one.id.is_some();
    let mut fragments = vec![with_index(call(one, String::new()))];
    if text == "{}" && habits.silent {
        return fragments;
    }
    for piece in pen.pieces(&text) {
        fragments.push(with_index(match (&one.input, again) {
            (Input::Free(_), true) => {
                json!({"id": one.id, "type": "custom", "custom": {"name": one.name, "input": piece}})
            }
            (_, true) => json!({
                "id": one.id, "type": "function",
                "function": {"name": one.name, "arguments": piece},
            }),
            (Input::Free(_), false) => json!({"custom": {"input": piece}}),
            (_, false) => json!({"function": {"arguments": piece}}),
        }));
    }
    fragments
}

/// Whether calls can do without numbers: each has an id of its own.
fn are_told_apart(answer: &Answer) -> bool {
    let mut ids: Vec<_> = answer.calls().map(|call| &call.id).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    ids.len() == count && !ids.contains(&&None)
}

fn finish(pen: &mut Pen<'_>, answer: &Answer, habits: &Habits) {
    let Some(stop) = &answer.stop else { return };
    let choice = json!({"index": 0, "delta": {}, "finish_reason": stops::word(super::WIRE, stop)});
    let figures = usage(&answer.usage);
    let mut last = chunk(answer, json!([choice]));
    if habits.early {
        last["usage"] = figures;
        return pen.event(None, &last);
    }
    pen.event(None, &last);
    let mut last = chunk(answer, json!([]));
    last["usage"] = figures;
    pen.event(None, &last);
}

fn say(pen: &mut Pen<'_>, answer: &Answer, delta: Value) {
    let silent = chunk(answer, json!([]));
    pen.noise(None, &silent);
    let strange = json!([{"index": 0, "delta": {"weather": "rain"}, "finish_reason": null}]);
    pen.unknown(None, &chunk(answer, strange));
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
    pen.event(None, &chunk(answer, json!([choice])));
}

fn chunk(answer: &Answer, choices: Value) -> Value {
    tidy(json!({
        "id": answer.id, "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": answer.model, "choices": choices,
    }))
}
