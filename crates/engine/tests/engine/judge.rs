//! A strict provider as judge: histories that it refuses get through the gateway.

use foxwedge_engine::Face;
use foxwedge_scripted::{Provider, refusal};
use foxwedge_testkit::{Random, history};
use serde_json::{Value, json};

use crate::stand::{asked, engine, hear};

/// How many histories for each format; more by `FOXWEDGE_HISTORIES`.
fn cases() -> u64 {
    std::env::var("FOXWEDGE_HISTORIES").ok().and_then(|it| it.parse().ok()).unwrap_or(400)
}

/// A request around a random history, for the built-in model.
fn request(random: &mut Random, dialect: &str, key: &str) -> Value {
    let mut body = match history(random, dialect, 12) {
        Value::Array(list) => json!({ key: list }),
        body => body,
    };
    let object = body.as_object_mut().expect("an object");
    object.insert("model".to_owned(), json!("scripted"));
    // What lies on a server is another matter.
    for stateful in ["previous_response_id", "conversation", "thread", "stream"] {
        object.remove(stateful);
    }
    // So are tools that are none, and a list of them with nothing in it.
    let tools = object.get("tools").and_then(Value::as_array);
    if !tools.is_some_and(|tools| !tools.is_empty() && tools.iter().all(Value::is_object)) {
        object.remove("tools");
    }
    if dialect == "anthropic" {
        object.entry("max_tokens").or_insert(json!(1_000));
    }
    body
}

/// Whether there are words, a call or an answer in it. Thoughts and tools of the provider's own do not cross.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(says_something),
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::String(kind) if key == "type" => kind == "tool_use",
            Value::String(words) => {
                ["text", "content", "output", "arguments", "input"].contains(&key.as_str())
                    && !words.trim().is_empty()
            }
            other => says_something(other),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[tokio::test]
async fn what_a_strict_provider_refuses_gets_through() {
    let engine = engine("").await;
    let table = [
        (Face::Chat, "openai-chat", "messages"),
        (Face::Responses, "openai-responses", "input"),
        (Face::Messages, "anthropic", "messages"),
    ];
    let (mut refused, mut sent, mut through) = (0, 0, Vec::new());
    for (face, dialect, key) in table {
        let provider = Provider::of(face.wire(), "scripted").expect("a provider");
        for seed in 0..cases() {
            let body = request(&mut Random::new(seed), dialect, key);
            let empty = body[key].as_array().is_some_and(|list| !list.iter().any(says_something));
            let body = body.to_string();
            let directly = refusal(provider, body.as_bytes());
            // Nothing can be made of a history of nothing.
            if empty {
                continue;
            }
            // What no reader understands is refused by everybody.
            if foxwedge_dialect::read(&body, face.wire(), foxwedge_dialect::Want::default())
                .is_err()
            {
                continue;
            }
            sent += 1;
            refused += usize::from(directly.is_some());
            let heard = hear(&engine, asked(face, body.clone(), &[])).await;
            if heard.status != 200 {
                through.push(format!("{dialect} {seed}: {}\n  {body}", heard.body));
            }
        }
    }
    assert!(
        through.is_empty(),
        "{} of {sent} were refused; the first of them:\n{}",
        through.len(),
        through.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
    println!("{sent} histories sent, {refused} refused directly, none through the gateway");
    assert!(refused > sent / 4, "the histories are broken: {refused} of {sent}");
}
