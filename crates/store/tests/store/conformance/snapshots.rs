//! Agent snapshots.

use std::sync::Arc;

use foxwedge_store::{AgentSnapshot, ArchiveStore};

use crate::sample::{new_session, refusal};

fn snapshot(name: &str, body: &[u8]) -> AgentSnapshot {
    AgentSnapshot { name: name.to_owned(), body: body.to_vec(), expires: None }
}

pub(crate) async fn a_snapshot_is_kept_and_replaced(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    assert_eq!(store.snapshot("s", "agent").await.expect("an answer"), None);
    for body in [&b""[..], &[0, 255, 10, 13], b"text"] {
        let stored = AgentSnapshot { expires: Some(4_102_444_800_000), ..snapshot("agent", body) };
        store.put_snapshot("s", stored.clone()).await.expect("kept");
        assert_eq!(store.snapshot("s", "agent").await.expect("an answer"), Some(stored));
    }
    let stored = snapshot("agent", b"for ever");
    store.put_snapshot("s", stored.clone()).await.expect("kept");
    assert_eq!(store.snapshot("s", "agent").await.expect("an answer"), Some(stored));
}

pub(crate) async fn an_expired_snapshot_is_none(store: Arc<impl ArchiveStore>) {
    let session = store.create_session(new_session("s")).await.expect("a session");
    for expires in [0, 1, session.created - 1] {
        let stored = AgentSnapshot { expires: Some(expires), ..snapshot("agent", b"x") };
        store.put_snapshot("s", stored).await.expect("kept");
        assert_eq!(store.snapshot("s", "agent").await.expect("an answer"), None, "{expires}");
    }
    let stored = AgentSnapshot { expires: Some(u64::MAX), ..snapshot("agent", b"x") };
    store.put_snapshot("s", stored).await.expect("kept");
    assert!(store.snapshot("s", "agent").await.expect("an answer").is_some());
}

pub(crate) async fn a_snapshot_is_dropped(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    assert!(!store.drop_snapshot("s", "agent").await.expect("an answer"));
    store.put_snapshot("s", snapshot("agent", b"x")).await.expect("kept");
    assert!(store.drop_snapshot("s", "agent").await.expect("an answer"));
    assert!(!store.drop_snapshot("s", "agent").await.expect("an answer"));
    assert_eq!(store.snapshot("s", "agent").await.expect("an answer"), None);
}

pub(crate) async fn a_snapshot_needs_its_session(store: Arc<impl ArchiveStore>) {
    let missing = "session `none` does not exist";
    assert_eq!(refusal(store.put_snapshot("none", snapshot("a", b"x")).await), missing);
    assert_eq!(refusal(store.snapshot("none", "a").await), missing);
    assert_eq!(refusal(store.drop_snapshot("none", "a").await), missing);
}

pub(crate) async fn snapshots_of_two_sessions_are_apart(store: Arc<impl ArchiveStore>) {
    for session in ["s1", "s2"] {
        store.create_session(new_session(session)).await.expect("a session");
        let stored = snapshot("agent", session.as_bytes());
        store.put_snapshot(session, stored).await.expect("kept");
        store.put_snapshot(session, snapshot("other", b"x")).await.expect("kept");
    }
    store.drop_snapshot("s1", "agent").await.expect("dropped");
    let stored = store.snapshot("s2", "agent").await.expect("an answer");
    assert_eq!(stored, Some(snapshot("agent", b"s2")));
}
