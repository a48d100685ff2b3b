//! Export and import of JSON lines: complete, or valid up to the damage and not beyond.

use std::{sync::Arc, time::Duration};

use foxwedge_run::Outcome;
use foxwedge_store::{
    ArchiveStore, CloseAuthority, ExportReport, FileDamage, ImportReport, Lease, NewRecord, NewRun,
    NewSession, RunClosing, RunState, SqliteStore, Store, export, import, sweep, verify_log,
};

use crate::sample::{
    closing, current, new_run, new_session, open_run, record, refusal, start_run, text_event, texts,
};

/// Two sessions: one with records, an ended run and an open run, one empty.
async fn fill(store: &impl ArchiveStore) -> Lease {
    let (run, lease) = open_run(store, "s", "r1").await;
    let records = vec![record("a", None), record("b", Some("a")), record("c", Some("a"))];
    store.append_records("s", records).await.expect("stored");
    let mut events = texts(&run, 2, 4);
    events.push(text_event(&run, 5, "\u{1F98A} \"quoted\"\n\0"));
    store.append("r1", &lease, events).await.expect("stored");
    let end = RunClosing {
        records: vec![NewRecord { run: Some("r1".to_owned()), ..record("d", Some("b")) }],
        ..closing(&current(store, "r1").await, Outcome::Completed)
    };
    store.finalize("r1", CloseAuthority::Holder(lease), end).await.expect("ended");
    later().await;
    let mut new = NewRun { key: Some("key".to_owned()), ..new_run("s", "r2") };
    new.start.agent = Some("claude-code".into());
    let (run, lease) = start_run(store, new).await;
    store.append("r2", &lease, texts(&run, 2, 3)).await.expect("stored");
    store.create_session(NewSession { meta: None, ..new_session("t") }).await.expect("a session");
    lease
}

/// Lists are sorted by time; rows with the same time are listed in the order in which they were
/// written.
async fn later() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

async fn export_all(store: &impl ArchiveStore) -> Vec<u8> {
    let mut out = Vec::new();
    let exported = export(store, &[], &mut out).await.expect("exported");
    let all = ExportReport { sessions: 2, records: 4, runs: 2, events: 9, damage: Vec::new() };
    assert_eq!(exported, all);
    out
}

/// A file that another store wrote.
async fn file() -> Vec<u8> {
    let store = SqliteStore::memory().await.expect("a store");
    fill(&store).await;
    export_all(&store).await
}

/// Everything in a store except the leases.
async fn content(store: &impl ArchiveStore) -> String {
    let mut text = String::new();
    for id in ["s", "t"] {
        text += &format!("{:#?}\n", store.session(id).await.expect("an answer"));
        text += &format!("{:#?}\n", store.records(id, 0, 100).await.expect("records"));
    }
    for id in ["r1", "r2"] {
        let mut run = current(store, id).await;
        (run.lease, run.lease_until) = (None, None);
        text += &format!("{run:#?}\n{:#?}\n", store.events(id, 0, 100).await.expect("the log"));
    }
    text
}

pub(crate) async fn an_export_is_imported_unchanged(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let bytes = export_all(&*store).await;
    let target = SqliteStore::memory().await.expect("a store");
    let all =
        ImportReport { sessions: 2, records: 4, runs: 2, events: 9, ..ImportReport::default() };
    assert_eq!(import(&target, &*bytes).await.expect("imported"), all);
    assert_eq!(content(&target).await, content(&*store).await);
    for id in ["r1", "r2"] {
        assert_eq!(verify_log(&target, id).await.expect("verified"), []);
    }
    // And back: the second file equals the first.
    assert_eq!(export_all(&target).await, bytes);
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
    assert_eq!(export_all(&*store).await, bytes);
}

pub(crate) async fn only_named_sessions_are_exported(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let mut out = Vec::new();
    let exported = export(&*store, &["t".to_owned()], &mut out).await.expect("exported");
    assert_eq!(exported, ExportReport { sessions: 1, ..ExportReport::default() });
    let text = String::from_utf8(out).expect("text");
    assert_eq!(text.lines().count(), 3);
    assert!(text.contains("\"about t\"") && !text.contains("\"about s\""), "{text}");
}

