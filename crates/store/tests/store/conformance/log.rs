//! The log of a run: every event once, with its sequence number, unchanged.

use std::{collections::HashSet, sync::Arc};

use foxwedge_run::{EventPayload, RawJson, RunEvent, TextUpdate};
use foxwedge_store::{ArchiveStore, NewRun, verify_log};

use crate::sample::{
    current, event, log, new_run, open_run, refusal, seqs, start_run, text_event, texts,
};

pub(crate) async fn events_are_read_as_they_were_appended(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let events = texts(&run, 2, 4);
    assert_eq!(store.append("r", &lease, events.clone()).await.expect("stored"), 4);
    assert_eq!(store.append("r", &lease, texts(&run, 5, 5)).await.expect("stored"), 5);
    let found = log(&*store, "r").await;
    assert_eq!(found.len(), 5);
    assert_eq!(found[1..4], events);
    assert_eq!(current(&*store, "r").await.last, 5);
    assert_eq!(verify_log(&*store, "r").await.expect("verified"), []);
}

pub(crate) async fn events_are_read_page_by_page(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 10)).await.expect("stored");
    let table: [(u64, usize, &[u64]); 8] = [
        (0, 3, &[1, 2, 3]),
        (3, 4, &[4, 5, 6, 7]),
        (7, 3, &[8, 9, 10]),
        (7, 100, &[8, 9, 10]),
        (9, usize::MAX, &[10]),
        (10, 5, &[]),
        (u64::MAX, 5, &[]),
        (4, 0, &[]),
    ];
    for (after, limit, expected) in table {
        let page = store.events("r", after, limit).await.expect("a page");
        assert_eq!(seqs(&page), expected, "behind {after}, at most {limit}");
    }
}

pub(crate) async fn repeated_events_are_skipped(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let events = texts(&run, 2, 6);
    for _ in 0..3 {
        assert_eq!(store.append("r", &lease, events.clone()).await.expect("stored"), 6);
    }
    assert_eq!(store.append("r", &lease, texts(&run, 3, 4)).await.expect("stored"), 6);
    assert_eq!(log(&*store, "r").await[1..], events);
}

pub(crate) async fn new_events_after_repeated_ones_are_appended(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 4)).await.expect("stored");
    assert_eq!(store.append("r", &lease, texts(&run, 3, 7)).await.expect("stored"), 7);
    assert_eq!(log(&*store, "r").await[1..], texts(&run, 2, 7));
}

pub(crate) async fn repeated_events_without_a_time_are_skipped(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let untimed = vec![RunEvent { at: None, ..text_event(&run, 2, "x") }];
    store.append("r", &lease, untimed.clone()).await.expect("stored");
    let found = log(&*store, "r").await;
    assert!(found[1].at.is_some(), "{found:?}");
    assert_eq!(store.append("r", &lease, untimed).await.expect("stored"), 2);
    assert_eq!(log(&*store, "r").await, found);
    // A time that the caller sets is part of the event.
    let refused = refusal(store.append("r", &lease, vec![text_event(&run, 2, "x")]).await);
    assert_eq!(refused, "`r/2` already exists with other content");
}

pub(crate) async fn events_with_other_content_are_a_conflict(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 4)).await.expect("stored");
    let table = [
        (vec![text_event(&run, 3, "other")], 3),
        (vec![text_event(&run, 2, "word 2"), text_event(&run, 3, "word 4")], 3),
        (vec![RunEvent { at: None, ..text_event(&run, 4, "other") }], 4),
        (vec![text_event(&run, 1, "no start")], 1),
        (vec![text_event(&run, 4, "other"), text_event(&run, 5, "more")], 4),
    ];
    for (events, seq) in table {
        let refused = refusal(store.append("r", &lease, events).await);
        assert_eq!(refused, format!("`r/{seq}` already exists with other content"));
    }
    assert_eq!(log(&*store, "r").await[1..], texts(&run, 2, 4));
}

