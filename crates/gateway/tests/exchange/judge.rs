//! A strict provider as judge: histories that it refuses get through the gateway.

use foxwedge_gateway::GatewayEndpoint;
use foxwedge_scripted::{ScriptedProvider, check_request};
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
        object.insert("max_tokens".to_owned(), json!(1_000));
    }
    body
}

/// Whether there are words, a call or an answer in it. Thoughts and tools of the provider's own do not cross.
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

/// Items of which nobody can say what they are: a kind or an id of their own that is no string.
fn is_junk(list: &Value) -> bool {
    let junk = |it: &Value| it.as_str().is_none() && !it.is_null();
    list.as_array().into_iter().flatten().any(|item| {
        let searches = item["type"].as_str().is_some_and(|kind| kind.starts_with("tool_search"));
        let blocks = item["content"].as_array().into_iter().flatten();
        // A thought that is none; providers want the field, and it may not be made up.
        let hollow = |it: &Value| it["type"] == "thinking" && !it["thinking"].is_string();
        junk(&item["type"])
            || junk(&item["id"])
            || searches && junk(&item["call_id"])
            || blocks.into_iter().any(hollow)
    })
}

/// An upstream that speaks every format, and for each face one of another format.
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
rename = "scripted"
[[route]]
model = "from-responses"
upstream = "messages"
rename = "scripted"
[[route]]
model = "from-messages"
upstream = "chat"
rename = "scripted"
"#;

#[tokio::test]
async fn what_a_strict_provider_refuses_gets_through() {
    let engine = engine(ROUTES).await;
    let table = [
        (GatewayEndpoint::Chat, "openai-chat", "messages"),
        (GatewayEndpoint::Responses, "openai-responses", "input"),
        (GatewayEndpoint::Messages, "anthropic", "messages"),
    ];
    let (mut refused, mut sent, mut through) = (0, 0, Vec::new());
    for (face, dialect, key) in table {
        let provider = ScriptedProvider::of(face.wire(), "scripted").expect("a provider");
        for seed in 0..cases() {
            let mut body = request(&mut Random::new(seed), dialect, key);
            // Instructions alone are no conversation everywhere.
            let spoken = |it: &&Value| it["role"] != "system" && it["role"] != "developer";
            let list = body[key].as_array();
            let empty = list.is_some_and(|it| !it.iter().filter(spoken).any(says_something));
            let directly = check_request(provider, body.to_string().as_bytes());
            // Nothing can be made of a history of nothing, and what only a server has is not here.
            if empty || body.to_string().contains("item_reference") || is_junk(&body[key]) {
                continue;
            }
            // What no reader understands is refused by everybody.
            let text = body.to_string();
            if foxwedge_formats::read(
                &text,
                face.wire(),
                foxwedge_formats::OutlineOptions::default(),
            )
            .is_err()
            {
                continue;
            }
            sent += 1;
            refused += usize::from(directly.is_some());
            for model in ["scripted".to_owned(), format!("from-{}", face.name())] {
                body["model"] = json!(model);
                let heard = hear(&engine, asked(face, body.to_string(), &[])).await;
                if heard.status != 200 {
                    through.push(format!("{dialect} {seed} {model}: {}\n  {body}", heard.body));
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
