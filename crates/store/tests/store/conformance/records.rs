//! The record tree of a session.

use std::sync::Arc;

use foxwedge_store::{ArchiveStore, NewRecord, StoredRecord};

use crate::sample::{new_session, record, refusal};

pub(crate) async fn records_get_ordinals_in_order(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let first = vec![record("a", None), record("b", Some("a"))];
    assert_eq!(store.append_records("s", first).await.expect("stored"), [1, 2]);
    let more = vec![record("c", Some("b"))];
    assert_eq!(store.append_records("s", more).await.expect("stored"), [3]);
    assert_eq!(store.session("s").await.expect("an answer").expect("a session").records, 3);
    assert_eq!(store.append_records("s", Vec::new()).await.expect("nothing"), Vec::<u64>::new());
}

pub(crate) async fn existing_records_are_skipped(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let first = vec![record("a", None), record("b", Some("a"))];
    store.append_records("s", first.clone()).await.expect("stored");
    let again = vec![first[1].clone(), record("c", Some("b")), first[0].clone()];
    assert_eq!(store.append_records("s", again).await.expect("stored"), [2, 3, 1]);
    assert_eq!(ids(&store.records("s", 0, 10).await.expect("records")), ["a", "b", "c"]);
}

pub(crate) async fn a_record_with_other_content_is_a_conflict(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let known = NewRecord { run: Some("r".to_owned()), ..record("b", Some("a")) };
    store.append_records("s", vec![record("a", None), known.clone()]).await.expect("stored");
    let others = [
        NewRecord { parent: None, ..known.clone() },
        NewRecord { run: None, ..known.clone() },
        NewRecord { kind: "note".to_owned(), ..known.clone() },
        NewRecord { body: "1".to_owned(), ..known.clone() },
    ];
    for other in others {
        let refused = refusal(store.append_records("s", vec![other.clone()]).await);
        assert_eq!(refused, "`b` already exists with other content", "{other:?}");
    }
    assert_eq!(store.append_records("s", vec![known]).await.expect("the same"), [2]);
}

pub(crate) async fn a_record_needs_its_parent(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    store.create_session(new_session("other")).await.expect("a session");
    store.append_records("other", vec![record("a", None)]).await.expect("stored");
    let table = [
        vec![record("b", Some("a"))],
        vec![record("b", Some("b"))],
        vec![record("b", Some("a")), record("a", None)],
    ];
    for records in table {
        let parent = records[0].parent.clone().expect("a parent");
        assert_eq!(
            refusal(store.append_records("s", records).await),
            format!("the parent `{parent}` of record `b` does not exist"),
        );
    }
    assert_eq!(
        refusal(store.append_records("none", vec![record("a", None)]).await),
        "session `none` does not exist"
    );
    assert_eq!(refusal(store.records("none", 0, 1).await), "session `none` does not exist");
}

pub(crate) async fn a_refused_record_leaves_nothing_behind(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let records = vec![record("a", None), record("b", Some("a")), record("x", Some("none"))];
    refusal(store.append_records("s", records).await);
    assert_eq!(store.records("s", 0, 10).await.expect("records"), []);
    assert_eq!(store.append_records("s", vec![record("a", None)]).await.expect("stored"), [1]);
}

pub(crate) async fn records_are_read_page_by_page(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let records = (1..=25).map(|number| record(&format!("r{number}"), None)).collect();
    store.append_records("s", records).await.expect("stored");
    let mut found = Vec::new();
    loop {
        let page = store.records("s", found.len() as u64, 10).await.expect("a page");
        if page.is_empty() {
            break;
        }
        found.extend(page.iter().map(|record| record.ordinal));
    }
    assert_eq!(found, (1..=25).collect::<Vec<u64>>());
    assert_eq!(store.records("s", 25, 10).await.expect("a page"), []);
    assert_eq!(store.records("s", u64::MAX, 10).await.expect("a page"), []);
    assert_eq!(store.records("s", 0, 0).await.expect("a page"), []);
    assert_eq!(store.records("s", 0, usize::MAX).await.expect("a page").len(), 25);
}

pub(crate) async fn records_form_a_tree(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let tree = vec![
        record("root", None),
        record("left", Some("root")),
        record("right", Some("root")),
        record("leaf", Some("left")),
        record("second-root", None),
    ];
    store.append_records("s", tree.clone()).await.expect("stored");
    let found = store.records("s", 0, 10).await.expect("records");
    let at = found[0].at;
    let expected: Vec<StoredRecord> =
        (1..).zip(tree).map(|(ordinal, record)| StoredRecord { ordinal, at, record }).collect();
    assert_eq!(found, expected);
}

pub(crate) async fn a_record_is_stored_byte_for_byte(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let unusual = NewRecord {
        kind: "tool \u{7f} 'kind'".to_owned(),
        body: " {\"b\":1e400,\r\n\"a\" : \"\\ud83d\\ude00\\u0000\", \"a\":[ ]}\t".to_owned(),
        ..record("a", None)
    };
    store.append_records("s", vec![unusual.clone()]).await.expect("stored");
    let found = store.records("s", 0, 1).await.expect("records");
    assert_eq!(found[0].record, unusual);
}

fn ids(records: &[StoredRecord]) -> Vec<&str> {
    records.iter().map(|record| record.record.id.as_str()).collect()
}
