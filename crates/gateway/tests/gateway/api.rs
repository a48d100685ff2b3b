//! Sessions, runs and repairs, as owners and others see them.

use std::net::SocketAddr;

use foxwedge_gateway::config::{AccessToken, TokenScope};
use foxwedge_store::StoreUrl;
use foxwedge_upstream::SecretText;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    client::{Answer, get, post, rest, send},
    server::{CHAT, Server, TOKEN, config},
};

const ANN: &str = TOKEN;
const ADMIN: &str = "canary-token-bob";
const CARL: &str = "canary-token-carl";

/// A history that ends with a tool call without a result.
const BROKEN: &str = r#"{"model":"scripted","messages":[
    {"role":"user","content":"hello"},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"call_1","type":"function","function":{"name":"read","arguments":"{}"}}]},
    {"role":"user","content":"canary-words"}],
    "tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]}"#;

async fn server() -> Server {
    let mut config = config();
    let (owner, secret) = ("carl".into(), SecretText::new(CARL));
    config.access.tokens.push(AccessToken { owner, secret, scope: TokenScope::User });
    Server::start(config).await
}

fn key(token: &str) -> String {
    format!("x-api-key: {token}\r\n")
}

async fn fetch(to: SocketAddr, token: &str, path: &str) -> Answer {
    send(to, get(path, &key(token))).await
}

async fn chat(to: SocketAddr, token: &str, body: &str) -> Answer {
    let answer = send(to, post("/v1/chat/completions", &key(token), body)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer
}

/// Makes the model call a tool. Returns the body of the request with the result, and the run.
async fn call(to: SocketAddr, token: &str) -> (String, String) {
    let tools = json!([{"type": "function", "function": {"name": "read", "parameters":
        {"type": "object", "properties": {}}}}]);
    let mut messages = vec![json!({"role": "user", "content": "call read"})];
    let body = json!({"model": "scripted", "messages": messages, "tools": tools});
    let answer = chat(to, token, &body.to_string()).await;
    let message = answer.json()["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    messages.push(message);
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": "canary-words"}));
    let body = json!({"model": "scripted", "messages": messages, "tools": tools});
    (body.to_string(), answer.header("x-foxwedge-run").to_owned())
}

/// Starts a stream that hangs after a few chunks, and reads its head. Returns it and its run.
async fn start_hanging_stream(to: SocketAddr, token: &str) -> (TcpStream, String) {
    let body = r#"{"model":"scripted?hang=3","stream":true,
        "messages":[{"role":"user","content":"hello"}]}"#;
    let mut stream = TcpStream::connect(to).await.expect("somebody listens");
    let request = post("/v1/chat/completions", &key(token), body);
    stream.write_all(&request).await.expect("it goes out");
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read_buf(&mut bytes).await.expect("bytes");
        assert!(read > 0, "{}", String::from_utf8_lossy(&bytes));
    }
    let run = Answer::read(&bytes).header("x-foxwedge-run").to_owned();
    (stream, run)
}

#[tokio::test]
async fn a_conversation_with_calls_is_one_run() {
    let server = server().await;
    let to = server.address;
    let (answers, run) = call(to, ANN).await;
    let open = fetch(to, ANN, "/v1/runs?open=true").await.json();
    assert_eq!(open["data"][0]["id"], *run);
    assert_eq!(open["data"][0]["state"], "open");
    assert_eq!(open["data"][0]["calls"], json!({"total": 1, "by_status": {"running": 1}}));
    let detail = fetch(to, ANN, &format!("/v1/runs/{run}")).await.json();
    assert_eq!(detail["tools"][0]["status"], "running");

    let second = chat(to, ANN, &answers).await;
    assert_eq!(second.header("x-foxwedge-run"), run);
    assert_eq!(second.header("x-foxwedge-match"), "prefix");
    let session = second.header("x-foxwedge-session").to_owned();
    let detail = fetch(to, ANN, &format!("/v1/runs/{run}")).await.json();
    assert_eq!(detail["outcome"], "completed");
    assert_eq!(detail["calls"], json!({"total": 1, "by_status": {"succeeded": 1}}));
    assert_eq!(detail["tools"][0]["name"], "read");
    assert_eq!(detail["session"], *session);

    let sessions = fetch(to, ANN, "/v1/sessions").await.json();
    assert_eq!(sessions["data"][0]["id"], *session);
    assert_eq!(sessions["data"][0]["owner"], "ann");
    let of_session = fetch(to, ANN, &format!("/v1/sessions/{session}")).await.json();
    assert_eq!(of_session["session"], sessions["data"][0]);
    assert_eq!(of_session["data"][0]["id"], *run);
    let runs = fetch(to, ANN, &format!("/v1/runs?session={session}&open=false")).await.json();
    assert_eq!(runs["data"], of_session["data"]);

    // No content is stored anywhere.
    for path in [format!("/v1/runs/{run}"), format!("/v1/runs/{run}/events?format=jsonl")] {
        let answer = fetch(to, ANN, &path).await;
        assert!(!answer.body.contains("canary-words"), "{path}: {}", answer.body);
    }
    server.end().await;
}

