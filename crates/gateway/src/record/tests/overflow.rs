//! A full queue: losses are counted, requests do not wait, and no run stays open.

use super::*;

async fn small(content: ContentRecording, capacity: usize) -> Bench {
    let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
    Bench::over(Arc::new(store), content, capacity).await
}

#[tokio::test]
async fn requests_without_room_are_not_recorded() {
    // The writer does not get a turn before the first await.
    let bench = small(ContentRecording::Omitted, 8).await;
    let recordings: Vec<RequestRecording> =
        (0..20).map(|number| bench.begin(&format!("s{number}"), &[], "")).collect();
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 16"#));
    recordings.into_iter().for_each(|recording| whole(recording, "hi", &[], 1));
    assert_eq!(bench.run_summaries().await, ["completed"; 4]);
}

#[tokio::test]
async fn a_request_with_lost_events_is_still_ended() {
    let bench = small(ContentRecording::Stored, 4).await;
    let mut first = bench.begin("one", &[], "");
    let mut second = bench.begin("two", &[], "");
    for recording in [&mut first, &mut second] {
        recording.record_event(&StreamEvent::Open { block: 0, kind: BlockStart::Text });
        for _ in 0..4 {
            let delta = BlockDelta::Text("x".repeat(5_000).into());
            recording.record_event(&StreamEvent::Delta { block: 0, delta });
        }
    }
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 2"#));
    first.record_event(&StreamEvent::Close { block: 0 });
    first.finish(ReplyCompletion::Complete, Some(1));
    call(&mut second, 1, "a");
    second.finish(ReplyCompletion::Complete, Some(1));
    assert_eq!(bench.run_summaries().await, ["completed", "interrupted"]);
    // A run does not wait for calls that were not recorded.
    assert!(bench.counted("foxwedge_tools_open 0"));
    let row = &bench.runs().await[0];
    let events = bench.store.events(&row.id, 0, 100).await.expect("events");
    let has_warning = events.iter().any(|stored| match &stored.event.body {
        foxwedge_run::EventPayload::Problem(problem) => {
            problem.code.as_deref() == Some("record_incomplete")
        }
        _ => false,
    });
    assert!(has_warning);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_continue_is_closed() {
    let bench = small(ContentRecording::Omitted, 4).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
    assert_eq!(bench.run_summaries().await, ["open"]);
    let busy = [bench.begin("x", &[], ""), bench.begin("y", &[], "")];
    let lost = bench.begin("s", &["a"], "");
    whole(lost, "hi", &[], 2);
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 1"#));
    drop(busy);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut summaries = bench.run_summaries().await;
    summaries.sort();
    assert_eq!(summaries, ["interrupted, 1 interrupted", "stopped", "stopped"]);
}

#[tokio::test]
async fn requests_do_not_wait_for_a_stopped_writer() {
    let bench = small(ContentRecording::Omitted, 64).await;
    bench.recorder.drain().await;
    let recording = bench.begin("s", &[], "");
    assert!(recording.run().starts_with("r-"));
    whole(recording, "hi", &[], 1);
    bench.recorder.flush().await;
    bench.recorder.drain().await;
    assert_eq!(bench.run_summaries().await, [""; 0]);
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 1"#));
}
