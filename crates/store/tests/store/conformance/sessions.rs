//! Sessions are created and found.

use std::sync::Arc;

use foxwedge_store::{ArchiveStore, NewSession, SessionRow};

use crate::sample::new_session;

pub(crate) async fn a_session_is_created_once(store: Arc<impl ArchiveStore>) {
    let first = store.create_session(new_session("s")).await.expect("made");
    let other =
        NewSession { owner: "somebody else".to_owned(), title: "x".to_owned(), ..new_session("s") };
    let second = store.create_session(other).await.expect("found");
    assert_eq!(first, second);
    assert_eq!(store.session("s").await.expect("an answer"), Some(first));
}

pub(crate) async fn a_missing_session_is_none(store: Arc<impl ArchiveStore>) {
    for id in ["s", "", "../s", "s\0", "%", "'; DROP TABLE sessions; --"] {
        assert_eq!(store.session(id).await.expect("an answer"), None, "{id:?}");
    }
}

pub(crate) async fn a_session_keeps_all_its_fields(store: Arc<impl ArchiveStore>) {
    let new = NewSession {
        id: "A-z_09".to_owned(),
        owner: "'; DROP TABLE sessions; -- 所有者".to_owned(),
        title: "\u{202e}título\n\t\u{1b}[31m".to_owned(),
        meta: Some(" {\"b\": [1, 2.50, \"\\u0000\"],\n \"a\": null} ".to_owned()),
    };
    let created = store.create_session(new.clone()).await.expect("made");
    assert!(created.created > 1_600_000_000_000, "{created:?}");
    let expected = SessionRow {
        id: new.id,
        owner: new.owner,
        title: new.title,
        meta: new.meta,
        created: created.created,
        touched: created.created,
        epoch: 0,
        records: 0,
    };
    assert_eq!(created, expected);
    assert_eq!(store.session("A-z_09").await.expect("an answer"), Some(expected));
}