pub(crate) async fn a_refused_append_leaves_nothing_behind(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    store.append("r", &lease, texts(&run, 2, 3)).await.expect("stored");
    let before = (current(&*store, "r").await, log(&*store, "r").await);
    let mut events = texts(&run, 3, 6);
    events[0] = text_event(&run, 3, "other");
    refusal(store.append("r", &lease, events).await);
    refusal(store.append("r", &lease, texts(&run, 5, 6)).await);
    assert_eq!((current(&*store, "r").await, log(&*store, "r").await), before);
}

pub(crate) async fn a_gap_is_refused(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let refused = refusal(store.append("r", &lease, texts(&run, 3, 4)).await);
    assert_eq!(refused, "run `r` has other events: its next event is 2, not 3");
    let torn = vec![text_event(&run, 2, "a"), text_event(&run, 4, "b")];
    let refused = refusal(store.append("r", &lease, torn).await);
    assert_eq!(refused, "event 4 of run `r`: it does not follow the event before it");
    let twice = vec![text_event(&run, 2, "a"), text_event(&run, 2, "a")];
    let refused = refusal(store.append("r", &lease, twice).await);
    assert_eq!(refused, "event 2 of run `r`: it does not follow the event before it");
}

pub(crate) async fn events_of_another_run_are_refused(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let other = RunEvent { run: "other".into(), ..text_event(&run, 2, "x") };
    let refused = refusal(store.append("r", &lease, vec![other]).await);
    assert_eq!(refused, "event 2 of run `r`: it belongs to another run");
}

pub(crate) async fn events_of_another_epoch_are_refused(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let other = RunEvent { epoch: Some(2), ..text_event(&run, 2, "x") };
    let refused = refusal(store.append("r", &lease, vec![other]).await);
    assert_eq!(refused, "event 2 of run `r`: it has the epoch of another run");
}

pub(crate) async fn events_without_a_sequence_number_are_refused(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    for seq in [None, Some(0), Some(u64::MAX), Some(1 << 40)] {
        let event = RunEvent { seq, ..text_event(&run, 2, "x") };
        let refused = refusal(store.append("r", &lease, vec![event]).await);
        assert!(refused.ends_with("it has no valid event number"), "{refused}");
    }
}

pub(crate) async fn an_event_without_an_epoch_gets_it(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r1").await;
    let (run, lease) = start_run(&*store, new_run("s", "r2")).await;
    let event = RunEvent { epoch: None, ..text_event(&run, 2, "x") };
    store.append("r2", &lease, vec![event.clone()]).await.expect("stored");
    assert_eq!(log(&*store, "r2").await[1], RunEvent { epoch: Some(2), ..event.clone() });
    assert_eq!(store.append("r2", &lease, vec![event]).await.expect("told again"), 2);
}

pub(crate) async fn an_end_is_not_appended(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let end = event(&run, 2, EventPayload::Ended(Default::default()));
    let refused = refusal(store.append("r", &lease, vec![end]).await);
    assert_eq!(
        refused,
        "event 2 of run `r`: the end of a run cannot be appended: finalize the run"
    );
}

pub(crate) async fn an_append_of_nothing_changes_nothing(store: Arc<impl ArchiveStore>) {
    let (_, lease) = open_run(&*store, "s", "r").await;
    assert_eq!(store.append("r", &lease, Vec::new()).await.expect("nothing"), 1);
}

pub(crate) async fn a_missing_run_has_no_log(store: Arc<impl ArchiveStore>) {
    let (_, lease) = open_run(&*store, "s", "r").await;
    let missing = "run `none` does not exist";
    assert_eq!(refusal(store.append("none", &lease, Vec::new()).await), missing);
    assert_eq!(refusal(store.events("none", 0, 10).await), missing);
    assert_eq!(refusal(store.raw_events("none", 0, 10).await), missing);
    assert_eq!(refusal(store.renew("none", &lease, 1).await), missing);
    assert_eq!(refusal(store.take_over("none", "me", 1).await), missing);
    assert_eq!(refusal(verify_log(&*store, "none").await), missing);
}

