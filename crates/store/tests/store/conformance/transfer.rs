//! Out as JSON lines and in again: whole, or good up to the damage and not a word further.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_store::{
    ArchiveStore, CloseAuthority, ExportReport, FileDamage, ImportReport, Lease, NewRecord, NewRun,
    NewSession, RunClosing, RunState, SqliteStore, Store, export, import, sweep, verify_log,
};

use crate::sample::{
    at_work, closing, current, new_run, new_session, record, refusal, says, started, texts,
};

/// Two sessions: one with records, a run that ended and a run at work, one with nothing.
async fn filled(store: &impl ArchiveStore) -> Lease {
    let (run, lease) = at_work(store, "s", "r1").await;
    let records = vec![record("a", None), record("b", Some("a")), record("c", Some("a"))];
    store.append_records("s", records).await.expect("stored");
    let mut events = texts(&run, 2, 4);
    events.push(says(&run, 5, "\u{1F98A} \"quoted\"\n\0"));
    store.append("r1", &lease, events).await.expect("stored");
    let end = RunClosing {
        records: vec![NewRecord { run: Some("r1".to_owned()), ..record("d", Some("b")) }],
        ..closing(&current(store, "r1").await, Outcome::Completed)
    };
    store.finalize("r1", CloseAuthority::Holder(lease), end).await.expect("ended");
    later().await;
    let mut new = NewRun { key: Some("key".to_owned()), ..new_run("s", "r2") };
    new.start.agent = Some("claude-code".into());
    let (run, lease) = started(store, new).await;
    store.append("r2", &lease, texts(&run, 2, 3)).await.expect("stored");
    store.create_session(NewSession { meta: None, ..new_session("t") }).await.expect("a session");
    lease
}

/// Lists go by time: what has the same one is listed in the order in which it was written.
async fn later() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

async fn written(store: &impl ArchiveStore) -> Vec<u8> {
    let mut out = Vec::new();
    let exported = export(store, &[], &mut out).await.expect("exported");
    let all = ExportReport { sessions: 2, records: 4, runs: 2, events: 9, damage: Vec::new() };
    assert_eq!(exported, all);
    out
}

/// A file that another store wrote.
async fn file() -> Vec<u8> {
    let store = SqliteStore::memory().await.expect("a store");
    filled(&store).await;
    written(&store).await
}

/// Everything in a store but who holds what.
async fn content(store: &impl ArchiveStore) -> String {
    let mut told = String::new();
    for id in ["s", "t"] {
        told += &format!("{:#?}\n", store.session(id).await.expect("an answer"));
        told += &format!("{:#?}\n", store.records(id, 0, 100).await.expect("records"));
    }
    for id in ["r1", "r2"] {
        let mut run = current(store, id).await;
        (run.lease, run.lease_until) = (None, None);
        told += &format!("{run:#?}\n{:#?}\n", store.events(id, 0, 100).await.expect("the log"));
    }
    told
}

pub(crate) async fn what_is_exported_is_imported_as_it_was(store: Arc<impl ArchiveStore>) {
    filled(&*store).await;
    let bytes = written(&*store).await;
    let there = SqliteStore::memory().await.expect("a store");
    let all =
        ImportReport { sessions: 2, records: 4, runs: 2, events: 9, ..ImportReport::default() };
    assert_eq!(import(&there, &*bytes).await.expect("imported"), all);
    assert_eq!(content(&there).await, content(&*store).await);
    for id in ["r1", "r2"] {
        assert_eq!(verify_log(&there, id).await.expect("verified"), []);
    }
    // And back: the second file is the first.
    assert_eq!(written(&there).await, bytes);
}

pub(crate) async fn an_import_twice_changes_nothing(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let first = import(&*store, &*bytes).await.expect("imported");
    assert_eq!((first.events, &first.damage), (9, &None));
    let before = content(&*store).await;
    for _ in 0..2 {
        let again = import(&*store, &*bytes).await.expect("imported");
        assert_eq!(again, ImportReport::default());
    }
    assert_eq!(content(&*store).await, before);
    assert_eq!(written(&*store).await, bytes);
}

