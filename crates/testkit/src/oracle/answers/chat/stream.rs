//! Writes chunks as OpenAI and compatible servers send them.

use serde_json::{Value, json};

use super::{call, usage};
use crate::{
    oracle::answers::{
        GeneratedFrame, OracleReply, ReplyBlock, ReplyCall, ReplyCallInput, ReplyStop,
        fields::tidy,
        pen::{FrameWriter, woven},
        stops,
    },
    random::Random,
};

/// Variations of a server.
struct ServerHabits {
    /// Each call is one chunk.
    whole: bool,
    /// Every delta repeats the id and the name.
    again: bool,
    /// Deltas of several calls are interleaved.
    woven: bool,
    /// Calls have no index.
    unnumbered: bool,
    /// Calls without arguments omit them. Truncated calls do not.
    silent: bool,
    /// The usage comes with the finish reason.
    early: bool,
    /// The field names of reasoning.
    reasoning: &'static [&'static str],
}

pub(crate) fn stream(random: &mut Random, answer: &OracleReply) -> Vec<GeneratedFrame> {
    let habits = ServerHabits {
        whole: random.chance(20),
        again: random.chance(15),
        woven: random.chance(50),
        unnumbered: random.chance(10) && are_told_apart(answer),
        silent: random.chance(50) && matches!(answer.stop, Some(ReplyStop::End | ReplyStop::Calls)),
        early: random.chance(30),
        reasoning: match random.below(4) {
            0 => &["reasoning"],
            1 => &["reasoning", "reasoning_content"],
            _ => &["reasoning_content"],
        },
    };
    let done = random.chance(85);
    let mut writer = FrameWriter::sse(random);
    let content = if writer.random.chance(50) { json!("") } else { Value::Null };
    say(&mut writer, answer, json!({"role": "assistant", "content": content}));
    let mut calls = Vec::new();
    for block in &answer.blocks {
        let (keys, text): (&[&str], _) = match block {
            ReplyBlock::Text(text) => (&["content"], text),
            ReplyBlock::Refusal(text) => (&["refusal"], text),
            ReplyBlock::Reasoning(text, _) => (habits.reasoning, text),
            ReplyBlock::Call(call) => {
                let index = calls.len();
                calls.push(fragments(&mut writer, call, index, &habits));
                continue;
            }
        };
        for delta in writer.pieces(text) {
            let fields = keys.iter().map(|key| ((*key).to_owned(), json!(delta)));
            say(&mut writer, answer, Value::Object(fields.collect()));
        }
    }
    let mut fragments = woven(writer.random, calls, habits.woven && !habits.unnumbered);
    while !fragments.is_empty() {
        // Some servers send several deltas at once.
        let count = if writer.random.chance(10) { 2.min(fragments.len()) } else { 1 };
        let some: Vec<Value> = fragments.drain(..count).collect();
        say(&mut writer, answer, json!({"tool_calls": some}));
    }
    finish(&mut writer, answer, &habits);
    if done {
        writer.done("[DONE]");
    }
    writer.frames
}

fn fragments(
    writer: &mut FrameWriter<'_>,
    one: &ReplyCall,
    index: usize,
    habits: &ServerHabits,
) -> Vec<Value> {
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
    // A call without an id cannot repeat its name, because that would start a new call.
    let again = habits.again && one.id.is_some();
    let mut fragments = vec![with_index(call(one, String::new()))];
    if text == "{}" && habits.silent {
        return fragments;
    }
    for delta in writer.pieces(&text) {
        fragments.push(with_index(match (&one.input, again) {
            (ReplyCallInput::Free(_), true) => {
                json!({"id": one.id, "type": "custom", "custom": {"name": one.name, "input": delta}})
            }
            (_, true) => json!({
                "id": one.id, "type": "function",
                "function": {"name": one.name, "arguments": delta},
            }),
            (ReplyCallInput::Free(_), false) => json!({"custom": {"input": delta}}),
            (_, false) => json!({"function": {"arguments": delta}}),
        }));
    }
    fragments
}

/// Whether calls can be identified without an index: each has its own id.
fn are_told_apart(answer: &OracleReply) -> bool {
    let mut ids: Vec<_> = answer.calls().map(|call| &call.id).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    ids.len() == count && !ids.contains(&&None)
}

fn finish(writer: &mut FrameWriter<'_>, answer: &OracleReply, habits: &ServerHabits) {
    let Some(stop) = &answer.stop else { return };
    let choice = json!({"index": 0, "delta": {}, "finish_reason": stops::word(super::WIRE, stop)});
    let figures = usage(&answer.usage);
    let mut last = chunk(answer, json!([choice]));
    if habits.early {
        last["usage"] = figures;
        return writer.event(None, &last);
    }
    writer.event(None, &last);
    let mut last = chunk(answer, json!([]));
    last["usage"] = figures;
    writer.event(None, &last);
}

fn say(writer: &mut FrameWriter<'_>, answer: &OracleReply, delta: Value) {
    let silent = chunk(answer, json!([]));
    writer.noise(None, &silent);
    let strange = json!([{"index": 0, "delta": {"weather": "rain"}, "finish_reason": null}]);
    writer.unknown(None, &chunk(answer, strange));
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
    writer.event(None, &chunk(answer, json!([choice])));
}

fn chunk(answer: &OracleReply, choices: Value) -> Value {
    tidy(json!({
        "id": answer.id, "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": answer.model, "choices": choices,
    }))
}
