//! The console: access rules, and hostile requests.

use std::{fs, net::SocketAddr};

use foxwedge_gateway::config::GatewayConfig;
use serde_json::{Value, json};

use crate::{
    client::{Answer, get, post, send},
    machine::{CANARY, LIVE, LONG, LONG_MESSAGES, Machine, SESSIONS},
    server::{CHAT, Server, TOKEN, config},
};

const ADMIN: &str = "canary-token-bob";

async fn start(config: GatewayConfig) -> (Server, Machine) {
    let machine = Machine::new();
    (Server::start_on(config, Some(machine.sessions.clone())).await, machine)
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
    let base = format!("/v1/console/sessions/{}", machine.id(0));
    let before = fs::read(machine.file(0)).expect("a file");
    let with = |headers: &str| {
        format!("GET {base}/messages HTTP/1.1\r\nconnection: close\r\n{headers}\r\n")
    };
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
    for (headers, status, expected) in table {
        let answer = send(to, with(&headers)).await;
        assert_eq!(code(&answer), (status, expected.to_owned()), "{headers}");
        assert_eq!(answer.body.contains(CANARY), status == 200, "{headers}");
    }
    // Callers without access cannot change anything either.
    for (path, body) in [("repair", r#"{"plan":"p"}"#), ("undo", "")] {
        let path = format!("{base}/{path}");
        assert_eq!(code(&send(to, post(&path, &user, body)).await).1, "files_for_admins");
        let foreign = format!("{admin}origin: https://evil.example\r\n");
        assert_eq!(code(&send(to, post(&path, &foreign, body)).await).1, "origin_not_allowed");
        assert_eq!(send(to, post(&path, "", body)).await.status, 401);
    }
    assert_eq!(fs::read(machine.file(0)).expect("a file"), before);
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
            let path = format!("/v1/console/sessions/{}{path}", machine.id(0));
            let answer = fetch(to, &path).await;
            assert_eq!(code(&answer), (403, expected.to_owned()), "{path}");
        }
        server.end().await;
    }
    // Without access to local sessions there are none.
    let server = Server::start_default().await;
    assert_eq!(fetch_json(server.address, "/v1/console").await["files"]["why"], "files_off");
    server.end().await;
}

#[tokio::test]
async fn sessions_are_listed_page_by_page_and_filtered() {
    let (server, machine) = start(config()).await;
    let to = server.address;
    machine.scanned().await;
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
    assert_eq!((&all["scan"]["state"], &all["scan"]["looked"]), (&json!("done"), &json!(SESSIONS)));
    assert_eq!(all["counts"]["needs-repair"], 3);
    assert_eq!(all["counts"]["unreadable"], 1);
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
        ("health=needs-repair,unreadable&sub_agents=true", 4),
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
    let about = fetch_json(to, &format!("/v1/console/sessions/{}", machine.id(0))).await;
    assert!(about["version"].is_string(), "{about}");
    server.end().await;
}

