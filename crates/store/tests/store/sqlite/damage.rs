//! A damaged file: the damage is found and reported, and damaged data is never returned.

use std::{fs, io::Write, path::Path, sync::Arc};

use foxwedge_run::{EventPayload, Outcome};
use foxwedge_store::{
    AgentSnapshot, ArchiveStore, ExportReport, ImportReport, Lease, LogDefect, RunRow, RunState,
    SqliteStore, Store, StoreError, export, import, sweep, verify_log,
};
use rusqlite::Connection;

use crate::{
    sample::{current, log, open_run, record, refusal, seqs, texts, whole_run},
    temporary::Temporary,
};

/// A run with eight events, in a file that a store has open.
async fn stored(folder: &Temporary) -> (SqliteStore, RunRow, Lease) {
    let store = SqliteStore::open(folder.path("store.db")).await.expect("a store");
    let (run, lease) = open_run(&store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 8)).await.expect("stored");
    (store, run, lease)
}

fn change(folder: &Temporary, sql: &str) {
    let path = folder.path("store.db");
    Connection::open(path).expect("a file").execute_batch(sql).expect("a change");
}

fn defect(place: u64, why: &str) -> LogDefect {
    LogDefect { run: "r".to_owned(), place, why: why.to_owned() }
}

#[tokio::test]
async fn every_change_of_a_log_is_found() {
    const UNFIT: &str = "its hash does not match the events before it";
    const MISSING: &str = "it is missing";
    let table: [(&str, Vec<LogDefect>); 9] = [
        (
            "UPDATE events SET body = replace(body, 'word 5', 'word 6') WHERE seq = 5",
            vec![defect(5, UNFIT)],
        ),
        (
            "UPDATE events SET body = CAST(x'ff' || body AS TEXT) WHERE seq = 5",
            vec![defect(5, UNFIT)],
        ),
        (
            "UPDATE events SET chain = zeroblob(16) WHERE seq = 5",
            vec![defect(5, UNFIT), defect(6, UNFIT)],
        ),
        (
            "UPDATE events SET chain = zeroblob(3) WHERE seq = 5",
            vec![defect(5, UNFIT), defect(6, UNFIT)],
        ),
        ("DELETE FROM events WHERE seq = 5", vec![defect(5, MISSING), defect(6, UNFIT)]),
        ("DELETE FROM events WHERE seq > 6", vec![defect(7, MISSING), defect(8, MISSING)]),
        (
            "UPDATE events SET place = -place WHERE seq IN (3, 4);
             UPDATE events SET place = (2 << 32) + 7 + place WHERE place < 0",
            vec![defect(3, UNFIT), defect(4, UNFIT), defect(5, UNFIT)],
        ),
        (
            "UPDATE runs SET chain = zeroblob(16)",
            vec![defect(8, "it is not the last event of the run")],
        ),
        ("UPDATE runs SET last = 9", vec![defect(9, MISSING)]),
    ];
    for (sql, defects) in table {
        let folder = Temporary::folder();
        let (store, ..) = stored(&folder).await;
        assert_eq!(verify_log(&store, "r").await.expect("verified"), []);
        change(&folder, sql);
        assert_eq!(verify_log(&store, "r").await.expect("verified"), defects, "{sql}");
        // Reading stops before the first defect and never returns damaged events.
        let first = defects[0].place;
        let refused = refusal(store.events("r", 0, 100).await);
        let expected = format!("event {first} of run `r` is damaged: ");
        assert!(refused.starts_with(&expected), "{sql}: {refused}");
        let good = (first - 1) as usize;
        let before = store.events("r", 0, good).await.expect("what is good");
        assert_eq!(seqs(&before), (1..first).collect::<Vec<u64>>(), "{sql}");
    }
}

