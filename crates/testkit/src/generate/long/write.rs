//! Writes a step of a long conversation in each format.

use serde_json::{Value, json};

use super::{LongCall, LongStep};
use crate::dialect::TestFormat;

/// An image of one pixel.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A user message.
pub(super) fn ask(format: TestFormat, text: &str) -> Option<Value> {
    Some(match format {
        TestFormat::Chat | TestFormat::Responses | TestFormat::Anthropic => {
            json!({"role": "user", "content": text})
        }
        TestFormat::Interactions => {
            json!({"type": "user_input", "content": [{"type": "text", "text": text}]})
        }
        TestFormat::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
        TestFormat::Bedrock => json!({"role": "user", "content": [{"text": text}]}),
    })
}

/// An assistant message without calls.
pub(super) fn say(format: TestFormat, text: &str) -> Option<Value> {
    Some(match format {
        TestFormat::Chat | TestFormat::Responses => json!({"role": "assistant", "content": text}),
        TestFormat::Anthropic => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
        }
        TestFormat::Interactions => {
            json!({"type": "model_output", "content": [{"type": "text", "text": text}]})
        }
        TestFormat::Gemini => json!({"role": "model", "parts": [{"text": text}]}),
        TestFormat::Bedrock => json!({"role": "assistant", "content": [{"text": text}]}),
    })
}

/// Calls and their results.
pub(super) fn step(format: TestFormat, step: &LongStep) -> Vec<Value> {
    match format {
        TestFormat::Chat => chat(step),
        TestFormat::Responses => responses(step),
        TestFormat::Anthropic => anthropic(step),
        TestFormat::Interactions => interactions(step),
        TestFormat::Gemini => gemini(step),
        TestFormat::Bedrock => bedrock(step),
    }
}

fn chat(step: &LongStep) -> Vec<Value> {
    let call = |call: &LongCall| {
        let function = json!({"name": call.name, "arguments": call.arguments.to_string()});
        json!({"id": call.id, "type": "function", "function": function})
    };
    let calls: Vec<Value> = step.calls.iter().map(call).collect();
    let turn = json!({
        "role": "assistant", "content": step.text.as_deref().unwrap_or(""), "reasoning_content": step.thought,
        "tool_calls": calls
    });
    let answers = step
        .calls
        .iter()
        .map(|call| json!({"role": "tool", "tool_call_id": call.id, "content": call.answer}));
    std::iter::once(turn).chain(answers).collect()
}

fn responses(step: &LongStep) -> Vec<Value> {
    let number = step.calls.first().map_or(0, |call| call.number);
    let mut items = vec![json!({
        "type": "reasoning", "id": format!("rs_{number}"),
        "summary": [{"type": "summary_text", "text": step.thought}],
        "encrypted_content": format!("gAAAA{number}")
    })];
    items.extend(step.text.as_ref().map(|text| json!({"role": "assistant", "content": text})));
    items.extend(step.calls.iter().map(|call| {
        json!({
            "type": "function_call", "call_id": call.id, "name": call.name,
            "arguments": call.arguments.to_string()
        })
    }));
    items.extend(step.calls.iter().map(|call| {
        let output = match call.image {
            true => json!([
                {"type": "input_text", "text": call.answer},
                {"type": "input_image", "image_url": format!("data:image/png;base64,{PICTURE}")}
            ]),
            false => json!(call.answer),
        };
        json!({"type": "function_call_output", "call_id": call.id, "output": output})
    }));
    items
}

