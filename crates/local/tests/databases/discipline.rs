//! When a database is not written: unknown schemas, attached writers, rows that changed.

use std::{fs, thread};

use foxwedge_local::{
    database::{StoredSizes, list_sessions},
    disk::FileSnapshot,
};
use rusqlite::Connection;

use crate::{
    store::{DAMAGES, OpencodeStore, dump_file, tool_rows},
    test_home::{TestHome, findings},
};

const SESSION: &str = "ses_1eca236ba001Ulm00000000000";

/// A home with one damaged session.
fn damaged() -> (TestHome, std::path::PathBuf) {
    let home = TestHome::new();
    let mut store = OpencodeStore::create(&home.database());
    store.story(SESSION, 2);
    let (message, part) = tool_rows(&store.connection).remove(0);
    (DAMAGES[0].make)(&store.connection, &message, &part);
    let path = store.close().join(SESSION);
    (home, path)
}

fn refusal(result: anyhow::Result<impl Sized>) -> String {
    format!("{:#}", result.err().expect("it must be refused"))
}

#[test]
fn an_unknown_schema_is_refused_with_the_place() {
    let table = [
        ("ALTER TABLE part ADD COLUMN digest text", "column `digest` of table `part` is not known"),
        (
            "ALTER TABLE message ADD COLUMN seq integer",
            "column `seq` of table `message` is not known",
        ),
        (
            "CREATE TRIGGER t AFTER UPDATE ON part BEGIN SELECT 1; END",
            "trigger `t` of table `part`",
        ),
    ];
    for (change, expected) in table {
        let (home, path) = damaged();
        Connection::open(home.database()).unwrap().execute_batch(change).unwrap();
        let before = dump_file(&home.database());
        assert!(!findings(&path).is_empty(), "it can still be read");
        let refused = refusal(home.fix(&path));
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(dump_file(&home.database()), before);
    }
    for change in ["ALTER TABLE session RENAME TO session_v2", "ALTER TABLE part DROP COLUMN data"]
    {
        let (home, _) = damaged();
        Connection::open(home.database()).unwrap().execute_batch(change).unwrap();
        let refused = refusal(list_sessions(&home.database(), StoredSizes::Needed));
        assert!(refused.contains("opencode 2.x") || refused.contains("no schema"), "{refused}");
    }
}

#[test]
fn an_attached_connection_keeps_the_database_from_being_written() {
    let (home, path) = damaged();
    let agent = Connection::open(home.database()).unwrap();
    let count: i64 = agent.query_row("SELECT count(*) FROM part", [], |row| row.get(0)).unwrap();
    assert!(count > 0);
    let before = dump_file(&home.database());
    let refused = refusal(home.fix(&path));
    assert!(refused.contains("in use"), "{refused}");
    agent.execute("UPDATE session SET title = 'the agent goes on'", []).unwrap();
    drop(agent);
    assert_ne!(dump_file(&home.database()), before);
    assert!(home.fix(&path).unwrap().is_some());
}

#[test]
fn rows_that_the_agent_wrote_meanwhile_are_not_overwritten() {
    let (home, path) = damaged();
    let snapshot = FileSnapshot::take(&path).unwrap();
    let agent = Connection::open(home.database()).unwrap();
    agent.execute("UPDATE part SET data = replace(data, 'output', 'OUTPUT')", []).unwrap();
    agent.close().unwrap();
    let before = dump_file(&home.database());
    let refused = refusal(home.fix_snapshot(&snapshot));
    assert!(refused.contains("changed while it was being repaired"), "{refused}");
    assert_eq!(dump_file(&home.database()), before);
    assert!(
        !home
            .state()
            .join("backups")
            .read_dir()
            .unwrap()
            .any(|entry| { entry.unwrap().path().extension().is_some_and(|end| end == "bak") })
    );
}

