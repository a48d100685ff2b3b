//! Agents that are only children of the shell: whether there is room, who is found, who goes.

use std::{io, path::PathBuf};

use foxwedge_agent::{Tail, claude_code::ClaudeCode};
use serde_json::json;

use super::*;
use crate::{config::AgentKind, http::Piece};

const LONG: Duration = Duration::from_secs(30);

fn agent(script: &str, most: usize) -> Arc<config::Agent> {
    let claude = ClaudeCode {
        state: PathBuf::from("/nowhere"),
        tools: Vec::new(),
        permissions: None,
        bare: true,
        asks: false,
    };
    Arc::new(config::Agent {
        kind: AgentKind::ClaudeCode(claude),
        command: ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec(),
        folder: None,
        env: Vec::new(),
        set: Vec::new(),
        most,
        idle: LONG,
        start: LONG,
        turn: LONG,
    })
}

/// A conversation, and where its reply comes.
fn birth(agent: &Arc<config::Agent>, session: &str) -> (Birth, mpsc::Receiver<Piece>) {
    let (pieces, replies) = mpsc::channel(8);
    let run: Arc<str> = format!("run of {session}").into();
    let asking = Asking { tail: Tail::default(), pieces, run, side: None };
    let birth = Birth {
        agent: agent.clone(),
        upstream: "agents".into(),
        owner: "me".into(),
        session: session.into(),
        setup: 1,
        names: Vec::new(),
        body: json!({ "messages": [{ "role": "user", "content": "hello" }] }),
        model: None,
        asking,
    };
    (birth, replies)
}

async fn until(mut is_so: impl FnMut() -> bool) -> bool {
    for _ in 0..1_000 {
        if is_so() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Starts one, and waits until it has heard who asks.
async fn start(pool: &Pool, birth: Birth) -> Result<Arc<Handle>, Fault> {
    let handle = pool.start(birth).await?;
    handle.shown().run = None;
    assert!(until(|| handle.shown().run.is_some()).await);
    Ok(handle)
}

/// As if the agent had come to that, and its task did not know.
fn pretend(handle: &Handle, phase: Phase, open: &[&str], tips: &[u128]) {
    let mut shown = handle.shown();
    shown.phase = phase;
    shown.open = open.iter().map(|call| (*call).to_owned()).collect();
    shown.tips = tips.to_vec();
}

#[tokio::test]
async fn no_more_live_than_may_and_one_that_rests_makes_room() -> Result<(), Fault> {
    let pool = Pool::new(LONG);
    let agent = agent("exec sleep 1000", 2);
    let (one, _one) = birth(&agent, "one");
    let (two, _two) = birth(&agent, "two");
    let (one, two) = (start(&pool, one).await?, start(&pool, two).await?);
    let (three, _three) = birth(&agent, "three");
    let refused = pool.start(three).await.err().map(|fault| (fault.code, fault.retry_after));
    assert_eq!(refused, Some(("agents_busy", Some(5))));
    pretend(&two, Phase::Waiting, &["call"], &[]);
    let (three, _three) = birth(&agent, "three");
    assert!(pool.start(three).await.is_err(), "it has not waited long");
    pretend(&one, Phase::Idle, &[], &[]);
    let (three, _three) = birth(&agent, "three");
    start(&pool, three).await?;
    assert_eq!(pool.counts(), Counts { processes: 2, waiting: 1, calls: 1, questions: 0 });
    assert!(pool.of("one").is_none() && pool.of("two").is_some() && pool.of("three").is_some());
    pool.drain().await;
    assert_eq!(pool.counts(), Counts::default());
    let (four, _four) = birth(&agent, "four");
    assert_eq!(pool.start(four).await.err().map(|fault| fault.code), Some("draining"));
    Ok(())
}

#[tokio::test]
async fn an_agent_is_found_by_its_session_its_run_and_its_calls() -> Result<(), Fault> {
    let pool = Pool::new(LONG);
    let agent = agent("exec sleep 1000", 4);
    let (one, _one) = birth(&agent, "one");
    let (two, _two) = birth(&agent, "two");
    let (one, two) = (start(&pool, one).await?, start(&pool, two).await?);
    pretend(&one, Phase::Waiting, &["a", "b"], &[11]);
    pretend(&two, Phase::Waiting, &["b", "c"], &[21, 22]);
    let found = |owner: &str, answers: &[&str], chain: &[u128]| {
        let answers: Vec<Arc<str>> = answers.iter().map(|it| Arc::from(*it)).collect();
        pool.wanting(owner, &answers, chain, |_, _| true).map(|handle| handle.session.to_string())
    };
    type Row<'r> = (&'r str, &'r [&'r str], &'r [u128], Option<&'r str>);
    let table: [Row<'_>; 8] = [
        ("me", &["a"], &[1, 2], Some("one")),
        ("me", &["x", "c"], &[], Some("two")),
        ("me", &["b"], &[11, 5], Some("one")),
        ("me", &["b"], &[1, 22, 5], Some("two")),
        ("me", &["b"], &[11, 21, 5], Some("two")),
        ("me", &["x"], &[11], None),
        ("me", &[], &[11], None),
        ("you", &["a"], &[11], None),
    ];
    for (owner, answers, chain, expected) in table {
        assert_eq!(found(owner, answers, chain).as_deref(), expected, "{answers:?} {chain:?}");
    }
    assert_eq!(one.seen(&[3, 11, 11, 4]), Some(3));
    assert_eq!(one.seen(&[3, 4]), None);
    assert_eq!(pool.questions("run of one"), Some(Vec::new()));
    assert_eq!(pool.questions("run of nobody"), None);
    pool.end("run of one");
    assert!(pool.of("one").is_none());
    assert!(pool.wanting("me", &["a".into()], &[11], |_, _| true).is_none());
    let (again, _again) = birth(&agent, "two");
    let again = start(&pool, again).await?;
    assert!(!Arc::ptr_eq(&again, &two));
    timeout(LONG, async { tokio::join!(one.wait(), two.wait()) }).await.expect("they go");
    assert_eq!(pool.counts().processes, 1);
    pool.drain().await;
    Ok(())
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_agent() -> Result<(), Fault> {
    let pool = Pool::new(LONG);
    let (one, replies) = birth(&agent("exec sleep 1000", 1), "one");
    let handle = pool.start(one).await?;
    drop(replies);
    timeout(LONG, handle.wait()).await.expect("it goes");
    assert_eq!(pool.counts(), Counts::default());
    pool.drain().await;
    Ok(())
}

#[tokio::test]
async fn a_crowd_gets_no_more_than_there_may_be() {
    let pool = Pool::new(LONG);
    let agent = agent("trap '' TERM; sleep 1000", 3);
    let mut crowd = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (birth, replies) = birth(&agent, &format!("s{number}"));
        let pool = pool.clone();
        crowd.spawn(async move { (pool.start(birth).await.map_err(|fault| fault.code), replies) });
    }
    let (mut started, mut waiting) = (0, Vec::new());
    while let Some(done) = crowd.join_next().await {
        let (handle, replies) = done.expect("no panic");
        match handle {
            Ok(_) => started += 1,
            Err(code) => assert_eq!(code, "agents_busy"),
        }
        waiting.push(replies);
        assert!(pool.counts().processes <= 3);
    }
    assert_eq!(started, 3);
    pool.drain().await;
    assert_eq!(pool.counts(), Counts::default());
}