pub(crate) async fn a_missing_session_is_not_exported(store: Arc<impl ArchiveStore>) {
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
    // The file again: the run has ended here and stays so.
    let again = import(&*store, &*file().await).await.expect("imported");
    assert_eq!(again.damage, None);
    assert_eq!(current(&*store, "r2").await.state.outcome(), Some(Outcome::Interrupted));
}

pub(crate) async fn a_file_cut_anywhere_is_valid_up_to_the_cut(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let lines = line_starts(&bytes);
    // Near every end of a line and inside lines, with growing length.
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
        let complete = lines.iter().filter(|start| **start <= cut).count() as u64;
        let offset = lines[complete as usize - 1];
        let damage = imported.damage.clone().expect("damage");
        assert_eq!((damage.line, damage.offset), (complete, offset as u64), "cut at {cut}");
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
    assert_eq!(export_all(&*store).await, bytes);
}

pub(crate) async fn a_bit_flipped_anywhere_is_found(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let lines = line_starts(&bytes);
    for position in (0..bytes.len()).step_by(61) {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1 << (position % 8);
        let imported = import(&*store, &*flipped).await.expect("imported");
        let line = lines.iter().filter(|start| **start <= position).count() as u64;
        let damage = imported.damage.expect("damage");
        // A flipped line end joins the line with the next one.
        assert_eq!(damage.line, line, "bit at {position}: {damage:?}");
        assert_eq!(imported.conflicts, [""; 0]);
    }
    import(&*store, &*bytes).await.expect("imported");
    assert_eq!(export_all(&*store).await, bytes);
}

pub(crate) async fn a_file_without_a_line_is_valid_up_to_there(store: Arc<impl ArchiveStore>) {
    let bytes = file().await;
    let text = String::from_utf8(bytes).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    for removed in 0..lines.len() {
        let rest: Vec<&str> =
            lines[..removed].iter().chain(&lines[removed + 1..]).copied().collect();
        let file = rest.join("\n") + "\n";
        let imported = import(&*store, file.as_bytes()).await.expect("imported");
        let damage = imported.damage.expect("damage");
        assert_eq!(damage.line, removed as u64 + 1, "without line {}", removed + 1);
        // Two swapped lines are damage as well.
        if removed + 1 < lines.len() {
            let mut swapped = lines.clone();
            swapped.swap(removed, removed + 1);
            let file = swapped.join("\n") + "\n";
            let imported = import(&*store, file.as_bytes()).await.expect("imported");
            assert_eq!(imported.damage.expect("damage").line, removed as u64 + 1);
        }
    }
}

pub(crate) async fn other_content_is_listed_and_left_alone(store: Arc<impl ArchiveStore>) {
    let other = NewSession { title: "other".to_owned(), ..new_session("s") };
    let existing = store.create_session(other).await.expect("a session");
    let imported = import(&*store, &*file().await).await.expect("imported");
    let expected = ImportReport {
        sessions: 1,
        conflicts: vec!["s".to_owned()],
        conflicting: 1,
        ..ImportReport::default()
    };
    assert_eq!(imported, expected);
    assert_eq!(store.session("s").await.expect("an answer"), Some(existing));
    assert_eq!(store.records("s", 0, 10).await.expect("records"), []);
    assert_eq!(store.run("r1").await.expect("an answer"), None);
}