pub(crate) async fn only_named_sessions_are_exported(store: Arc<impl ArchiveStore>) {
    filled(&*store).await;
    let mut out = Vec::new();
    let exported = export(&*store, &["t".to_owned()], &mut out).await.expect("exported");
    assert_eq!(exported, ExportReport { sessions: 1, ..ExportReport::default() });
    let text = String::from_utf8(out).expect("text");
    assert_eq!(text.lines().count(), 3);
    assert!(text.contains("\"about t\"") && !text.contains("\"about s\""), "{text}");
}

pub(crate) async fn a_session_that_is_not_there_is_not_exported(store: Arc<impl ArchiveStore>) {
    let refused = refusal(export(&*store, &["none".to_owned()], Vec::new()).await);
    assert_eq!(refused, "session `none` does not exist");
}

pub(crate) async fn an_imported_open_run_is_swept(store: Arc<impl ArchiveStore>) {
    import(&*store, &*file().await).await.expect("imported");
    assert_eq!(current(&*store, "r2").await.state, RunState::Open);
    let swept = sweep(&*store, "sweeper", 10).await.expect("swept");
    let ids: Vec<&str> = swept.iter().map(|swept| swept.run.id.as_str()).collect();
    assert_eq!(ids, ["r2"]);
    assert_eq!(current(&*store, "r2").await.state.outcome(), Some(Outcome::Interrupted));
    assert_eq!(current(&*store, "r1").await.state.outcome(), Some(Outcome::Completed));
    // The file again: the run has ended here, and stays so.
    let again = import(&*store, &*file().await).await.expect("imported");
    assert_eq!(again.damage, None);
    assert_eq!(current(&*store, "r2").await.state.outcome(), Some(Outcome::Interrupted));
}

pub(crate) async fn a_file_cut_anywhere_is_good_up_to_there(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let lines = line_starts(&bytes);
    // Near every end of a line, and in the midst of it; longer and longer.
    let mut cuts: Vec<usize> = lines
        .iter()
        .flat_map(|start| [start.saturating_sub(1), *start, start + 1, start + 40])
        .filter(|cut| *cut < bytes.len())
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut events = 0;
    for cut in cuts {
        let torn = &bytes[..cut];
        let imported = import(&*store, torn).await.expect("imported");
        let whole = lines.iter().filter(|start| **start <= cut).count() as u64;
        let offset = lines[whole as usize - 1];
        let damage = imported.damage.clone().expect("damage");
        assert_eq!((damage.line, damage.offset), (whole, offset as u64), "cut at {cut}");
        events += imported.events;
        for id in ["r1", "r2"] {
            if store.run(id).await.expect("an answer").is_some() {
                assert_eq!(verify_log(&*store, id).await.expect("verified"), []);
            }
        }
    }
    assert_eq!(events, 9);
    let rest = import(&*store, &*bytes).await.expect("imported");
    assert_eq!(rest, ImportReport::default());
    assert_eq!(written(&*store).await, bytes);
}

pub(crate) async fn a_bit_flipped_anywhere_is_found(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let lines = line_starts(&bytes);
    for place in (0..bytes.len()).step_by(61) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (place % 8);
        let imported = import(&*store, &*flipped).await.expect("imported");
        let line = lines.iter().filter(|start| **start <= place).count() as u64;
        let damage = imported.damage.expect("damage");
        // A flipped end of a line joins it with the next one.
        assert_eq!(damage.line, line, "bit at {place}: {damage:?}");
        assert_eq!(imported.conflicts, [""; 0]);
    }
    import(&*store, &*bytes).await.expect("imported");
    assert_eq!(written(&*store).await, bytes);
}

pub(crate) async fn a_file_that_lost_a_line_is_good_up_to_there(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let text = String::from_utf8(bytes).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    for lost in 0..lines.len() {
        let rest: Vec<&str> = lines[..lost].iter().chain(&lines[lost + 1..]).copied().collect();
        let file = rest.join("\n") + "\n";
        let imported = import(&*store, file.as_bytes()).await.expect("imported");
        let damage = imported.damage.expect("damage");
        assert_eq!(damage.line, lost as u64 + 1, "without line {}", lost + 1);
        // Two lines that changed places are no better.
        if lost + 1 < lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(lost, lost + 1);
            let file = swapped.join("\n") + "\n";
            let imported = import(&*store, file.as_bytes()).await.expect("imported");
            assert_eq!(imported.damage.expect("damage").line, lost as u64 + 1);
        }
    }
}

