//! What the scripted model says, in the formats of the vendors.

use serde_json::{Value, json};

use super::script::ScriptedReply;

/// A whole message of Anthropic.
pub(super) fn message(reply: &ScriptedReply, id: &str, model: &Value) -> Value {
    let mut content = vec![json!({ "type": "text", "text": reply.text })];
    content.extend(reply.calls.iter().map(|call| {
        json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments })
    }));
    json!({
        "id": id, "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop_reason(reply), "stop_sequence": null, "usage": usage(),
    })
}

/// The same, as the events of a stream.
pub(super) fn message_events(reply: &ScriptedReply, id: &str, model: &Value) -> String {
    let mut whole = message(reply, id, model);
    let content = whole["content"].take();
    whole["content"] = json!([]);
    whole["stop_reason"] = Value::Null;
    let mut events = vec![json!({ "type": "message_start", "message": whole })];
    for (index, mut block) in content.as_array().into_iter().flatten().cloned().enumerate() {
        let delta = if block["type"] == "text" {
            json!({ "type": "text_delta", "text": std::mem::take(&mut block["text"]) })
        } else {
            let input = std::mem::take(&mut block["input"]).to_string();
            block["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": input })
        };
        if block["type"] == "text" {
            block["text"] = json!("");
        }
        events.push(json!({
            "type": "content_block_start", "index": index, "content_block": block,
        }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({
        "type": "message_delta", "usage": usage(),
        "delta": { "stop_reason": stop_reason(reply), "stop_sequence": null },
    }));
    events.push(json!({ "type": "message_stop" }));
    stream(&events)
}

fn stop_reason(reply: &ScriptedReply) -> &'static str {
    if reply.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn usage() -> Value {
    json!({ "input_tokens": 10, "output_tokens": 10 })
}

/// A response of OpenAI, as the events of a stream.
pub(super) fn response_events(reply: &ScriptedReply, id: &str) -> String {
    let text = json!({ "type": "output_text", "text": reply.text, "annotations": [] });
    let mut items = vec![json!({
        "type": "message", "id": format!("msg_{id}"), "role": "assistant",
        "status": "completed", "content": [text],
    })];
    items.extend(reply.calls.iter().map(|call| {
        json!({
            "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
            "name": call.tool, "arguments": call.arguments.to_string(), "status": "completed",
        })
    }));
    let mut events = vec![json!({ "type": "response.created", "response": { "id": id } })];
    for (index, item) in items.iter().enumerate() {
        events.push(json!({
            "type": "response.output_item.done", "output_index": index, "item": item,
        }));
    }
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": null,
        "output_tokens": 10, "output_tokens_details": null, "total_tokens": 20,
    });
    events.push(json!({
        "type": "response.completed", "response": { "id": id, "usage": usage, "output": items },
    }));
    stream(&events)
}

/// A response of Gemini.
pub(super) fn candidate(reply: &ScriptedReply, model: &Value) -> Value {
    let mut parts = vec![json!({ "text": reply.text })];
    parts.extend(reply.calls.iter().map(|call| {
        json!({ "functionCall": { "id": call.id, "name": call.tool, "args": call.arguments } })
    }));
    let content = json!({ "role": "model", "parts": parts });
    json!({
        "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20 },
        "modelVersion": model,
    })
}

/// The same, as the only event of a stream.
pub(super) fn candidate_events(reply: &ScriptedReply, model: &Value) -> String {
    format!("data: {}\r\n\r\n", candidate(reply, model))
}

/// Events, each with its name.
fn stream(events: &[Value]) -> String {
    let lines = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acceptance::agents::script::ScriptedCall;

    #[test]
    fn a_stream_says_what_the_whole_message_says() {
        let call = ScriptedCall { id: "x", tool: "Read", arguments: json!({ "file_path": "a" }) };
        let reply = ScriptedReply { text: "on it", calls: vec![call] };
        let names = |stream: &str| -> Vec<String> {
            let lines = stream.lines().filter_map(|line| line.strip_prefix("event: "));
            lines.map(str::to_owned).collect()
        };
        let anthropic = message_events(&reply, "m", &json!("scripted"));
        let expected = "message_start content_block_start content_block_delta content_block_stop \
                        content_block_start content_block_delta content_block_stop message_delta \
                        message_stop";
        assert_eq!(names(&anthropic).join(" "), expected);
        assert!(anthropic.contains(r#""partial_json":"{\"file_path\":\"a\"}""#), "{anthropic}");
        assert!(anthropic.contains(r#""stop_reason":"tool_use""#), "{anthropic}");
        let responses = response_events(&reply, "r");
        let expected = "response.created response.output_item.done response.output_item.done \
                        response.completed";
        assert_eq!(names(&responses).join(" "), expected);
    }
}
