//! Tests with shell processes as agents: limits, lookup and eviction.

use std::{io, path::PathBuf};

use serde_json::json;

use super::*;
use crate::{
    BridgeError, RequestTail,
    claude_code::ClaudeCode,
    live::{AgentKind, BodyChunk},
};

const LONG: Duration = Duration::from_secs(30);

fn agent(script: &str, most: usize) -> Arc<AgentConfig> {
    let claude = ClaudeCode {
        state: PathBuf::from("/nowhere"),
        tools: Vec::new(),
        permissions: None,
        bare: true,
        may_ask: false,
    };
    Arc::new(AgentConfig {
        kind: AgentKind::ClaudeCode(claude),
        command: ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec(),
        working_folder: None,
        env: Vec::new(),
        set_env: Vec::new(),
        max_processes: most,
        idle_timeout: LONG,
        start_timeout: LONG,
        turn_timeout: LONG,
    })
}

/// A conversation that needs an agent.
struct StartSpec(AgentSlotOwner, AgentStartRequest);

/// A conversation that needs an agent, and the receiver of its reply.
fn start_spec(agent: &Arc<AgentConfig>, session: &str) -> (StartSpec, mpsc::Receiver<BodyChunk>) {
    let (chunks, replies) = mpsc::channel(8);
    let run: Arc<str> = format!("run of {session}").into();
    let request = AgentRequest { tail: RequestTail::default(), chunks, run, notes: None };
    let owner = AgentSlotOwner {
        upstream: "agents".into(),
        owner: "me".into(),
        session: session.into(),
        setup: 1,
        names: Vec::new(),
    };
    let start = AgentStartRequest {
        agent: agent.clone(),
        body: json!({ "messages": [{ "role": "user", "content": "hello" }] }),
        model: None,
        request,
    };
    (StartSpec(owner, start), replies)
}

impl AgentPool {
    async fn begin(
        &self,
        StartSpec(owner, start): StartSpec,
    ) -> Result<Arc<AgentHandle>, AgentError> {
        let slot = self.reserve(owner, start.agent.max_processes).await?;
        self.start(slot, start)
    }
}

