//! Abandoned runs are closed as interrupted.

use std::sync::Arc;

use foxwedge_run::{EventPayload, Outcome, RunEvent, StopRequest, ToolOutcome, ToolStatus};
use foxwedge_store::{
    ArchiveStore, CloseAuthority, FinalizeResult, Lease, NewRecord, NewRun, RestoreItem, RunRow,
    RunState, close_run, sweep, verify_log,
};

use crate::sample::{
    LONG, call_event, current, ended, event, log, new_run, new_session, open_run, record, refusal,
    start_run, text_event, texts,
};

/// A run whose process is gone.
async fn abandoned_run(store: &impl ArchiveStore, id: &str) -> (RunRow, Lease) {
    store.create_session(new_session("s")).await.expect("a session");
    start_run(store, NewRun { ttl: 0, ..new_run("s", id) }).await
}

pub(crate) async fn an_abandoned_run_is_closed_as_interrupted(store: Arc<impl ArchiveStore>) {
    let (run, lease) = abandoned_run(&*store, "r").await;
    store.append("r", &lease, texts(&run, 2, 3)).await.expect("stored");
    let swept = sweep(&*store, "sweeper", 10).await.expect("swept");
    assert_eq!(swept.len(), 1);
    assert_eq!((&swept[0].run, &swept[0].damage), (&current(&*store, "r").await, &None));
    let RunState::Ended { ended, summary, .. } = &swept[0].run.state else { panic!("{swept:?}") };
    assert_eq!(ended.outcome, Some(Outcome::Interrupted));
    assert_eq!(ended.text.as_deref(), Some("word 2word 3"));
    assert_eq!(summary.calls, 0);
    let log = log(&*store, "r").await;
    assert_eq!(log.len(), 4);
    assert_eq!(log[3].body, EventPayload::Ended(ended.clone()));
    assert_eq!(verify_log(&*store, "r").await.expect("verified"), []);
    // A holder that returns is refused, and there is nothing left to sweep.
    assert_eq!(refusal(store.append("r", &lease, texts(&run, 4, 4)).await), "run `r` has ended");
    assert_eq!(sweep(&*store, "sweeper", 10).await.expect("swept"), []);
}

pub(crate) async fn a_swept_run_closes_open_calls(store: Arc<impl ArchiveStore>) {
    let (run, lease) = abandoned_run(&*store, "r").await;
    let events = vec![
        text_event(&run, 2, "let me look"),
        call_event(&run, 3, "call-1"),
        call_event(&run, 4, "call-2"),
        event(
            &run,
            5,
            EventPayload::ToolResult(foxwedge_run::ToolResult {
                call: foxwedge_run::CallRef { id: Some("call-1".into()), turn: None },
                name: None,
                outcome: ToolOutcome::Ok,
                reason: None,
                content: None,
            }),
        ),
    ];
    store.append("r", &lease, events).await.expect("stored");
    let swept = sweep(&*store, "sweeper", 10).await.expect("swept");
    let RunState::Ended { summary, .. } = swept[0].run.state else { panic!("{swept:?}") };
    assert_eq!((summary.calls, summary.count(ToolStatus::Succeeded)), (2, 1));
    let closed = summary.count(ToolStatus::Interrupted) + summary.count(ToolStatus::Cancelled);
    assert_eq!(closed, 1, "{summary:?}");
    // The log itself closes the call before the end.
    let log = log(&*store, "r").await;
    let results: Vec<&RunEvent> =
        log[5..].iter().filter(|event| matches!(event.body, EventPayload::ToolResult(_))).collect();
    assert_eq!(results.len(), 1, "{log:?}");
    assert!(matches!(log[log.len() - 1].body, EventPayload::Ended(_)), "{log:?}");
    let seqs: Vec<u64> = log.iter().filter_map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=log.len() as u64).collect::<Vec<u64>>());
}

pub(crate) async fn a_swept_run_leaves_its_messages(store: Arc<impl ArchiveStore>) {
    let (run, lease) = abandoned_run(&*store, "r").await;
    let question = record("question", None);
    store.append_records("s", vec![question]).await.expect("stored");
    let events = vec![text_event(&run, 2, "let me look"), call_event(&run, 3, "call-1")];
    store.append("r", &lease, events).await.expect("stored");
    sweep(&*store, "sweeper", 10).await.expect("swept");
    let records = store.records("s", 1, 10).await.expect("records");
    let ids: Vec<_> = records
        .iter()
        .map(|record| {
            let record = &record.record;
            (record.id.as_str(), record.parent.as_deref(), record.run.as_deref())
        })
        .collect();
    let expected = [("1-1", Some("question"), Some("r")), ("1-2", Some("1-1"), Some("r"))];
    assert_eq!(ids, expected);
    assert!(records[0].record.body.contains("let me look"), "{records:?}");
    // The call has its result.
    assert!(records[1].record.body.contains("call-1"), "{records:?}");
}

pub(crate) async fn a_swept_run_does_not_leave_a_message_twice(store: Arc<impl ArchiveStore>) {
    // It left its first message while it was open, the second time in a copied history.
    for (number, left_before) in [(1, "1-1"), (2, "2-1_7_3")] {
        let id = format!("r{number}");
        let (run, lease) = abandoned_run(&*store, &id).await;
        let own = NewRecord { run: Some(id.clone()), ..record(left_before, None) };
        store.append_records("s", vec![own]).await.expect("stored");
        let events = vec![text_event(&run, 2, "let me look"), call_event(&run, 3, "call-1")];
        store.append(&id, &lease, events).await.expect("stored");
        sweep(&*store, "sweeper", 10).await.expect("swept");
        let records = store.records("s", 0, 10).await.expect("records");
        let ours = records.iter().filter(|record| record.record.run.as_ref() == Some(&id));
        let ids: Vec<_> = ours
            .map(|record| (record.record.id.as_str(), record.record.parent.as_deref()))
            .collect();
        let second = format!("{number}-2");
        assert_eq!(ids, [(left_before, None), (second.as_str(), Some(left_before))]);
    }
}

