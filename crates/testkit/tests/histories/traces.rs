//! Histories in traces: what a provider accepts has no finding, and a missing result is found.

use foxwedge_core::{CheckOptions, Profile, check, rules};
use foxwedge_formats::otel_messages::{is_judged, outline_format, outline_otel_messages};
use foxwedge_testkit::{Random, sound_history};
use serde_json::{Map, Value, json};

/// Histories of each format.
const HISTORIES: u64 = 400;

#[test]
fn valid_histories_have_no_finding_and_a_missing_result_has_one() {
    for (format, profiles) in [
        ("openai-chat", &[Profile::OpenaiChat, Profile::OpenaiResponses, Profile::Deepseek][..]),
        ("anthropic", &[Profile::Anthropic]),
        ("bedrock", &[Profile::Bedrock]),
        ("gemini", &[Profile::Gemini]),
    ] {
        let mut removed = 0;
        for seed in 0..HISTORIES {
            let mut random = Random::new(seed);
            let history = sound_history(&mut random, format, 24);
            let mut messages: Vec<Value> = list(&history).iter().map(otel_message).collect();
            spread_results(&mut random, &mut messages);
            for &profile in profiles {
                let text = Value::Array(messages.clone()).to_string();
                assert_eq!(findings(&text, profile), Vec::<String>::new(), "seed {seed}: {text}");
            }
            let Some(id) = remove_result(&mut random, &mut messages) else { continue };
            removed += 1;
            for &profile in profiles {
                let text = Value::Array(messages.clone()).to_string();
                let expected = match &id {
                    Some(id) => format!("FW101 {id}"),
                    None => "FW101".to_owned(),
                };
                let found = findings(&text, profile);
                // Without ids the order decides which call has no result.
                let found: Vec<String> = match id {
                    Some(_) => found,
                    None => found.iter().map(|it| it.chars().take(5).collect()).collect(),
                };
                assert_eq!(found, [expected], "seed {seed}: {text}");
            }
        }
        assert!(removed > HISTORIES / 4, "{format}: {removed}");
    }
}

/// The rules of the findings, with the calls.
fn findings(text: &str, profile: Profile) -> Vec<String> {
    let history = outline_otel_messages(text, outline_format(profile), usize::MAX)
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut options = CheckOptions::for_profile(profile);
    for rule in rules::ALL.iter().filter(|rule| !is_judged(profile, rule.code)) {
        options.rules.remove(rule.code);
    }
    let report = check(&history.draft, &options);
    let words = report.findings.iter().map(|finding| {
        format!("{} {}", finding.rule.label(), finding.ids.join(" ")).trim_end().to_owned()
    });
    words.collect()
}

/// The messages of a history.
fn list(history: &Value) -> &[Value] {
    let list = ["messages", "contents"].iter().find_map(|key| history.get(*key));
    list.unwrap_or(history).as_array().map_or(&[], Vec::as_slice)
}

/// A message of any format as an instrumentation records it.
fn otel_message(message: &Value) -> Value {
    let mut parts = Vec::new();
    let is_tool = message["role"] == "tool";
    if is_tool {
        let id = &message["tool_call_id"];
        parts.push(json!({
            "type": "tool_call_response", "id": id, "response": message["content"],
        }));
    } else {
        for content in ["content", "parts"] {
            match &message[content] {
                Value::String(text) => parts.push(json!({"type": "text", "content": text})),
                Value::Array(blocks) => parts.extend(blocks.iter().map(otel_part)),
                _ => {}
            }
        }
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = [&call["function"], &call["custom"]].into_iter().find(|it| it.is_object());
        let name = function.map_or(&Value::Null, |function| &function["name"]);
        parts.push(json!({"type": "tool_call", "id": call["id"], "name": name}));
    }
    json!({"role": message["role"], "parts": parts})
}

fn otel_part(block: &Value) -> Value {
    let object = block.as_object().cloned().unwrap_or_else(Map::new);
    let kind = block["type"].as_str().unwrap_or_default();
    let field = |names: &[&str]| {
        names.iter().find_map(|name| object.get(*name)).cloned().unwrap_or_default()
    };
    let call = field(&["functionCall", "toolUse"]);
    let result = field(&["functionResponse", "toolResult"]);
    if kind == "tool_use" {
        json!({"type": "tool_call", "id": block["id"], "name": block["name"]})
    } else if kind == "tool_result" {
        json!({"type": "tool_call_response", "id": block["tool_use_id"], "response": "ok"})
    } else if call.is_object() {
        let id = [&call["id"], &call["toolUseId"]].into_iter().find(|id| id.is_string()).cloned();
        json!({"type": "tool_call", "id": id, "name": call["name"]})
    } else if result.is_object() {
        let id = [&result["id"], &result["toolUseId"]].into_iter().find(|id| id.is_string());
        json!({"type": "tool_call_response", "id": id, "response": {"a": 1}})
    } else if kind.contains("thinking") || object.contains_key("reasoningContent") {
        json!({"type": "reasoning", "content": "hm"})
    } else {
        json!({"type": "text", "content": block["text"]})
    }
}

/// Some instrumentations write a message for each result, in the role of the tool.
fn spread_results(random: &mut Random, messages: &mut Vec<Value>) {
    if random.chance(50) {
        return;
    }
    let is_result = |part: &Value| part["type"] == "tool_call_response";
    let mut spread = Vec::new();
    for message in messages.drain(..) {
        let parts = message["parts"].as_array().cloned().unwrap_or_default();
        if parts.is_empty() || !parts.iter().all(is_result) {
            spread.push(message);
            continue;
        }
        spread.extend(parts.into_iter().map(|part| json!({"role": "tool", "parts": [part]})));
    }
    *messages = spread;
}

/// Removes a result, and the message if it holds nothing else. Returns the id of its call.
fn remove_result(random: &mut Random, messages: &mut Vec<Value>) -> Option<Option<String>> {
    let mut places = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let parts = message["parts"].as_array().into_iter().flatten().enumerate();
        let results = parts.filter(|(_, part)| part["type"] == "tool_call_response");
        places.extend(results.map(|(part, _)| (at, part)));
    }
    if places.is_empty() {
        return None;
    }
    let (at, part) = places[random.below(places.len())];
    let parts = messages[at]["parts"].as_array_mut()?;
    let id = parts.remove(part)["id"].as_str().map(str::to_owned);
    if parts.is_empty() {
        messages.remove(at);
    }
    Some(id)
}
