//! Planted secrets and words, in every place where somebody puts one, are found nowhere afterwards:
//! not in logs, metrics, errors, spans, lists, or any byte of the store's files.

use std::{
    fs,
    io::Write,
    net::TcpStream,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::{
    gateway::{Gateway, TOKEN, config},
    provider::{Provider, request},
    settings::turn,
    temporary::Temporary,
    wire::{Answer, post, send},
};

/// Every planted value has this in it.
const CANARY: &str = "canary";

/// The usual settings, and upstreams that are asked with our key and with the client's.
const UPSTREAMS: &str = r#"
[[upstream]]
name = "ours"
kind = "openai-compatible"
base_url = "http://UP/v1"
key = "env:PLANTED_KEY"
headers = { x-team = "env:PLANTED_HEADER" }
[[route]]
model = "ours-*"
upstream = "ours"
[[upstream]]
name = "theirs"
kind = "anthropic"
base_url = "http://UP"
key = "caller"
[[route]]
model = "theirs-*"
upstream = "theirs"
"#;

/// A collector that keeps what it is told.
fn collector(kept: &Arc<Mutex<String>>) -> Provider {
    let kept = kept.clone();
    Provider::raw(move |mut stream: TcpStream| {
        while let Ok(told) = request(&mut stream) {
            kept.lock().expect("nobody panicked").push_str(&told);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
        }
    })
}

/// A history that needs repairs, with planted words in every place.
fn history(model: &str, stream: bool) -> Value {
    let call = |id: &str| {
        json!({"id": id, "type": "function",
               "function": {"name": "read", "arguments": "{\"path\":\"canary-argument\"}"}})
    };
    json!({
        "model": model, "stream": stream, "max_tokens": 100, "user": "canary-user",
        "tools": [{"type": "function", "function": {
            "name": "read", "description": "canary-description",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}],
        "messages": [
            {"role": "system", "content": "canary-system"},
            {"role": "user", "content": "canary-question"},
            {"role": "assistant", "content": "canary-answer",
             "tool_calls": [call("call_1"), call("call_2")]},
            {"role": "tool", "tool_call_id": "call_1", "content": "canary-result"},
            {"role": "tool", "tool_call_id": "call_9", "content": "canary-orphan"},
            {"role": "user", "content": "call read with {\"path\":\"canary-path\"}"},
        ],
    })
}

/// Asks in every way. What was refused, and in which words.
fn ask(gateway: &Gateway) -> Vec<Answer> {
    let chat = "/v1/chat/completions";
    let mut errors = Vec::new();
    for model in ["ours-scripted", "chat-scripted", "scripted", "gemini-scripted"] {
        for stream in [false, true] {
            let answer = gateway.post(chat, OWN, &history(model, stream).to_string());
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.body.contains("tool_calls"), "the model answers: {answer:?}");
        }
        for fault in ["status=400", "status=401", "status=500", "html", "cut=2", "malformed"] {
            let model = format!("{model}?{fault}");
            errors.push(gateway.post(chat, OWN, &history(&model, false).to_string()));
        }
    }
    let said = json!({"model": "theirs-scripted", "max_tokens": 99, "metadata": {"user_id": "canary-id"},
                      "messages": [{"role": "user", "content": "canary-words"}]});
    let answer = gateway.post("/v1/messages", OWN, &said.to_string());
    assert_eq!(answer.status, 200, "{answer:?}");
    for path in [chat, "/v1/responses", "/v1/messages"] {
        for body in ["canary-no-json", r#"{"model":"nobody","messages":[{"role":"canary-role"}]}"#]
        {
            errors.push(gateway.post(path, OWN, body));
        }
        let wrong = post(path, "authorization: Bearer canary-wrong\r\n", said.to_string());
        errors.push(send(&gateway.address, &wrong).expect("a reply"));
    }
    errors.push(gateway.get("/v1/runs/canary-run"));
    errors.push(gateway.get("/canary-path?key=canary-query"));
    errors
}

/// What a client sends beside its body.
const OWN: &str = "x-api-key: sk-canary-own\r\ncookie: a=canary-cookie\r\n\
                   x-unknown: canary-header\r\n";

/// Everything that can be looked at afterwards, with its name.
fn looked_at(gateway: &Gateway) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut look = |path: String| {
        let answer = gateway.get(&path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let json = answer.json();
        all.push((path, answer.body));
        json
    };
    let ids = |list: &Value| -> Vec<String> {
        let rows = list["data"].as_array().cloned().unwrap_or_default();
        rows.iter().filter_map(|row| row["id"].as_str().map(str::to_owned)).collect()
    };
    look("/metrics".to_owned());
    for id in ids(&look("/v1/sessions".to_owned())) {
        look(format!("/v1/sessions/{id}"));
    }
    for id in ids(&look("/v1/runs".to_owned())) {
        look(format!("/v1/runs/{id}"));
    }
    let repairs = ids(&look("/v1/repairs".to_owned()));
    assert!(repairs.len() >= 8, "something was repaired");
    for id in repairs {
        look(format!("/v1/repairs/{id}"));
    }
    all
}

/// Where planted values are, behind a gateway with these settings and settings of `[telemetry]`.
fn found(settings: &str, telemetry: &str) -> Vec<String> {
    let spans = Arc::new(Mutex::new(String::new()));
    let (provider, collector) = (Provider::scripted(), collector(&spans));
    let folder = Temporary::folder();
    let otlp = format!("otlp = \"http://{}\"\n", collector.address);
    let more = format!("{settings}\n[telemetry]\n{otlp}{telemetry}");
    let upstreams = UPSTREAMS.replace("UP", &provider.address.to_string());
    let config = config(&folder, provider.address, &more) + &upstreams;
    let variables = [("PLANTED_KEY", "sk-canary-ours"), ("PLANTED_HEADER", "canary-team")];
    let gateway = Gateway::start_with(&folder, &config, &variables);
    let errors = ask(&gateway);
    let mut places = Vec::new();
    for error in errors {
        assert!(error.status >= 400, "{error:?}");
        places
            .push((format!("an error {}", error.status), format!("{}{}", error.head, error.body)));
    }
    places.extend(looked_at(&gateway));
    let mut files = Vec::new();
    for name in ["runs.db", "runs.db-wal"] {
        let bytes = fs::read(folder.path(name)).expect("a file");
        files.push((name.to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    assert!(files[1].1.len() > 10_000, "there is something to look through");
    gateway.terminate();
    let (code, log) = gateway.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.lines().count() > 40, "{log}");
    let closed = fs::read(folder.path("runs.db")).expect("a file");
    files.push(("the closed store".to_owned(), String::from_utf8_lossy(&closed).into_owned()));
    places.extend(files);
    places.push(("the log".to_owned(), log));
    let spans = spans.lock().expect("nobody panicked").clone();
    assert!(spans.contains("resourceSpans"), "spans were sent");
    places.push(("spans".to_owned(), spans));
    let places = places.into_iter().filter_map(|(name, text)| {
        let at = text.find(CANARY)?;
        let (before, behind) = text.split_at(at);
        let before: String = before.chars().rev().take(60).collect();
        let before: String = before.chars().rev().collect();
        let behind: String = behind.chars().take(60).collect();
        Some(format!("{name}: …{before}{behind}…"))
    });
    places.collect()
}

#[test]
fn nothing_that_was_planted_is_found() {
    let _turn = turn();
    assert!(TOKEN.contains(CANARY));
    assert_eq!(found("", ""), Vec::<String>::new());
}

#[test]
fn the_search_finds_what_is_kept_on_purpose() {
    let _turn = turn();
    let places = found("[record]\nstore_content = true\n", "");
    for expected in ["/v1/runs/", "/v1/repairs/", "runs.db-wal"] {
        assert!(places.iter().any(|place| place.starts_with(expected)), "{expected}: {places:?}");
    }
    // And never there, whatever is kept.
    for never in ["the log", "/metrics", "spans", "an error"] {
        assert!(!places.iter().any(|place| place.starts_with(never)), "{never}: {places:?}");
    }
}

#[test]
fn messages_are_exported_only_on_purpose() {
    let _turn = turn();
    let places = found("", "otlp_content = true\n");
    assert!(places.len() == 1 && places[0].starts_with("spans"), "{places:?}");
}