pub(crate) async fn other_content_is_listed_and_left_alone(store: Arc<impl ArchiveStore>) {
    let other = NewSession { title: "other".to_owned(), ..new_session("s") };
    let kept = store.create_session(other).await.expect("a session");
    let imported = import(&*store, &*file().await).await.expect("imported");
    let expected = ImportReport {
        sessions: 1,
        conflicts: vec!["s".to_owned()],
        conflicting: 1,
        ..ImportReport::default()
    };
    assert_eq!(imported, expected);
    assert_eq!(store.session("s").await.expect("an answer"), Some(kept));
    assert_eq!(store.records("s", 0, 10).await.expect("records"), []);
    assert_eq!(store.run("r1").await.expect("an answer"), None);
}

pub(crate) async fn a_run_at_work_is_not_touched_by_an_import(store: Arc<impl ArchiveStore>) {
    let lease = filled(&*store).await;
    let early = written(&*store).await;
    let run = current(&*store, "r2").await;
    assert_eq!(import(&*store, &*early).await.expect("imported"), ImportReport::default());
    assert_eq!(current(&*store, "r2").await, run);
    // It goes on, and the file is behind.
    store.append("r2", &lease, texts(&run, 4, 5)).await.expect("stored");
    assert_eq!(import(&*store, &*early).await.expect("imported"), ImportReport::default());
    assert_eq!(current(&*store, "r2").await.last, 5);
    // A file that is ahead of a run that somebody holds does not push it.
    let mut late = Vec::new();
    export(&*store, &[], &mut late).await.expect("exported");
    let there = SqliteStore::memory().await.expect("a store");
    import(&there, &*early).await.expect("imported");
    let taken = there.take_over("r2", "node-9", 1_000_000).await.expect("an answer");
    assert!(taken.is_some());
    let imported = import(&there, &*late).await.expect("imported");
    assert_eq!(imported.conflicts, ["r2: r2/4"]);
    assert_eq!(current(&there, "r2").await.lease, taken);
}

pub(crate) async fn pretty_json_survives(store: Arc<impl ArchiveStore>) {
    let pretty = "\r\n{\n  \"a\": [1,\r 2]\n}\t".to_owned();
    let new = NewSession { meta: Some(pretty.clone()), ..new_session("s") };
    store.create_session(new).await.expect("a session");
    let spelled = NewRecord { body: pretty, ..record("a", None) };
    store.append_records("s", vec![spelled]).await.expect("stored");
    let mut out = Vec::new();
    export(&*store, &[], &mut out).await.expect("exported");
    let there = SqliteStore::memory().await.expect("a store");
    assert_eq!(import(&there, &*out).await.expect("imported").damage, None);
    assert_eq!(
        there.session("s").await.expect("an answer"),
        store.session("s").await.expect("an answer")
    );
    assert_eq!(
        there.records("s", 0, 10).await.expect("records"),
        store.records("s", 0, 10).await.expect("records")
    );
}

