//! The database file: its owner, its location, and its companion files.

use std::{fs, path::Path};

use foxwedge_store::{AnyStore, ArchiveStore, SqliteStore, Store, StoreUrl};

use crate::{
    sample::{current, log, new_session, open_run, record, refusal, texts},
    temporary::Temporary,
};

#[tokio::test]
async fn data_survives_reopening() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    let store = SqliteStore::open(&path).await.expect("a store");
    let (run, lease) = open_run(&store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 9)).await.expect("stored");
    store.append_records("s", vec![record("a", None)]).await.expect("stored");
    let before = (current(&store, "r").await, log(&store, "r").await);
    drop(store);
    assert_eq!(names(folder.as_ref()), ["store.db"], "a clean end leaves one file");
    let store = SqliteStore::open(&path).await.expect("a store");
    assert_eq!((current(&store, "r").await, log(&store, "r").await), before);
    assert_eq!(store.append("r", &lease, texts(&run, 10, 10)).await.expect("stored"), 10);
}

#[tokio::test]
async fn a_store_is_opened_by_its_address() {
    let folder = Temporary::folder();
    let path = folder.path("a b/%20?#.db");
    for address in [format!("sqlite:{}", path.display()), path.display().to_string()] {
        let url: StoreUrl = address.parse().expect("an address");
        let store = AnyStore::open(&url).await.expect("a store");
        store.create_session(new_session("s")).await.expect("a session");
        assert_eq!(store.totals().await.expect("an answer").sessions, 1);
    }
    assert!(path.exists());
    let memory: StoreUrl = "memory:".parse().expect("an address");
    let store = AnyStore::open(&memory).await.expect("a store");
    assert_eq!(store.session("s").await.expect("an answer"), None);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_file() {
    let folder = Temporary::folder();
    let path = folder.path("deep/er/store.db");
    let store = SqliteStore::open(&path).await.expect("a store");
    store.create_session(new_session("s")).await.expect("a session");
    let inner = folder.path("deep/er");
    assert_eq!(names(&inner), ["store.db", "store.db-shm", "store.db-wal"]);
    for name in names(&inner) {
        assert_eq!(permissions(&inner.join(&name)), 0o600, "{name}");
    }
    assert_eq!(permissions(&inner), 0o700);
    assert_eq!(permissions(&folder.path("deep")), 0o700);
}

#[cfg(unix)]
#[tokio::test]
async fn wide_permissions_are_narrowed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    let first = SqliteStore::open(&path).await.expect("a store");
    first.create_session(new_session("s")).await.expect("a session");
    for name in names(folder.as_ref()) {
        let wide = fs::Permissions::from_mode(0o666);
        fs::set_permissions(folder.path(&name), wide).expect("wide rights");
    }
    // Another process opens it while the first one has it open.
    let second = SqliteStore::open(&path).await.expect("a store");
    assert!(second.session("s").await.expect("an answer").is_some());
    for name in names(folder.as_ref()) {
        assert_eq!(permissions(&folder.path(&name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn paths_that_are_not_files_are_refused() {
    let folder = Temporary::folder();
    let refused = refusal(SqliteStore::open(folder.as_ref()).await);
    assert!(refused.ends_with("is not a file"), "{refused}");
    fs::write(folder.path("file"), "x").expect("a file");
    let below = SqliteStore::open(folder.path("file/store.db")).await;
    assert_eq!(refusal(below), "the store cannot be reached");
}

#[tokio::test]
async fn deleted_text_is_not_left_in_the_file() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    let store = SqliteStore::open(&path).await.expect("a store");
    let (run, lease) = open_run(&store, "s", "r").await;
    let secret = "a-secret-nobody-may-find".repeat(400);
    let event = crate::sample::text_event(&run, 2, &secret);
    store.append("r", &lease, vec![event]).await.expect("stored");
    let end = crate::sample::closing(&current(&store, "r").await, foxwedge_run::Outcome::Completed);
    store.finalize("r", foxwedge_store::CloseAuthority::Operator, end).await.expect("ended");
    assert!(store.delete_session("s").await.expect("deleted"));
    let before = store.totals().await.expect("an answer").bytes;
    store.compact().await.expect("compacted");
    assert!(store.totals().await.expect("an answer").bytes < before);
    store.create_session(new_session("t")).await.expect("it goes on");
    drop(store);
    let bytes = fs::read(&path).expect("the file");
    assert!(!bytes.windows(24).any(|window| window == b"a-secret-nobody-may-find"));
    assert_eq!(names(folder.as_ref()), ["store.db"]);
}

#[tokio::test]
async fn watcher_ends_when_the_store_is_dropped() {
    let store = SqliteStore::memory().await.expect("a store");
    let mut watch = store.watch().await.expect("a watch");
    drop(store);
    assert_eq!(watch.next().await, None);
}

#[tokio::test(flavor = "current_thread")]
async fn one_thread_is_enough() {
    let folder = Temporary::folder();
    let store = SqliteStore::open(folder.path("store.db")).await.expect("a store");
    let (run, lease) = open_run(&store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 3)).await.expect("stored");
    assert_eq!(log(&store, "r").await.len(), 3);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    names.sort_unstable();
    names
}

#[cfg(unix)]
fn permissions(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}