#[tokio::test]
async fn events_are_available_in_every_format_and_from_any_position() {
    let server = server().await;
    let to = server.address;
    let (answers, run) = call(to, ANN).await;
    chat(to, ANN, &answers).await;
    let events = |query: &str| format!("/v1/runs/{run}/events{query}");
    let table = [
        ("", "text/event-stream", "\"RUN_FINISHED\""),
        ("?format=agui&agui_version=0", "text/event-stream", "\"RUN_FINISHED\""),
        ("?format=agui&agui_version=1", "text/event-stream", "\"RUN_FINISHED\""),
        ("?format=ai-sdk&replay=true", "text/event-stream", "[DONE]"),
        ("?format=acp", "text/event-stream", "end_turn"),
        ("?format=acp&acp_version=2&prompt=7", "text/event-stream", "idle"),
        ("?format=jsonl", "application/x-ndjson", "\"run-ended\""),
    ];
    for (query, kind, last) in table {
        let answer = fetch(to, ANN, &events(query)).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, kind), "{query}");
        let end = answer.body.rfind(last).unwrap_or_else(|| panic!("{query}: {}", answer.body));
        assert!(end > answer.body.len() / 2, "{query}: {}", answer.body);
    }
    let whole = fetch(to, ANN, &events("")).await.body;
    let of_version = async |version: &str| {
        fetch(to, ANN, &events(&format!("?format=agui&agui_version={version}"))).await.body
    };
    assert_eq!(whole, of_version("1").await);
    assert!(whole.contains("\"protocolVersion\":\"1.0\""), "{whole}");
    assert!(!of_version("0").await.contains("protocolVersion"));
    let ids: Vec<&str> = whole.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let (middle, last) = (ids[ids.len() / 2], ids[ids.len() - 1]);
    let header = |id: &str| format!("{}last-event-id: {id}\r\n", key(ANN));
    let resumed = send(to, get(&events(""), &header(middle))).await.body;
    let behind: Vec<&str> = resumed.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(behind, ids[ids.len() / 2 + 1..]);
    // A reader that has everything, or wants new events only, gets 204.
    assert_eq!(send(to, get(&events(""), &header(last))).await.status, 204);
    assert_eq!(fetch(to, ANN, &events("?after=99999")).await.status, 204);
    assert_eq!(fetch(to, ANN, &events("?format=ai-sdk")).await.status, 204);
    let as_events = format!("{}accept: text/event-stream\r\n", key(ANN));
    let answer = send(to, get(&events("?format=jsonl"), &as_events)).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    server.end().await;
}

#[tokio::test]
async fn a_run_in_progress_is_followed_and_stopped() {
    let server = server().await;
    let to = server.address;
    let (client, run) = start_hanging_stream(to, ANN).await;
    let follower = tokio::spawn({
        let path = format!("/v1/runs/{run}/events");
        async move { fetch(to, ANN, &path).await }
    });
    let stop = post(&format!("/v1/runs/{run}/stop"), &key(ANN), "{}");
    let stopped = send(to, &stop).await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    assert_eq!(stopped.json()["stopped"], true);
    assert_eq!(stopped.json()["run"]["outcome"], "stopped");
    let followed = follower.await.expect("a follower").body;
    assert!(followed.contains("RUN_STARTED") && followed.contains("RUN_FINISHED"), "{followed}");
    // The client sees that the reply is not complete.
    let rest = rest(client).await.body;
    assert!(!rest.contains("[DONE]"), "{rest}");
    let again = send(to, &stop).await.json();
    assert_eq!((&again["stopped"], &again["run"]["outcome"]), (&json!(false), &json!("stopped")));
    server.end().await;
}

#[tokio::test]
async fn a_client_is_told_not_to_repeat_a_run_that_was_stopped() {
    let server = server().await;
    let to = server.address;
    let slow = CHAT.replace("scripted", "scripted?delay=600000");
    let client =
        tokio::spawn(async move { send(to, post("/v1/chat/completions", &key(ANN), slow)).await });
    let run = loop {
        let open = fetch(to, ANN, "/v1/runs?open=true").await.json();
        if let Some(run) = open["data"][0]["id"].as_str() {
            break run.to_owned();
        }
    };
    let stop = post(&format!("/v1/runs/{run}/stop"), &key(ANN), "");
    assert_eq!(send(to, stop).await.json()["stopped"], true);
    let answer = client.await.expect("an answer");
    assert_eq!((answer.status, answer.header("x-should-retry")), (409, "false"), "{answer:?}");
    assert_eq!(answer.json()["error"]["code"], "run_stopped");
    server.end().await;
}

