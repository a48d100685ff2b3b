//! Conversations stay apart: nothing of one ever reaches another, however alike they are.

use std::collections::{HashMap, HashSet};

use foxwedge_gateway::{GatewayEndpoint, GatewayEngine};
use serde_json::{Value, json};

use crate::stand::{Heard, asked, engine, hear};

/// All headers that name a session.
const NAMES: [&str; 4] =
    ["x-foxwedge-session", "x-session-id", "x-session-affinity", "x-opencode-session"];

fn hello() -> String {
    json!({"model": "scripted", "messages": [{"role": "user", "content": "hello there"}]})
        .to_string()
}

async fn say(engine: &GatewayEngine, headers: &[(&str, &str)]) -> Heard {
    let heard = hear(engine, asked(GatewayEndpoint::Chat, hello(), headers)).await;
    assert_eq!(heard.status, 200, "{}", heard.body);
    heard
}

#[tokio::test]
async fn two_sessions_with_equal_first_requests_stay_apart() {
    for header in NAMES {
        let engine = engine("").await;
        let one = say(&engine, &[(header, "one")]).await;
        let two = say(&engine, &[(header, "two")]).await;
        let told = |heard: &Heard| {
            ["x-foxwedge-session", "x-foxwedge-replayed"].map(|name| heard.header(name).to_owned())
        };
        assert_eq!(told(&one), ["one", ""], "{header}");
        assert_eq!(told(&two), ["two", ""], "{header}");
        assert_ne!(one.header("x-foxwedge-run"), two.header("x-foxwedge-run"));
        // Marked as retries, each gets its own reply; nobody gets that of another.
        let retry = ("x-stainless-retry-count", "1");
        let again = say(&engine, &[(header, "one"), retry]).await;
        assert_eq!(told(&again), ["one", "true"]);
        assert_eq!(again.header("x-foxwedge-run"), one.header("x-foxwedge-run"));
        let third = say(&engine, &[(header, "three"), retry]).await;
        assert_eq!(told(&third), ["three", ""], "a retry whose first never came");
        let unnamed = say(&engine, &[retry]).await;
        assert_eq!(unnamed.header("x-foxwedge-replayed"), "", "the reply of a named session");
    }
}

#[tokio::test]
async fn the_reply_to_an_unnamed_request_is_never_given_to_a_named_one() {
    let engine = engine("").await;
    let retry = ("x-stainless-retry-count", "1");
    let first = say(&engine, &[]).await;
    for header in NAMES {
        for headers in [&[(header, "mine")][..], &[(header, "mine"), retry]] {
            let heard = say(&engine, headers).await;
            assert_eq!(heard.header("x-foxwedge-session"), "mine");
            assert_ne!(heard.header("x-foxwedge-run"), first.header("x-foxwedge-run"));
        }
    }
    let again = say(&engine, &[retry]).await;
    assert_eq!(again.header("x-foxwedge-run"), first.header("x-foxwedge-run"));
}

#[tokio::test]
async fn a_prompt_that_is_repeated_on_purpose_gets_a_fresh_reply_also_under_one_name() {
    let engine = engine("").await;
    for headers in [&[][..], &[("x-session-id", "cron")]] {
        let mut runs = HashSet::new();
        for _ in 0..4 {
            let heard = say(&engine, headers).await;
            assert_eq!(heard.header("x-foxwedge-replayed"), "", "{headers:?}");
            assert!(runs.insert(heard.header("x-foxwedge-run").to_owned()), "{headers:?}");
        }
    }
}

