//! The end of a run: one, with its events and records, or none.

use std::sync::Arc;

use foxwedge_run::{EventPayload, Outcome, RunEnd, RunProblem, RunSummary, RunUsage, ToolStatus};
use foxwedge_store::{
    ArchiveStore, CloseAuthority, FinalizeResult, NewRecord, RunClosing, RunRow, RunState,
};

use crate::sample::{
    closing, current, ended, event, log, new_run, open_run, record, refusal, start_run, text_event,
    texts,
};

fn recorded(finalized: FinalizeResult) -> RunRow {
    match finalized {
        FinalizeResult::Recorded(run) => run,
        FinalizeResult::AlreadyEnded(run) => panic!("run `{}` had ended", run.id),
    }
}

pub(crate) async fn an_end_is_recorded_with_its_events_and_records(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append_records("s", vec![record("a", None)]).await.expect("stored");
    let ended = RunEnd {
        outcome: Some(Outcome::Failed),
        text: Some("half a sent".to_owned()),
        problem: Some(RunProblem {
            message: "\"it\" broke".to_owned(),
            code: Some("broken".into()),
            fatal: true,
        }),
        usage: Some(RunUsage { input: u64::MAX, output: 2, cached: 3, reasoning: 4 }),
    };
    let mut by_status = [0; ToolStatus::ALL.len()];
    by_status[4] = 2;
    by_status[8] = 1;
    let summary = RunSummary { available: Some(7), calls: 3, by_status };
    let left = NewRecord { run: Some("r".to_owned()), ..record("b", Some("a")) };
    let events = vec![text_event(&run, 2, "x"), event(&run, 3, EventPayload::Ended(ended.clone()))];
    let closing = RunClosing {
        events: events.clone(),
        ended: ended.clone(),
        summary,
        records: vec![left.clone()],
    };
    let finalized =
        store.finalize("r", CloseAuthority::Holder(lease), closing).await.expect("ended");
    let row = recorded(finalized);
    let RunState::Ended { at, .. } = row.state else { panic!("{row:?}") };
    let expected = RunRow {
        last: 3,
        state: RunState::Ended { ended, summary, at },
        lease: None,
        lease_until: None,
        ..run.clone()
    };
    assert_eq!(row, expected);
    assert_eq!(current(&*store, "r").await, expected);
    assert_eq!(log(&*store, "r").await[1..], events);
    let records = store.records("s", 1, 10).await.expect("records");
    assert_eq!((records.len(), records[0].ordinal, &records[0].record), (1, 2, &left));
    assert_eq!(at, 1_700_000_000_003, "the end says when it was");
}

pub(crate) async fn an_end_has_the_time_of_its_event(store: Arc<impl ArchiveStore>) {
    let at = |row: &RunRow| match row.state {
        RunState::Ended { at, .. } => at,
        RunState::Open => panic!("{row:?}"),
    };
    let (run, _) = open_run(&*store, "s", "r1").await;
    let mut end = closing(&run, Outcome::Completed);
    end.events[0].at = Some(7);
    let row = recorded(store.finalize("r1", CloseAuthority::Operator, end).await.expect("ended"));
    assert_eq!((at(&row), at(&current(&*store, "r1").await)), (7, 7));
    // The session was touched now, whatever the event contains.
    let session = store.session("s").await.expect("an answer").expect("a session");
    assert!(session.touched >= run.started);
    for (id, events) in [("r2", 1), ("r3", 0)] {
        let (run, _) = start_run(&*store, new_run("s", id)).await;
        let mut end = closing(&run, Outcome::Completed);
        end.events[0].at = None;
        end.events.truncate(events);
        let row = recorded(store.finalize(id, CloseAuthority::Operator, end).await.expect("ended"));
        assert!(at(&row) >= run.started, "{row:?}");
    }
}

pub(crate) async fn the_first_end_stands(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let first = store
        .finalize("r", CloseAuthority::Operator, closing(&run, Outcome::Stopped))
        .await
        .expect("ended");
    let row = recorded(first);
    // A second caller gets the existing end, whatever its authority.
    for authority in [CloseAuthority::Holder(lease), CloseAuthority::Operator] {
        let second = store.finalize("r", authority, closing(&run, Outcome::Completed)).await;
        assert_eq!(second.expect("an answer"), FinalizeResult::AlreadyEnded(row.clone()));
    }
    assert_eq!(current(&*store, "r").await, row);
    assert_eq!(log(&*store, "r").await.len(), 2);
}

pub(crate) async fn a_stale_holder_does_not_end_a_run(store: Arc<impl ArchiveStore>) {
    let (run, mut lease) = open_run(&*store, "s", "r").await;
    lease.fence = 7;
    let end = closing(&run, Outcome::Completed);
    let refused = refusal(store.finalize("r", CloseAuthority::Holder(lease), end).await);
    assert_eq!(refused, "run `r` is leased by another process: its lease is 1, yours is 7");
    assert_eq!(current(&*store, "r").await, run);
}

