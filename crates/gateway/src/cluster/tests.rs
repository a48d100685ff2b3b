mod contents;
mod forwarding;
#[cfg(unix)]
mod outage;
mod without_store;

use foxwedge_store::StoreUrl;

use super::*;
use crate::{
    config::{RecordConfig, SessionConfig},
    metrics::Metrics,
    session::{
        CachedReply, ConversationTraits, RequestOrigin, RetryMark, SessionMatchKind,
        SessionSelector,
    },
};

async fn store() -> Arc<AnyStore> {
    Arc::new(AnyStore::open(&StoreUrl::Memory).await.expect("a store"))
}

async fn join(store: &Arc<AnyStore>, node: &str) -> GatewayCluster {
    join_advertised(store, node, None).await
}

async fn join_advertised(
    store: &Arc<AnyStore>,
    node: &str,
    advertised: Option<String>,
) -> GatewayCluster {
    let (records, config, metrics) =
        (RecordConfig::default(), SessionConfig::default(), Metrics::new());
    let started =
        GatewayRecorder::start_as(node.to_owned(), store.clone(), records, config, metrics);
    let (recorder, _) = started.await.expect("a recorder");
    let agents = AgentPool::new(config.call_timeout);
    let sessions = SessionIndex::new(config);
    let (store, node) = (store.clone(), node.to_owned());
    let joined = GatewayCluster::join(store, node, sessions, recorder, agents, advertised);
    joined.await.expect("a node")
}

fn chain(digests: &[u128]) -> SessionQuery<'_> {
    SessionQuery {
        owner: "local",
        selector: SessionSelector::None,
        chain: digests,
        traits: ConversationTraits::default(),
        scope: 0,
        fingerprint: digests.iter().sum(),
        retry_mark: RetryMark::First,
        origin: RequestOrigin::Anonymous,
    }
}

async fn acquire(node: &GatewayCluster, query: SessionQuery<'_>) -> SessionGuard {
    match node.claim(query, true, &[]).await.expect("an answer") {
        SessionMatch::Acquired(guard) => guard,
        other => panic!("not acquired: {other:?}"),
    }
}

async fn kill(node: &GatewayCluster) {
    let tasks = lock(&node.tasks).take();
    tasks.into_iter().for_each(|(beats, publisher)| {
        beats.abort();
        publisher.abort();
    });
    node.shared.beat(0).await.expect("written");
}

fn cached_reply() -> CachedReply {
    let (status, headers) = (http::StatusCode::OK, Box::default());
    CachedReply { status, headers, body: "words".into() }
}

#[tokio::test]
async fn a_conversation_goes_on_at_another_node() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    let mut first = acquire(&one, chain(&[1, 2])).await;
    assert_eq!(first.match_kind(), SessionMatchKind::New);
    first.commit_reply(3, &[], None, None);
    let id = first.session().clone();
    // The next request may come before the session is released.
    let (mut second, ()) = tokio::join!(acquire(&two, chain(&[1, 2, 3, 4])), async { drop(first) });
    assert_eq!((second.session(), second.match_kind()), (&id, SessionMatchKind::Prefix));
    // Meanwhile, one that continues after the same reply is a branch.
    let branch = acquire(&one, chain(&[1, 2, 3, 9])).await;
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
    second.commit_reply(5, &[], None, None);
    drop(second);
    assert_eq!(acquire(&one, chain(&[1, 2, 3, 4, 5, 6])).await.session(), &id);
    // A name is one session on all nodes, and its requests wait for each other.
    let named = SessionQuery { selector: SessionSelector::Name("mine"), ..chain(&[20]) };
    let mut mine = acquire(&one, named).await;
    mine.commit_reply(21, &[], None, None);
    let again = SessionQuery { chain: &[20, 21, 22], ..named };
    let (again, ()) = tokio::join!(acquire(&two, again), async { drop(mine) });
    assert_eq!(&**again.session(), "mine");
    // A client may name a reply before its session is released.
    let mut first = acquire(&one, chain(&[30])).await;
    first.commit_reply(31, &[], Some("resp_1"), None);
    let id = first.session().clone();
    let reply = SessionQuery { selector: SessionSelector::Reply("resp_1"), ..chain(&[32]) };
    let (next, ()) = tokio::join!(acquire(&two, reply), async { drop(first) });
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Reply));
}