async fn until(mut condition: impl FnMut() -> bool) -> bool {
    for _ in 0..1_000 {
        if condition() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Starts an agent and waits until it has its first request.
async fn start(pool: &AgentPool, spec: StartSpec) -> Result<Arc<AgentHandle>, AgentError> {
    let handle = pool.begin(spec).await?;
    handle.status().run = None;
    assert!(until(|| handle.status().run.is_some()).await);
    Ok(handle)
}

/// Sets the status of an agent without its task.
fn set_status(handle: &AgentHandle, phase: BridgePhase, open: &[&str], tips: &[u128]) {
    let mut status = handle.status();
    status.phase = phase;
    status.open_calls = open.iter().map(|call| (*call).to_owned()).collect();
    status.reply_digests = tips.to_vec();
}

#[tokio::test]
async fn the_limit_holds_and_an_idle_agent_is_evicted() -> Result<(), AgentError> {
    let pool = AgentPool::new(LONG);
    let agent = agent("exec sleep 1000", 2);
    let (one, _one) = start_spec(&agent, "one");
    let (two, _two) = start_spec(&agent, "two");
    let (one, two) = (start(&pool, one).await?, start(&pool, two).await?);
    let (three, _three) = start_spec(&agent, "three");
    assert_eq!(pool.begin(three).await.err(), Some(AgentError::Busy));
    set_status(&two, BridgePhase::Waiting, &["call"], &[]);
    let (three, _three) = start_spec(&agent, "three");
    assert!(pool.begin(three).await.is_err(), "it has not waited long");
    set_status(&one, BridgePhase::Idle, &[], &[]);
    let (three, _three) = start_spec(&agent, "three");
    start(&pool, three).await?;
    assert_eq!(pool.counts(), AgentCounts { processes: 2, waiting: 1, calls: 1, questions: 0 });
    assert!(
        pool.find_by_session("one").is_none()
            && pool.find_by_session("two").is_some()
            && pool.find_by_session("three").is_some()
    );
    pool.drain().await;
    assert_eq!(pool.counts(), AgentCounts::default());
    let (four, _four) = start_spec(&agent, "four");
    assert_eq!(pool.begin(four).await.err(), Some(AgentError::Draining));
    Ok(())
}

#[tokio::test]
async fn an_agent_is_found_by_its_session_its_run_and_its_calls() -> Result<(), AgentError> {
    let pool = AgentPool::new(LONG);
    let agent = agent("exec sleep 1000", 4);
    let (one, _one) = start_spec(&agent, "one");
    let (two, _two) = start_spec(&agent, "two");
    let (one, two) = (start(&pool, one).await?, start(&pool, two).await?);
    set_status(&one, BridgePhase::Waiting, &["a", "b"], &[11]);
    set_status(&two, BridgePhase::Waiting, &["b", "c"], &[21, 22]);
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
    // The named session is preferred, but only if it waits for the call.
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
    let (again, _again) = start_spec(&agent, "two");
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
async fn a_client_that_disconnects_ends_its_agent() -> Result<(), AgentError> {
    let pool = AgentPool::new(LONG);
    let (one, replies) = start_spec(&agent("exec sleep 1000", 1), "one");
    let handle = pool.begin(one).await?;
    drop(replies);
    timeout(LONG, handle.wait_for_exit()).await.expect("it goes");
    assert_eq!(pool.counts(), AgentCounts::default());
    pool.drain().await;
    Ok(())
}

#[tokio::test]
async fn many_clients_at_once_do_not_exceed_the_limit() {
    let pool = AgentPool::new(LONG);
    let agent = agent("trap '' TERM; sleep 1000", 3);
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (spec, replies) = start_spec(&agent, &format!("s{number}"));
        let pool = pool.clone();
        clients.spawn(async move { (pool.begin(spec).await, replies) });
    }
    let (mut started, mut waiting) = (0, Vec::new());
    while let Some(done) = clients.join_next().await {
        let (handle, replies) = done.expect("no panic");
        match handle {
            Ok(_) => started += 1,
            Err(error) => assert_eq!(error, AgentError::Busy),
        }
        waiting.push(replies);
        assert!(pool.counts().processes <= 3);
    }
    assert_eq!(started, 3);
    pool.drain().await;
    assert_eq!(pool.counts(), AgentCounts::default());
}

/// The error that the client of a broken agent gets.
async fn client_error(agent: AgentConfig) -> io::Result<AgentError> {
    let pool = AgentPool::new(LONG);
    let (one, mut replies) = start_spec(&Arc::new(agent), "one");
    let message = match pool.begin(one).await {
        Ok(_) => replies.recv().await,
        Err(error) => Some(BodyChunk::Failed(error)),
    };
    pool.drain().await;
    assert_eq!(pool.counts(), AgentCounts::default());
    match message {
        Some(BodyChunk::Failed(error)) => Ok(error),
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

#[tokio::test]
async fn a_broken_agent_is_reported_to_its_client() -> io::Result<()> {
    let of = |script: &str| AgentConfig::clone(&agent(script, 1));
    let mut missing = of("");
    missing.command = vec!["/nowhere/at/all".to_owned()];
    let error = client_error(missing).await?;
    assert!(matches!(error, AgentError::NotStarted(_)), "{error}");
    let error = client_error(of("echo no key >&2; exit 7")).await?;
    let message = "the agent process ended: exit status: 7: no key".to_owned();
    let expected = BridgeError { status: 502, code: "agent_died", message };
    assert_eq!(error, AgentError::Bridge(expected));
    let mut slow = of("exec sleep 1000");
    slow.start_timeout = Duration::from_millis(20);
    let message = client_error(slow).await?.to_string();
    assert!(message.contains("it was not ready within"), "{message}");
    let mut silent = of("exec sleep 1000");
    silent.turn_timeout = Duration::from_millis(20);
    let message = client_error(silent).await?.to_string();
    assert!(message.contains("it wrote no output for"), "{message}");
    let mut nowhere = of("exec sleep 1000");
    nowhere.working_folder = Some(PathBuf::from("/nowhere"));
    let error = client_error(nowhere).await?;
    assert!(matches!(error, AgentError::NotStarted(_)), "{error}");
    Ok(())
}

/// A request for an agent, and the receiver of its reply.
fn request() -> (AgentRequest, mpsc::Receiver<BodyChunk>) {
    let (chunks, replies) = mpsc::channel(8);
    (AgentRequest { tail: RequestTail::default(), chunks, run: "run".into(), notes: None }, replies)
}

/// A handle without an agent, and the receiver of its commands.
fn handle() -> (Arc<AgentHandle>, mpsc::Receiver<LiveAgentCommand>) {
    let (sender, commands) = mpsc::channel(COMMAND_QUEUE);
    let text = Arc::<str>::from;
    let handle = AgentHandle::new(text("s"), text("me"), text("agents"), 1, Vec::new(), sender);
    (Arc::new(handle), commands)
}

/// Shows why waiting for a channel alone is not enough: a message that is sent after the receiver
/// was dropped is neither read nor dropped while a sender exists.
#[tokio::test]
async fn a_channel_keeps_what_is_sent_while_its_receiver_is_dropped() {
    let (sender, receiver) = mpsc::channel(1);
    let (done, mut receiver_done) = tokio::sync::oneshot::channel::<()>();
    let room = sender.reserve().await.expect("room");
    drop(receiver);
    room.send(done);
    assert_eq!(receiver_done.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Empty));
    drop(sender);
    assert_eq!(receiver_done.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Closed));
}

/// The commands are no longer read but still queued. This happens when a request is sent while the
/// agent's task ends.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_read_ends_with_the_agents_task() {
    let (handle, _commands) = handle();
    let ending = {
        let handle = handle.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            handle.mark_exited();
        })
    };
    let (request, mut replies) = request();
    let everything = async {
        let decision = PermissionDecision::Allow { input: None };
        tokio::join!(
            handle.send_request(request, &mut replies),
            handle.check(RequestTail::default()),
            handle.decide("ticket".to_owned(), decision),
        )
    };
    let (chunk, check, decided) = timeout(LONG, everything).await.expect("an end");
    assert!(chunk.is_none() && check.is_none() && !decided);
    ending.await.expect("no panic");
    // Later requests do not wait either, even if the queue is full.
    for _ in 0..2 * COMMAND_QUEUE {
        let (request, mut replies) = self::request();
        let chunk =
            timeout(LONG, handle.send_request(request, &mut replies)).await.expect("an end");
        assert!(chunk.is_none());
    }
}