pub(crate) async fn an_operator_ends_a_run_without_a_lease(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 4)).await.expect("stored");
    let refused =
        store.finalize("r", CloseAuthority::Operator, closing(&run, Outcome::Stopped)).await;
    // The run received events: the operator reads them and tries again.
    assert_eq!(refusal(refused), "`r/2` already exists with other content");
    let run = current(&*store, "r").await;
    let ended =
        store.finalize("r", CloseAuthority::Operator, closing(&run, Outcome::Stopped)).await;
    assert_eq!(recorded(ended.expect("ended")).state.outcome(), Some(Outcome::Stopped));
    let missing = store.finalize("none", CloseAuthority::Operator, closing(&run, Outcome::Stopped));
    assert!(refusal(missing.await).contains("none"));
}

pub(crate) async fn an_ended_run_accepts_no_events(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 2)).await.expect("stored");
    let run = current(&*store, "r").await;
    let end = closing(&run, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease.clone()), end).await.expect("ended");
    let ended = "run `r` has ended";
    assert_eq!(refusal(store.append("r", &lease, texts(&run, 4, 4)).await), ended);
    assert_eq!(refusal(store.append("r", &lease, texts(&run, 2, 2)).await), ended);
    assert_eq!(refusal(store.renew("r", &lease, 1).await), ended);
    assert_eq!(log(&*store, "r").await.len(), 3);
}

pub(crate) async fn an_end_has_to_be_the_last_event(store: Arc<impl ArchiveStore>) {
    let (run, _) = open_run(&*store, "s", "r").await;
    let end = |seq| event(&run, seq, EventPayload::Ended(ended(Outcome::Completed)));
    let table = [
        vec![text_event(&run, 2, "x")],
        vec![end(2), text_event(&run, 3, "x")],
        vec![end(2), end(3)],
        vec![end(2), text_event(&run, 3, "x"), end(4)],
    ];
    for events in table {
        let closing = RunClosing { events, ..closing(&run, Outcome::Completed) };
        let refused = refusal(store.finalize("r", CloseAuthority::Operator, closing).await);
        let expected = "run `r`: the last closing event, and no other, must be the end";
        assert_eq!(refused, expected);
    }
    assert_eq!(current(&*store, "r").await, run);
}

pub(crate) async fn an_end_after_a_gap_is_refused(store: Arc<impl ArchiveStore>) {
    let (run, _) = open_run(&*store, "s", "r").await;
    let later = RunRow { last: 5, ..run.clone() };
    let end = closing(&later, Outcome::Completed);
    let refused = refusal(store.finalize("r", CloseAuthority::Operator, end).await);
    assert_eq!(refused, "run `r` has other events: its next event is 2, not 6");
    assert_eq!(current(&*store, "r").await, run);
}

pub(crate) async fn an_end_without_events_is_recorded(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let bare = RunClosing { events: Vec::new(), ..closing(&run, Outcome::Interrupted) };
    let row =
        recorded(store.finalize("r", CloseAuthority::Holder(lease), bare).await.expect("ended"));
    assert_eq!((row.last, row.state.outcome()), (1, Some(Outcome::Interrupted)));
}

pub(crate) async fn an_end_whose_records_do_not_fit_is_not_recorded(store: Arc<impl ArchiveStore>) {
    let (run, _) = open_run(&*store, "s", "r").await;
    let records = vec![record("a", None), record("b", Some("none"))];
    let end = RunClosing { records, ..closing(&run, Outcome::Completed) };
    let refused = refusal(store.finalize("r", CloseAuthority::Operator, end).await);
    assert_eq!(refused, "the parent `none` of record `b` does not exist");
    assert_eq!(current(&*store, "r").await, run);
    assert_eq!(log(&*store, "r").await.len(), 1);
    assert_eq!(store.records("s", 0, 10).await.expect("records"), []);
}

pub(crate) async fn every_outcome_is_read_back(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r").await;
    for outcome in Outcome::ALL {
        let id = format!("run-{}", outcome.name());
        let (run, _) = start_run(&*store, new_run("s", &id)).await;
        let end = closing(&run, outcome);
        let row =
            recorded(store.finalize(&id, CloseAuthority::Operator, end).await.expect("ended"));
        assert_eq!(row.state.outcome(), Some(outcome));
        assert_eq!(current(&*store, &id).await, row);
    }
    // An end without an outcome or anything else.
    let (run, _) = start_run(&*store, new_run("s", "plain")).await;
    let plain = RunClosing {
        events: Vec::new(),
        ended: RunEnd::default(),
        summary: RunSummary::default(),
        records: Vec::new(),
    };
    let row =
        recorded(store.finalize(&run.id, CloseAuthority::Operator, plain).await.expect("ended"));
    let RunState::Ended { at, .. } = row.state else { panic!("{row:?}") };
    let (ended, summary) = (RunEnd::default(), RunSummary::default());
    assert_eq!(row.state, RunState::Ended { ended, summary, at });
}

pub(crate) async fn a_repeated_end_is_recorded_once(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let end = RunClosing { records: vec![record("a", None)], ..closing(&run, Outcome::Completed) };
    let holder = CloseAuthority::Holder(lease);
    let row = recorded(store.finalize("r", holder.clone(), end.clone()).await.expect("ended"));
    // The acknowledgement was lost, and the caller retries.
    let again = store.finalize("r", holder, end).await.expect("an answer");
    assert_eq!(again, FinalizeResult::AlreadyEnded(row));
    assert_eq!(store.records("s", 0, 10).await.expect("records").len(), 1);
}
