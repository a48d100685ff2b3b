//! Valid but unusual content: provider-run tools, media, null or unknown fields, cache marks,
//! repeated ids, turns of several messages. None of it makes a history invalid under the profile of
//! its own format.

use serde_json::{Map, Value, json};

use super::fields::object;
use super::hosted::{hosted_items, hosted_steps};
use crate::dialect::TestFormat;
use crate::random::Random;

/// Adds some of this content to a list. Numbers make the ids unique.
pub(super) fn garnish(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    if !random.chance(60) {
        return;
    }
    for number in 0..1 + random.below(3) {
        match random.below(9) {
            0 => null_fields(random, format, list),
            1 => cache_marks(random, format, list),
            2 => user_media(random, format, list),
            3 => media_in_results(random, format, list),
            4 => split_turn(random, format, list),
            5 => ids_of_turns(format, list),
            6 => long_ids(format, list),
            7 => program_calls(random, format, list, number),
            _ => hosted_tools(random, format, list, number),
        }
    }
}

fn is(value: &Value, key: &str, wanted: &str) -> bool {
    value.get(key).and_then(Value::as_str) == Some(wanted)
}

/// One of the elements that `wanted` accepts.
fn any(random: &mut Random, list: &[Value], wanted: impl Fn(&Value) -> bool) -> Option<usize> {
    let places: Vec<usize> = (0..list.len()).filter(|at| wanted(&list[*at])).collect();
    (!places.is_empty()).then(|| *random.pick(&places))
}

/// The key of the list of blocks in a message.
fn content_key(format: TestFormat) -> &'static str {
    if format == TestFormat::Gemini { "parts" } else { "content" }
}

/// The blocks of a message; a string becomes a block.
fn blocks<'m>(
    format: TestFormat,
    message: &'m mut Value,
    kind: &str,
) -> Option<&'m mut Vec<Value>> {
    let content = message.get_mut(content_key(format))?;
    if let Value::String(text) = content {
        *content = json!([{"type": kind, "text": text}]);
    }
    content.as_array_mut()
}

/// Clients that write every field of a type write null for unused ones.
fn null_fields(random: &mut Random, format: TestFormat, list: &mut [Value]) {
    let keys: &[&str] = match format {
        TestFormat::Chat => {
            &["name", "refusal", "audio", "function_call", "annotations", "image_url"]
        }
        TestFormat::Responses => &["namespace", "phase", "agent", "annotations", "logprobs"],
        TestFormat::Interactions => &["signature", "is_error", "error", "annotations", "uri"],
        TestFormat::Anthropic => &["citations", "cache_control", "caller", "is_error", "source"],
        TestFormat::Gemini => {
            &["inlineData", "fileData", "functionCall", "functionResponse", "text"]
        }
        TestFormat::Bedrock => &["image", "document", "toolUse", "toolResult", "status", "text"],
    };
    for _ in 0..1 + random.below(4) {
        let key = *random.pick(keys);
        let wanted = |fields: &Map<String, Value>| is_block(format, fields);
        if let Some(holder) = object(random, list, &wanted) {
            holder.entry(key).or_insert(Value::Null);
        }
    }
}

/// A message, or a block of one.
fn is_block(format: TestFormat, fields: &Map<String, Value>) -> bool {
    let has = |key: &str| fields.contains_key(key);
    match format {
        TestFormat::Chat => has("role") || is_text(fields),
        TestFormat::Responses | TestFormat::Interactions => has("type"),
        TestFormat::Anthropic => {
            is_text(fields)
                || ["tool_use", "tool_result"]
                    .iter()
                    .any(|kind| fields.get("type") == Some(&json!(kind)))
        }
        TestFormat::Gemini | TestFormat::Bedrock => {
            has("text") || has("functionCall") || has("toolUse")
        }
    }
}

fn is_text(fields: &Map<String, Value>) -> bool {
    fields.get("type") == Some(&json!("text"))
}

fn cache_marks(random: &mut Random, format: TestFormat, list: &mut [Value]) {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    match format {
        TestFormat::Anthropic | TestFormat::Chat => {
            let wanted = |fields: &Map<String, Value>| is_text(fields);
            if let Some(block) = object(random, list, &wanted) {
                block.insert("cache_control".to_owned(), mark);
            }
        }
        TestFormat::Bedrock => {
            let Some(at) = any(random, list, |it| is(it, "role", "user") && !answers(it)) else {
                return;
            };
            if let Some(content) = blocks(format, &mut list[at], "text") {
                content.push(json!({"cachePoint": {"type": "default"}}));
            }
        }
        TestFormat::Gemini | TestFormat::Responses | TestFormat::Interactions => {}
    }
}

