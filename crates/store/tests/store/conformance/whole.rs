//! Complete runs: the same result as a start and a separate end.

use std::sync::Arc;

use foxwedge_run::{EventPayload, Outcome, RunEvent, SharedId};
use foxwedge_store::{
    ArchiveStore, CloseAuthority, FinalizeResult, NewRecord, NewRun, Result, RunClosing, RunRow,
    StartResult, Store, WholeRun, export, verify_log,
};

use super::wakes::wait_for_wake;
use crate::sample::{
    closing, current, ended, event, new_run, new_session, record, refusal, start_run, text_event,
    texts,
};

/// A run with everything that a run can have.
fn whole(session: &str, run: &str) -> WholeRun {
    let mut new = NewRun { at: Some(1_700_000_000_000), ..new_run(session, run) };
    new.start.agent = Some("claude-code".into());
    new.start.model = Some("model \"1\"".into());
    let row = blank(run);
    let mut events = vec![text_event(&row, 2, "\u{1F98A} \"quoted\"\n\0")];
    events.extend(texts(&row, 3, 6));
    events.push(event(&row, 7, EventPayload::Ended(ended(Outcome::Completed))));
    let left = |id: &str, parent: Option<&str>| NewRecord {
        run: Some(run.to_owned()),
        ..record(&format!("{run}-{id}"), parent)
    };
    let parent = format!("{run}-a");
    let records = vec![left("a", None), left("b", Some(&parent)), left("a", None)];
    let closing = RunClosing { events, records, ..closing(&row, Outcome::Completed) };
    WholeRun { session: new_session(session), run: new, closing }
}

/// A run without an epoch.
fn blank(id: &str) -> RunRow {
    RunRow {
        id: id.to_owned(),
        session: String::new(),
        epoch: 0,
        key: None,
        started: 0,
        last: 1,
        state: foxwedge_store::RunState::Open,
        lease: None,
        lease_until: None,
        agent: None,
        model: None,
    }
}

/// The same without the epoch that [`blank`] set.
fn unnumbered(mut whole: WholeRun) -> Arc<WholeRun> {
    whole.closing.events.iter_mut().for_each(|event| event.epoch = None);
    Arc::new(whole)
}

async fn put_whole_run(store: &impl Store, whole: WholeRun) -> Result<FinalizeResult> {
    store.put_whole_runs(vec![unnumbered(whole)]).await.pop().expect("an answer")
}

async fn put_new_run(store: &impl Store, whole: WholeRun) -> RunRow {
    match put_whole_run(store, whole).await.expect("kept") {
        FinalizeResult::Recorded(row) => row,
        FinalizeResult::AlreadyEnded(row) => panic!("run `{}` was there", row.id),
    }
}

/// The same with separate calls: a session, a start, an end.
async fn step_by_step(store: &impl Store, whole: WholeRun) -> RunRow {
    let WholeRun { session, run, mut closing } = whole;
    let id = run.id.clone();
    store.create_session(session).await.expect("a session");
    let (row, lease) = start_run(store, run).await;
    closing.events.iter_mut().for_each(|event| event.epoch = Some(row.epoch));
    match store.finalize(&id, CloseAuthority::Holder(lease), closing).await.expect("ended") {
        FinalizeResult::Recorded(row) => row,
        FinalizeResult::AlreadyEnded(row) => panic!("run `{}` had ended", row.id),
    }
}

/// Everything in a store except the times that the store sets.
async fn everything(store: &impl ArchiveStore) -> Vec<String> {
    // By name: sessions that are created at once have no order.
    let mut ids = Vec::new();
    for id in ["mine", "s", "t"] {
        ids.extend(store.session(id).await.expect("an answer").map(|session| session.id));
    }
    let mut out = Vec::new();
    export(store, &ids, &mut out).await.expect("exported");
    String::from_utf8(out).expect("text").lines().map(without_times).collect()
}

/// A line without its link and without the store's own times.
fn without_times(line: &str) -> String {
    let line = line.rsplit_once(",\"link\":").map_or(line, |(line, _)| line);
    let mut line = line.to_owned();
    for name in ["\"created\":", "\"touched\":", "\"at\":"] {
        if let Some(from) = line.find(name) {
            let from = from + name.len();
            let digits = line[from..].bytes().take_while(u8::is_ascii_digit).count();
            let is_given = line[from..].starts_with("1700000000");
            if !is_given {
                line.replace_range(from..from + digits, "0");
            }
        }
    }
    line
}

