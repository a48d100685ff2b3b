//! Sequences of requests, and the resulting runs.

use foxwedge_run::EventPayload;

use super::*;

#[tokio::test]
async fn calls_results_and_the_final_text_are_one_run() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let first = bench.begin("s", &[], "{}");
    let run = first.run().clone();
    whole(first, "let me see", &[("a", "{}"), ("b", "{}")], 1);
    assert_eq!(bench.run_summaries().await, ["open"]);
    assert!(bench.counted("foxwedge_tools_open 2"));

    let second = bench.begin("s", &["a", "b"], "{}");
    assert_eq!(*second.run(), run);
    assert!(bench.counted("foxwedge_tools_open 0"));
    whole(second, "done", &[], 2);
    assert_eq!(bench.run_summaries().await, ["completed, 2 succeeded"]);
    assert!(bench.counted(r#"foxwedge_runs_total{terminal_reason="completed"} 1"#));

    let row = &bench.runs().await[0];
    assert_eq!((row.agent.as_deref(), row.model.as_deref()), (Some("agent/1.0"), Some("model-1")));
    let RunState::Ended { ended, .. } = &row.state else { panic!("it has ended") };
    assert_eq!(ended.text.as_deref(), Some("[4 characters, not recorded]"));
    assert_eq!(ended.usage.map(|usage| (usage.input, usage.output)), Some((20, 4)));
    let session = bench.store.session("s").await.expect("a store").expect("a session");
    assert_eq!((&*session.owner, &*session.title), ("ann", "model-1 · agent/1.0"));
}

/// What a client does, and the outcome of its runs.
#[tokio::test]
async fn every_ending_has_its_outcome() {
    type Scenario = fn(&Bench);
    let table: [(&str, Scenario, &[&str]); 21] = [
        ("a text", |bench| whole(bench.begin("s", &[], ""), "hi", &[], 1), &["completed"]),
        ("nothing", |bench| whole(bench.begin("s", &[], ""), "", &[], 1), &["no_text"]),
        ("only space", |bench| whole(bench.begin("s", &[], ""), " \n", &[], 1), &["no_text"]),
        (
            "an answer that says that its tool failed",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
                whole(bench.begin("s", &["a!", "b"], ""), "hi", &[], 2);
            },
            &["completed, 1 succeeded, 1 failed"],
        ),
        (
            "words instead of answers",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
                whole(bench.begin("s", &[], ""), "hi", &[], 2);
            },
            &["replaced, 1 interrupted", "completed"],
        ),
        (
            "answers to other calls",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
                whole(bench.begin("s", &["x"], ""), "hi", &[], 2);
            },
            &["replaced, 1 interrupted", "completed"],
        ),
        (
            "some of the answers",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
                whole(bench.begin("s", &["b"], ""), "hi", &[], 2);
            },
            &["completed, 1 succeeded, 1 interrupted"],
        ),
        (
            "the others later",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
                whole(bench.begin("s", &["b"], ""), "", &[("c", "{}")], 2);
                whole(bench.begin("s", &["a", "c"], ""), "hi", &[], 3);
            },
            &["completed, 3 succeeded"],
        ),
        (
            "an id that is used again",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
                whole(bench.begin("s", &["a"], ""), "", &[("a", "{}")], 2);
                whole(bench.begin("s", &["a"], ""), "hi", &[], 3);
            },
            &["completed, 2 succeeded"],
        ),
        (
            "calls without an id",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("", "{}")], 1);
                whole(bench.begin("s", &[""], ""), "hi", &[], 2);
            },
            &["replaced, 1 interrupted", "completed"],
        ),
        (
            "two sessions",
            |bench| {
                whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
                whole(bench.begin("t", &["a"], ""), "hi", &[], 2);
            },
            &["open", "completed"],
        ),
        (
            "a call that the token limit cut off",
            |bench| cut(bench.begin("s", &[], ""), "hi", &[("a", "{\"x\":\"rm")]),
            &["completed, 1 cancelled"],
        ),
        (
            "a whole call before one that was cut off",
            |bench| {
                cut(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "")]);
                whole(bench.begin("s", &["a", "b"], ""), "hi", &[], 2);
            },
            &["completed, 1 succeeded, 1 cancelled"],
        ),
        ("nobody listens", |bench| drop(bench.begin("s", &[], "")), &["stopped"]),
        (
            "nobody listens any more",
            |bench| {
                let mut recording = bench.begin("s", &[], "");
                reply(&mut recording, "hi", &[("a", "{}")]);
                call(&mut recording, 9, "b");
            },
            // A complete call may have run on the client; the incomplete one did not.
            &["stopped, 1 cancelled, 1 interrupted"],
        ),
        (
            "the upstream is in trouble",
            |bench| bench.begin("s", &[], "").fail_with_status(StatusCode::INTERNAL_SERVER_ERROR),
            &["failed (upstream_500)"],
        ),
        (
            "it breaks off",
            |bench| {
                let mut recording = bench.begin("s", &[], "");
                reply(&mut recording, "hi", &[]);
                recording.record_event(&StreamEvent::Truncated);
                recording.finish(ReplyCompletion::Cut, None);
            },
            &["failed (upstream_cut)"],
        ),
        (
            "an event of it cannot be read",
            |bench| {
                let mut recording = bench.begin("s", &[], "");
                reply(&mut recording, "hi", &[]);
                recording.finish(ReplyCompletion::Unread, None);
            },
            &["failed (upstream_unreadable)"],
        ),
        (
            "it fails on the way",
            |bench| {
                let mut recording = bench.begin("s", &[], "");
                reply(&mut recording, "hi", &[]);
                recording.record_event(&StreamEvent::Failed(model::ProviderError {
                    kind: model::ProviderErrorKind::Overloaded,
                    message: "secret".into(),
                    code: None,
                }));
                recording.finish(ReplyCompletion::Failed, None);
            },
            &["failed (upstream_overloaded)"],
        ),
        (
            "somebody stops it",
            |bench| {
                bench.begin("s", &[], "").stop();
                bench.begin("s", &[], "").fail_with_code("run_stopped");
                bench.begin("s", &[], "").fail_with_code("upstream_timeout");
            },
            &["stopped", "stopped", "failed (upstream_timeout)"],
        ),
        (
            "the model would not",
            |bench| {
                let mut recording = bench.begin("s", &[], "");
                reply(&mut recording, "no", &[]);
                recording.record_event(&StreamEvent::Stop(model::StopReason::Refusal));
                recording.finish(ReplyCompletion::Complete, Some(1));
            },
            &["refused"],
        ),
    ];
    for (name, scenario, expected) in table {
        // Commands that are written together give the same result.
        let bench = Bench::new(ContentRecording::Omitted).await;
        scenario(&bench);
        assert_eq!(bench.run_summaries().await, expected, "{name}");
        bench.recorder.drain().await;
        let open = bench.run_summaries().await.iter().filter(|summary| *summary == "open").count();
        assert_eq!(open, 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_without_results_time_out() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
    assert_eq!(bench.run_summaries().await, ["open"]);
    tokio::time::advance(Duration::from_secs(9 * 60)).await;
    assert_eq!(bench.run_summaries().await, ["open"]);
    tokio::time::advance(Duration::from_secs(62)).await;
    // The next tick of the writer.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.run_summaries().await, ["failed (timed_out), 2 failed"]);
    assert!(bench.counted("foxwedge_tools_open 0"));
    // A later result starts a new run.
    whole(bench.begin("s", &["a", "b"], ""), "hi", &[], 2);
    assert_eq!(bench.run_summaries().await, ["failed (timed_out), 2 failed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_long_run_is_renewed() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let recording = bench.begin("s", &[], "");
    let row = &bench.runs().await[0];
    let lease = row.lease.as_ref().expect("a lease");
    // The clock of the store is not paused, so the lease is shortened.
    bench.store.renew(&row.id, lease, 20_000).await.expect("renewed");
    let before = bench.runs().await[0].lease_until;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bench.flush().await;
    }
    let after = bench.runs().await[0].lease_until;
    assert!(after > before, "{before:?} {after:?}");
    whole(recording, "hi", &[], 1);
    assert_eq!(bench.run_summaries().await, ["completed"]);
}

#[tokio::test]
async fn guard_changes_are_recorded_as_activities() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let mut recording = bench.guarded("s", &[], "{}", &fixed("{}"));
    let mut again = fixed("{}");
    recording.record_changes(&again);
    let repairs = bench.recorder.repairs().list(None, None, 10);
    assert_eq!(repairs.len(), 1);
    assert_eq!(*repairs[0].run, **recording.run());
    assert!(repairs[0].bodies.is_none());
    let mut recording = bench.guarded("s", &[], "{}", &untouched("{}"));
    again.changes.append(again.changes.clone());
    recording.record_changes(&again);
    assert_eq!(bench.recorder.repairs().list(Some("ann"), None, 10).len(), 2);
    assert_eq!(bench.recorder.repairs().list(Some("bob"), None, 10).len(), 0);
    whole(recording, "hi", &[], 1);

    let runs = bench.runs().await;
    let mut kinds = Vec::new();
    for run in &runs {
        for stored in bench.store.events(&run.id, 0, 100).await.expect("events") {
            if let EventPayload::Activity(card) = stored.event.body {
                kinds.push(format!("{} {}", card.kind, card.content.raw().len()));
            }
        }
    }
    let kinds: Vec<&str> = kinds.iter().filter_map(|kind| kind.split(' ').next()).collect();
    let cards = ["repair", "compaction", "conversion"];
    assert_eq!(kinds, [cards, cards].concat());
}

#[tokio::test]
async fn a_session_of_another_owner_is_not_written() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let new = foxwedge_store::NewSession { id: "s".into(), ..Default::default() };
    bench.store.create_session(new).await.expect("a session");
    whole(bench.begin("s", &[], ""), "hi", &[], 1);
    assert_eq!(bench.run_summaries().await, [""; 0]);
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 1"#));
}