/// Whether a message of blocks has tool results.
fn answers(message: &Value) -> bool {
    let content = message.get("content").or_else(|| message.get("parts"));
    content.and_then(Value::as_array).is_some_and(|blocks| {
        blocks.iter().any(|it| {
            is(it, "type", "tool_result")
                || it.get("toolResult").is_some()
                || it.get("functionResponse").is_some()
        })
    })
}

fn calls(message: &Value) -> bool {
    let content = message.get("content").or_else(|| message.get("parts"));
    content.and_then(Value::as_array).is_some_and(|blocks| {
        blocks.iter().any(|it| {
            is(it, "type", "tool_use")
                || it.get("toolUse").is_some()
                || it.get("functionCall").is_some()
        })
    })
}

fn user_media(random: &mut Random, format: TestFormat, list: &mut [Value]) {
    let asks = |it: &Value| is(it, "role", "user") && !answers(it) || is(it, "type", "user_input");
    let Some(at) = any(random, list, asks) else { return };
    let (kind, media) = match format {
        TestFormat::Chat => (
            "text",
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}, "text": null}),
        ),
        TestFormat::Responses => (
            "input_text",
            json!({"type": "input_image", "image_url": "data:image/png;base64,AA=="}),
        ),
        TestFormat::Anthropic => (
            "text",
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}),
        ),
        TestFormat::Interactions => {
            ("text", json!({"type": "image", "data": "AA==", "mime_type": "image/png"}))
        }
        TestFormat::Gemini => {
            ("", json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}}))
        }
        TestFormat::Bedrock => {
            ("", json!({"image": {"format": "png", "source": {"bytes": "AA=="}}}))
        }
    };
    if let Some(content) = blocks(format, &mut list[at], kind) {
        content.insert(random.below(content.len() + 1), media);
    }
}

/// Only Chat accepts no media in results.
fn media_in_results(random: &mut Random, format: TestFormat, list: &mut [Value]) {
    let wanted = |fields: &Map<String, Value>| match format {
        TestFormat::Chat => false,
        TestFormat::Responses => fields.get("type") == Some(&json!("function_call_output")),
        TestFormat::Interactions => fields.get("type") == Some(&json!("function_result")),
        TestFormat::Anthropic => fields.get("type") == Some(&json!("tool_result")),
        TestFormat::Gemini => fields.contains_key("response"),
        TestFormat::Bedrock => fields.contains_key("toolUseId") && fields.contains_key("content"),
    };
    let Some(result) = object(random, list, &wanted) else { return };
    let (key, kind, media) = match format {
        TestFormat::Chat => return,
        TestFormat::Responses => (
            "output",
            "input_text",
            json!({"type": "input_image", "image_url": "data:image/png;base64,AA=="}),
        ),
        TestFormat::Anthropic => (
            "content",
            "text",
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}),
        ),
        TestFormat::Interactions => {
            ("result", "text", json!({"type": "image", "data": "AA==", "mime_type": "image/png"}))
        }
        TestFormat::Gemini => {
            let media = json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]);
            result.insert("parts".to_owned(), media);
            return;
        }
        TestFormat::Bedrock => ("content", "", json!({"json": {"rows": []}})),
    };
    let content = result.entry(key).or_insert(Value::Null);
    if let Value::String(text) = content {
        *content = json!([{"type": kind, "text": text}]);
    }
    if let Some(parts) = content.as_array_mut() {
        parts.push(media);
    }
}

/// The blocks of one message may be split into two of the same role, where the provider joins them.
fn split_turn(random: &mut Random, format: TestFormat, list: &mut Vec<Value>) {
    let splits = |message: &Value| match format {
        // Its calls stay together: only blocks before them are split off.
        TestFormat::Anthropic => is(message, "role", "assistant") && calls(message),
        TestFormat::Gemini => is(message, "role", "model") && calls(message),
        TestFormat::Chat
        | TestFormat::Responses
        | TestFormat::Bedrock
        | TestFormat::Interactions => false,
    };
    let Some(at) = any(random, list, splits) else { return };
    let key = content_key(format);
    let Some(content) = list[at].get_mut(key).and_then(Value::as_array_mut) else { return };
    let is_call = |it: &Value| is(it, "type", "tool_use") || it.get("functionCall").is_some();
    let count = content.iter().filter(|it| is_call(it)).count();
    let Some(last) = content.iter().rposition(is_call).filter(|_| count > 1) else { return };
    let mut behind = content.split_off(last);
    // Where calls are signed, the first call of each message is.
    if content.iter().any(|part| is_call(part) && part.get("thoughtSignature").is_some())
        && let Some(call) = behind.first_mut().and_then(Value::as_object_mut)
    {
        call.entry("thoughtSignature").or_insert_with(|| "c2lnbg==".into());
    }
    let mut second = list[at].clone();
    second[key] = Value::Array(behind);
    list.insert(at + 1, second);
}