pub(crate) async fn unknown_events_keep_their_place(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let raw =
        "{\"runId\":\"r\",\"epoch\":1,\"seq\":2,\"at\":5,\"type\":\"of-the-future\",\"x\":[1]}";
    let future = foxwedge_run::wire::read(raw).expect("an event");
    assert!(matches!(future.body, EventPayload::Unknown { .. }), "{future:?}");
    let events = vec![future.clone(), text_event(&run, 3, "x")];
    store.append("r", &lease, events.clone()).await.expect("stored");
    assert_eq!(log(&*store, "r").await[1..], events);
    assert_eq!(store.append("r", &lease, events).await.expect("told again"), 3);
}

pub(crate) async fn a_payload_of_a_megabyte_is_kept(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let long = "é\"\\\n".repeat(250_000);
    let events =
        vec![text_event(&run, 2, &long), text_event(&run, 3, "short"), text_event(&run, 4, &long)];
    store.append("r", &lease, events.clone()).await.expect("stored");
    assert_eq!(log(&*store, "r").await[1..], events);
}

pub(crate) async fn hostile_text_is_kept(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let table = [
        "\0\u{1}\u{7f}\u{80}\u{ffff}\u{10ffff}",
        "'; DROP TABLE events; --",
        "\u{202e}\u{feff}\r\n\t\u{2028}\u{2029}",
        "\\u0000 \\\\ \" ' ` ${x} %s {}",
        "",
    ];
    let events: Vec<RunEvent> =
        (2..).zip(table).map(|(seq, text)| text_event(&run, seq, text)).collect();
    store.append("r", &lease, events.clone()).await.expect("stored");
    assert_eq!(log(&*store, "r").await[1..], events);
    let progress = |seq, raw: &str| {
        let content = RawJson::parse(raw).expect("JSON");
        event(&run, seq, EventPayload::ToolProgress { call: Default::default(), content })
    };
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let more = vec![
        progress(7, "{\"a\":1,\"a\":2,\"n\":1e999,\"i\":123456789012345678901234567890}"),
        progress(8, &deep),
        progress(9, "\"\\ud800 half\""),
    ];
    store.append("r", &lease, more.clone()).await.expect("stored");
    assert_eq!(log(&*store, "r").await[6..], more);
}

pub(crate) async fn a_hundred_thousand_events_are_read_back(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    let mut last = 1;
    while last < 100_000 {
        let next = (last + 10_000).min(100_000);
        last = store.append("r", &lease, texts(&run, last + 1, next)).await.expect("stored");
        assert_eq!(last, next);
    }
    let mut after = 0;
    loop {
        let page = store.events("r", after, 7_000).await.expect("a page");
        let Some(end) = page.last() else { break };
        assert_eq!(seqs(&page), (after + 1..=end.seq).collect::<Vec<u64>>());
        let update =
            TextUpdate { delta: Some(format!("word {}", end.seq)), ..TextUpdate::default() };
        assert_eq!(end.event.body, EventPayload::Text(update));
        after = end.seq;
    }
    assert_eq!(after, 100_000);
    assert_eq!(current(&*store, "r").await.last, 100_000);
    assert_eq!(verify_log(&*store, "r").await.expect("verified"), []);
}

pub(crate) async fn links_differ_and_depend_on_all_before(store: Arc<impl ArchiveStore>) {
    open_run(&*store, "s", "r0").await;
    let mut links = HashSet::new();
    let mut first = Vec::new();
    // The same text after another start.
    for id in ["r1", "r2"] {
        let (run, lease) = start_run(&*store, NewRun { at: Some(7), ..new_run("s", id) }).await;
        let events = (2..=5).map(|seq| text_event(&run, seq, "the same")).collect();
        store.append(id, &lease, events).await.expect("stored");
        let stored = store.events(id, 0, 10).await.expect("the log");
        links.extend(stored.iter().map(|event| event.chain));
        first.push(stored[4].chain);
        let head = store.log_head(id).await.expect("an answer").expect("a head");
        assert_eq!((head.last, head.chain), (5, stored[4].chain));
    }
    assert_eq!(links.len(), 10);
    assert_ne!(first[0], first[1]);
}
