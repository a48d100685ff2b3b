//! Files of other versions and of other programs.

use std::{fs, path::Path};

use foxwedge_store::{SqliteStore, Store};
use rusqlite::Connection;

use crate::{
    sample::{new_session, open_run, refusal},
    temporary::Temporary,
};

fn change(path: &Path, sql: &str) {
    Connection::open(path).expect("a file").execute_batch(sql).expect("a change");
}

/// The refusal, with the path replaced by `store.db`.
async fn refused(path: &Path) -> String {
    let text = refusal(SqliteStore::open(path).await);
    text.replace(&path.display().to_string(), "store.db")
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    let store = SqliteStore::open(&path).await.expect("a store");
    open_run(&store, "s", "r").await;
    drop(store);
    change(&path, "PRAGMA user_version = 999");
    let before = fs::read(&path).expect("the file");
    let text = refused(&path).await;
    assert!(
        text.starts_with("`store.db`: it was written by a newer version: its schema is 999"),
        "{text}"
    );
    assert_eq!(fs::read(&path).expect("the file"), before);
    change(&path, "PRAGMA user_version = -1");
    assert!(refused(&path).await.contains("newer version: its schema is -1"));
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_and_left_alone() {
    let folder = Temporary::folder();
    let table = [
        ("table.db", "CREATE TABLE t (x); INSERT INTO t VALUES (1);"),
        ("version.db", "PRAGMA user_version = 1;"),
        ("application.db", "PRAGMA application_id = 7;"),
    ];
    for (name, sql) in table {
        let path = folder.path(name);
        change(&path, sql);
        let before = fs::read(&path).expect("the file");
        let text = refusal(SqliteStore::open(&path).await);
        assert!(text.ends_with("it is a database of another program"), "{name}: {text}");
        assert_eq!(fs::read(&path).expect("the file"), before, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    for content in ["x".repeat(10_000), "SQLite format 3\0".to_owned() + &"y".repeat(5_000)] {
        fs::write(&path, &content).expect("a file");
        let text = refused(&path).await;
        assert!(text.starts_with("`store.db` is damaged"), "{text}");
        assert_eq!(fs::read(&path).expect("the file"), content.as_bytes());
    }
}

/// Converts the events of a file back to the format of version 1.
const BACK_TO_ONE: &str = "
    CREATE TABLE old (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        body TEXT NOT NULL,
        chain BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO old SELECT run, seq, body, chain FROM events;
    DROP TRIGGER events_go_with_their_run;
    DROP TABLE events;
    ALTER TABLE old RENAME TO events;
    CREATE INDEX sessions_by_touch ON sessions (touched);
    CREATE INDEX runs_by_session ON runs (session, started, serial);
    DROP TABLE shared;
    PRAGMA user_version = 1;";

/// Converts a file back to the format of version 2.
const BACK_TO_TWO: &str = "
    ALTER TABLE events DROP COLUMN earlier;
    CREATE INDEX sessions_by_touch ON sessions (touched);
    CREATE INDEX runs_by_session ON runs (session, started, serial);
    DROP TABLE shared;
    PRAGMA user_version = 2;";

/// Converts a file back to the format of version 3.
const BACK_TO_THREE: &str = "DROP TABLE shared; PRAGMA user_version = 3;";

#[tokio::test]
async fn files_of_earlier_versions_are_migrated_with_all_data() {
    for earlier_version in [BACK_TO_ONE, BACK_TO_TWO, BACK_TO_THREE] {
        let folder = Temporary::folder();
        let path = folder.path("store.db");
        let store = SqliteStore::open(&path).await.expect("a store");
        for run in ["r1", "r2"] {
            open_run(&store, "s", run).await;
        }
        let read_all = |store: SqliteStore| async move {
            let first = store.events("r1", 0, 100).await.expect("events");
            (first, store.events("r2", 0, 100).await.expect("events"))
        };
        let before = read_all(store).await;
        change(&path, earlier_version);
        let store = SqliteStore::open(&path).await.expect("a store");
        assert_eq!(read_all(store).await, before);
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    fs::write(&path, "").expect("a file");
    let store = SqliteStore::open(&path).await.expect("a store");
    store.create_session(new_session("s")).await.expect("a session");
}

#[tokio::test]
async fn file_has_application_id_and_version() {
    let folder = Temporary::folder();
    let path = folder.path("store.db");
    drop(SqliteStore::open(&path).await.expect("a store"));
    let file = Connection::open(&path).expect("a file");
    let number = |name| file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    assert_eq!(number("application_id").expect("a number"), 0x466f_7877);
    assert_eq!(number("user_version").expect("a number"), 4);
    let mode: String =
        file.pragma_query_value(None, "journal_mode", |row| row.get(0)).expect("a mode");
    assert_eq!(mode, "wal");
}