/// Adds provider-run tools.
fn hosted_tools(random: &mut Random, format: TestFormat, list: &mut Vec<Value>, number: usize) {
    match format {
        TestFormat::Chat => {}
        TestFormat::Responses => {
            let Some(at) = any(random, list, |it| is(it, "role", "user")) else { return };
            let items = hosted_items(random, number);
            list.splice(at + 1..at + 1, items);
        }
        TestFormat::Interactions => {
            let Some(at) = any(random, list, |it| is(it, "type", "user_input")) else { return };
            let steps = hosted_steps(random, number);
            list.splice(at + 1..at + 1, steps);
        }
        TestFormat::Anthropic | TestFormat::Gemini | TestFormat::Bedrock => {
            let role = if format == TestFormat::Gemini { "model" } else { "assistant" };
            let Some(at) = any(random, list, |it| is(it, "role", role)) else { return };
            let hosted = hosted_blocks(random, format, number);
            if let Some(content) = blocks(format, &mut list[at], "text") {
                let thinks = |it: &Value| {
                    is(it, "type", "thinking")
                        || it.get("thought").is_some()
                        || it.get("reasoningContent").is_some()
                };
                let first = content.iter().take_while(|it| thinks(it)).count();
                content.splice(first..first, hosted);
            }
        }
    }
}

fn hosted_blocks(random: &mut Random, format: TestFormat, number: usize) -> Vec<Value> {
    let id = format!("srvtoolu_h{number}{}", random.below(1_000_000));
    if format == TestFormat::Gemini {
        return vec![
            json!({"executableCode": {"language": "PYTHON", "code": "print(1)", "id": id}}),
            json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1", "id": id}}),
        ];
    }
    if format == TestFormat::Bedrock {
        return vec![
            json!({"toolUse": {"toolUseId": id, "name": "nova_grounding", "input": {}, "type": "server_tool_use"}}),
            json!({"toolResult": {"toolUseId": id, "type": "nova_grounding_result", "content": []}}),
        ];
    }
    let tools = [
        ("web_search", "web_search_tool_result"),
        ("web_fetch", "web_fetch_tool_result"),
        ("code_execution", "code_execution_tool_result"),
        ("bash_code_execution", "bash_code_execution_tool_result"),
        ("text_editor_code_execution", "text_editor_code_execution_tool_result"),
        ("tool_search_tool_regex", "tool_search_tool_result"),
        ("advisor", "advisor_tool_result"),
    ];
    if random.chance(20) {
        return vec![
            json!({"type": "mcp_tool_use", "id": id, "name": "find", "server_name": "s", "input": {}}),
            json!({"type": "mcp_tool_result", "tool_use_id": id, "is_error": false, "content": [{"type": "text", "text": "found"}]}),
        ];
    }
    let (name, result) = *random.pick(&tools);
    let failed = random.chance(20);
    let content = match failed {
        true => json!({"type": format!("{result}_error"), "error_code": "unavailable"}),
        false => json!([]),
    };
    vec![
        json!({"type": "server_tool_use", "id": id, "name": name, "input": {"query": "fox"}}),
        json!({"type": result, "tool_use_id": id, "content": content}),
    ]
}

/// Some models restart the numbering of calls in each turn.
fn ids_of_turns(format: TestFormat, list: &mut [Value]) {
    let mut given: Vec<(String, String)> = Vec::new();
    let mut answered = false;
    each_id(format, list, &mut |is_call, id| {
        if is_call && std::mem::take(&mut answered) {
            given.clear();
        }
        answered |= !is_call;
        let known = given.iter().find(|(old, _)| old == id).map(|(_, new)| new.clone());
        let new = known.unwrap_or_else(|| {
            let new = format!("call_{}", given.len());
            given.push((id.clone(), new.clone()));
            new
        });
        *id = new;
    });
}

