//! Requests one after the other, and the runs they make.

use foxwedge_run::EventPayload;

use super::*;

#[tokio::test]
async fn words_calls_answers_and_a_text_are_one_run() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let first = bench.begin("s", &[], "{}");
    let run = first.run().clone();
    whole(first, "let me see", &[("a", "{}"), ("b", "{}")], 1);
    assert_eq!(bench.told().await, ["open"]);
    assert!(bench.counted("foxwedge_tools_open 2"));

    let second = bench.begin("s", &["a", "b"], "{}");
    assert_eq!(*second.run(), run);
    assert!(bench.counted("foxwedge_tools_open 0"));
    whole(second, "done", &[], 2);
    assert_eq!(bench.told().await, ["completed, 2 succeeded"]);
    assert!(bench.counted(r#"foxwedge_runs_total{terminal_reason="completed"} 1"#));

    let row = &bench.runs().await[0];
    assert_eq!((row.agent.as_deref(), row.model.as_deref()), (Some("agent/1.0"), Some("model-1")));
    let RunState::Ended { ended, .. } = &row.state else { panic!("it has ended") };
    assert_eq!(ended.text.as_deref(), Some("[4 characters, not kept]"));
    assert_eq!(ended.usage.map(|usage| (usage.input, usage.output)), Some((20, 4)));
    let session = bench.store.session("s").await.expect("a store").expect("a session");
    assert_eq!((&*session.owner, &*session.title), ("ann", "model-1 · agent/1.0"));
}

/// What a client does, and what becomes of its runs.
#[tokio::test]
async fn every_way_to_end_has_its_outcome() {
    type Story = fn(&Bench);
    let table: [(&str, Story, &[&str]); 18] = [
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
        ("nobody listens", |bench| drop(bench.begin("s", &[], "")), &["stopped"]),
        (
            "nobody listens any more",
            |bench| {
                let mut recording = bench.begin("s", &[], "");
                reply(&mut recording, "hi", &[("a", "{}")]);
                call(&mut recording, 9, "b");
            },
            // What the client has whole may have run, and the other did not.
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
    for (name, story, expected) in table {
        // All at once, and one by one: what is written together is the same.
        let bench = Bench::new(ContentRecording::Omitted).await;
        story(&bench);
        assert_eq!(bench.told().await, expected, "{name}");
        bench.recorder.drain().await;
        let open = bench.told().await.iter().filter(|told| *told == "open").count();
        assert_eq!(open, 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_nobody_answers_time_out() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}"), ("b", "{}")], 1);
    assert_eq!(bench.told().await, ["open"]);
    tokio::time::advance(Duration::from_secs(9 * 60)).await;
    assert_eq!(bench.told().await, ["open"]);
    tokio::time::advance(Duration::from_secs(62)).await;
    // The next look of the writer.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.told().await, ["failed (timed_out), 2 failed"]);
    assert!(bench.counted("foxwedge_tools_open 0"));
    // Whoever answers now begins anew.
    whole(bench.begin("s", &["a", "b"], ""), "hi", &[], 2);
    assert_eq!(bench.told().await, ["failed (timed_out), 2 failed", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_works_for_long_stays_ours() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let recording = bench.begin("s", &[], "");
    let row = &bench.runs().await[0];
    let lease = row.lease.as_ref().expect("a lease");
    // The clock of the store goes on as ever, so that the lease is made shorter.
    bench.store.renew(&row.id, lease, 20_000).await.expect("renewed");
    let before = bench.runs().await[0].lease_until;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        bench.flush().await;
    }
    let after = bench.runs().await[0].lease_until;
    assert!(after > before, "{before:?} {after:?}");
    whole(recording, "hi", &[], 1);
    assert_eq!(bench.told().await, ["completed"]);
}

#[tokio::test]
async fn what_the_guard_did_is_told_beside_the_reply() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let mut recording = bench.guarded("s", &[], "{}", &fixed("{}"));
    let mut again = fixed("{}");
    recording.record_changes(&again);
    let page = bench.recorder.repairs().list(None, None, 10);
    assert_eq!(page.len(), 1);
    assert_eq!(*page[0].run, **recording.run());
    assert!(page[0].bodies.is_none());
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
async fn a_session_of_somebody_else_is_not_written_to() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let new = foxwedge_store::NewSession { id: "s".into(), ..Default::default() };
    bench.store.create_session(new).await.expect("a session");
    whole(bench.begin("s", &[], ""), "hi", &[], 1);
    assert_eq!(bench.told().await, [""; 0]);
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 1"#));
}

#[tokio::test]
async fn a_run_that_somebody_else_ended_is_not_gone_on_with() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
    let run = bench.runs().await[0].id.clone();
    let stop = EventPayload::Stop(foxwedge_run::StopRequest { grace: 0 });
    let authority = foxwedge_store::CloseAuthority::Operator;
    foxwedge_store::close_run(&*bench.store, &run, stop, authority).await.expect("closed");
    bench.recorder.forget_run(&run);
    whole(bench.begin("s", &["a"], ""), "hi", &[], 2);
    assert_eq!(bench.told().await, ["stopped, 1 interrupted", "completed"]);
}

#[tokio::test]
async fn nothing_is_kept_where_nothing_is_to_be_kept() {
    let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
    let store = Arc::new(store);
    let record =
        config::RecordConfig { runs: RunRecording::None, ..config::RecordConfig::default() };
    let started = GatewayRecorder::start(
        store.clone(),
        record,
        config::SessionConfig::default(),
        Metrics::new(),
    )
    .await;
    let (recorder, _) = started.expect("a recorder");
    let bench = Bench { store, recorder, meter: Metrics::new() };
    let recording = bench.guarded("s", &[], "{}", &fixed("{}"));
    assert!(recording.run().starts_with("r-"));
    whole(recording, "hi", &[("a", "{}")], 1);
    assert_eq!(bench.told().await, [""; 0]);
    assert_eq!(bench.recorder.repairs().list(None, None, 10).len(), 1);
}