/// Drops a guard, and waits until its node has released the session.
async fn release(node: &GatewayCluster, guard: SessionGuard) {
    let mut released = node.shared.released.subscribe();
    let key = session_key(guard.session());
    drop(guard);
    while *released.recv().await.expect("a release") != *key {}
}

#[tokio::test]
async fn conversations_with_the_same_opening_keep_their_sessions() {
    let store = store().await;
    let nodes = [join(&store, "one").await, join(&store, "two").await];
    // Where the second of two requests is, which of them is released first, and where the conversation
    // of the other goes on.
    for case in 0..8_usize {
        let (second, early, next) = (case & 1, (case >> 1) & 1, case >> 2);
        let opening = 100 * case as u128 + 1;
        let query = chain(std::slice::from_ref(&opening));
        let taken_at = [&nodes[0], &nodes[second]];
        let mut guards = vec![acquire(taken_at[0], query).await, acquire(taken_at[1], query).await];
        for (guard, reply) in guards.iter_mut().zip(1..) {
            assert_eq!(guard.match_kind(), SessionMatchKind::New, "{case}");
            guard.commit_reply(opening + reply, &[], None, None);
        }
        release(taken_at[early], guards.remove(early)).await;
        let late = guards.pop().expect("the other");
        let (id, reply) = (late.session().clone(), opening + 2 - early as u128);
        let history = [opening, reply, opening + 10];
        // It looks for its session before that is released.
        let (found, ()) =
            tokio::join!(acquire(&nodes[next], chain(&history)), async { drop(late) });
        let expected = (&id, SessionMatchKind::Prefix);
        assert_eq!((found.session(), found.match_kind()), expected, "{case}");
    }
}

#[tokio::test]
async fn a_session_of_a_node_that_is_gone_is_free() {
    let store = store().await;
    let three = join(&store, "three").await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    drop(first);
    let held = acquire(&one, chain(&[1, 2, 3])).await;
    assert_eq!(held.session(), &id);
    // It is killed: nothing is released, and it no longer shows that it is alive.
    std::mem::forget(held);
    kill(&one).await;
    let taken = acquire(&two, chain(&[1, 2, 3])).await;
    assert_eq!((taken.session(), taken.match_kind()), (&id, SessionMatchKind::Prefix));
    assert!(taken.shared_claim().is_some_and(|claim| claim.is_orphaned));
    drop(taken);
    // A client that got the first reply of a session, which was not released, goes on in it, too.
    let mut first = acquire(&three, chain(&[40])).await;
    first.commit_reply(41, &[], None, None);
    let id = first.session().clone();
    std::mem::forget(first);
    kill(&three).await;
    let next = acquire(&two, chain(&[40, 41, 42])).await;
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Prefix));
}

#[tokio::test]
async fn a_retry_is_sent_to_the_node_that_has_the_reply() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    one.listen_at("127.0.0.1:4177".parse().expect("an address")).await;
    let mut first = acquire(&one, chain(&[1])).await;
    let retry = SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[1]) };
    let elsewhere = |claimed: SessionMatch| match claimed {
        SessionMatch::Elsewhere(address) => address,
        other => panic!("handled here: {other:?}"),
    };
    // It is in progress there, and then it is cached there.
    let claimed = two.claim(retry, true, &[]).await.expect("an answer");
    assert_eq!(elsewhere(claimed), "127.0.0.1:4177");
    first.commit_reply(2, &[], None, Some(cached_reply()));
    drop(first);
    let claimed = two.claim(retry, true, &[]).await.expect("an answer");
    assert_eq!(elsewhere(claimed), "127.0.0.1:4177");
    let replayed = one.claim(retry, true, &[]).await.expect("an answer");
    assert!(matches!(replayed, SessionMatch::Replay(reply) if reply.body == "words"));
    // What was forwarded is not forwarded again, and what two clients sent is nobody's retry.
    drop(match two.claim(retry, false, &[]).await.expect("an answer") {
        SessionMatch::Acquired(guard) => guard,
        other => panic!("not acquired: {other:?}"),
    });
    let mut theirs = acquire(&one, chain(&[7])).await;
    theirs.commit_reply(8, &[], None, Some(cached_reply()));
    drop(theirs);
    drop(acquire(&two, chain(&[7])).await);
    let retry = SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[7]) };
    drop(acquire(&one, retry).await);
}