pub(crate) async fn a_whole_run_equals_a_run_stored_step_by_step(store: Arc<impl ArchiveStore>) {
    let names = [("s", "r1"), ("s", "r2"), ("t", "r3")];
    let mut rows = Vec::new();
    for (session, run) in names {
        rows.push(step_by_step(&*store, whole(session, run)).await);
    }
    let expected = everything(&*store).await;
    assert!(expected.len() > 30, "{expected:#?}");
    for session in ["s", "t"] {
        store.delete_session(session).await.expect("deleted");
    }
    let all = names.map(|(session, run)| unnumbered(whole(session, run))).to_vec();
    let results = store.put_whole_runs(all).await;
    let results: Vec<FinalizeResult> =
        results.into_iter().map(|result| result.expect("kept")).collect();
    assert_eq!(results, rows.iter().cloned().map(FinalizeResult::Recorded).collect::<Vec<_>>());
    assert_eq!(everything(&*store).await, expected);
    for (row, (_, run)) in rows.iter().zip(names) {
        assert_eq!(current(&*store, run).await, *row);
        assert_eq!(verify_log(&*store, run).await.expect("verified"), []);
    }
    assert_eq!(store.examine().await.expect("examined"), [""; 0]);
}

pub(crate) async fn a_repeated_whole_run_is_stored_once(store: Arc<impl ArchiveStore>) {
    let row = put_new_run(&*store, whole("s", "r")).await;
    let before = everything(&*store).await;
    let again = put_whole_run(&*store, whole("s", "r")).await.expect("an answer");
    assert_eq!(again, FinalizeResult::AlreadyEnded(row.clone()));
    // By its key, too, and while it is open.
    let mut keyed = whole("s", "r2");
    keyed.run.key = Some("key".to_owned());
    let (open, lease) = start_run(&*store, keyed.run.clone()).await;
    keyed.run.id = "r3".to_owned();
    keyed.closing.events.iter_mut().for_each(|event| event.run = SharedId::from("r3"));
    let again = put_whole_run(&*store, keyed).await.expect("an answer");
    assert_eq!(again, FinalizeResult::AlreadyEnded(open.clone()));
    let end = closing(&open, Outcome::Completed);
    store.finalize("r2", CloseAuthority::Holder(lease), end).await.expect("ended");
    store.delete_run("r2").await.expect("deleted");
    let after = everything(&*store).await;
    assert_eq!(after.len(), before.len());
    // A start finds it.
    let found = store.start_run(whole("s", "r").run).await.expect("an answer");
    assert_eq!(found, StartResult::Existing(row));
}

pub(crate) async fn a_whole_run_follows_earlier_runs(store: Arc<impl ArchiveStore>) {
    let (session, mut first) = (new_session("s"), whole("s", "r1"));
    store.create_session(session).await.expect("a session");
    store.append_records("s", vec![record("x", None)]).await.expect("stored");
    let (open, _) = start_run(&*store, new_run("s", "r0")).await;
    first.closing.records.push(record("x", None));
    first.closing.records.push(record("y", Some("x")));
    let row = put_new_run(&*store, first).await;
    assert_eq!((open.epoch, row.epoch), (1, 2));
    let records = store.records("s", 0, 100).await.expect("records");
    let ids: Vec<(u64, &str)> =
        records.iter().map(|record| (record.ordinal, record.record.id.as_str())).collect();
    assert_eq!(ids, [(1, "x"), (2, "r1-a"), (3, "r1-b"), (4, "y")]);
    let (next, _) = start_run(&*store, new_run("s", "r2")).await;
    assert_eq!(next.epoch, 3);
    assert_eq!(store.session("s").await.expect("an answer").expect("there").records, 4);
}

pub(crate) async fn many_whole_runs_are_stored_at_once(store: Arc<impl ArchiveStore>) {
    let names = |at: u64| (format!("s{}", at % 60), format!("r{at}"));
    let all = (0..150).map(|at| {
        let (session, run) = names(at);
        unnumbered(whole(&session, &run))
    });
    let results = store.put_whole_runs(all.collect()).await;
    for (at, result) in (0..).zip(results) {
        let (session, run) = names(at);
        let FinalizeResult::Recorded(row) = result.expect("kept") else {
            panic!("run `{run}` was there")
        };
        assert_eq!((&row.id, &row.session, row.epoch), (&run, &session, at / 60 + 1));
        assert_eq!(current(&*store, &run).await, row);
        assert_eq!(verify_log(&*store, &run).await.expect("verified"), []);
        let records = store.records(&session, 2 * (at / 60), 2).await.expect("records");
        let ids: Vec<&str> = records.iter().map(|record| record.record.id.as_str()).collect();
        assert_eq!(ids, [format!("{run}-a"), format!("{run}-b")]);
    }
    assert_eq!(store.examine().await.expect("examined"), [""; 0]);
}

