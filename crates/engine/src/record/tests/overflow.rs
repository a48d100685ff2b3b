//! More than fits: it is counted, nobody waits, and nothing stays open.

use super::*;

async fn small(content: ContentRecording, notes: usize) -> Bench {
    let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
    Bench::over(Arc::new(store), content, notes).await
}

#[tokio::test]
async fn requests_without_room_are_not_kept_at_all() {
    // The writer does not get a turn before the first await.
    let bench = small(ContentRecording::Omitted, 8).await;
    let at_work: Vec<RequestRecording> =
        (0..20).map(|number| bench.begin(&format!("s{number}"), &[], "")).collect();
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 16"#));
    at_work.into_iter().for_each(|recording| whole(recording, "hi", &[], 1));
    assert_eq!(bench.told().await, ["completed"; 4]);
}

#[tokio::test]
async fn a_request_that_loses_its_middle_has_its_end() {
    let bench = small(ContentRecording::Stored, 4).await;
    let mut first = bench.begin("one", &[], "");
    let mut second = bench.begin("two", &[], "");
    for recording in [&mut first, &mut second] {
        recording.record_event(&StreamEvent::Open { block: 0, kind: BlockStart::Text });
        for _ in 0..4 {
            let piece = BlockDelta::Text("x".repeat(5_000).into());
            recording.record_event(&StreamEvent::Delta { block: 0, delta: piece });
        }
    }
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 2"#));
    first.record_event(&StreamEvent::Close { block: 0 });
    first.finish(ReplyCompletion::Complete, Some(1));
    call(&mut second, 1, "a");
    second.finish(ReplyCompletion::Complete, Some(1));
    assert_eq!(bench.told().await, ["completed", "interrupted"]);
    // Nobody waits for calls that were not written down.
    assert!(bench.counted("foxwedge_tools_open 0"));
    let row = &bench.runs().await[0];
    let events = bench.store.events(&row.id, 0, 100).await.expect("events");
    let noted = events.iter().any(|stored| match &stored.event.body {
        foxwedge_run::EventPayload::Problem(problem) => {
            problem.code.as_deref() == Some("record_incomplete")
        }
        _ => false,
    });
    assert!(noted);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_gone_on_with_is_closed() {
    let bench = small(ContentRecording::Omitted, 4).await;
    whole(bench.begin("s", &[], ""), "", &[("a", "{}")], 1);
    assert_eq!(bench.told().await, ["open"]);
    let busy = [bench.begin("x", &[], ""), bench.begin("y", &[], "")];
    let lost = bench.begin("s", &["a"], "");
    whole(lost, "hi", &[], 2);
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 1"#));
    drop(busy);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut told = bench.told().await;
    told.sort();
    assert_eq!(told, ["interrupted, 1 interrupted", "stopped", "stopped"]);
}

#[tokio::test]
async fn a_store_that_is_gone_holds_up_nobody() {
    let bench = small(ContentRecording::Omitted, 64).await;
    bench.recorder.drain().await;
    let recording = bench.begin("s", &[], "");
    assert!(recording.run().starts_with("r-"));
    whole(recording, "hi", &[], 1);
    bench.recorder.flush().await;
    bench.recorder.drain().await;
    assert_eq!(bench.told().await, [""; 0]);
    assert!(bench.counted(r#"foxwedge_dropped_total{what="records"} 1"#));
}