fn interactions(step: &LongStep) -> Vec<Value> {
    let number = step.calls.first().map_or(0, |call| call.number);
    let mut steps = vec![json!({
        "type": "thought", "signature": format!("c2ln{number}"),
        "summary": [{"type": "text", "text": step.thought}]
    })];
    steps.extend(step.text.as_deref().and_then(|text| say(TestFormat::Interactions, text)));
    steps.extend(step.calls.iter().map(|call| {
        json!({"type": "function_call", "id": call.id, "name": call.name, "arguments": call.arguments})
    }));
    steps.extend(step.calls.iter().map(|call| {
        let image = json!({"type": "image", "data": PICTURE, "mime_type": "image/png"});
        let result = match call.image {
            true => json!([{"type": "text", "text": call.answer}, image]),
            false => json!(call.answer),
        };
        json!({
            "type": "function_result", "call_id": call.id, "name": call.name,
            "is_error": call.failed, "result": result
        })
    }));
    steps
}

fn anthropic(step: &LongStep) -> Vec<Value> {
    let number = step.calls.first().map_or(0, |call| call.number);
    let mut blocks = vec![json!({
        "type": "thinking", "thinking": step.thought, "signature": format!("c2VhbA{number}==")
    })];
    blocks.extend(step.text.as_ref().map(|text| json!({"type": "text", "text": text})));
    blocks.extend(step.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    }));
    let answer = |call: &LongCall| {
        let mut content = vec![json!({"type": "text", "text": call.answer})];
        let source = json!({"type": "base64", "media_type": "image/png", "data": PICTURE});
        content.extend(call.image.then(|| json!({"type": "image", "source": source})));
        let id = &call.id;
        match call.failed {
            true => json!({
                "type": "tool_result", "tool_use_id": id, "content": content, "is_error": true
            }),
            false => json!({"type": "tool_result", "tool_use_id": id, "content": content}),
        }
    };
    let answers: Vec<Value> = step.calls.iter().map(answer).collect();
    vec![
        json!({"role": "assistant", "content": blocks}),
        json!({"role": "user", "content": answers}),
    ]
}

fn gemini(step: &LongStep) -> Vec<Value> {
    let mut parts = vec![json!({"text": step.thought, "thought": true})];
    parts.extend(step.text.as_ref().map(|text| json!({"text": text})));
    for (at, call) in step.calls.iter().enumerate() {
        let body = json!({"id": call.id, "name": call.name, "args": call.arguments});
        parts.push(match at {
            0 => json!({"functionCall": body, "thoughtSignature": format!("c2ln{}", call.number)}),
            _ => json!({"functionCall": body}),
        });
    }
    let answer = |call: &LongCall| {
        let key = if call.failed { "error" } else { "output" };
        let response = json!({key: call.answer});
        let data = json!({"inlineData": {"mimeType": "image/png", "data": PICTURE}});
        json!({"functionResponse": match call.image {
            true => json!({
                "id": call.id, "name": call.name, "response": response, "parts": [data]
            }),
            false => json!({"id": call.id, "name": call.name, "response": response}),
        }})
    };
    let answers: Vec<Value> = step.calls.iter().map(answer).collect();
    vec![json!({"role": "model", "parts": parts}), json!({"role": "user", "parts": answers})]
}

fn bedrock(step: &LongStep) -> Vec<Value> {
    let number = step.calls.first().map_or(0, |call| call.number);
    let seal = format!("c2VhbA{number}==");
    let thought = json!({"text": step.thought, "signature": seal});
    let mut blocks = vec![json!({"reasoningContent": {"reasoningText": thought}})];
    blocks.extend(step.text.as_ref().map(|text| json!({"text": text})));
    blocks.extend(step.calls.iter().map(|call| {
        json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}})
    }));
    let answer = |call: &LongCall| {
        let mut content = vec![json!({"text": call.answer})];
        let image = json!({"image": {"format": "png", "source": {"bytes": PICTURE}}});
        content.extend(call.image.then_some(image));
        let status = if call.failed { "error" } else { "success" };
        json!({"toolResult": {"toolUseId": call.id, "content": content, "status": status}})
    };
    let answers: Vec<Value> = step.calls.iter().map(answer).collect();
    vec![
        json!({"role": "assistant", "content": blocks}),
        json!({"role": "user", "content": answers}),
    ]
}