#[tokio::test]
async fn pages_of_a_session_are_what_the_request_asks_for() {
    let (server, machine) = start(config()).await;
    let to = server.address;
    let base = format!("/v1/console/sessions/{}", machine.id(LONG));
    let last = LONG_MESSAGES - 5;
    for (path, from, rows, total) in [
        ("messages".to_owned(), 0, 100, LONG_MESSAGES),
        ("messages?limit=9999".to_owned(), 0, 500, LONG_MESSAGES),
        ("messages?from=-5&limit=9999".to_owned(), last, 5, LONG_MESSAGES),
        ("messages?q=two+words+300".to_owned(), 0, 1, LONG_MESSAGES),
        // The first record is not a message.
        ("tree?from=600".to_owned(), 600, 2, LONG_MESSAGES + 1),
        ("tree?from=600&kind=messages".to_owned(), 600, 1, LONG_MESSAGES),
        ("records".to_owned(), 1, 100, LONG_MESSAGES + 1),
        ("records?from=600".to_owned(), 600, 3, LONG_MESSAGES + 1),
        ("findings".to_owned(), 0, 0, 0),
    ] {
        let page = fetch_json(to, &format!("{base}/{path}")).await;
        assert_eq!(page["data"].as_array().map(Vec::len), Some(rows), "{path}");
        assert_eq!((&page["from"], &page["total"]), (&json!(from), &json!(total)), "{path}");
    }
    for (bytes, expected) in [("", 16_384), ("&bytes=99", 99), ("&bytes=99999999", 1_048_576)] {
        let path = format!("{base}/records?from={}{bytes}", LONG_MESSAGES + 1);
        let page = fetch_json(to, &path).await;
        assert_eq!(page["data"][0]["text"].as_str().map(str::len), Some(expected), "{bytes}");
    }
    let base = format!("/v1/console/sessions/{}", machine.id(0));
    assert_eq!(fetch_json(to, &format!("{base}/findings")).await["data"][0]["code"], "FW101");
    let plan = fetch_json(to, &format!("{base}/repair?from=1&limit=1")).await;
    assert_eq!((&plan["from"], plan["data"].as_array().map(Vec::len)), (&json!(1), Some(1)));
    for (query, expected) in [
        ("fraction=0.5", json!({ "fraction": 0.5, "budget": null })),
        ("budget=900&model=m", json!({ "fraction": null, "budget": 900 })),
    ] {
        let preview = fetch_json(to, &format!("{base}/compaction?{query}")).await;
        assert_eq!(preview["asked"], expected, "{query}");
    }
    let markdown = fetch(to, &format!("{base}/repair.md")).await;
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
        let answer = fetch(to, &format!("{base}/{path}")).await;
        assert_eq!(code(&answer), (400, "bad_request".to_owned()), "{path}");
    }
    let body = r#"{"body":[{"role":"user","content":"hello"}],"format":"openai-chat","budget":50}"#;
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
async fn a_session_is_repaired_and_restored_and_errors_reach_the_client() {
    let (server, machine) = start(config()).await;
    let to = server.address;
    let base = |number: usize| format!("/v1/console/sessions/{}", machine.id(number));
    let plan_of = async |number: usize| {
        let plan = fetch_json(to, &format!("{}/repair", base(number))).await["plan"].clone();
        json!({ "plan": plan }).to_string()
    };
    let repair = async |number: usize, body: &str| {
        send(to, post(&format!("{}/repair", base(number)), &bearer(ADMIN), body)).await
    };
    let undo =
        async |body: &str| send(to, post(&format!("{}/undo", base(0)), &bearer(ADMIN), body)).await;
    let broken = fs::read(machine.file(0)).expect("a file");
    let plan = plan_of(0).await;
    for (number, body, status, expected) in [
        (0, r#"{"plan":"p"}"#, 409, "file_changed"),
        (0, r#"{"plan":1}"#, 400, "bad_request"),
        (0, r#"{"plan":"p","force":true}"#, 400, "bad_request"),
        (0, "{}", 400, "bad_request"),
        (0, "", 400, "bad_request"),
        (LIVE, &*plan_of(LIVE).await, 409, "session_live"),
        (LONG, r#"{"plan":"p"}"#, 409, "nothing_to_repair"),
    ] {
        let answer = repair(number, body).await;
        assert_eq!(code(&answer), (status, expected.to_owned()), "{number} {body}");
    }
    assert_eq!(code(&undo("").await), (409, "nothing_to_undo".to_owned()));
    let writable = fs::metadata(machine.file(0)).expect("a file").permissions();
    let mut read_only = writable.clone();
    read_only.set_readonly(true);
    fs::set_permissions(machine.file(0), read_only).expect("it is ours");
    assert_eq!(code(&repair(0, &plan).await), (500, "repair_failed".to_owned()));
    assert_eq!(fs::read(machine.file(0)).expect("a file"), broken);
    fs::set_permissions(machine.file(0), writable).expect("it is ours");
    let done = repair(0, &plan).await;
    assert_eq!((done.status, &done.json()["health"]), (200, &json!("ok")), "{}", done.body);
    assert_ne!(fs::read(machine.file(0)).expect("a file"), broken);
    for (body, status) in [(r#"{"force":true}"#, 400), ("x", 400), ("{}", 200), ("", 409)] {
        let answer = undo(body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
    }
    assert_eq!(fs::read(machine.file(0)).expect("a file"), broken);
    for (method, path, status) in
        [("GET", "undo", 405), ("DELETE", "repair", 405), ("POST", "messages", 405)]
    {
        let text = get(&format!("{}/{path}", base(0)), &bearer(ADMIN));
        let answer = send(to, text.replacen("GET", method, 1)).await;
        assert_eq!(answer.status, status, "{method} {path}");
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