/// A whole run has one row of events. All of them are refused if any of them changed.
#[tokio::test]
async fn every_change_of_a_log_in_one_row_is_found() {
    let changes = [
        "UPDATE events SET body = replace(body, 'ended', 'odd')",
        "UPDATE events SET earlier = replace(earlier, 'word 5', 'word 6')",
        "UPDATE events SET earlier = replace(earlier, char(30), '')",
        "UPDATE events SET earlier = earlier || char(30) || '{}'",
        "UPDATE events SET earlier = CAST(x'ff' || earlier AS TEXT)",
        "UPDATE events SET earlier = NULL",
        "UPDATE events SET chain = zeroblob(16)",
        "UPDATE events SET place = place - 1",
        "UPDATE events SET place = place + 1",
        "DELETE FROM events",
    ];
    for sql in changes {
        let folder = Temporary::folder();
        let store = SqliteStore::open(folder.path("store.db")).await.expect("a store");
        store
            .put_whole_runs(vec![Arc::new(whole_run("s", "r", 8))])
            .await
            .pop()
            .expect("one")
            .expect("kept");
        assert_eq!(verify_log(&store, "r").await.expect("verified"), []);
        for after in 0..=9 {
            let read = store.events("r", after, 3).await.expect("events");
            assert_eq!(seqs(&read), (after + 1..=9).take(3).collect::<Vec<u64>>());
        }
        change(&folder, sql);
        let defects = verify_log(&store, "r").await.expect("verified");
        assert_eq!(defects.first().map(|defect| defect.place), Some(1), "{sql}: {defects:?}");
        for after in 0..9 {
            let refused = refusal(store.events("r", after, 3).await);
            assert!(refused.contains(" of run `r` is damaged: "), "{sql}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_record_or_a_snapshot_that_changed_is_found() {
    let folder = Temporary::folder();
    let (store, ..) = stored(&folder).await;
    let records = vec![record("a", None), record("b", Some("a"))];
    store.append_records("s", records).await.expect("stored");
    let snapshot = AgentSnapshot { name: "agent".to_owned(), body: vec![1, 2, 3], expires: None };
    store.put_snapshot("s", snapshot).await.expect("kept");
    assert_eq!(store.examine().await.expect("an answer"), [""; 0]);
    change(&folder, "UPDATE records SET body = replace(body, 'b', 'x') WHERE ordinal = 2");
    change(&folder, "UPDATE snapshots SET body = x'010203ff'");
    let damaged_record = "record `b` is damaged: its checksum does not match";
    assert_eq!(refusal(store.records("s", 0, 10).await), damaged_record);
    assert_eq!(
        refusal(store.append_records("s", vec![record("b", Some("a"))]).await),
        damaged_record
    );
    assert_eq!(store.records("s", 0, 1).await.expect("what is good").len(), 1);
    let damaged_snapshot = "snapshot `agent` is damaged: its checksum does not match";
    assert_eq!(refusal(store.snapshot("s", "agent").await), damaged_snapshot);
    assert_eq!(store.examine().await.expect("an answer"), [damaged_record, damaged_snapshot]);
    for (column, value) in
        [("kind", "'x'"), ("at", "7"), ("parent", "NULL"), ("run", "'r'"), ("seal", "x'00'")]
    {
        change(&folder, &format!("UPDATE records SET {column} = {value} WHERE ordinal = 2"));
        assert_eq!(refusal(store.records("s", 1, 10).await), damaged_record, "{column}");
    }
}

#[tokio::test]
async fn damaged_log_is_closed_and_reported() {
    let table = [
        (
            "UPDATE events SET body = replace(body, 'word 5', 'word 6') WHERE seq = 5",
            "word 2word 3word 4",
        ),
        ("DELETE FROM events WHERE seq = 3", "word 2"),
        ("DELETE FROM events", ""),
        ("UPDATE events SET body = '{' WHERE seq = 1", ""),
    ];
    for (sql, text) in table {
        let folder = Temporary::folder();
        let (store, _, lease) = stored(&folder).await;
        store.renew("r", &lease, 0).await.expect("given up");
        change(&folder, sql);
        let swept = sweep(&store, "sweeper", 10).await.expect("swept");
        assert_eq!(swept.len(), 1, "{sql}");
        assert!(swept[0].damage.is_some(), "{sql}");
        let run = current(&store, "r").await;
        let RunState::Ended { ended, .. } = &run.state else { panic!("{run:?}") };
        assert_eq!(ended.outcome, Some(Outcome::Interrupted), "{sql}");
        assert_eq!(ended.text.as_deref().unwrap_or(""), text, "{sql}");
        let code = ended.problem.as_ref().and_then(|problem| problem.code.as_deref());
        assert_eq!(code, Some("damaged_log"), "{sql}");
        // The end comes after everything, also after what cannot be read.
        assert_eq!(run.last, 9);
        let end = store.events("r", 8, 1).await;
        if sql != "DELETE FROM events" {
            assert_eq!(
                end.expect("the end")[0].event.body,
                EventPayload::Ended(ended.clone()),
                "{sql}"
            );
        }
        assert_eq!(sweep(&store, "sweeper", 10).await.expect("swept"), []);
    }
}

#[tokio::test]
async fn a_damaged_log_is_exported_up_to_the_damage() {
    let folder = Temporary::folder();
    let (store, ..) = stored(&folder).await;
    change(&folder, "UPDATE events SET body = replace(body, 'word 5', 'word 6') WHERE seq = 5");
    let mut out = Vec::new();
    let exported = export(&store, &[], &mut out).await.expect("exported");
    let expected = ExportReport {
        sessions: 1,
        records: 0,
        runs: 1,
        events: 4,
        damage: vec!["run `r`: event 5: its hash does not match the events before it".to_owned()],
    };
    assert_eq!(exported, expected);
    let target = SqliteStore::memory().await.expect("a store");
    let imported = import(&target, &*out).await.expect("imported");
    assert_eq!(
        imported,
        ImportReport { sessions: 1, runs: 1, events: 4, ..ImportReport::default() }
    );
    assert_eq!(log(&target, "r").await.len(), 4);
}

#[tokio::test]
async fn a_page_that_was_overwritten_is_found() {
    let folder = Temporary::folder();
    let (store, run, lease) = stored(&folder).await;
    for from in (9..2_000).step_by(100) {
        store.append("r", &lease, texts(&run, from, from + 99)).await.expect("stored");
    }
    drop(store);
    let path = folder.path("store.db");
    let whole = fs::read(&path).expect("the file");
    let mut noticed = 0;
    let pages = whole.len() / 4_096;
    for page in (1..pages).step_by(7) {
        let mut bytes = whole.clone();
        bytes[page * 4_096..(page + 1) * 4_096].fill(0x5a);
        fs::write(&path, &bytes).expect("damage");
        // Nothing panics, and no changed data is returned.
        let Ok(store) = SqliteStore::open(&path).await else {
            noticed += 1;
            continue;
        };
        let is_clean = store.examine().await.is_ok_and(|found| found.is_empty());
        match store.events("r", 0, 10_000).await {
            Ok(events) => {
                assert_eq!(events.len(), 2_008);
                assert_eq!(events[1_000].event.seq, Some(1_001));
            }
            Err(StoreError::Corrupt { .. }) => {}
            Err(error) => panic!("page {page}: {error}"),
        }
        assert!(!is_clean, "page {page}");
        noticed += 1;
    }
    assert!(noticed > 10, "{noticed}");
}

#[tokio::test]
async fn file_left_open_is_checked() {
    let folder = Temporary::folder();
    let (store, run, lease) = stored(&folder).await;
    for from in (9..2_000).step_by(100) {
        store.append("r", &lease, texts(&run, from, from + 99)).await.expect("stored");
    }
    drop(store);
    // As if the process had been killed: a page is broken, and a log is left behind.
    let path = folder.path("store.db");
    let mut bytes = fs::read(&path).expect("the file");
    let middle = bytes.len() / 4_096 / 2;
    bytes[middle * 4_096..(middle + 1) * 4_096].fill(0x5a);
    fs::write(&path, &bytes).expect("damage");
    let mut wal = fs::File::create(folder.path("store.db-wal")).expect("a log");
    wal.write_all(b"torn").expect("a log");
    drop(wal);
    let refused = refusal(SqliteStore::open(&path).await);
    let named = format!("`{}` is damaged: ", path.display());
    assert!(refused.starts_with(&named), "{refused}");
}

#[tokio::test]
async fn a_torn_write_ahead_log_loses_nothing_that_was_acknowledged() {
    let folder = Temporary::folder();
    let (store, run, lease) = stored(&folder).await;
    let copy = Temporary::folder();
    let source = folder.path("store.db");
    copy_all(&source, &copy.path("store.db"));
    // The next append is cut off anywhere: it was not acknowledged.
    store.append("r", &lease, texts(&run, 9, 9)).await.expect("stored");
    let acknowledged = fs::metadata(copy.path("store.db-wal")).expect("a log").len();
    let log_now = fs::read(folder.path("store.db-wal")).expect("a log");
    assert!(log_now.len() as u64 > acknowledged);
    for cut in (acknowledged as usize..=log_now.len()).step_by(977) {
        let torn = Temporary::folder();
        let path = torn.path("store.db");
        fs::copy(copy.path("store.db"), &path).expect("a copy");
        fs::write(torn.path("store.db-wal"), &log_now[..cut]).expect("a torn log");
        let store = SqliteStore::open(&path).await.expect("a store");
        let last = current(&store, "r").await.last;
        assert!(last == 8 || (last == 9 && cut == log_now.len()), "{last} after a cut at {cut}");
        assert_eq!(verify_log(&store, "r").await.expect("verified"), []);
        // The caller retries.
        assert_eq!(store.append("r", &lease, texts(&run, 9, 9)).await.expect("stored"), 9);
    }
}

fn copy_all(from: &Path, to: &Path) {
    for ending in ["", "-wal"] {
        let name = |path: &Path| format!("{}{ending}", path.display());
        fs::copy(name(from), name(to)).expect("a copy");
    }
}
