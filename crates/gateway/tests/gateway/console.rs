//! The console: access rules, and hostile requests.

use std::{net::SocketAddr, sync::Arc};

use foxwedge_gateway::config::GatewayConfig;
use serde_json::{Value, json};

use crate::{
    client::{Answer, get, post, send},
    machine::{FakeMachine, SESSIONS},
    server::{CHAT, Server, TOKEN, config},
};

const ADMIN: &str = "canary-token-bob";

async fn start(config: GatewayConfig) -> (Server, Arc<FakeMachine>) {
    let machine = Arc::new(FakeMachine::default());
    (Server::start_on(config, Some(machine.clone())).await, machine)
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

async fn fetch(to: SocketAddr, path: &str) -> Answer {
    send(to, get(path, &bearer(ADMIN))).await
}

async fn fetch_json(to: SocketAddr, path: &str) -> Value {
    let answer = fetch(to, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

fn code(answer: &Answer) -> (u16, String) {
    let code = answer.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
    (answer.status, code)
}

#[tokio::test]
async fn only_an_administrator_at_the_machine_sees_files() {
    let (server, machine) = start(config()).await;
    let to = server.address;
    let path = "/v1/console/sessions/f-0/messages";
    let with = |headers: &str| format!("GET {path} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    let (admin, user) = (bearer(ADMIN), bearer(TOKEN));
    let host = "host: localhost\r\n";
    let table = [
        (format!("{host}{admin}"), 200, ""),
        (format!("host: 127.0.0.1:{}\r\n{admin}", to.port()), 200, ""),
        (format!("host: [::1]\r\n{admin}"), 200, ""),
        (format!("{host}{admin}origin: http://localhost\r\n"), 200, ""),
        (host.to_owned(), 401, "invalid_api_key"),
        (format!("{host}authorization: Bearer wrong\r\n"), 401, "invalid_api_key"),
        (format!("{host}{user}"), 403, "files_for_admins"),
        // A public host name, and requests forwarded by a proxy.
        (format!("host: gate.example\r\n{admin}"), 403, "files_for_loopback"),
        (format!("{host}{admin}x-forwarded-for: 192.0.2.1\r\n"), 403, "files_for_loopback"),
        (format!("{host}{admin}forwarded: for=192.0.2.1\r\n"), 403, "files_for_loopback"),
        (format!("{host}{admin}via: 1.1 proxy\r\n"), 403, "files_for_loopback"),
        // Pages of other origins.
        (format!("{host}{admin}origin: http://evil.example\r\n"), 403, "origin_not_allowed"),
        (format!("{host}{admin}origin: null\r\n"), 403, "origin_not_allowed"),
        (format!("host: evil.example\r\n{admin}"), 403, "host_not_allowed"),
        (format!("host: localhost.evil.example\r\n{admin}"), 403, "host_not_allowed"),
    ];
    let mut seen = 0;
    for (headers, status, expected) in table {
        let answer = send(to, with(&headers)).await;
        assert_eq!(code(&answer), (status, expected.to_owned()), "{headers}");
        seen += usize::from(status == 200);
    }
    // No other request reached the machine.
    assert_eq!(machine.calls.lock().expect("nobody panicked").len(), seen);
    // Callers without access cannot change anything either.
    for (path, body) in [("repair", r#"{"plan":"p"}"#), ("undo", "")] {
        let path = format!("/v1/console/sessions/f-0/{path}");
        assert_eq!(code(&send(to, post(&path, &user, body)).await).1, "files_for_admins");
        let foreign = format!("{admin}origin: https://evil.example\r\n");
        assert_eq!(code(&send(to, post(&path, &foreign, body)).await).1, "origin_not_allowed");
        assert_eq!(send(to, post(&path, "", body)).await.status, 401);
    }
    assert_eq!(machine.calls.lock().expect("nobody panicked").len(), seen);
    server.end().await;
}

#[tokio::test]
async fn files_can_be_switched_off_and_need_a_token() {
    let mut hidden = config();
    hidden.console.session_files = false;
    let mut open = config();
    open.access.tokens.clear();
    for (config, expected) in [(hidden, "files_off"), (open, "files_need_token")] {
        let (server, machine) = start(config).await;
        let to = server.address;
        assert_eq!(fetch_json(to, "/v1/console").await["files"]["why"], expected);
        let list = fetch_json(to, "/v1/console/sessions").await;
        assert_eq!((&list["data"], &list["files"]["enabled"]), (&json!([]), &json!(false)));
        for path in ["", "/messages", "/tree", "/records", "/findings", "/repair", "/repair.md"] {
            let answer = fetch(to, &format!("/v1/console/sessions/f-0{path}")).await;
            assert_eq!(code(&answer), (403, expected.to_owned()), "{path}");
        }
        assert_eq!(machine.calls.lock().expect("nobody panicked").len(), 0);
        server.end().await;
    }
    // Without access to local sessions there are none.
    let server = Server::start_default().await;
    assert_eq!(fetch_json(server.address, "/v1/console").await["files"]["why"], "files_off");
    server.end().await;
}

#[tokio::test]
async fn sessions_are_listed_page_by_page_and_filtered() {
    let (server, _) = start(config()).await;
    let to = server.address;
    let chat = send(to, post("/v1/chat/completions", &bearer(ADMIN), CHAT)).await;
    assert_eq!(chat.status, 200, "{}", chat.body);
    let ids = |page: &Value| -> Vec<String> {
        let rows = page["data"].as_array().expect("rows").iter();
        rows.map(|row| row["id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let all = fetch_json(to, "/v1/console/sessions?sub_agents=true").await;
    // The request is recent, everything else is old.
    assert_eq!(all["data"][0]["source"], "gateway");
    assert_eq!(all["data"][0]["health"], "ok");
    assert_eq!(ids(&all).len(), SESSIONS + 1);
    assert_eq!(all["scan"]["state"], "running");
    assert_eq!(all["counts"]["needs-repair"], 3);
    assert_eq!(all["counts"]["unknown"], 1);
    // Every row appears once for any page size, although pairs of rows have the same time.
    for limit in 1..=4 {
        let (mut seen, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/console/sessions?sub_agents=1&limit={limit}{after}");
            let page = fetch_json(to, &path).await;
            seen.extend(ids(&page));
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        assert_eq!(seen, ids(&all), "{limit}");
    }
    for (query, expected) in [
        ("source=file", 6),
        ("source=gateway", 1),
        ("source=file&health=needs-repair", 2),
        ("health=needs-repair,unknown&sub_agents=true", 4),
        ("rule=FW101", 2),
        ("rule=unanswered-call", 2),
        ("q=NUMBER+4", 1),
        ("q=parser+4%20claude", 1),
        ("q=%3Cscript%3E", 0),
        ("project=pars", 6),
        ("agent=codex", 0),
        ("live=true", 1),
    ] {
        let found = fetch_json(to, &format!("/v1/console/sessions?{query}")).await;
        assert_eq!(ids(&found).len(), expected, "{query}");
    }
    for query in ["limit=0", "limit=x", "source=x", "health=x", "rule=FW999", "after=x", "q=%ff"] {
        let answer = fetch(to, &format!("/v1/console/sessions?{query}")).await;
        assert_eq!(code(&answer), (400, "bad_request".to_owned()), "{query}");
    }
    // Users see their own sessions, and no files.
    let own = send(to, get("/v1/console/sessions", &bearer(TOKEN))).await.json();
    assert_eq!((&own["data"], &own["files"]["why"]), (&json!([]), &json!("files_for_admins")));
    server.end().await;
}

#[tokio::test]
async fn invalid_names_reach_no_other_file() {
    let (server, machine) = start(config()).await;
    let to = server.address;
    let long = "x".repeat(5_000);
    for id in [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%2Fetc%2Fpasswd",
        "~",
        "a%00b",
        "f-0%20",
        "é",
        "f-0;x",
        "f-0%0d%0a",
        &long,
    ] {
        for path in ["", "/messages", "/records", "/repair", "/repair.md"] {
            let answer = fetch(to, &format!("/v1/console/sessions/{id}{path}")).await;
            assert!([400, 404].contains(&answer.status), "{id}{path}: {}", answer.status);
        }
    }
    for path in ["f-0/../../x", "f-0//repair", "f-0/repair/x", "/etc/passwd", "f-0/else"] {
        let answer = fetch(to, &format!("/v1/console/sessions/{path}")).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    assert_eq!(code(&fetch(to, "/v1/console/sessions/f-99").await).1, "session_not_found");
    assert_eq!(machine.calls.lock().expect("nobody panicked").len(), 0);
    // A panic becomes an error without details, and the next request is served.
    let answer = fetch(to, "/v1/console/sessions/f-panic").await;
    assert_eq!(code(&answer), (500, "internal_error".to_owned()));
    assert!(!answer.body.contains("canary"), "{}", answer.body);
    assert_eq!(fetch_json(to, "/v1/console/sessions/f-0").await["version"], "v1");
    server.end().await;
}

#[tokio::test]
async fn requests_reach_the_machine_and_its_errors_reach_the_client() {
    let (server, _) = start(config()).await;
    let to = server.address;
    for (path, expected) in [
        ("messages?from=-5&limit=9999", "messages None f-0 -5 500"),
        ("messages?q=two+words", "messages Some(\"two words\") f-0 0 100"),
        ("tree?kind=messages", "tree Messages f-0 0 100"),
        ("records", "records 16384 f-0 1 100"),
        ("records?bytes=99999999&from=3", "records 1048576 f-0 3 100"),
        ("findings", "findings f-0 0 100"),
        ("repair?from=7&limit=1", "plan f-0 7 1"),
        ("compaction?fraction=0.5", "compaction File(\"f-0\") fraction 0.5 None"),
        ("compaction?budget=900&model=m", "compaction File(\"f-0\") budget 900 Some(\"m\")"),
    ] {
        let found = fetch_json(to, &format!("/v1/console/sessions/f-0/{path}")).await;
        assert_eq!(found["asked"], expected, "{path}");
    }
    let markdown = fetch(to, "/v1/console/sessions/f-0/repair.md").await;
    assert_eq!(markdown.header("content-type"), "text/markdown; charset=utf-8");
    for path in [
        "messages?from=x",
        "messages?limit=0",
        "tree?kind=x",
        "records?bytes=0",
        "compaction",
        "compaction?fraction=2",
        "compaction?fraction=NaN",
        "compaction?budget=0",
        "compaction?budget=-1",
        "compaction?fraction=0.5&budget=9",
    ] {
        let answer = fetch(to, &format!("/v1/console/sessions/f-0/{path}")).await;
        assert_eq!(code(&answer), (400, "bad_request".to_owned()), "{path}");
    }
    let repair = "/v1/console/sessions/f-0/repair";
    for (body, status, expected) in [
        (r#"{"plan":"live"}"#, 409, "session_live"),
        (r#"{"plan":"changed"}"#, 409, "file_changed"),
        (r#"{"plan":"failed"}"#, 500, "repair_failed"),
        (r#"{"plan":1}"#, 400, "bad_request"),
        (r#"{"plan":"p","force":true}"#, 400, "bad_request"),
        ("{}", 400, "bad_request"),
        ("", 400, "bad_request"),
    ] {
        let answer = send(to, post(repair, &bearer(ADMIN), body)).await;
        assert_eq!(code(&answer), (status, expected.to_owned()), "{body}");
    }
    let done = send(to, post(repair, &bearer(ADMIN), r#"{"plan":"p"}"#)).await;
    assert_eq!(done.json()["asked"], "repair f-0 p");
    let undo = "/v1/console/sessions/f-0/undo";
    for (body, status) in [("", 200), ("{}", 200), (r#"{"force":true}"#, 400), ("x", 400)] {
        let answer = send(to, post(undo, &bearer(ADMIN), body)).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
    for (method, path, status) in
        [("GET", "undo", 405), ("DELETE", "repair", 405), ("POST", "messages", 405)]
    {
        let text = get(&format!("/v1/console/sessions/f-0/{path}"), &bearer(ADMIN));
        let answer = send(to, text.replacen("GET", method, 1)).await;
        assert_eq!(answer.status, status, "{method} {path}");
    }
    let body = r#"{"body":[{"role":"user"}],"format":"openai-chat","budget":5}"#;
    let preview = "/v1/console/compaction";
    let answer = send(to, post(preview, &bearer(TOKEN), body)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    for body in ["{}", "x", r#"{"body":[],"format":"x","budget":5}"#, r#"{"body":[],"path":"/x"}"#]
    {
        let answer = send(to, post(preview, &bearer(TOKEN), body)).await;
        assert_eq!(code(&answer), (400, "bad_request".to_owned()), "{body}");
    }
    server.end().await;
}

#[tokio::test]
async fn the_page_is_public_and_loads_nothing_from_other_origins() {
    let server = Server::start_default().await;
    let to = server.address;
    for path in ["/", "/ui", "/ui/"] {
        let page = send(to, get(path, "")).await;
        assert_eq!(page.status, 200, "{path}");
        assert!(page.header("content-type").starts_with("text/html"), "{path}");
        assert!(page.header("content-security-policy").contains("default-src 'none'"), "{path}");
        assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert!(!page.header("content-security-policy").contains("unsafe"), "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
    }
    // Every file that the page names exists under both paths, and is cached.
    let page = send(to, get("/", "")).await.body;
    let named = page.split(['"', '\'']).filter_map(|text| text.strip_prefix("/ui/"));
    for name in named.filter(|name| !name.is_empty()) {
        for path in [format!("/ui/{name}"), format!("/{name}")] {
            let file = send(to, get(&path, "")).await;
            assert_eq!(file.status, 200, "{path}");
            assert_eq!(file.header("x-content-type-options"), "nosniff", "{path}");
            assert_ne!(file.header("content-type"), "application/octet-stream", "{path}");
            let tag = file.header("etag").to_owned();
            let known = send(to, get(&path, &format!("if-none-match: {tag}\r\n"))).await;
            assert_eq!((known.status, known.body.as_str()), (304, ""), "{path}");
        }
    }
    assert_eq!(send(to, get("/ui/none.js", "")).await.status, 401, "nobody learns what there is");
    assert_eq!(fetch(to, "/ui/none.js").await.status, 404);
    let evil = "GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    assert_eq!(send(to, evil).await.status, 403);
    server.end().await;
}

#[tokio::test]
async fn rules_have_pages() {
    let server = Server::start_default().await;
    let to = server.address;
    let about = fetch_json(to, "/v1/console").await;
    assert_eq!(about["scope"], "admin");
    assert!(about["rules"].as_array().is_some_and(|rules| rules.len() > 40));
    for name in ["FW101", "unanswered-call", "fw101"] {
        let rule = fetch_json(to, &format!("/v1/console/rules/{name}")).await;
        assert_eq!(rule["name"], "unanswered-call");
        assert!(rule["page"].as_str().is_some_and(|page| page.len() > 100));
    }
    assert_eq!(code(&fetch(to, "/v1/console/rules/FW999").await).1, "rule_not_found");
    server.end().await;
}
