//! Crush and goose: every kind of damage at several places, found, repaired and undone.

use std::collections::BTreeSet;

use foxwedge_local::{
    agents::find_in,
    database::{StoredSizes, list_sessions},
};
use foxwedge_sessions::SessionAgent;
use rusqlite::Connection;

use crate::{
    row_store::{ROW_DAMAGES, RowStore, dump},
    test_home::{TestHome, findings},
};

const AGENTS: [SessionAgent; 2] = [SessionAgent::Crush, SessionAgent::Goose];
const SESSION: &str = "7f0c1a52-9a63-4f0e-8f4e-1d2c3b4a5968";
const OTHER: &str = "5e0c1a52-9a63-4f0e-8f4e-1d2c3b4a5968";

#[test]
fn damaged_rows_are_repaired_and_only_damaged_rows_change() {
    let mut stores = 0;
    for agent in AGENTS {
        // All rows of a turn in one second, and each in its own.
        for (step, damage) in
            [0, 1].into_iter().flat_map(|step| ROW_DAMAGES.iter().map(move |it| (step, it)))
        {
            for place in [0, 2] {
                let case = format!("{}: {} at {place}, step {step}", agent.name(), damage.name);
                let home = TestHome::new();
                let mut store = RowStore::create(home.folder(), agent, step);
                let keys = store.story(SESSION, 3);
                store.story(OTHER, 2);
                let (call, result) = &keys[place];
                (damage.make)(&store, call, result);
                let database = store.close();
                let path = database.join(SESSION);
                let before = dump(&database, agent);
                assert!(!findings(&path).is_empty(), "{case}");
                let report = home.fix(&path).unwrap_or_else(|error| panic!("{case}: {error:#}"));
                assert!(report.is_some(), "{case}");
                assert_eq!(findings(&path), Vec::<String>::new(), "{case}");
                check_untouched(&before, &dump(&database, agent), [call, result], step, &case);
                home.undo(&path, false).unwrap_or_else(|error| panic!("{case}: {error:#}"));
                assert_eq!(dump(&database, agent), before, "{case}");
                stores += 1;
            }
        }
    }
    assert!(stores >= 40, "{stores}");
}

/// Rows other than the damaged ones keep their content, and in different seconds also their keys.
fn check_untouched(
    before: &[(String, String)],
    after: &[(String, String)],
    damaged: [&String; 2],
    step: i64,
    case: &str,
) {
    let is_message = |(_, values): &&(String, String)| values.contains("type");
    let named = |(key, values): &(String, String)| match step {
        0 => values.clone(),
        _ => format!("{key} {values}"),
    };
    let after: BTreeSet<String> = after.iter().filter(is_message).map(named).collect();
    for row in before.iter().filter(is_message) {
        let is_damaged = damaged.iter().any(|key| row.0.ends_with(key.as_str()));
        let is_copy = before.iter().filter(|other| other.1 == row.1).count() > 1;
        assert!(is_damaged || is_copy || after.contains(&named(row)), "{case}: {row:?}");
    }
    // Real outputs stay.
    for number in 0..3 {
        let output = format!("output {number}\\\"");
        let had = before.iter().any(|row| row.1.contains(&output));
        assert!(!had || after.iter().any(|row| row.contains(&output)), "{case}: {output}");
    }
}

#[test]
fn sound_stores_are_listed_and_not_written() {
    for agent in AGENTS {
        let home = TestHome::new();
        let mut store = RowStore::create(home.folder(), agent, 0);
        store.story(SESSION, 3);
        let database = store.close();
        let bytes = std::fs::read(&database).unwrap();
        let path = database.join(SESSION);
        assert_eq!(findings(&path), Vec::<String>::new());
        assert!(home.fix(&path).unwrap().is_none());
        assert_eq!(std::fs::read(&database).unwrap(), bytes);
        let found = find_in(&home.folders(), &[agent]);
        assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
        let [entry] = found.entries.as_slice() else { panic!("{:?}", found.entries) };
        assert_eq!((entry.id.as_str(), entry.title.as_deref()), (SESSION, Some("A story")));
        assert!(entry.project.as_deref().is_some_and(|folder| folder.ends_with("ulm")));
        let age = entry.modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        assert!((1_700_000_000..4_000_000_000).contains(&age), "{age}");
    }
}

#[test]
fn the_number_of_messages_is_kept() {
    let home = TestHome::new();
    let mut store = RowStore::create(home.folder(), SessionAgent::Crush, 1);
    let keys = store.story(SESSION, 2);
    store.connection.execute("DELETE FROM messages WHERE id = ?1", [&keys[0].1]).unwrap();
    let database = store.close();
    home.fix(&database.join(SESSION)).unwrap().unwrap();
    let connection = Connection::open(&database).unwrap();
    let query = "SELECT message_count, (SELECT count(*) FROM messages) FROM sessions";
    let counts = connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(counts, Ok((8, 8)));
}

