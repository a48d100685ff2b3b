//! What nodes share: entries, who holds them, and what expires.

use std::sync::Arc;

use foxwedge_store::{
    ArchiveStore, EntryHold, EntryTake, EntryVersion, EntryWrite, SharedEntry, node_key,
};
use tokio::task::JoinSet;

use crate::sample::LONG;

fn write(key: &str, value: &str) -> EntryWrite {
    EntryWrite { key: key.to_owned(), value: value.as_bytes().to_vec(), link: None, ttl: LONG }
}

fn hold(node: &str, version: u64) -> EntryHold {
    EntryHold { key: "session".to_owned(), node: node.to_owned(), version }
}

async fn beat(store: &impl ArchiveStore, node: &str, ttl: u64) {
    let beat = EntryWrite { ttl, ..write(&node_key(node), "") };
    assert!(store.write_entries(None, vec![beat]).await.expect("written"));
}

async fn read(store: &impl ArchiveStore, keys: &[&str]) -> Vec<SharedEntry> {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let mut entries = store.entries(keys).await.expect("entries");
    entries.sort_by(|one, other| one.key.cmp(&other.key));
    entries
}

async fn take(store: &impl ArchiveStore, node: &str, version: u64) -> Option<u64> {
    take_with(store, node, version, Vec::new()).await
}

async fn take_with(
    store: &impl ArchiveStore,
    node: &str,
    version: u64,
    writes: Vec<EntryWrite>,
) -> Option<u64> {
    let take =
        EntryTake { hold: hold(node, version), ttl: LONG, link: None, writes, replaced: None };
    store.hold_entry(take).await.expect("an answer")
}

/// The holder of the entry, and whether it is alive.
async fn holder(store: &impl ArchiveStore) -> Option<(String, bool)> {
    let entry = read(store, &["session"]).await.pop().expect("an entry");
    entry.holder.map(|holder| (holder.node, holder.is_alive))
}

pub(crate) async fn an_entry_is_kept_with_the_one_it_links_to(store: Arc<impl ArchiveStore>) {
    assert_eq!(read(&*store, &["a", "b"]).await, []);
    let linked = EntryWrite { link: Some("b".to_owned()), ..write("a", "1") };
    store.write_entries(None, vec![linked, write("b", "2"), write("c", "3")]).await.expect("all");
    let values = |entries: &[SharedEntry]| {
        let value = |entry: &SharedEntry| (entry.key.clone(), entry.value.clone());
        entries.iter().map(value).collect::<Vec<_>>()
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.as_bytes().to_vec());
    let found = read(&*store, &["a", "x"]).await;
    assert_eq!(values(&found), [pair("a", "1"), pair("b", "2")]);
    assert_eq!((found[0].link.as_deref(), found[0].version), (Some("b"), 1));
    store.write_entries(None, vec![write("a", "new")]).await.expect("replaced");
    let found = read(&*store, &["a", "a"]).await;
    assert_eq!((values(&found), found[0].version), (vec![pair("a", "new")], 2));
}

pub(crate) async fn an_expired_entry_is_none(store: Arc<impl ArchiveStore>) {
    store.write_entries(None, vec![write("a", "1"), write("b", "2")]).await.expect("written");
    let removed = EntryWrite { ttl: 0, ..write("a", "1") };
    store.write_entries(None, vec![removed]).await.expect("removed");
    let keys = |entries: Vec<SharedEntry>| entries.into_iter().map(|entry| entry.key);
    assert_eq!(keys(read(&*store, &["a", "b"]).await).collect::<Vec<_>>(), ["b"]);
    store.prune(0, 0).await.expect("pruned");
    assert_eq!(keys(read(&*store, &["a", "b"]).await).collect::<Vec<_>>(), ["b"]);
    // What has expired is as what never was, whatever it was before.
    store.write_entries(None, vec![write("session", "old")]).await.expect("written");
    let removed = EntryWrite { ttl: 0, ..write("session", "old") };
    store.write_entries(None, vec![removed]).await.expect("removed");
    beat(&*store, "one", LONG).await;
    assert_eq!(take(&*store, "one", 2).await, None);
    assert!(take(&*store, "one", 0).await.is_some());
    assert_eq!(read(&*store, &["session"]).await[0].value, b"");
}

pub(crate) async fn one_node_holds_an_entry_at_a_time(store: Arc<impl ArchiveStore>) {
    beat(&*store, "one", LONG).await;
    beat(&*store, "two", LONG).await;
    let beside = vec![write("beside", "1")];
    let held = take_with(&*store, "one", 0, beside).await.expect("it is free");
    assert_eq!(holder(&*store).await, Some(("one".to_owned(), true)));
    for version in [0, held] {
        let refused = vec![write("beside", "2")];
        assert_eq!(take_with(&*store, "two", version, refused).await, None);
        assert_eq!(take(&*store, "one", version).await, None, "not even the same node");
    }
    assert_eq!(read(&*store, &["beside"]).await[0].value, b"1");
    let release = vec![write("session", "state"), write("beside", "3")];
    let released = store.write_entries(Some(hold("one", held)), release).await;
    assert!(released.expect("an answer"));
    let entry = read(&*store, &["session"]).await.pop().expect("an entry");
    assert_eq!((&*entry.value, entry.holder), (&b"state"[..], None));
    assert_eq!(read(&*store, &["beside"]).await[0].value, b"3");
    assert_eq!(take(&*store, "two", held).await, None, "it has changed");
    assert!(take(&*store, "two", entry.version).await.is_some());
}

