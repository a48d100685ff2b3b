//! Tool-heavy histories of about a kilobyte a message.

use foxwedge_core::Format;
use serde_json::{Value, json};

/// Whether a history is sound.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Sound,
    /// In every tenth turn an answer is missing, apart, or twice.
    Broken,
}

/// Text with the line breaks, quotes and letters of code.
fn words(seed: usize, bytes: usize) -> String {
    const LINES: [&str; 6] = [
        "    let value = table.get(&key).copied().unwrap_or_default();\n",
        "// the cache is warm here, so \"miss\" means a real miss\n",
        "error[E0308]: mismatched types: expected `u32`, found `usize`\n",
        "drwxr-xr-x  2 user group  4096 Jan  1 00:00 src\n",
        "The quick brown fox drives a wedge into the tenon and the joint stays closed. ",
        "naïve café — 测试 — ok\n",
    ];
    let mut text = format!("{seed}: ");
    let mut at = seed;
    while text.len() < bytes {
        text.push_str(LINES[at % LINES.len()]);
        at = at.wrapping_mul(31).wrapping_add(7) % 1009;
    }
    text
}

/// A history of about `messages` messages.
pub(crate) fn history(wire: Format, messages: usize, state: State) -> String {
    let mut list: Vec<Value> = Vec::with_capacity(messages);
    list.push(user(wire, "Please find out why the build is slow."));
    let mut turn = 0;
    while list.len() < messages {
        turn += 1;
        let broken = state == State::Broken && turn % 10 == 0;
        push_turn(wire, &mut list, turn, broken);
        if turn % 25 == 0 {
            list.push(says(wire, &words(turn, 400)));
            list.push(user(wire, &words(turn, 600)));
        }
    }
    if list.last().is_some_and(|last| {
        last.get("role").is_some_and(|role| role == "assistant" || role == "model")
    }) {
        list.push(user(wire, "Go on."));
    }
    Value::Array(list).to_string()
}

fn push_turn(wire: Format, list: &mut Vec<Value>, turn: usize, broken: bool) {
    let calls: Vec<(String, &str)> = (0..1 + turn % 3)
        .map(|n| (format!("call_{turn:07}_{n}"), ["read_file", "bash", "search"][n]))
        .collect();
    let text = words(turn, 500);
    let arguments = |n: usize| json!({"path": format!("src/module_{turn}/file_{n}.rs"), "content": words(turn + n, 250)});
    let answers: Vec<(String, &str, String)> = calls
        .iter()
        .enumerate()
        .map(|(n, (id, name))| (id.clone(), *name, words(turn * 7 + n, 1100)))
        .collect();
    let (kept, late) = answers.split_at(if broken { answers.len() - 1 } else { answers.len() });
    match wire {
        Format::OpenaiChat => {
            let calls: Vec<Value> = calls.iter().enumerate().map(|(n, (id, name))| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments(n).to_string()}})).collect();
            list.push(json!({"role": "assistant", "content": text, "tool_calls": calls}));
            list.extend(kept.iter().map(
                |(id, _, words)| json!({"role": "tool", "tool_call_id": id, "content": words}),
            ));
        }
        Format::OpenaiResponses => {
            list.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}));
            list.extend(calls.iter().enumerate().map(|(n, (id, name))| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments(n).to_string()})));
            list.extend(kept.iter().map(|(id, _, words)| json!({"type": "function_call_output", "call_id": id, "output": words})));
        }
        Format::GeminiInteractions => {
            list.push(says(wire, &text));
            list.extend(calls.iter().enumerate().map(|(n, (id, name))| json!({"type": "function_call", "id": id, "name": name, "arguments": arguments(n)})));
            list.extend(kept.iter().map(|(id, name, words)| json!({"type": "function_result", "call_id": id, "name": name, "result": words})));
        }
        Format::Anthropic => {
            let mut blocks = vec![json!({"type": "text", "text": text})];
            blocks.extend(calls.iter().enumerate().map(|(n, (id, name))| json!({"type": "tool_use", "id": id, "name": name, "input": arguments(n)})));
            list.push(json!({"role": "assistant", "content": blocks}));
            let blocks: Vec<Value> = kept.iter().map(|(id, _, words)| json!({"type": "tool_result", "tool_use_id": id, "content": words})).collect();
            push_some(list, "user", "content", blocks);
        }
        Format::Gemini => {
            let mut parts = vec![json!({"text": text})];
            parts.extend(calls.iter().enumerate().map(|(n, (id, name))| json!({"functionCall": {"id": id, "name": name, "args": arguments(n)}})));
            list.push(json!({"role": "model", "parts": parts}));
            let parts: Vec<Value> = kept.iter().map(|(id, name, words)| json!({"functionResponse": {"id": id, "name": name, "response": {"output": words}}})).collect();
            push_some(list, "user", "parts", parts);
        }
        Format::Bedrock => {
            let mut blocks = vec![json!({"text": text})];
            blocks.extend(calls.iter().enumerate().map(|(n, (id, name))| json!({"toolUse": {"toolUseId": id, "name": name, "input": arguments(n)}})));
            list.push(json!({"role": "assistant", "content": blocks}));
            let blocks: Vec<Value> = kept.iter().map(|(id, _, words)| json!({"toolResult": {"toolUseId": id, "content": [{"text": words}]}})).collect();
            push_some(list, "user", "content", blocks);
        }
    }
    // Of three broken turns one has its answer later, two have none.
    if let [(id, _, words), ..] = late
        && turn.is_multiple_of(30)
    {
        list.push(user(wire, "Stop, I have a question."));
        match wire {
            Format::OpenaiChat => list.push(json!({"role": "tool", "tool_call_id": id, "content": words})),
            Format::OpenaiResponses => list.push(json!({"type": "function_call_output", "call_id": id, "output": words})),
            Format::Anthropic => list.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": words}]})),
            Format::GeminiInteractions => list.push(json!({"type": "function_result", "call_id": id, "result": words})),
            Format::Gemini | Format::Bedrock => {}
        }
    }
}

fn push_some(list: &mut Vec<Value>, role: &str, key: &str, blocks: Vec<Value>) {
    if !blocks.is_empty() {
        list.push(json!({"role": role, key: blocks}));
    }
}

fn user(wire: Format, words: &str) -> Value {
    match wire {
        Format::OpenaiChat | Format::Anthropic => json!({"role": "user", "content": words}),
        Format::OpenaiResponses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]})
        }
        Format::GeminiInteractions => {
            json!({"type": "user_input", "content": [{"type": "text", "text": words}]})
        }
        Format::Gemini => json!({"role": "user", "parts": [{"text": words}]}),
        Format::Bedrock => json!({"role": "user", "content": [{"text": words}]}),
    }
}

fn says(wire: Format, words: &str) -> Value {
    match wire {
        Format::OpenaiChat | Format::Anthropic => json!({"role": "assistant", "content": words}),
        Format::OpenaiResponses => {
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]})
        }
        Format::GeminiInteractions => {
            json!({"type": "model_output", "content": [{"type": "text", "text": words}]})
        }
        Format::Gemini => json!({"role": "model", "parts": [{"text": words}]}),
        Format::Bedrock => json!({"role": "assistant", "content": [{"text": words}]}),
    }
}
