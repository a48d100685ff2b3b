//! Sessions are made and found.

use std::sync::Arc;

use foxwedge_store::{ArchiveStore, NewSession, SessionRow};

use crate::sample::new_session;

pub(crate) async fn a_session_is_made_once(store: Arc<impl ArchiveStore>) {
    let first = store.create_session(new_session("s")).await.expect("made");
    let other =
        NewSession { owner: "somebody else".to_owned(), title: "x".to_owned(), ..new_session("s") };
    let second = store.create_session(other).await.expect("found");
    assert_eq!(first, second);
    assert_eq!(store.session("s").await.expect("an answer"), Some(first));
}

pub(crate) async fn a_session_that_is_not_there_is_none(store: Arc<impl ArchiveStore>) {
    for id in ["s", "", "../s", "s\0", "%", "'; DROP TABLE sessions; --"] {
        assert_eq!(store.session(id).await.expect("an answer"), None, "{id:?}");
    }
}

pub(crate) async fn a_session_keeps_what_it_is_told(store: Arc<impl ArchiveStore>) {
    let new = NewSession {
        id: "A-z_09".to_owned(),
        owner: "'; DROP TABLE sessions; -- 所有者".to_owned(),
        title: "\u{202e}título\n\t\u{1b}[31m".to_owned(),
        meta: Some(" {\"b\": [1, 2.50, \"\\u0000\"],\n \"a\": null} ".to_owned()),
    };
    let made = store.create_session(new.clone()).await.expect("made");
    assert!(made.created > 1_600_000_000_000, "{made:?}");
    let expected = SessionRow {
        id: new.id,
        owner: new.owner,
        title: new.title,
        meta: new.meta,
        created: made.created,
        touched: made.created,
        epoch: 0,
        records: 0,
    };
    assert_eq!(made, expected);
    assert_eq!(store.session("A-z_09").await.expect("an answer"), Some(expected));
}