pub(crate) async fn an_entry_of_a_node_that_is_gone_is_taken(store: Arc<impl ArchiveStore>) {
    beat(&*store, "one", LONG).await;
    let held = take(&*store, "one", 0).await.expect("it is free");
    beat(&*store, "one", 0).await;
    assert_eq!(holder(&*store).await, Some(("one".to_owned(), false)));
    beat(&*store, "two", LONG).await;
    let taken = take(&*store, "two", held).await.expect("its node is gone");
    assert_eq!(holder(&*store).await, Some(("two".to_owned(), true)));
    assert!(taken > held);
}

pub(crate) async fn a_held_entry_is_found_by_its_link(store: Arc<impl ArchiveStore>) {
    beat(&*store, "one", LONG).await;
    beat(&*store, "two", LONG).await;
    let hold = |key: &str, node: &str, version| {
        let (key, node) = (key.to_owned(), node.to_owned());
        EntryHold { key, node, version }
    };
    let take = async |key, node| {
        let link = Some("digest".to_owned());
        let (hold, writes) = (hold(key, node, 0), Vec::new());
        let take = EntryTake { hold, ttl: LONG, link, writes, replaced: None };
        store.hold_entry(take).await.expect("an answer").expect("it is free")
    };
    let found = async || {
        let entries = read(&*store, &["other", "digest"]).await.into_iter();
        let alive = |entry: SharedEntry| entry.holder.is_some_and(|holder| holder.is_alive);
        entries.map(|entry| (entry.key.clone(), alive(entry))).collect::<Vec<_>>()
    };
    let pair = |key: &str, is_alive| (key.to_owned(), is_alive);
    let (a, b) = (take("a", "one").await, take("b", "one").await);
    take("c", "two").await;
    assert!(matches!(found().await.as_slice(), [(_, true)]), "one of them is enough");
    // Whichever is released first, the others are found.
    store.write_entries(Some(hold("b", "one", b)), Vec::new()).await.expect("released");
    beat(&*store, "two", 0).await;
    assert_eq!(found().await, [pair("a", true), pair("c", false)]);
    store.write_entries(Some(hold("a", "one", a)), vec![write("a", "x")]).await.expect("released");
    assert_eq!(found().await, [pair("c", false)]);
    // An entry that is not held is found by its own key only.
    let linked = EntryWrite { link: Some("other".to_owned()), ..write("d", "1") };
    store.write_entries(None, vec![linked]).await.expect("written");
    assert_eq!(found().await, [pair("c", false)]);
}

pub(crate) async fn writes_of_a_node_that_lost_its_entry_are_refused(
    store: Arc<impl ArchiveStore>,
) {
    beat(&*store, "one", 0).await;
    let held = take(&*store, "one", 0).await.expect("it is free");
    beat(&*store, "two", LONG).await;
    let taken = take(&*store, "two", held).await.expect("its node is gone");
    let late = vec![write("session", "late"), write("beside", "late")];
    assert!(!store.write_entries(Some(hold("one", held)), late).await.expect("an answer"));
    assert_eq!(read(&*store, &["beside"]).await, []);
    let released = store.write_entries(Some(hold("two", taken)), vec![write("session", "x")]).await;
    assert!(released.expect("an answer"));
    assert_eq!(read(&*store, &["session"]).await[0].value, b"x");
}

pub(crate) async fn eight_nodes_take_an_entry_once(store: Arc<impl ArchiveStore>) {
    for version in [0, 2] {
        let mut work = JoinSet::new();
        for node in 0..8 {
            let store = store.clone();
            work.spawn(async move {
                let node = format!("node-{node}");
                beat(&*store, &node, LONG).await;
                take(&*store, &node, version).await.map(|held| (node, held))
            });
        }
        let held: Vec<(String, u64)> = work.join_all().await.into_iter().flatten().collect();
        let [(node, held)] = held.as_slice() else { panic!("{held:?}") };
        store.write_entries(Some(hold(node, *held)), Vec::new()).await.expect("released");
    }
}

pub(crate) async fn one_of_eight_nodes_replaces_what_all_have_read(store: Arc<impl ArchiveStore>) {
    for (round, version) in [(0, 0), (1, 1), (2, 0)] {
        if round == 2 {
            let removed = EntryWrite { ttl: 0, ..write("reply", "") };
            store.write_entries(None, vec![removed]).await.expect("removed");
        }
        let session = move |node: &str| format!("session-{round}-{node}");
        let mut work = JoinSet::new();
        for node in 0..8 {
            let store = store.clone();
            work.spawn(async move {
                let node = format!("node-{node}");
                beat(&*store, &node, LONG).await;
                let take = EntryTake {
                    hold: EntryHold { key: session(&node), node: node.clone(), version: 0 },
                    ttl: LONG,
                    link: None,
                    writes: vec![write("beside", &node), write("reply", &node)],
                    replaced: Some(EntryVersion { key: "reply".to_owned(), version }),
                };
                (store.hold_entry(take).await.expect("an answer").is_some(), node)
            });
        }
        let answers = work.join_all().await;
        let winners: Vec<&String> =
            answers.iter().filter(|(is_taken, _)| *is_taken).map(|(_, node)| node).collect();
        let [winner] = winners.as_slice() else { panic!("{round}: {answers:?}") };
        for entry in read(&*store, &["beside", "reply"]).await {
            assert_eq!(entry.value, winner.as_bytes(), "{round}");
        }
        // The others have written nothing.
        for (is_taken, node) in &answers {
            let found = read(&*store, &[&session(node)]).await;
            assert_eq!(found.len(), usize::from(*is_taken), "{round}: {node}");
        }
    }
}