/// Ids of the maximum length.
fn long_ids(format: TestFormat, list: &mut [Value]) {
    let max_length: usize = match format {
        TestFormat::Chat => 40,
        TestFormat::Responses | TestFormat::Bedrock => 64,
        TestFormat::Anthropic | TestFormat::Gemini | TestFormat::Interactions => 200,
    };
    each_id(format, list, &mut |_, id| {
        let missing = max_length.saturating_sub(id.len());
        id.extend(std::iter::repeat_n('x', missing));
    });
}

/// Visits every id of a client call and of its result, in order.
fn each_id(format: TestFormat, list: &mut [Value], change: &mut dyn FnMut(bool, &mut String)) {
    let mut at = |holder: Option<&mut Value>, key: &str, is_call: bool| {
        if let Some(Value::String(id)) = holder.and_then(|holder| holder.get_mut(key)) {
            change(is_call, id);
        }
    };
    for message in list {
        match format {
            TestFormat::Chat => {
                for call in message
                    .get_mut("tool_calls")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    at(Some(call), "id", true);
                }
                at(Some(message), "tool_call_id", false);
            }
            TestFormat::Responses => match message.get("type").and_then(Value::as_str) {
                // A call that the model does not wait for keeps its own id.
                _ if message.get("async").is_some() => {}
                Some("function_call") => at(Some(message), "call_id", true),
                Some("function_call_output") => at(Some(message), "call_id", false),
                _ => {}
            },
            TestFormat::Interactions => match message.get("type").and_then(Value::as_str) {
                Some("function_call") => at(Some(message), "id", true),
                Some("function_result") => at(Some(message), "call_id", false),
                _ => {}
            },
            TestFormat::Anthropic | TestFormat::Gemini | TestFormat::Bedrock => {
                let content = message.get_mut(content_key(format)).and_then(Value::as_array_mut);
                for block in content.into_iter().flatten() {
                    let hosted =
                        |key: &str| block.get(key).is_some_and(|it| it.get("type").is_some());
                    match format {
                        TestFormat::Bedrock if hosted("toolUse") || hosted("toolResult") => {}
                        TestFormat::Bedrock => {
                            at(block.get_mut("toolUse"), "toolUseId", true);
                            at(block.get_mut("toolResult"), "toolUseId", false);
                        }
                        TestFormat::Gemini => {
                            at(block.get_mut("functionCall"), "id", true);
                            at(block.get_mut("functionResponse"), "id", false);
                        }
                        _ if is(block, "type", "tool_use") => at(Some(block), "id", true),
                        _ if is(block, "type", "tool_result") => {
                            at(Some(block), "tool_use_id", false);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// A provider-run program that calls client tools: its result follows theirs.
fn program_calls(random: &mut Random, format: TestFormat, list: &mut [Value], number: usize) {
    let alone = |message: &Value| {
        let content = message.get("content").and_then(Value::as_array);
        content.is_some_and(|blocks| blocks.iter().all(|it| is(it, "type", "tool_result")))
    };
    let fits = |at: &usize| {
        let Some([before, calling, answering, behind]) = list.get(*at..at + 4) else {
            return false;
        };
        !is(before, "role", "assistant")
            && is(calling, "role", "assistant")
            && calls(calling)
            && alone(answering)
            && is(behind, "role", "assistant")
    };
    let places: Vec<usize> = (0..list.len()).filter(fits).collect();
    if format != TestFormat::Anthropic || places.is_empty() {
        return;
    }
    let at = 1 + *random.pick(&places);
    let id = format!("srvtoolu_p{number}{}", random.below(1_000_000));
    let behind_thoughts =
        |content: &[Value]| content.iter().take_while(|it| is(it, "type", "thinking")).count();
    if let Some(content) = blocks(format, &mut list[at], "text") {
        for call in content.iter_mut().filter(|it| is(it, "type", "tool_use")) {
            call["caller"] = json!({"type": "code_execution_20250825", "tool_id": id});
        }
        let program = json!({"type": "server_tool_use", "id": id, "name": "code_execution", "input": {"code": "f()"}});
        content.insert(behind_thoughts(content), program);
    }
    if let Some(content) = blocks(format, &mut list[at + 2], "text") {
        let result = json!({"type": "code_execution_tool_result", "tool_use_id": id, "content": {"type": "code_execution_result", "stdout": "1", "stderr": "", "return_code": 0, "content": []}});
        content.insert(behind_thoughts(content), result);
    }
}