/// Answers a request. Returns what became of it.
async fn answer(node: &GatewayCluster, query: SessionQuery<'_>) -> String {
    match node.claim(query, true, &[]).await.expect("an answer") {
        SessionMatch::Acquired(mut guard) => {
            guard.commit_reply(1_000, &[], None, Some(cached_reply()));
            "sent".to_owned()
        }
        SessionMatch::Replay(reply) => String::from_utf8_lossy(&reply.body).into_owned(),
        SessionMatch::Elsewhere(address) => address,
        SessionMatch::Busy => "busy".to_owned(),
    }
}

#[tokio::test]
async fn of_identical_requests_with_a_key_one_is_sent() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    one.listen_at("127.0.0.1:4177".parse().expect("an address")).await;
    two.listen_at("127.0.0.1:4178".parse().expect("an address")).await;
    let keyed = |digests| SessionQuery {
        retry_mark: RetryMark::Retry,
        origin: RequestOrigin::Declared,
        ..chain(digests)
    };
    let query = keyed(&[1]);
    let (a, b, c, d) = tokio::join!(
        answer(&one, query),
        answer(&one, query),
        answer(&one, query),
        answer(&one, query)
    );
    let mut answers = [a, b, c, d];
    answers.sort_unstable();
    assert_eq!(answers, ["sent", "words", "words", "words"]);
    // On two nodes: one of them sends it, and the other one lets that answer.
    let query = keyed(&[7]);
    let answers = tokio::join!(answer(&one, query), answer(&two, query));
    let (loser, expected) = match &*answers.0 {
        "sent" => (&two, ("sent", "127.0.0.1:4177")),
        _ => (&one, ("127.0.0.1:4178", "sent")),
    };
    assert_eq!((&*answers.0, &*answers.1), expected);
    // There, no reply is pending.
    let again = loser.claim(query, false, &[]).await.expect("an answer");
    assert!(matches!(again, SessionMatch::Acquired(_)), "{again:?}");
    // Another key is another request.
    let other = SessionQuery { fingerprint: 8, ..query };
    assert!(matches!(one.claim(other, false, &[]).await, Ok(SessionMatch::Acquired(_))));
}

/// Says in the store that a live agent of its node belongs to a session, once that is released.
async fn give_agent(store: &AnyStore, session: &str) {
    let entry = loop {
        let entry = store.entries(vec![session_key(session)]).await.expect("entries").pop();
        match entry.filter(|entry| entry.holder.is_none()) {
            Some(entry) => break entry,
            None => sleep(Duration::from_millis(1)).await,
        }
    };
    let mut state: serde_json::Value = serde_json::from_slice(&entry.value).expect("JSON");
    assert_eq!(state["has_agent"], false, "{state}");
    state["has_agent"] = true.into();
    let value = state.to_string().into_bytes();
    let entry = EntryWrite { key: entry.key, value, link: entry.link, ttl: HOLD_MILLIS };
    store.write_entries(None, vec![entry]).await.expect("written");
}

#[tokio::test]
async fn a_request_for_a_live_agent_is_sent_to_its_node_while_that_is_alive() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    one.listen_at("127.0.0.1:4177".parse().expect("an address")).await;
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    drop(first);
    give_agent(&store, &id).await;
    let next = chain(&[1, 2, 3]);
    let claimed = two.claim(next, true, &[]).await.expect("an answer");
    assert!(
        matches!(&claimed, SessionMatch::Elsewhere(to) if to == "127.0.0.1:4177"),
        "{claimed:?}"
    );
    // Its own node serves it.
    assert_eq!(acquire(&one, next).await.session(), &id);
    give_agent(&store, &id).await;
    // What was forwarded is not forwarded again: the agent starts anew from the history.
    let SessionMatch::Acquired(here) = two.claim(next, false, &[]).await.expect("an answer") else {
        panic!("forwarded twice")
    };
    assert_eq!(here.session(), &id);
    drop(here);
    // The same once its node is gone: nothing holds a request back.
    let mut first = acquire(&one, chain(&[50])).await;
    first.commit_reply(51, &[], None, None);
    let id = first.session().clone();
    drop(first);
    give_agent(&store, &id).await;
    kill(&one).await;
    assert_eq!(acquire(&two, chain(&[50, 51, 52])).await.session(), &id);
}