/// Files whose links are right, made by somebody who means harm.
pub(crate) async fn hostile_files_are_refused(store: Arc<impl ArchiveStore>) {
    let head = "{\"foxwedge\":1";
    let session = |id: &str| {
        format!(
            "{{\"session\":{{\"id\":{},\"owner\":\"me\",\"title\":\"\",\"created\":1,\"touched\":1,\"epoch\":0}}",
            serde_json::Value::from(id)
        )
    };
    let run = |id: &str, epoch: u64| {
        format!("{{\"run\":{{\"id\":\"{id}\",\"epoch\":{epoch},\"started\":1}}")
    };
    let event = |text: &str| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[0; 16]).update(&1_u64.to_le_bytes()).update(text.as_bytes());
        let chain = &hasher.finalize().to_hex()[..32];
        format!("{{\"event\":{text},\"chain\":\"{chain}\"")
    };
    let record = |id: &str, body: &str| {
        format!(
            "{{\"record\":{{\"ordinal\":1,\"at\":1,\"id\":\"{id}\",\"kind\":\"k\"}},\"body\":{body}"
        )
    };
    let ok = session("ok");
    let deep = format!("{{\"session\":{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let path = "is 1 to 128 of A-Z";
    let table: Vec<(Vec<String>, u64, &str)> = vec![
        (vec!["{\"foxwedge\":2".into()], 1, "nobody knows version 2"),
        (vec![ok.clone()], 1, "the first line, and no other, names the format"),
        (vec![head.into(), head.into()], 2, "the first line, and no other, names the format"),
        (vec![head.into(), "{\"weird\":1".into()], 2, "nobody knows this kind of line"),
        (vec![head.into(), "not json".into()], 2, "the line is no JSON"),
        (vec![head.into(), deep], 2, "recursion limit"),
        (vec![head.into(), session("../../etc/passwd")], 2, path),
        (vec![head.into(), session("")], 2, path),
        (vec![head.into(), ok.clone(), run("../r", 1)], 3, path),
        (vec![head.into(), ok.clone(), record("../r", "1")], 3, path),
        (vec![head.into(), ok.clone(), run("r", u64::MAX)], 3, "is too high"),
        (vec![head.into(), run("r", 1)], 2, "the line belongs to no session"),
        (vec![head.into(), record("a", "1")], 2, "the line belongs to no session"),
        (vec![head.into(), event("{}")], 2, "an event without a run"),
        (
            vec![head.into(), ok.clone(), "{\"run_end\":{\"state\":\"open\"}".into()],
            3,
            "an end without a run",
        ),
        (vec![head.into(), ok.clone(), run("r", 1), ok.clone()], 4, "the run before has no end"),
        (
            vec![
                head.into(),
                ok.clone(),
                run("r", 1),
                event("{\"runId\":\"x\",\"type\":\"text\"}"),
            ],
            4,
            "the event belongs to another run",
        ),
        (
            vec![
                head.into(),
                ok.clone(),
                run("r", 1),
                event("{\"runId\":\"r\",\"seq\":9,\"type\":\"text\"}"),
            ],
            4,
            "the event stands in another place",
        ),
        (
            vec![
                head.into(),
                ok.clone(),
                run("r", 1),
                event("{\"runId\":\"r\",\"epoch\":9,\"type\":\"text\"}"),
            ],
            4,
            "the event bears the epoch of another run",
        ),
        (
            vec![head.into(), ok.clone(), run("r", 1), "{\"event\":{},\"chain\":\"00\"".into()],
            4,
            "the event has no link",
        ),
        (
            vec![
                head.into(),
                "{\"end\":{\"sessions\":1,\"records\":0,\"runs\":0,\"events\":0}".into(),
            ],
            2,
            "does not hold what its last line says",
        ),
        (
            vec![
                head.into(),
                "{\"end\":{\"sessions\":0,\"records\":0,\"runs\":0,\"events\":0}".into(),
                ok.clone(),
            ],
            3,
            "something follows the last line",
        ),
    ];
    for (lines, line, what) in table {
        let imported = import(&*store, &*linked(&lines)).await.expect("imported");
        let damage = imported.damage.expect("damage");
        assert_eq!(damage.line, line, "{damage:?}");
        assert!(damage.what.contains(what), "{what}: {damage:?}");
    }
    let nothing = FileDamage { line: 1, offset: 0, what: "the file breaks off".to_owned() };
    assert_eq!(import(&*store, &b""[..]).await.expect("imported").damage, Some(nothing));
    // Nothing hostile got in; what was good before it did, and can be swept.
    assert!(store.session("ok").await.expect("an answer").is_some());
    sweep(&*store, "sweeper", 10).await.expect("swept");
    assert_eq!(store.abandoned_runs(10).await.expect("a list"), []);
}

/// Lines with the links that they would have.
fn linked(lines: &[String]) -> Vec<u8> {
    let mut link = [0; 16];
    let mut file = String::new();
    for line in lines {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&link).update(line.as_bytes());
        link.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let hex: String = link.iter().map(|byte| format!("{byte:02x}")).collect();
        file += &format!("{line},\"link\":\"{hex}\"}}\n");
    }
    file.into_bytes()
}

fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    [0].into_iter().chain(ends.map(|(place, _)| place + 1)).collect()
}