#[test]
fn a_summary_hides_what_is_before_it() {
    let home = TestHome::new();
    let mut store = RowStore::create(home.folder(), SessionAgent::Crush, 1);
    let keys = store.story(SESSION, 3);
    let summary: String = store
        .connection
        .query_row("SELECT id FROM messages WHERE parts LIKE '%answer 1%'", [], |row| row.get(0))
        .unwrap();
    store.connection.execute("UPDATE sessions SET summary_message_id = ?1", [&summary]).unwrap();
    store.connection.execute("DELETE FROM messages WHERE id = ?1", [&keys[0].1]).unwrap();
    let path = store.close().join(SESSION);
    assert_eq!(findings(&path), Vec::<String>::new());
}

#[test]
fn messages_that_the_model_does_not_see_are_not_checked() {
    let home = TestHome::new();
    let mut store = RowStore::create(home.folder(), SessionAgent::Goose, 1);
    let keys = store.story(SESSION, 2);
    store.connection.execute("DELETE FROM messages WHERE id = ?1", [&keys[0].1]).unwrap();
    let hidden = "UPDATE messages SET metadata_json = '{\"userVisible\":true,\"agentVisible\":false}' WHERE id <= 4";
    store.connection.execute(hidden, []).unwrap();
    let path = store.close().join(SESSION);
    assert_eq!(findings(&path), Vec::<String>::new());
}

#[test]
fn unknown_and_half_migrated_schemas_are_refused() {
    let table = [
        (SessionAgent::Crush, "ALTER TABLE messages DROP COLUMN is_summary_message", false),
        (SessionAgent::Crush, "ALTER TABLE messages ADD COLUMN thread TEXT", true),
        (
            SessionAgent::Crush,
            "CREATE TRIGGER other AFTER UPDATE ON messages BEGIN SELECT 1; END",
            true,
        ),
        (SessionAgent::Goose, "ALTER TABLE messages DROP COLUMN metadata_json", false),
        (SessionAgent::Goose, "ALTER TABLE messages ADD COLUMN thread TEXT", true),
        (SessionAgent::Goose, "ALTER TABLE messages RENAME TO messages_old", false),
        (SessionAgent::Goose, "INSERT INTO schema_version (version) VALUES (17)", true),
        (
            SessionAgent::Crush,
            "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER NOT NULL);
             INSERT INTO goose_db_version (version_id) VALUES (0), (20260127000000), (20260902120000)",
            true,
        ),
    ];
    for (agent, change, is_listed) in table {
        let home = TestHome::new();
        let mut store = RowStore::create(home.folder(), agent, 1);
        let keys = store.story(SESSION, 2);
        store.connection.execute("DELETE FROM messages WHERE id = ?1", [&keys[0].1]).unwrap();
        store.connection.execute_batch(change).unwrap();
        let database = store.close();
        let listed = list_sessions(&database, StoredSizes::Needed);
        assert_eq!(listed.is_ok(), is_listed, "{change}: {listed:?}");
        let refused = home.fix(&database.join(SESSION)).unwrap_err();
        let expected = if is_listed { "is not known" } else { "schema" };
        assert!(format!("{refused:#}").contains(expected), "{change}: {refused:#}");
    }
}

#[test]
fn a_version_of_the_schema_that_was_checked_is_written() {
    let home = TestHome::new();
    let mut store = RowStore::create(home.folder(), SessionAgent::Crush, 1);
    let keys = store.story(SESSION, 2);
    store.connection.execute("DELETE FROM messages WHERE id = ?1", [&keys[0].1]).unwrap();
    let versions =
        "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER NOT NULL);
        INSERT INTO goose_db_version (version_id) VALUES (0), (20250424200609), (20260127000000)";
    store.connection.execute_batch(versions).unwrap();
    let path = store.close().join(SESSION);
    assert!(home.fix(&path).unwrap().is_some());
}

#[test]
fn parts_of_unknown_kinds_are_refused() {
    for agent in AGENTS {
        let home = TestHome::new();
        let mut store = RowStore::create(home.folder(), agent, 1);
        store.story(SESSION, 2);
        let column = if agent == SessionAgent::Crush { "parts" } else { "content_json" };
        let change = format!(
            "UPDATE messages SET {column} = replace({column}, '\"type\":\"text\"', '\"type\":\"hologram\"')"
        );
        store.connection.execute(&change, []).unwrap();
        let path = store.close().join(SESSION);
        assert_eq!(findings(&path), ["unread"]);
    }
}
