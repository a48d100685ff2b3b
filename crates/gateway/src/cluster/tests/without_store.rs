//! What a node does while the store is out of reach, and what becomes of it. Claims at the index of a
//! node are those of requests that do without the store.

use super::*;
use crate::session::content_key;

/// Claims a session without the store.
async fn acquire_here(node: &GatewayCluster, query: SessionQuery<'_>) -> SessionGuard {
    match node.shared.sessions.claim(query).await {
        SessionMatch::Acquired(guard) => guard,
        other => panic!("not acquired: {other:?}"),
    }
}

#[tokio::test]
async fn a_node_did_not_know_its_own_conversations_without_the_store() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    // While it is busy, a request that continues after its reply is a branch, with the store or not.
    release(&one, first).await;
    let second = acquire(&one, chain(&[1, 2, 3])).await;
    let branch = acquire_here(&one, chain(&[1, 2, 9])).await;
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
    drop(branch);
    release(&one, second).await;
    // Two turns without the store, and the first turn of another conversation.
    let mut second = acquire_here(&one, chain(&[1, 2, 3])).await;
    assert_eq!((second.session(), second.match_kind()), (&id, SessionMatchKind::Prefix));
    second.commit_reply(4, &[], None, None);
    drop(second);
    let mut third = acquire_here(&one, chain(&[1, 2, 3, 4, 5])).await;
    assert_eq!((third.session(), third.match_kind()), (&id, SessionMatchKind::Prefix));
    third.commit_reply(6, &[], None, None);
    drop(third);
    let mut other = acquire_here(&one, chain(&[20])).await;
    one.shared.sessions.announce("resp_1", vec![content_key("local", "resp_1")]);
    other.commit_reply(21, &[], Some("resp_1"), None);
    let other_id = other.session().clone();
    drop(other);
    // The store answers again: the first request at this node publishes all of it.
    drop(acquire(&one, chain(&[40])).await);
    assert!(!one.shared.sessions.has_unpublished());
    let fourth = acquire(&two, chain(&[1, 2, 3, 4, 5, 6, 7])).await;
    assert_eq!((fourth.session(), fourth.match_kind()), (&id, SessionMatchKind::Prefix));
    release(&two, fourth).await;
    // Only its newest reply is continued.
    let branch = acquire(&two, chain(&[1, 2, 3, 4, 8])).await;
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
    let reply = SessionQuery { selector: SessionSelector::Reply("resp_1"), ..chain(&[22]) };
    let next = acquire(&two, reply).await;
    assert_eq!((next.session(), next.match_kind()), (&other_id, SessionMatchKind::Reply));
}

#[tokio::test]
async fn replies_without_the_store_wait_for_a_session_that_another_node_has() {
    let store = store().await;
    let (one, two) = (join(&store, "one").await, join(&store, "two").await);
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    release(&one, first).await;
    // Both nodes continue it: one with the store, and one without.
    let mut theirs = acquire(&two, chain(&[1, 2, 3])).await;
    let mut ours = acquire_here(&one, chain(&[1, 2, 5])).await;
    let entry = vec![content_key("local", "resp_1")];
    one.shared.sessions.announce("resp_1", entry.clone());
    ours.commit_reply(6, &[], Some("resp_1"), None);
    drop(ours);
    one.shared.publish_sessions().await;
    let entries = store.entries(entry.clone()).await.expect("entries");
    assert!(entries.is_empty(), "{entries:?}");
    sleep(Duration::from_millis(5)).await;
    theirs.commit_reply(4, &[], None, None);
    release(&two, theirs).await;
    // A later try finds it free.
    let published = async {
        while store.entries(entry.clone()).await.expect("entries").is_empty() {
            one.shared.publish_sessions().await;
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), published).await.expect("it is published");
    // The newest reply is that of the other node: ours is continued by a branch.
    let reply = SessionQuery { selector: SessionSelector::Reply("resp_1"), ..chain(&[7]) };
    let branch = acquire(&two, reply).await;
    assert_eq!((branch.match_kind(), branch.forked_from()), (SessionMatchKind::New, Some(&id)));
    let next = acquire(&two, chain(&[1, 2, 3, 4, 8])).await;
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Prefix));
}

#[tokio::test]
async fn a_session_that_has_a_request_without_the_store_is_busy() {
    let store = store().await;
    let one = join(&store, "one").await;
    let mut first = acquire(&one, chain(&[1])).await;
    first.commit_reply(2, &[], None, None);
    let id = first.session().clone();
    release(&one, first).await;
    let mut ours = acquire_here(&one, chain(&[1, 2, 3])).await;
    // The store answers again, and the request is still in progress.
    let query = chain(&[1, 2, 3, 4, 5]);
    let waiting = timeout(Duration::from_millis(200), one.claim(query, true, &[])).await;
    assert!(waiting.is_err(), "{waiting:?}");
    ours.commit_reply(4, &[], None, None);
    drop(ours);
    let next = acquire(&one, query).await;
    assert_eq!((next.session(), next.match_kind()), (&id, SessionMatchKind::Prefix));
}