/// A request may race with the end of its agent; it must always end.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_request_that_meets_the_end_of_an_agent_ends() {
    for _ in 0..2_000 {
        let (handle, mut commands) = handle();
        let owner = {
            let handle = handle.clone();
            tokio::spawn(async move {
                // Replies to the first request, if there is one, and exits.
                if let Ok(LiveAgentCommand::Request(request)) = commands.try_recv() {
                    let _ = request.chunks.send(BodyChunk::Last(bytes::Bytes::new())).await;
                }
                drop(commands);
                handle.mark_exited();
            })
        };
        let (request, mut replies) = request();
        let ended = timeout(LONG, handle.send_request(request, &mut replies)).await;
        assert!(matches!(ended, Ok(None | Some(BodyChunk::Last(_)))), "{ended:?}");
        owner.await.expect("no panic");
    }
}

/// Dropping a slot frees it, and no agent was evicted for it.
#[tokio::test]
async fn dropping_a_slot_changes_nothing() -> Result<(), AgentError> {
    let pool = AgentPool::new(LONG);
    let agent = agent("exec sleep 1000", 2);
    let (one, _one) = start_spec(&agent, "one");
    let one = start(&pool, one).await?;
    set_status(&one, BridgePhase::Waiting, &["call"], &[7]);
    let (StartSpec(again, _), _again) = start_spec(&agent, "one");
    let slot = pool.reserve(again, 2).await?;
    let (two, _two) = start_spec(&agent, "two");
    assert_eq!(pool.begin(two).await.err(), Some(AgentError::Busy));
    drop(slot);
    assert_eq!(pool.counts(), AgentCounts { processes: 1, waiting: 1, calls: 1, questions: 0 });
    assert!(pool.find_by_session("one").is_some_and(|found| Arc::ptr_eq(&found, &one)));
    pool.drain().await;
    Ok(())
}
