//! A PostgreSQL server that accepts everything and answers nothing.

#[path = "../../../../store/tests/store/relay.rs"]
#[allow(dead_code, reason = "other test programs do more with it")]
mod relay;

use foxwedge_store::SharedEntry;
use relay::Relay;

use super::*;

/// Longer than any correct wait.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The URL of an empty schema; `None` if there is no server.
fn database() -> Option<String> {
    let server = std::env::var("FOXWEDGE_TEST_POSTGRES").ok();
    let Some(server) = server.filter(|url| !url.is_empty() && url != "off") else {
        println!("skipped: FOXWEDGE_TEST_POSTGRES names no server");
        return None;
    };
    let sign = if server.contains('?') { '&' } else { '?' };
    let schema = format!("cluster_{:016x}", getrandom::u64().expect("randomness"));
    Some(format!("{server}{sign}schema={schema}"))
}

async fn open(url: &str) -> Arc<AnyStore> {
    let url: StoreUrl = url.parse().expect("a URL");
    Arc::new(AnyStore::open(&url).await.expect("a store"))
}

/// Two nodes on one database, the second behind a relay.
async fn nodes(url: &str) -> (Arc<AnyStore>, GatewayCluster, GatewayCluster, Relay) {
    let store = open(url).await;
    let relay = Relay::start(url).await;
    let (one, two) = (join(&store, "one").await, join(&open(relay.url()).await, "two").await);
    (store, one, two, relay)
}

/// Claims a session while the store does not answer.
async fn claim_without_store(node: &GatewayCluster, query: SessionQuery<'_>) {
    let claimed = timeout(TIMEOUT, node.claim(query, true, &[])).await;
    let claimed = claimed.expect("a claim at a frozen store ends");
    assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
}

async fn entry(store: &AnyStore, session: &str) -> Option<SharedEntry> {
    store.entries(vec![session_key(session)]).await.expect("entries").pop()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_do_without_a_frozen_store() {
    let Some(url) = database() else { return };
    let (_store, _one, two, relay) = nodes(&url).await;
    drop(acquire(&two, chain(&[1])).await);
    relay.freeze();
    claim_without_store(&two, chain(&[2])).await;
    claim_without_store(&two, chain(&[3])).await;
    let learned = timeout(TIMEOUT, two.learn_issued_name("local", "s-1")).await;
    assert!(learned.expect("an answer").is_err());
    relay.thaw();
    let answered = async { while two.claim(chain(&[4]), true, &[]).await.is_err() {} };
    timeout(TIMEOUT, answered).await.expect("the store is used again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_began_anew_while_the_store_was_frozen() {
    let Some(url) = database() else { return };
    let (_store, one, two, relay) = nodes(&url).await;
    let mut first = acquire(&two, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    release(&two, first).await;
    relay.freeze();
    for digests in [&[1, 2, 3][..], &[1, 2, 3, 4, 5]] {
        let query = chain(digests);
        claim_without_store(&two, query).await;
        let SessionMatch::Acquired(mut guard) = two.shared.sessions.claim(query).await else {
            panic!("not acquired: {digests:?}")
        };
        assert_eq!((guard.session(), guard.match_kind()), (&id, SessionMatchKind::Prefix));
        guard.commit_reply(digests.last().expect("a message") + 1, &[], None, None);
    }
    relay.thaw();
    let published = async {
        while two.shared.sessions.has_unpublished() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TIMEOUT, published).await.expect("the turns are published");
    let next = acquire(&one, chain(&[1, 2, 3, 4, 5, 6, 7])).await;
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Prefix));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_answered_too_late_is_released() {
    let Some(url) = database() else { return };
    let (store, one, two, relay) = nodes(&url).await;
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    release(&one, first).await;
    let state = entry(&store, &id).await.expect("a session").value;
    let mut released = two.shared.released.subscribe();
    // No statement with this text was sent before: its first use prepares it.
    relay.freeze_at("WITH held AS");
    let retry = SessionQuery { retry_mark: RetryMark::Retry, ..chain(&[1, 2, 3]) };
    claim_without_store(&two, retry).await;
    timeout(TIMEOUT, relay.frozen()).await.expect("a hold is sent");
    // The request is handled without the store, and does not wait for the one before.
    let local = timeout(TIMEOUT, two.shared.sessions.claim(retry)).await.expect("a session");
    assert!(matches!(local, SessionMatch::Acquired(_)), "{local:?}");
    relay.thaw();
    let key = timeout(TIMEOUT, released.recv()).await.expect("a release").expect("a key");
    assert_eq!(*key, session_key(&id));
    let after = entry(&store, &id).await.expect("a session");
    assert_eq!((after.value, after.holder), (state, None));
    let next = acquire(&one, chain(&[1, 2, 3])).await;
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Prefix));
    assert!(lock(&two.shared.hold_counts).is_empty());
}

#[tokio::test]
async fn a_hold_whose_answer_was_lost_is_found_and_released() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    release(&one, first).await;
    let query = chain(&[1, 2, 3]);
    let facts = SharedFacts::new(store.entries(lookup_keys(&query)).await.expect("entries"));
    let plan = one.shared.sessions.plan_shared(&query, &facts, "one", true, Duration::ZERO);
    let SharedPlan::Take(claim) = plan else { panic!("not free") };
    let query = SharedGuardQuery {
        scope: query.scope,
        fingerprint: query.fingerprint,
        retry_mark: query.retry_mark,
        origin: query.origin,
    };
    let take = EntryTake {
        hold: claim.hold.clone(),
        ttl: HOLD_MILLIS,
        link: None,
        writes: Vec::new(),
        replaced: None,
    };
    let guard = one.shared.sessions.shared_guard(&query, claim).expect("a guard");
    // It is held, and the node never learns it.
    store.hold_entry(take.clone()).await.expect("an answer").expect("held");
    one.shared.count_up(&take.hold.key);
    // Until it is known that no other request of the node holds it.
    one.shared.count_up(&take.hold.key);
    let (mut released, key) = (one.shared.released.subscribe(), take.hold.key.clone());
    one.shared.give_up_hold(guard.give_up(&query), None, take);
    let held = timeout(2 * RELEASE_PAUSE, released.recv()).await;
    assert!(held.is_err(), "{held:?}");
    one.shared.count_down(&key);
    let found = timeout(TIMEOUT, released.recv()).await.expect("a release").expect("a key");
    assert_eq!(*found, key);
    let next = acquire(&two, chain(&[1, 2, 3])).await;
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Prefix));
}