#[tokio::test]
async fn a_run_that_waits_for_tool_results_is_stopped() {
    let server = server().await;
    let to = server.address;
    let (answers, run) = call(to, ANN).await;
    let stopped = send(to, post(&format!("/v1/runs/{run}/stop"), &key(ANN), "")).await.json();
    assert_eq!(stopped["stopped"], true);
    assert_eq!(stopped["run"]["calls"]["by_status"], json!({"interrupted": 1}));
    let second = chat(to, ANN, &answers).await;
    assert_ne!(second.header("x-foxwedge-run"), run);
    let runs = fetch(to, ANN, "/v1/runs").await.json();
    let outcomes: Vec<&Value> =
        runs["data"].as_array().expect("a list").iter().map(|run| &run["outcome"]).collect();
    assert_eq!(outcomes, ["completed", "stopped"]);
    server.end().await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_run() {
    let server = server().await;
    let to = server.address;
    let (client, run) = start_hanging_stream(to, ANN).await;
    drop(client);
    // The stream of events ends with the run.
    let followed = fetch(to, ANN, &format!("/v1/runs/{run}/events?format=jsonl")).await.body;
    assert!(followed.contains("\"run-ended\""), "{followed}");
    let detail = fetch(to, ANN, &format!("/v1/runs/{run}")).await.json();
    assert_eq!(detail["outcome"], "stopped");
    server.end().await;
}

#[tokio::test]
async fn objects_of_other_owners_are_not_found() {
    let server = server().await;
    let to = server.address;
    let mine = chat(to, ANN, BROKEN).await;
    let run = mine.header("x-foxwedge-run").to_owned();
    let session = mine.header("x-foxwedge-session").to_owned();
    let repair = fetch(to, ANN, "/v1/repairs").await.json()["data"][0]["id"].clone();
    let repair = repair.as_str().expect("a repair").to_owned();
    chat(to, CARL, CHAT).await;
    let paths = [
        format!("/v1/sessions/{session}"),
        format!("/v1/runs/{run}"),
        format!("/v1/runs/{run}/events"),
        format!("/v1/runs?session={session}"),
        format!("/v1/runs?after={run}"),
        format!("/v1/sessions?after={session}"),
        format!("/v1/repairs/{repair}"),
    ];
    for path in &paths {
        // The same reply as for an object that does not exist.
        let foreign = fetch(to, CARL, path).await;
        let missing = path.replace(&run, "nowhere").replace(&session, "nowhere");
        let missing = fetch(to, CARL, &missing.replace(&repair, "p-1")).await;
        assert_eq!((foreign.status, &foreign.body), (404, &missing.body), "{path}");
        for token in [ANN, ADMIN] {
            assert_eq!(fetch(to, token, path).await.status, 200, "{path} {token}");
        }
        assert_eq!(send(to, get(path, "")).await.status, 401, "{path}");
    }
    let stop = format!("/v1/runs/{run}/stop");
    assert_eq!(send(to, post(&stop, &key(CARL), "")).await.status, 404);
    assert_eq!(send(to, post(&stop, "", "")).await.status, 401);
    let count = async |token: &str, path: &str| {
        fetch(to, token, path).await.json()["data"].as_array().map_or(0, Vec::len)
    };
    for (path, expected) in
        [("/v1/sessions", [1, 1, 2]), ("/v1/runs", [1, 1, 2]), ("/v1/repairs", [1, 0, 1])]
    {
        let counts = [count(ANN, path).await, count(CARL, path).await, count(ADMIN, path).await];
        assert_eq!(counts, expected, "{path}");
    }
    server.end().await;
}

#[tokio::test]
async fn repairs_show_changes_without_content() {
    let server = server().await;
    let to = server.address;
    let answer = chat(to, ANN, BROKEN).await;
    assert_eq!(answer.header("x-foxwedge-action"), "fixed");
    let list = fetch(to, ANN, "/v1/repairs").await;
    let row = &list.json()["data"][0];
    assert_eq!(row["run"], *answer.header("x-foxwedge-run"));
    assert_eq!(row["findings"][0]["code"], "FW101");
    assert_eq!((&row["mode"], &row["action"]), (&json!("fix"), &json!("fixed")));
    let path = format!("/v1/repairs/{}", row["id"].as_str().expect("an id"));
    let detail = fetch(to, ANN, &path).await;
    assert!(detail.json()["changes"][0]["note"].is_string(), "{}", detail.body);
    assert_eq!(detail.json()["body_before"], Value::Null);
    assert!(!detail.body.contains("canary-words") && !list.body.contains("canary-words"));
    server.end().await;
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let server = server().await;
    let to = server.address;
    for _ in 0..5 {
        chat(to, ANN, CHAT).await;
    }
    for list in ["/v1/runs", "/v1/sessions"] {
        let whole = fetch(to, ANN, list).await.json();
        assert_eq!((&whole["has_more"], &whole["next"]), (&json!(false), &Value::Null));
        let mut seen: Vec<Value> = Vec::new();
        let mut after = String::new();
        loop {
            let page = fetch(to, ANN, &format!("{list}?limit=2{after}")).await.json();
            seen.extend(page["data"].as_array().expect("a list").clone());
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(Value::Array(seen), whole["data"], "{list}");
    }
    assert_eq!(fetch(to, ANN, "/v1/runs?limit=99999999").await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn a_conversation_continues_after_a_restart() {
    let folder = std::env::temp_dir().join(format!("foxwedge-api-{}", std::process::id()));
    let mut config = config();
    config.store = StoreUrl::Sqlite(folder.join("runs.db"));
    let server = Server::start(config.clone()).await;
    let (answers, run) = call(server.address, ANN).await;
    server.end().await;
    let server = Server::start(config).await;
    let second = chat(server.address, ANN, &answers).await;
    assert_eq!(second.header("x-foxwedge-match"), "prefix");
    let session = second.header("x-foxwedge-session");
    let of_session = fetch(server.address, ANN, &format!("/v1/sessions/{session}")).await.json();
    let runs = of_session["data"].as_array().expect("a list");
    let outcomes: Vec<(&Value, &Value)> =
        runs.iter().map(|run| (&run["id"], &run["outcome"])).collect();
    let (newer, completed) = (json!(second.header("x-foxwedge-run")), json!("completed"));
    assert_eq!(outcomes, [(&newer, &completed), (&json!(run), &json!("interrupted"))]);
    server.end().await;
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[tokio::test]
async fn invalid_requests_get_clear_errors() {
    let server = server().await;
    let to = server.address;
    let run = chat(to, ANN, CHAT).await.header("x-foxwedge-run").to_owned();
    let long = "x".repeat(129);
    let table = [
        ("/v1/runs?limit=0".to_owned(), 400),
        ("/v1/runs?limit=-1".to_owned(), 400),
        ("/v1/runs?limit=x".to_owned(), 400),
        ("/v1/runs?limit=1&limit=2".to_owned(), 400),
        ("/v1/runs?open=maybe".to_owned(), 400),
        ("/v1/runs?limit=%zz".to_owned(), 400),
        ("/v1/runs?limit=%31".to_owned(), 200),
        ("/v1/runs?other=1&limit".to_owned(), 400),
        (format!("/v1/runs?after={long}"), 404),
        ("/v1/runs?session=../../etc/passwd".to_owned(), 404),
        (format!("/v1/runs/{long}"), 404),
        ("/v1/runs/..".to_owned(), 404),
        ("/v1/runs/a%2fb".to_owned(), 404),
        ("/v1/runs/'%20or%201=1".to_owned(), 404),
        ("/v1/runs/%".to_owned(), 404),
        ("/v1/sessions/".to_owned(), 404),
        ("/v1/repairs/x".to_owned(), 404),
        ("/v1/repairs?after=x".to_owned(), 404),
        (format!("/v1/runs/{run}/events?format=xml"), 400),
        (format!("/v1/runs/{run}/events?after=x"), 400),
        (format!("/v1/runs/{run}/events?agui_version=9"), 400),
        (format!("/v1/runs/{run}/stop"), 405),
        (format!("/v1/runs/{run}/else"), 404),
    ];
    for (path, status) in table {
        let answer = fetch(to, ANN, &path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        if status != 200 {
            assert!(answer.json()["error"]["code"].is_string(), "{path}: {}", answer.body);
        }
        if status == 400 {
            let parameter = path.rsplit(['?', '&']).next().expect("a parameter");
            let name = parameter.split('=').next().expect("a name");
            let error = &answer.json()["error"];
            assert_eq!(error["param"], name, "{path}: {}", answer.body);
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains(&format!("`{name}`")), "{path}: {}", answer.body);
        }
    }
    for body in ["[]", "{\"a\":1}", "{", "stop"] {
        let answer = send(to, post(&format!("/v1/runs/{run}/stop"), &key(ANN), body)).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    assert_eq!(send(to, post("/v1/runs", &key(ANN), "")).await.status, 405);
    let document = send(to, get("/openapi.json", "")).await.json();
    assert_eq!(document["openapi"], "3.1.0");
    server.end().await;
}
