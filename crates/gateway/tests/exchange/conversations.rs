//! Conversations are isolated: no content of one reaches another, however similar they are.

use std::collections::{HashMap, HashSet};

use foxwedge_gateway::{GatewayEndpoint, GatewayEngine};
use serde_json::{Value, json};

use crate::stand::{TestReply, build_request, engine, send_request};

/// All headers that name a session.
const NAMES: [&str; 4] =
    ["x-foxwedge-session", "x-session-id", "x-session-affinity", "x-opencode-session"];

fn hello() -> String {
    json!({"model": "scripted", "messages": [{"role": "user", "content": "hello there"}]})
        .to_string()
}

async fn say(engine: &GatewayEngine, headers: &[(&str, &str)]) -> TestReply {
    let reply = send_request(engine, build_request(GatewayEndpoint::Chat, hello(), headers)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}

#[tokio::test]
async fn two_sessions_with_equal_first_requests_stay_apart() {
    for header in NAMES {
        let engine = engine("").await;
        let one = say(&engine, &[(header, "one")]).await;
        let two = say(&engine, &[(header, "two")]).await;
        let describe = |reply: &TestReply| {
            ["x-foxwedge-session", "x-foxwedge-replayed"].map(|name| reply.header(name).to_owned())
        };
        assert_eq!(describe(&one), ["one", ""], "{header}");
        assert_eq!(describe(&two), ["two", ""], "{header}");
        assert_ne!(one.header("x-foxwedge-run"), two.header("x-foxwedge-run"));
        // Marked as retries, each gets its own reply, never that of another.
        let retry = ("x-stainless-retry-count", "1");
        let again = say(&engine, &[(header, "one"), retry]).await;
        assert_eq!(describe(&again), ["one", "true"]);
        assert_eq!(again.header("x-foxwedge-run"), one.header("x-foxwedge-run"));
        let third = say(&engine, &[(header, "three"), retry]).await;
        assert_eq!(describe(&third), ["three", ""], "a retry whose first never came");
        let unnamed = say(&engine, &[retry]).await;
        assert_eq!(unnamed.header("x-foxwedge-replayed"), "", "the reply of a named session");
    }
}

#[tokio::test]
async fn the_reply_to_an_unnamed_request_is_never_replayed_to_a_named_one() {
    let engine = engine("").await;
    let retry = ("x-stainless-retry-count", "1");
    let first = say(&engine, &[]).await;
    for header in NAMES {
        for headers in [&[(header, "mine")][..], &[(header, "mine"), retry]] {
            let reply = say(&engine, headers).await;
            assert_eq!(reply.header("x-foxwedge-session"), "mine");
            assert_ne!(reply.header("x-foxwedge-run"), first.header("x-foxwedge-run"));
        }
    }
    let again = say(&engine, &[retry]).await;
    assert_eq!(again.header("x-foxwedge-run"), first.header("x-foxwedge-run"));
}

#[tokio::test]
async fn a_prompt_repeated_on_purpose_gets_a_new_reply_even_under_one_name() {
    let engine = engine("").await;
    for headers in [&[][..], &[("x-session-id", "cron")]] {
        let mut runs = HashSet::new();
        for _ in 0..4 {
            let reply = say(&engine, headers).await;
            assert_eq!(reply.header("x-foxwedge-replayed"), "", "{headers:?}");
            assert!(runs.insert(reply.header("x-foxwedge-run").to_owned()), "{headers:?}");
        }
    }
}

#[tokio::test]
async fn an_unnamed_retry_is_replayed_only_if_a_single_client_can_have_sent_it() {
    let retry = ("x-stainless-retry-count", "1");
    let engine = engine("").await;
    let first = say(&engine, &[]).await;
    assert_eq!(
        say(&engine, &[retry]).await.header("x-foxwedge-run"),
        first.header("x-foxwedge-run")
    );
    // Another client sends the same: now a retry could come from either.
    say(&engine, &[]).await;
    assert_eq!(say(&engine, &[retry]).await.header("x-foxwedge-replayed"), "");
    // An idempotency key identifies the client.
    let (mine, yours) = (("idempotency-key", "mine"), ("idempotency-key", "yours"));
    let one = say(&engine, &[mine]).await;
    let two = say(&engine, &[yours]).await;
    assert_ne!(one.header("x-foxwedge-run"), two.header("x-foxwedge-run"));
    for (key, of) in [(mine, &one), (yours, &two)] {
        let again = say(&engine, &[key]).await;
        assert_eq!(again.header("x-foxwedge-run"), of.header("x-foxwedge-run"));
    }
}

#[tokio::test]
async fn a_reply_that_its_client_continued_from_is_not_replayed_to_another() {
    let engine = engine("").await;
    let first = say(&engine, &[]).await;
    let continued = json!({"model": "scripted", "messages": [
        {"role": "user", "content": "hello there"}, first.json()["choices"][0]["message"],
        {"role": "user", "content": "go on"}]});
    let continued =
        send_request(&engine, build_request(GatewayEndpoint::Chat, continued.to_string(), &[]))
            .await;
    assert_eq!(continued.header("x-foxwedge-match"), "prefix");
    let other = say(&engine, &[("x-stainless-retry-count", "1")]).await;
    assert_eq!(other.header("x-foxwedge-replayed"), "", "its first request never came here");
}

#[tokio::test]
async fn conversations_that_share_a_cache_key_keep_their_own_sessions() {
    let engine = engine("").await;
    let ask = |messages: Value| {
        let body = json!({"model": "scripted", "prompt_cache_key": "app", "messages": messages});
        build_request(GatewayEndpoint::Chat, body.to_string(), &[])
    };
    let user_message = |text: &str| json!({"role": "user", "content": text});
    let one = send_request(&engine, ask(json!([user_message("one")]))).await;
    assert_eq!(one.header("x-foxwedge-session"), "app");
    let two = send_request(&engine, ask(json!([user_message("two")]))).await;
    assert_ne!(two.header("x-foxwedge-session"), "app");
    for (first, reply) in [("one", &one), ("two", &two)] {
        let messages = json!([
            user_message(first),
            reply.json()["choices"][0]["message"],
            user_message("go on")
        ]);
        let continued = send_request(&engine, ask(messages)).await;
        assert_eq!(continued.header("x-foxwedge-session"), reply.header("x-foxwedge-session"));
    }
}

#[tokio::test]
async fn an_invalid_session_name_is_an_error_in_the_clients_format() {
    let engine = engine("").await;
    let bodies = [
        (
            GatewayEndpoint::Chat,
            json!({"model": "scripted", "messages": [{"role": "user", "content": "x"}]}),
        ),
        (GatewayEndpoint::Responses, json!({"model": "scripted", "input": "x"})),
        (
            GatewayEndpoint::Messages,
            json!({"model": "scripted", "max_tokens": 9,
                   "messages": [{"role": "user", "content": "x"}]}),
        ),
    ];
    for (endpoint, body) in bodies {
        for header in NAMES {
            for name in ["../x", "a b", &"x".repeat(200), ""] {
                let reply = send_request(
                    &engine,
                    build_request(endpoint, body.to_string(), &[(header, name)]),
                )
                .await;
                assert_eq!(reply.status, 400, "{header}: {name:?}");
                let error = &reply.json()["error"];
                assert_eq!(error["type"], "invalid_request_error", "{error}");
                let message = error["message"].as_str().expect("words");
                assert!(message.contains(header) && message.contains("128"), "{message}");
            }
        }
    }
}

/// A conversation of a client, as the client sees it.
struct Conversation {
    headers: Vec<(&'static str, String)>,
    messages: Vec<Value>,
    /// The newest request, and the run of its reply.
    last: Option<(Vec<Value>, String)>,
}

impl Conversation {
    fn is_declared(&self) -> bool {
        !self.headers.is_empty()
    }
}

/// Pseudo-random numbers, the same for the same seed.
struct TestRandom(u64);

impl TestRandom {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("small")
    }
}

async fn send(
    engine: &GatewayEngine,
    of: &Conversation,
    messages: &[Value],
    retry: bool,
) -> TestReply {
    let body = json!({
        "model": "scripted", "messages": messages,
        "tools": [{"type": "function",
                   "function": {"name": "look", "parameters": {"type": "object"}}}],
    });
    let mut headers: Vec<(&str, &str)> =
        of.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    if retry {
        headers.push(("x-stainless-retry-count", "1"));
    }
    let reply =
        send_request(engine, build_request(GatewayEndpoint::Chat, body.to_string(), &headers))
            .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}

/// Clients with the same first messages, under different names, the same name or none, take turns.
/// Some requests are retried, marked or not. The test model knows only what each client sent and
/// received.
#[tokio::test]
async fn nothing_of_a_conversation_reaches_another() {
    for seed in 1..=25_u64 {
        let engine = engine("").await;
        let mut random = TestRandom(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut all: Vec<Conversation> = (0..6)
            .map(|at| Conversation {
                headers: match random.below(4) {
                    0 => vec![(NAMES[random.below(4)], format!("name-{at}"))],
                    1 => vec![(NAMES[random.below(4)], "shared".to_owned())],
                    _ => Vec::new(),
                },
                messages: Vec::new(),
                last: None,
            })
            .collect();
        // The client that received each run, and the content of each unnamed session.
        let mut runs: HashMap<String, usize> = HashMap::new();
        let mut histories: HashMap<String, Vec<Value>> = HashMap::new();
        let mut sent: HashMap<String, HashSet<usize>> = HashMap::new();
        for _ in 0..60 {
            let at = random.below(all.len());
            let retry = random.below(3) == 0 && all[at].last.is_some();
            if retry {
                let (messages, run) = all[at].last.clone().expect("it is there");
                let reply = send(&engine, &all[at], &messages, true).await;
                let got = reply.header("x-foxwedge-run").to_owned();
                let owner = *runs.entry(got.clone()).or_insert(at);
                let shares = all[at].headers == all[owner].headers && all[at].is_declared();
                assert!(owner == at || shares, "seed {seed}: {at} got the run of {owner}");
                let alone = sent[&json!(messages).to_string()].len() == 1;
                if all[at].is_declared() && !shared(&all, at) || alone && got == run {
                    assert_eq!(got, run, "seed {seed}: a marked retry gets the same reply");
                }
                if got != run {
                    // It was sent upstream again, so this is the newest reply now.
                    all[at].last = Some((messages, got));
                }
                continue;
            }
            let mut messages = all[at].messages.clone();
            let open: Vec<Value> = messages.last().map_or(Vec::new(), |last| {
                last["tool_calls"].as_array().cloned().unwrap_or_default()
            });
            for call in &open {
                messages.push(json!({"role": "tool", "tool_call_id": call["id"],
                                     "content": format!("result of client {at}")}));
            }
            if open.is_empty() {
                let user_message = ["hello there", r#"call look with {"n":1}"#][random.below(2)];
                messages.push(json!({"role": "user", "content": user_message}));
            }
            let reply = send(&engine, &all[at], &messages, false).await;
            let session = reply.header("x-foxwedge-session").to_owned();
            let run = reply.header("x-foxwedge-run").to_owned();
            assert_eq!(reply.header("x-foxwedge-replayed"), "", "seed {seed}: asked on purpose");
            let reply = reply.json()["choices"][0]["message"].clone();
            let others = reply.to_string();
            for other in (0..all.len()).filter(|other| *other != at) {
                assert!(!others.contains(&format!("client {other}")), "seed {seed}: {others}");
            }
            sent.entry(json!(messages).to_string()).or_default().insert(at);
            match all[at].headers.first() {
                Some((_, name)) if &session == name => {}
                // Of two conversations under one name, one may be a branch.
                named => {
                    let is_shared = named.is_none_or(|(_, name)| name == "shared");
                    assert!(is_shared, "seed {seed}: {session}");
                    assert!(session.starts_with("s-"), "seed {seed}: {session}");
                    let before = histories.entry(session.clone()).or_default();
                    assert!(
                        messages.starts_with(before),
                        "seed {seed}: {session} held another conversation"
                    );
                    *before = messages.clone();
                    before.push(reply.clone());
                    let owner = *runs.entry(run.clone()).or_insert(at);
                    let equal = json!(all[owner].messages) == json!(all[at].messages);
                    assert!(owner == at || equal || !open.is_empty(), "seed {seed}");
                }
            }
            runs.entry(run.clone()).or_insert(at);
            all[at].last = Some((messages.clone(), run));
            messages.push(reply);
            all[at].messages = messages;
        }
    }
}

fn shared(all: &[Conversation], at: usize) -> bool {
    all.iter().filter(|other| other.headers == all[at].headers).count() > 1
}
