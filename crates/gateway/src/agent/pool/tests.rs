//! Agents that are only children of the shell: whether there is room, who is found, who goes.

use std::{io, path::PathBuf};

use foxwedge_agent::{RequestTail, claude_code::ClaudeCode};
use serde_json::json;

use super::*;
use crate::agent::BodyChunk;
use crate::config::AgentKind;

const LONG: Duration = Duration::from_secs(30);

fn agent(script: &str, most: usize) -> Arc<config::AgentConfig> {
    let claude = ClaudeCode {
        state: PathBuf::from("/nowhere"),
        tools: Vec::new(),
        permissions: None,
        bare: true,
        may_ask: false,
    };
    Arc::new(config::AgentConfig {
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

/// A conversation that needs an agent.
struct Needed(AgentSlotOwner, AgentStartRequest);

/// A conversation, and where its reply comes.
fn birth(agent: &Arc<config::AgentConfig>, session: &str) -> (Needed, mpsc::Receiver<BodyChunk>) {
    let (pieces, replies) = mpsc::channel(8);
    let run: Arc<str> = format!("run of {session}").into();
    let asking = AgentRequest { tail: RequestTail::default(), chunks: pieces, run, side: None };
    let owner = AgentSlotOwner {
        upstream: "agents".into(),
        owner: "me".into(),
        session: session.into(),
        setup: 1,
        names: Vec::new(),
    };
    let birth = AgentStartRequest {
        agent: agent.clone(),
        body: json!({ "messages": [{ "role": "user", "content": "hello" }] }),
        model: None,
        asking,
    };
    (Needed(owner, birth), replies)
}

impl AgentPool {
    async fn begin(&self, Needed(owner, birth): Needed) -> Result<Arc<AgentHandle>, ApiError> {
        let seat = self.reserve(owner, birth.agent.most).await?;
        self.start(seat, birth)
    }
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
async fn start(pool: &AgentPool, birth: Needed) -> Result<Arc<AgentHandle>, ApiError> {
    let handle = pool.begin(birth).await?;
    handle.status().run = None;
    assert!(until(|| handle.status().run.is_some()).await);
    Ok(handle)
}

/// As if the agent had come to that, and its task did not know.
fn pretend(handle: &AgentHandle, phase: BridgePhase, open: &[&str], tips: &[u128]) {
    let mut shown = handle.status();
    shown.phase = phase;
    shown.open_calls = open.iter().map(|call| (*call).to_owned()).collect();
    shown.reply_digests = tips.to_vec();
}

#[tokio::test]
async fn no_more_live_than_may_and_one_that_rests_makes_room() -> Result<(), ApiError> {
    let pool = AgentPool::new(LONG);
    let agent = agent("exec sleep 1000", 2);
    let (one, _one) = birth(&agent, "one");
    let (two, _two) = birth(&agent, "two");
    let (one, two) = (start(&pool, one).await?, start(&pool, two).await?);
    let (three, _three) = birth(&agent, "three");
    let refused = pool.begin(three).await.err().map(|fault| (fault.code, fault.retry_after));
    assert_eq!(refused, Some(("agents_busy", Some(5))));
    pretend(&two, BridgePhase::Waiting, &["call"], &[]);
    let (three, _three) = birth(&agent, "three");
    assert!(pool.begin(three).await.is_err(), "it has not waited long");
    pretend(&one, BridgePhase::Idle, &[], &[]);
    let (three, _three) = birth(&agent, "three");
    start(&pool, three).await?;
    assert_eq!(pool.counts(), AgentCounts { processes: 2, waiting: 1, calls: 1, questions: 0 });
    assert!(
        pool.find_by_session("one").is_none()
            && pool.find_by_session("two").is_some()
            && pool.find_by_session("three").is_some()
    );
    pool.drain().await;
    assert_eq!(pool.counts(), AgentCounts::default());
    let (four, _four) = birth(&agent, "four");
    assert_eq!(pool.begin(four).await.err().map(|fault| fault.code), Some("draining"));
    Ok(())
}

#[tokio::test]
async fn an_agent_is_found_by_its_session_its_run_and_its_calls() -> Result<(), ApiError> {
    let pool = AgentPool::new(LONG);
    let agent = agent("exec sleep 1000", 4);
    let (one, _one) = birth(&agent, "one");
    let (two, _two) = birth(&agent, "two");
    let (one, two) = (start(&pool, one).await?, start(&pool, two).await?);
    pretend(&one, BridgePhase::Waiting, &["a", "b"], &[11]);
    pretend(&two, BridgePhase::Waiting, &["b", "c"], &[21, 22]);
    let found = |owner: &str, answers: &[&str], chain: &[u128]| {
        let answers: Vec<Arc<str>> = answers.iter().map(|it| Arc::from(*it)).collect();
        pool.find_waiting(owner, &answers, chain, None, |_, _| true)
            .map(|handle| handle.session.to_string())
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
    // A name goes before the conversation, and before nobody else's calls.
    let named = |call: &str, name: &str| {
        let found = pool.find_waiting("me", &[call.into()], &[1, 22, 5], Some(name), |_, _| true);
        found.map(|handle| handle.session.to_string())
    };
    assert_eq!(named("b", "one").as_deref(), Some("one"));
    assert_eq!(named("a", "two").as_deref(), Some("one"));
    assert_eq!(one.known_messages(&[3, 11, 11, 4]), Some(3));
    assert_eq!(one.known_messages(&[3, 4]), None);
    assert_eq!(pool.questions("run of one"), Some(Vec::new()));
    assert_eq!(pool.questions("run of nobody"), None);
    pool.stop_run("run of one");
    assert!(pool.find_by_session("one").is_none());
    assert!(pool.find_waiting("me", &["a".into()], &[11], None, |_, _| true).is_none());
    let (again, _again) = birth(&agent, "two");
    let again = start(&pool, again).await?;
    assert!(!Arc::ptr_eq(&again, &two));
    timeout(LONG, async { tokio::join!(one.wait_for_exit(), two.wait_for_exit()) })
        .await
        .expect("they go");
    assert_eq!(pool.counts().processes, 1);
    pool.drain().await;
    Ok(())
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_agent() -> Result<(), ApiError> {
    let pool = AgentPool::new(LONG);
    let (one, replies) = birth(&agent("exec sleep 1000", 1), "one");
    let handle = pool.begin(one).await?;
    drop(replies);
    timeout(LONG, handle.wait_for_exit()).await.expect("it goes");
    assert_eq!(pool.counts(), AgentCounts::default());
    pool.drain().await;
    Ok(())
}

#[tokio::test]
async fn a_crowd_gets_no_more_than_there_may_be() {
    let pool = AgentPool::new(LONG);
    let agent = agent("trap '' TERM; sleep 1000", 3);
    let mut crowd = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (birth, replies) = birth(&agent, &format!("s{number}"));
        let pool = pool.clone();
        crowd.spawn(async move { (pool.begin(birth).await.map_err(|fault| fault.code), replies) });
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
    assert_eq!(pool.counts(), AgentCounts::default());
}

/// What a client hears of an agent that is no good.
async fn hears(agent: config::AgentConfig) -> io::Result<String> {
    let pool = AgentPool::new(LONG);
    let (one, mut replies) = birth(&Arc::new(agent), "one");
    let told = match pool.begin(one).await {
        Ok(_) => replies.recv().await,
        Err(fault) => Some(BodyChunk::Failed(fault)),
    };
    pool.drain().await;
    assert_eq!(pool.counts(), AgentCounts::default());
    match told {
        Some(BodyChunk::Failed(fault)) => {
            Ok(format!("{} {}: {}", fault.status().as_u16(), fault.code, fault.message))
        }
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

#[tokio::test]
async fn an_agent_that_is_no_good_is_told_in_words() -> io::Result<()> {
    let of = |script: &str| config::AgentConfig::clone(&agent(script, 1));
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

/// A request for an agent, and where its reply comes.
fn asking() -> (AgentRequest, mpsc::Receiver<BodyChunk>) {
    let (pieces, replies) = mpsc::channel(8);
    (
        AgentRequest {
            tail: RequestTail::default(),
            chunks: pieces,
            run: "run".into(),
            side: None,
        },
        replies,
    )
}

/// A handle without an agent, and the end at which its commands come out.
fn handle() -> (Arc<AgentHandle>, mpsc::Receiver<LiveAgentCommand>) {
    let (sender, commands) = mpsc::channel(COMMAND_QUEUE);
    let text = Arc::<str>::from;
    let handle = AgentHandle::new(text("s"), text("me"), text("agents"), 1, Vec::new(), sender);
    (Arc::new(handle), commands)
}

/// Why nobody may wait for a channel alone: room was there, then nobody who reads, then a message.
/// It is neither read nor dropped for as long as anybody could send another.
#[tokio::test]
async fn a_channel_keeps_what_is_sent_while_its_receiver_is_dropped() {
    let (sender, receiver) = mpsc::channel(1);
    let (done, mut answered) = tokio::sync::oneshot::channel::<()>();
    let room = sender.reserve().await.expect("room");
    drop(receiver);
    room.send(done);
    assert_eq!(answered.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Empty));
    drop(sender);
    assert_eq!(answered.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Closed));
}

/// Nobody reads the commands any more, and they are still there: so it is when a request is sent
/// while the task that reads them ends.
#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_takes_out_ends_with_the_task_of_the_agent() {
    let (handle, _commands) = handle();
    let ending = {
        let handle = handle.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            handle.mark_exited();
        })
    };
    let (asking, mut replies) = asking();
    let everything = async {
        let decision = PermissionDecision::Allow { input: None };
        tokio::join!(
            handle.send_request(asking, &mut replies),
            handle.check(RequestTail::default()),
            handle.decide("ticket".to_owned(), decision),
        )
    };
    let (piece, check, decided) = timeout(LONG, everything).await.expect("an end");
    assert!(piece.is_none() && check.is_none() && !decided);
    ending.await.expect("no panic");
    // Whoever comes later is not kept waiting, either, and full queues keep nobody.
    for _ in 0..2 * COMMAND_QUEUE {
        let (asking, mut replies) = self::asking();
        let piece = timeout(LONG, handle.send_request(asking, &mut replies)).await.expect("an end");
        assert!(piece.is_none());
    }
}

/// The end of an agent and a request meet at any time: the request has an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_request_that_meets_the_end_of_an_agent_ends() {
    for _ in 0..2_000 {
        let (handle, mut commands) = handle();
        let owner = {
            let handle = handle.clone();
            tokio::spawn(async move {
                // It answers the first, if that is there, and is gone.
                if let Ok(LiveAgentCommand::Request(asking)) = commands.try_recv() {
                    let _ = asking.chunks.send(BodyChunk::Last(bytes::Bytes::new())).await;
                }
                drop(commands);
                handle.mark_exited();
            })
        };
        let (asking, mut replies) = asking();
        let ended = timeout(LONG, handle.send_request(asking, &mut replies)).await;
        assert!(matches!(ended, Ok(None | Some(BodyChunk::Last(_)))), "{ended:?}");
        owner.await.expect("no panic");
    }
}

/// A place that nobody uses is free again, and nobody had to go for it.
#[tokio::test]
async fn a_place_that_is_given_back_changes_nothing() -> Result<(), ApiError> {
    let pool = AgentPool::new(LONG);
    let agent = agent("exec sleep 1000", 2);
    let (one, _one) = birth(&agent, "one");
    let one = start(&pool, one).await?;
    pretend(&one, BridgePhase::Waiting, &["call"], &[7]);
    let (Needed(again, _), _again) = birth(&agent, "one");
    let seat = pool.reserve(again, 2).await?;
    let (two, _two) = birth(&agent, "two");
    assert_eq!(pool.begin(two).await.err().map(|fault| fault.code), Some("agents_busy"));
    drop(seat);
    assert_eq!(pool.counts(), AgentCounts { processes: 1, waiting: 1, calls: 1, questions: 0 });
    assert!(pool.find_by_session("one").is_some_and(|found| Arc::ptr_eq(&found, &one)));
    pool.drain().await;
    Ok(())
}