#[tokio::test]
async fn a_run_that_ended_elsewhere_does_not_continue() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
    let run = bench.runs().await[0].id.clone();
    let stop = EventPayload::Stop(foxwedge_run::StopRequest { grace: 0 });
    let authority = foxwedge_store::CloseAuthority::Operator;
    foxwedge_store::close_run(&*bench.store, &run, stop, authority).await.expect("closed");
    bench.recorder.forget_run(&run);
    whole(bench.begin("s", &["a"], ""), "hi", &[], 2);
    assert_eq!(bench.run_summaries().await, ["stopped, 1 interrupted", "completed"]);
}

#[tokio::test]
async fn nothing_is_recorded_if_recording_is_off() {
    let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
    let store = Arc::new(store);
    let record = config::RecordConfig { store_runs: false, ..config::RecordConfig::default() };
    let started = GatewayRecorder::start(
        store.clone(),
        record,
        config::SessionConfig::default(),
        Metrics::new(),
    )
    .await;
    let (recorder, _) = started.expect("a recorder");
    let bench = Bench { store, recorder, metrics: Metrics::new() };
    let recording = bench.guarded("s", &[], "{}", &fixed("{}"));
    assert!(recording.run().starts_with("r-"));
    whole(recording, "hi", &[("a", "{}")], 1);
    assert_eq!(bench.run_summaries().await, [""; 0]);
    assert_eq!(bench.recorder.repairs().list(None, None, 10).len(), 1);
}
