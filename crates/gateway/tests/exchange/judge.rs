//! A strict provider as judge: histories that it refuses get through the gateway.

use foxwedge_gateway::GatewayEndpoint;
use foxwedge_scripted::{ScriptedProvider, check_request};
use foxwedge_testkit::{Random, history};
use serde_json::{Value, json};

use crate::stand::{build_request, engine, send_request};

/// Number of histories per format; `FOXWEDGE_HISTORIES` overrides it.
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
    // References to server-side state are tested elsewhere.
    for stateful in ["previous_response_id", "conversation", "thread", "stream"] {
        object.remove(stateful);
    }
    // So are invalid tools and empty tool lists.
    let tools = object.get("tools").and_then(Value::as_array);
    if !tools.is_some_and(|tools| !tools.is_empty() && tools.iter().all(Value::is_object)) {
        object.remove("tools");
    }
    if dialect == "anthropic" {
        object.insert("max_tokens".to_owned(), json!(1_000));
    }
    body
}

/// Whether it has text, a tool call or a tool result. Reasoning and provider-run tools are not
/// converted.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(says_something),
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            _ if key == "summary" => false,
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

/// Items that cannot be interpreted: their type or id is not a string. And requests for compaction,
/// which a repair leaves where they are.
fn is_junk(list: &Value) -> bool {
    let junk = |it: &Value| it.as_str().is_none() && !it.is_null();
    list.as_array().into_iter().flatten().any(|item| {
        let searches = item["type"].as_str().is_some_and(|kind| kind.starts_with("tool_search"));
        let blocks = item["content"].as_array().into_iter().flatten();
        // Reasoning without its content; providers require the field, and it must not be invented.
        let hollow = |it: &Value| it["type"] == "thinking" && !it["thinking"].is_string();
        junk(&item["type"])
            || item["type"] == "compaction_trigger"
            || junk(&item["id"])
            || searches && junk(&item["call_id"])
            || blocks.into_iter().any(hollow)
    })
}

/// An upstream with every format, and for each endpoint one with another format.
const ROUTES: &str = r#"
[[upstream]]
name = "all"
kind = "scripted"
[[route]]
model = "scripted"
upstream = "all"
[[route]]
model = "from-chat"
upstream = "messages"
upstream_model = "scripted"
[[route]]
model = "from-responses"
upstream = "messages"
upstream_model = "scripted"
[[route]]
model = "from-messages"
upstream = "chat"
upstream_model = "scripted"
"#;

/// Whether a list names an item that only a server has, with the type of a reference or without.
fn refers(list: &Value) -> bool {
    let bare = json!({"id": "msg_900"});
    list.as_array()
        .is_some_and(|it| it.iter().any(|it| it["type"] == "item_reference" || *it == bare))
}

#[tokio::test]
async fn histories_that_a_strict_provider_rejects_are_repaired() {
    let engine = engine(ROUTES).await;
    let table = [
        (GatewayEndpoint::Chat, "openai-chat", "messages"),
        (GatewayEndpoint::Responses, "openai-responses", "input"),
        (GatewayEndpoint::Messages, "anthropic", "messages"),
    ];
    let (mut refused, mut sent, mut through) = (0, 0, Vec::new());
    for (endpoint, dialect, key) in table {
        let provider = ScriptedProvider::of(endpoint.format(), "scripted").expect("a provider");
        for seed in 0..cases() {
            let mut body = request(&mut Random::new(seed), dialect, key);
            // Not every provider accepts instructions alone.
            let spoken = |it: &&Value| it["role"] != "system" && it["role"] != "developer";
            let list = body[key].as_array();
            let empty = list.is_some_and(|it| !it.iter().filter(spoken).any(says_something));
            let directly = check_request(provider, body.to_string().as_bytes());
            // An empty history cannot be repaired, and server-side state is not available here.
            if empty || refers(&body[key]) || is_junk(&body[key]) {
                continue;
            }
            // Every provider rejects what cannot be parsed.
            let text = body.to_string();
            let options = foxwedge_formats::OutlineOptions::default();
            let Ok(reading) = foxwedge_formats::read(&text, endpoint.format(), options) else {
                continue;
            };
            // A turn with something of an unknown type is left as it is.
            if !foxwedge_core::pair_calls(&reading.draft).unknown_turns.is_empty() {
                continue;
            }
            sent += 1;
            refused += usize::from(directly.is_some());
            for model in ["scripted".to_owned(), format!("from-{}", endpoint.name())] {
                body["model"] = json!(model);
                let reply =
                    send_request(&engine, build_request(endpoint, body.to_string(), &[])).await;
                if reply.status != 200 {
                    through.push(format!("{dialect} {seed} {model}: {}\n  {body}", reply.body));
                }
            }
        }
    }
    assert!(
        through.is_empty(),
        "{} of {sent} were refused; the first of them:\n{}",
        through.len(),
        through.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("\n")
    );
    println!("{sent} histories sent twice, {refused} refused directly, none through the gateway");
    assert!(refused > sent / 4, "the histories are broken: {refused} of {sent}");
}