/// What a client hears of an agent that is no good.
async fn hears(agent: config::Agent) -> io::Result<String> {
    let pool = Pool::new(LONG);
    let (one, mut replies) = birth(&Arc::new(agent), "one");
    let told = match pool.start(one).await {
        Ok(_) => replies.recv().await,
        Err(fault) => Some(Piece::Failed(fault)),
    };
    pool.drain().await;
    assert_eq!(pool.counts(), Counts::default());
    match told {
        Some(Piece::Failed(fault)) => {
            Ok(format!("{} {}: {}", fault.status().as_u16(), fault.code, fault.message))
        }
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

#[tokio::test]
async fn an_agent_that_is_no_good_is_told_in_words() -> io::Result<()> {
    let of = |script: &str| config::Agent::clone(&agent(script, 1));
    let mut missing = of("");
    missing.command = vec!["/nowhere/at/all".to_owned()];
    let told = hears(missing).await?;
    assert!(told.starts_with("502 agent_unavailable: the agent cannot be started"), "{told}");
    let told = hears(of("echo no key >&2; exit 7")).await?;
    let expected = "502 agent_died: the agent is gone: it ended with exit status: 7: no key";
    assert_eq!(told, expected);
    let mut slow = of("exec sleep 1000");
    slow.start = Duration::from_millis(20);
    let told = hears(slow).await?;
    assert!(told.contains("it was not ready in time"), "{told}");
    let mut still = of("exec sleep 1000");
    still.turn = Duration::from_millis(20);
    let told = hears(still).await?;
    assert!(told.contains("it gave no sign of life"), "{told}");
    let mut nowhere = of("exec sleep 1000");
    nowhere.folder = Some(PathBuf::from("/nowhere"));
    let told = hears(nowhere).await?;
    assert!(told.starts_with("502 agent_unavailable"), "{told}");
    Ok(())
}