pub(crate) async fn an_open_run_is_not_changed_by_an_import(store: Arc<impl ArchiveStore>) {
    let lease = fill(&*store).await;
    let early = export_all(&*store).await;
    let run = current(&*store, "r2").await;
    assert_eq!(import(&*store, &*early).await.expect("imported"), ImportReport::default());
    assert_eq!(current(&*store, "r2").await, run);
    // The run continues, and the file is behind.
    store.append("r2", &lease, texts(&run, 4, 5)).await.expect("stored");
    assert_eq!(import(&*store, &*early).await.expect("imported"), ImportReport::default());
    assert_eq!(current(&*store, "r2").await.last, 5);
    // A file ahead of a run that another process holds does not change it.
    let mut late = Vec::new();
    export(&*store, &[], &mut late).await.expect("exported");
    let target = SqliteStore::memory().await.expect("a store");
    import(&target, &*early).await.expect("imported");
    let taken = target.take_over("r2", "node-9", 1_000_000).await.expect("an answer");
    assert!(taken.is_some());
    let imported = import(&target, &*late).await.expect("imported");
    assert_eq!(imported.conflicts, ["r2: r2/4"]);
    assert_eq!(current(&target, "r2").await.lease, taken);
}

pub(crate) async fn pretty_json_survives(store: Arc<impl ArchiveStore>) {
    let pretty = "\r\n{\n  \"a\": [1,\r 2]\n}\t".to_owned();
    let new = NewSession { meta: Some(pretty.clone()), ..new_session("s") };
    store.create_session(new).await.expect("a session");
    let unusual = NewRecord { body: pretty, ..record("a", None) };
    store.append_records("s", vec![unusual]).await.expect("stored");
    let mut out = Vec::new();
    export(&*store, &[], &mut out).await.expect("exported");
    let target = SqliteStore::memory().await.expect("a store");
    assert_eq!(import(&target, &*out).await.expect("imported").damage, None);
    assert_eq!(
        target.session("s").await.expect("an answer"),
        store.session("s").await.expect("an answer")
    );
    assert_eq!(
        target.records("s", 0, 10).await.expect("records"),
        store.records("s", 0, 10).await.expect("records")
    );
}

/// Files with valid links and hostile content.
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
    let path = "an id has 1 to 128 characters of A-Z";
    let table: Vec<(Vec<String>, u64, &str)> = vec![
        (vec!["{\"foxwedge\":2".into()], 1, "unknown format version 2"),
        (vec![ok.clone()], 1, "the first line, and no other, must name the format"),
        (vec![head.into(), head.into()], 2, "the first line, and no other, must name the format"),
        (vec![head.into(), "{\"weird\":1".into()], 2, "unknown kind of line"),
        (vec![head.into(), "not json".into()], 2, "the line is not valid JSON"),
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
        (vec![head.into(), ok.clone(), run("r", 1), ok.clone()], 4, "the previous run has no end"),
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
            "the event has another number",
        ),
        (
            vec![
                head.into(),
                ok.clone(),
                run("r", 1),
                event("{\"runId\":\"r\",\"epoch\":9,\"type\":\"text\"}"),
            ],
            4,
            "the event has the epoch of another run",
        ),
        (
            vec![head.into(), ok.clone(), run("r", 1), "{\"event\":{},\"chain\":\"00\"".into()],
            4,
            "the event has no hash",
        ),
        (
            vec![
                head.into(),
                "{\"end\":{\"sessions\":1,\"records\":0,\"runs\":0,\"events\":0}".into(),
            ],
            2,
            "the counts in the last line do not match the file",
        ),
        (
            vec![
                head.into(),
                "{\"end\":{\"sessions\":0,\"records\":0,\"runs\":0,\"events\":0}".into(),
                ok.clone(),
            ],
            3,
            "unexpected data after the last line",
        ),
    ];
    for (lines, line, what) in table {
        let imported = import(&*store, &*linked(&lines)).await.expect("imported");
        let damage = imported.damage.expect("damage");
        assert_eq!(damage.line, line, "{damage:?}");
        assert!(damage.what.contains(what), "{what}: {damage:?}");
    }
    let nothing = FileDamage { line: 1, offset: 0, what: "the file is incomplete".to_owned() };
    assert_eq!(import(&*store, &b""[..]).await.expect("imported").damage, Some(nothing));
    // Nothing hostile was imported; valid parts before it were, and can be swept.
    assert!(store.session("ok").await.expect("an answer").is_some());
    sweep(&*store, "sweeper", 10).await.expect("swept");
    assert_eq!(store.abandoned_runs(10).await.expect("a list"), []);
}

/// Lines with valid links.
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