#[tokio::test]
async fn a_retry_without_a_name_is_answered_from_memory_only_if_one_client_can_have_sent_it() {
    let retry = ("x-stainless-retry-count", "1");
    let engine = engine("").await;
    let first = say(&engine, &[]).await;
    assert_eq!(
        say(&engine, &[retry]).await.header("x-foxwedge-run"),
        first.header("x-foxwedge-run")
    );
    // Another client says the same: nobody can tell any more whose retry comes.
    say(&engine, &[]).await;
    assert_eq!(say(&engine, &[retry]).await.header("x-foxwedge-replayed"), "");
    // A key says whose it is.
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
async fn a_reply_that_its_client_went_on_from_is_not_given_to_another() {
    let engine = engine("").await;
    let first = say(&engine, &[]).await;
    let on = json!({"model": "scripted", "messages": [
        {"role": "user", "content": "hello there"}, first.json()["choices"][0]["message"],
        {"role": "user", "content": "go on"}]});
    let on = hear(&engine, asked(GatewayEndpoint::Chat, on.to_string(), &[])).await;
    assert_eq!(on.header("x-foxwedge-match"), "prefix");
    let other = say(&engine, &[("x-stainless-retry-count", "1")]).await;
    assert_eq!(other.header("x-foxwedge-replayed"), "", "its first request never came here");
}

#[tokio::test]
async fn conversations_that_share_a_cache_key_keep_their_own_sessions() {
    let engine = engine("").await;
    let ask = |messages: Value| {
        let body = json!({"model": "scripted", "prompt_cache_key": "app", "messages": messages});
        asked(GatewayEndpoint::Chat, body.to_string(), &[])
    };
    let words = |text: &str| json!({"role": "user", "content": text});
    let one = hear(&engine, ask(json!([words("one")]))).await;
    assert_eq!(one.header("x-foxwedge-session"), "app");
    let two = hear(&engine, ask(json!([words("two")]))).await;
    assert_ne!(two.header("x-foxwedge-session"), "app");
    for (first, heard) in [("one", &one), ("two", &two)] {
        let messages = json!([words(first), heard.json()["choices"][0]["message"], words("go on")]);
        let on = hear(&engine, ask(messages)).await;
        assert_eq!(on.header("x-foxwedge-session"), heard.header("x-foxwedge-session"));
    }
}

#[tokio::test]
async fn a_name_that_does_not_fit_is_an_error_in_the_clients_form() {
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
    for (face, body) in bodies {
        for header in NAMES {
            for name in ["../x", "a b", &"x".repeat(200), ""] {
                let heard = hear(&engine, asked(face, body.to_string(), &[(header, name)])).await;
                assert_eq!(heard.status, 400, "{header}: {name:?}");
                let error = &heard.json()["error"];
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

/// Numbers that look like chance, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).expect("small")
    }
}

async fn send(engine: &GatewayEngine, of: &Conversation, messages: &[Value], retry: bool) -> Heard {
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
    let heard = hear(engine, asked(GatewayEndpoint::Chat, body.to_string(), &headers)).await;
    assert_eq!(heard.status, 200, "{}", heard.body);
    heard
}

/// Clients that begin alike, under other names, the same name and none, take turns; some requests are
/// retried, marked and not. The model of the law knows nothing but what each client sent and heard.
#[tokio::test]
async fn nothing_of_a_conversation_reaches_another() {
    for seed in 1..=25_u64 {
        let engine = engine("").await;
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut all: Vec<Conversation> = (0..6)
            .map(|at| Conversation {
                headers: match dice.roll(4) {
                    0 => vec![(NAMES[dice.roll(4)], format!("name-{at}"))],
                    1 => vec![(NAMES[dice.roll(4)], "shared".to_owned())],
                    _ => Vec::new(),
                },
                messages: Vec::new(),
                last: None,
            })
            .collect();
        // Who was given a run, and what a session holds, without a name.
        let mut runs: HashMap<String, usize> = HashMap::new();
        let mut histories: HashMap<String, Vec<Value>> = HashMap::new();
        let mut sent: HashMap<String, HashSet<usize>> = HashMap::new();
        for _ in 0..60 {
            let at = dice.roll(all.len());
            let retry = dice.roll(3) == 0 && all[at].last.is_some();
            if retry {
                let (messages, run) = all[at].last.clone().expect("it is there");
                let heard = send(&engine, &all[at], &messages, true).await;
                let got = heard.header("x-foxwedge-run").to_owned();
                let owner = *runs.entry(got.clone()).or_insert(at);
                let shares = all[at].headers == all[owner].headers && all[at].is_declared();
                assert!(owner == at || shares, "seed {seed}: {at} got the run of {owner}");
                let alone = sent[&json!(messages).to_string()].len() == 1;
                if all[at].is_declared() && !shared(&all, at) || alone && got == run {
                    assert_eq!(got, run, "seed {seed}: a marked retry gets the same reply");
                }
                if got != run {
                    // It was asked anew: that is the newest reply now.
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
                let words = ["hello there", r#"call look with {"n":1}"#][dice.roll(2)];
                messages.push(json!({"role": "user", "content": words}));
            }
            let heard = send(&engine, &all[at], &messages, false).await;
            let session = heard.header("x-foxwedge-session").to_owned();
            let run = heard.header("x-foxwedge-run").to_owned();
            assert_eq!(heard.header("x-foxwedge-replayed"), "", "seed {seed}: asked on purpose");
            let reply = heard.json()["choices"][0]["message"].clone();
            let others = reply.to_string();
            for other in (0..all.len()).filter(|other| *other != at) {
                assert!(!others.contains(&format!("client {other}")), "seed {seed}: {others}");
            }
            sent.entry(json!(messages).to_string()).or_default().insert(at);
            match all[at].headers.first() {
                Some((_, name)) => assert_eq!(&session, name, "seed {seed}"),
                None => {
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