#[test]
fn undo_restores_rows_and_refuses_if_the_agent_wrote_them_since() {
    let (home, path) = damaged();
    let before = dump_file(&home.database());
    home.fix(&path).unwrap().unwrap();
    let agent = Connection::open(home.database()).unwrap();
    // Another session goes on: that does not matter.
    agent
        .execute_batch(
            "INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
             VALUES ('ses_other', 'global', 's', '/', 'Another', '1.18.33', 1, 1)",
        )
        .unwrap();
    agent.execute("UPDATE part SET data = replace(data, 'answer 1', 'answer one')", []).unwrap();
    agent.close().unwrap();
    let refused = refusal(home.undo(&path, false));
    assert!(refused.contains("changed since it was fixed"), "{refused}");
    let agent = Connection::open(home.database()).unwrap();
    agent.execute("UPDATE part SET data = replace(data, 'answer one', 'answer 1')", []).unwrap();
    agent.close().unwrap();
    home.undo(&path, false).unwrap();
    let mut after = dump_file(&home.database());
    after.retain(|(_, id, _)| id != "ses_other");
    assert_eq!(after, before);
    assert!(refusal(home.undo(&path, false)).contains("no fix of this file can be undone"));
}

#[test]
fn a_forced_undo_keeps_the_current_rows_as_a_backup() {
    let (home, path) = damaged();
    let before = dump_file(&home.database());
    home.fix(&path).unwrap().unwrap();
    let agent = Connection::open(home.database()).unwrap();
    agent.execute("UPDATE part SET data = replace(data, 'answer 1', 'answer one')", []).unwrap();
    agent.close().unwrap();
    let changed = dump_file(&home.database());
    home.undo(&path, true).unwrap();
    assert_eq!(dump_file(&home.database()), before);
    home.undo(&path, false).unwrap();
    assert_eq!(dump_file(&home.database()), changed);
}

#[test]
fn a_copy_of_the_whole_database_is_made_before_the_first_change() {
    let (home, path) = damaged();
    let before = dump_file(&home.database());
    home.fix(&path).unwrap().unwrap();
    let copies = fs::read_dir(home.state().join("backups/databases")).unwrap();
    let copies: Vec<_> = copies.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(dump_file(&copies[0]), before);
}

#[test]
fn two_fixers_at_once_repair_once() {
    for _ in 0..5 {
        let (home, path) = damaged();
        let done = thread::scope(|scope| {
            let fixers: Vec<_> = (0..2).map(|_| scope.spawn(|| home.fix(&path))).collect();
            fixers.into_iter().map(|fixer| fixer.join().unwrap()).collect::<Vec<_>>()
        });
        let made = done.iter().filter(|done| matches!(done, Ok(Some(_)))).count();
        assert_eq!(made, 1, "{done:?}");
        for refused in done.iter().filter_map(|done| done.as_ref().err()) {
            assert!(format!("{refused:#}").contains("changed while"), "{refused:#}");
        }
        assert_eq!(findings(&path), Vec::<String>::new());
    }
}

#[test]
fn read_only_media_are_read_and_not_written() {
    let (home, path) = damaged();
    let mut permissions = fs::metadata(home.database()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(home.database(), permissions).unwrap();
    assert!(!findings(&path).is_empty());
    let refused = refusal(home.fix(&path));
    assert!(refused.contains("read-only"), "{refused}");
}

#[test]
fn a_damaged_database_is_named_as_such() {
    let (home, path) = damaged();
    let mut bytes = fs::read(home.database()).unwrap();
    let last = bytes.len() - 4096;
    bytes[last..].fill(0x5a);
    fs::write(home.database(), &bytes).unwrap();
    let refused = match FileSnapshot::take(&path) {
        Err(error) => error.to_string(),
        Ok(snapshot) => refusal(home.fix_snapshot(&snapshot)),
    };
    assert!(refused.contains("damaged") || refused.contains("malformed"), "{refused}");
    assert_eq!(fs::read(home.database()).unwrap(), bytes);
}

#[test]
fn a_database_that_cannot_be_read_is_named_in_lists() {
    let home = TestHome::new();
    fs::create_dir_all(home.database().parent().unwrap()).unwrap();
    for content in ["SQLite format 3\0", "something else"] {
        fs::write(home.database(), content).unwrap();
        let found = foxwedge_local::agents::find_in(&home.folders(), &[]);
        assert!(found.entries.is_empty());
        let named: Vec<_> = found.unreadable.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(named, [home.database()], "{content}");
    }
}