pub(crate) async fn a_run_with_a_valid_lease_is_not_swept(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    assert_eq!(sweep(&*store, "sweeper", 10).await.expect("swept"), []);
    assert_eq!(current(&*store, "r").await, run);
    store.append("r", &lease, texts(&run, 2, 2)).await.expect("still held");
}

/// Such a log comes from a file that was cut off between the last event and the end of the run.
pub(crate) async fn a_run_whose_log_has_an_end_is_closed_with_it(store: Arc<impl ArchiveStore>) {
    let (model, lease) = open_run(&*store, "s", "model").await;
    store.append("model", &lease, texts(&model, 2, 2)).await.expect("stored");
    let end = vec![event(&model, 3, EventPayload::Ended(ended(Outcome::Completed)))];
    let closing = foxwedge_store::RunClosing {
        events: end,
        ended: ended(Outcome::Completed),
        summary: Default::default(),
        records: Vec::new(),
    };
    store.finalize("model", CloseAuthority::Holder(lease), closing).await.expect("ended");
    let other = Arc::new(foxwedge_store::SqliteStore::memory().await.expect("a store"));
    let session = store.session("s").await.expect("an answer").expect("a session");
    other.restore(RestoreItem::Session(session)).await.expect("restored");
    other.restore(RestoreItem::Run(current(&*store, "model").await)).await.expect("restored");
    let run = "model".to_owned();
    let events = store.raw_events("model", 0, 10).await.expect("the log");
    other.restore(RestoreItem::Events { run: run.clone(), events }).await.expect("restored");
    other.restore(RestoreItem::Left { run }).await.expect("restored");
    let swept = sweep(&*other, "sweeper", 10).await.expect("swept");
    assert_eq!(swept[0].run.state.outcome(), Some(Outcome::Completed));
    assert_eq!(swept[0].run.last, 3);
}

pub(crate) async fn a_run_with_a_stop_request_is_closed_as_stopped(store: Arc<impl ArchiveStore>) {
    let (run, lease) = abandoned_run(&*store, "r").await;
    let events = vec![
        call_event(&run, 2, "call-1"),
        event(&run, 3, EventPayload::Stop(StopRequest { grace: 30_000 })),
    ];
    store.append("r", &lease, events).await.expect("stored");
    let swept = sweep(&*store, "sweeper", 10).await.expect("swept");
    assert_eq!(swept[0].run.state.outcome(), Some(Outcome::Stopped));
}

pub(crate) async fn a_sweep_stops_at_its_limit(store: Arc<impl ArchiveStore>) {
    for number in 1..=5 {
        abandoned_run(&*store, &format!("r{number}")).await;
    }
    let mut rounds = Vec::new();
    loop {
        let swept = sweep(&*store, "sweeper", 2).await.expect("swept");
        if swept.is_empty() {
            break;
        }
        rounds.push(swept.len());
    }
    assert_eq!(rounds, [2, 2, 1]);
}

pub(crate) async fn an_operator_stops_a_run(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, vec![call_event(&run, 2, "call-1")]).await.expect("stored");
    let stop = EventPayload::Stop(StopRequest { grace: 5_000 });
    let finalized =
        close_run(&*store, "r", stop.clone(), CloseAuthority::Operator).await.expect("closed");
    let FinalizeResult::Recorded(run) = finalized else { panic!("{finalized:?}") };
    assert_eq!(run.state.outcome(), Some(Outcome::Stopped));
    let again =
        close_run(&*store, "r", stop.clone(), CloseAuthority::Operator).await.expect("an answer");
    assert_eq!(again, FinalizeResult::AlreadyEnded(run));
    let refused = refusal(store.renew("r", &lease, LONG).await);
    assert_eq!(refused, "run `r` has ended");
    let missing = refusal(close_run(&*store, "none", stop, CloseAuthority::Operator).await);
    assert_eq!(missing, "run `none` does not exist");
}

/// No content of a log keeps its run open.
pub(crate) async fn a_log_of_another_program_is_closed(store: Arc<impl ArchiveStore>) {
    let (run, lease) = abandoned_run(&*store, "r").await;
    let odd = |seq: u64, rest: &str| {
        let text = format!("{{\"runId\":\"r\",\"epoch\":1,\"seq\":{seq},{rest}}}");
        foxwedge_run::wire::read(&text).expect("an event")
    };
    let events = vec![
        odd(2, "\"type\":\"of-the-future\",\"x\":1"),
        event(&run, 3, EventPayload::Started(Default::default())),
        odd(4, "\"type\":\"tool-result\""),
        odd(5, "\"type\":\"error\",\"fatal\":true,\"message\":\"broken\""),
        text_event(&run, 6, "behind the end"),
    ];
    store.append("r", &lease, events).await.expect("stored");
    let swept = sweep(&*store, "sweeper", 10).await.expect("swept");
    assert_eq!(swept.len(), 1);
    assert!(swept[0].run.state.outcome().is_some(), "{swept:?}");
    assert_eq!(verify_log(&*store, "r").await.expect("verified"), []);
    assert_eq!(store.abandoned_runs(10).await.expect("a list"), []);
}