pub(crate) async fn stored_runs_are_found_among_many_new_ones(store: Arc<impl ArchiveStore>) {
    // Few and many between the first and the last id of a call.
    for stored in [0, 3, 100] {
        let session = |at: u64| format!("s{stored}-{}", at % 7);
        let run = |at: u64| unnumbered(whole(&session(at), &format!("r{stored}-{at}")));
        for result in store.put_whole_runs((0..stored).map(run).collect()).await {
            assert!(matches!(result, Ok(FinalizeResult::Recorded(_))), "{result:?}");
        }
        // In another order, and each twice.
        let ids: Vec<u64> = (0..stored + 20).rev().flat_map(|at| [at, at]).collect();
        let results = store.put_whole_runs(ids.iter().map(|at| run(*at)).collect()).await;
        for (index, (at, result)) in ids.iter().zip(results).enumerate() {
            let is_new = *at >= stored && index % 2 == 0;
            match result.expect("an answer") {
                FinalizeResult::Recorded(row) if is_new => {
                    assert_eq!((row.id, row.session), (format!("r{stored}-{at}"), session(*at)));
                }
                FinalizeResult::AlreadyEnded(row) if !is_new => {
                    assert_eq!(row, current(&*store, &format!("r{stored}-{at}")).await);
                }
                other => panic!("{stored} {at}: {other:?}"),
            }
        }
        let mut runs = 0;
        for number in 0..7 {
            let row = store.session(&session(number)).await.expect("an answer");
            runs += row.expect("a session").epoch;
        }
        assert_eq!(runs, stored + 20);
    }
    assert_eq!(store.examine().await.expect("examined"), [""; 0]);
}

pub(crate) async fn a_refused_whole_run_leaves_nothing_behind(store: Arc<impl ArchiveStore>) {
    put_new_run(&*store, whole("mine", "r0")).await;
    type Change = fn(&mut WholeRun);
    let table: [(&str, Change); 11] = [
        ("already exists", |whole| whole.session.owner = "somebody else".to_owned()),
        ("already exists", |whole| whole.run.id = "r0".to_owned()),
        ("already exists", |whole| whole.closing.records[1].id = "r0-a".to_owned()),
        ("the parent `nobody`", |whole| {
            whole.closing.records[0].parent = Some("nobody".to_owned())
        }),
        ("not valid JSON", |whole| whole.closing.records[0].body = "{".to_owned()),
        ("not valid JSON", |whole| whole.session.meta = Some("{".to_owned())),
        ("another session", |whole| whole.run.session = "t".to_owned()),
        ("belongs to another run", |whole| whole.closing.events[0].run = SharedId::from("x")),
        ("the end", |whole| whole.closing.events.swap(0, 5)),
        ("has other events", |whole| whole.closing.events.iter_mut().for_each(later)),
        ("follow the event before it", |whole| drop(whole.closing.events.remove(1))),
    ];
    let before = everything(&*store).await;
    for (index, (why, change)) in table.into_iter().enumerate() {
        // In a new session and in an existing one, unless it would be valid there.
        for session in ["new", "mine"] {
            if matches!((index, session), (0 | 2, "new") | (1, "mine")) {
                continue;
            }
            let mut bad = whole(session, "r");
            change(&mut bad);
            let (one, other) = (format!("a{index}{session}"), format!("b{index}{session}"));
            let all =
                vec![unnumbered(whole("x", &one)), unnumbered(bad), unnumbered(whole("y", &other))];
            let results: [Result<FinalizeResult>; 3] =
                store.put_whole_runs(all).await.try_into().expect("three answers");
            let [first, refused, last] = results;
            assert!(matches!(first, Ok(FinalizeResult::Recorded(_))), "{why}: {first:?}");
            assert!(matches!(last, Ok(FinalizeResult::Recorded(_))), "{why}: {last:?}");
            let text = refusal(refused);
            assert!(text.contains(why), "{why}: {text}");
        }
    }
    assert!(store.session("new").await.expect("an answer").is_none());
    assert!(store.run("r").await.expect("an answer").is_none());
    for session in ["x", "y"] {
        store.delete_session(session).await.expect("deleted");
    }
    assert_eq!(everything(&*store).await, before);
}

fn later(event: &mut RunEvent) {
    event.seq = event.seq.map(|seq| seq + 1);
}

pub(crate) async fn eight_tasks_store_one_whole_run_once(store: Arc<impl ArchiveStore>) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(
            async move { put_whole_run(&*store, whole("s", "r")).await.expect("an answer") },
        );
    }
    let all = tasks.join_all().await;
    let winners = all.iter().filter(|one| matches!(one, FinalizeResult::Recorded(_))).count();
    assert_eq!((winners, all.len()), (1, 8));
    assert_eq!(verify_log(&*store, "r").await.expect("verified"), []);
    assert_eq!(current(&*store, "r").await.epoch, 1);
    assert_eq!(store.records("s", 0, 100).await.expect("records").len(), 2);
}

pub(crate) async fn a_watcher_is_woken_by_a_whole_run(store: Arc<impl ArchiveStore>) {
    let mut watch = store.watch().await.expect("a watch");
    put_new_run(&*store, whole("s", "r")).await;
    wait_for_wake(&mut watch, "r", 7).await;
}
