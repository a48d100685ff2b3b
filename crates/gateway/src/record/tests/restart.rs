//! What a process finds after a restart.

use foxwedge_store::{NewRun, NewSession};

use super::*;

async fn start(store: &Arc<AnyStore>) -> (GatewayRecorder, Vec<(SessionHead, Duration)>) {
    let (record, sessions) = (config::RecordConfig::default(), config::SessionConfig::default());
    GatewayRecorder::start(store.clone(), record, sessions, Metrics::new())
        .await
        .expect("a recorder")
}

#[tokio::test]
async fn sessions_are_found_by_their_newest_reply() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    let (old, new) = (u128::MAX - 5, 0x1234_u128);
    whole(bench.begin("ended", &[], ""), "one", &[], old);
    whole(bench.begin("ended", &[], ""), "two", &[], new);
    // New ones have the head of their first reply among their own fields.
    whole(bench.begin("new-1", &[], ""), "one", &[], old);
    whole(bench.begin("new-2", &[], ""), "one", &[], old);
    bench.flush().await;
    let session = bench.store.session("new-2").await.expect("a store").expect("a session");
    assert_eq!(session.records, 0, "{session:?}");
    whole(bench.begin("new-2", &["a"], ""), "two", &[], new);
    bench.begin("new-3", &[], "").fail_with_status(StatusCode::BAD_GATEWAY);
    // One whose run waits for results, and one whose reply was cut off.
    whole(bench.begin("waits", &[], ""), "", &[("a", "{}")], old);
    whole(bench.begin("broken", &[], ""), "one", &[], 7);
    bench.begin("broken", &[], "").finish(ReplyCompletion::Cut, None);
    bench.begin("never", &[], "").fail_with_status(StatusCode::BAD_GATEWAY);
    bench.recorder.drain().await;

    let (_recorder, heads) = start(&bench.store).await;
    let mut found: Vec<(String, u128)> =
        heads.iter().map(|(head, _)| (head.session.to_string(), head.value)).collect();
    found.sort();
    let expected = [("broken", 7), ("ended", new), ("new-1", old), ("new-2", new), ("waits", old)];
    assert_eq!(found, expected.map(|(session, value)| (session.to_owned(), value)));
    assert!(heads.iter().all(|(_, age)| *age < Duration::from_secs(60)));
    let times: Vec<u64> = heads.iter().map(|(head, _)| head.at).collect();
    assert!(times.is_sorted_by(|previous, next| previous >= next), "{times:?}");
    // Waiting runs were interrupted at shutdown.
    let mut summaries = bench.run_summaries().await;
    summaries.retain(|summaries| summaries.starts_with("interrupted"));
    assert_eq!(summaries, ["interrupted, 1 interrupted"]);
}

#[tokio::test]
async fn runs_of_a_process_that_died_are_closed() {
    let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
    let store = Arc::new(store);
    for (session, ttl) in [("dead", 0), ("alive", 3_600_000)] {
        let new = NewSession { id: session.into(), ..NewSession::default() };
        store.create_session(new).await.expect("a session");
        let new = NewRun {
            id: format!("r-{session}"),
            session: session.into(),
            owner: "gateway-other".into(),
            ttl,
            ..NewRun::default()
        };
        store.start_run(new).await.expect("a run");
    }
    start(&store).await;
    let dead = store.run("r-dead").await.expect("a store").map(|row| run_summary(&row));
    let alive = store.run("r-alive").await.expect("a store").map(|row| run_summary(&row));
    assert_eq!((dead.as_deref(), alive.as_deref()), (Some("interrupted"), Some("open")));
}

#[tokio::test]
async fn many_sessions_are_found_again() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    for number in 0..2_500_u32 {
        whole(bench.begin(&format!("s{number}"), &[], ""), "hi", &[], number.into());
    }
    bench.recorder.drain().await;
    let (_recorder, heads) = start(&bench.store).await;
    assert_eq!(heads.len(), 2_500);
    let matches =
        |(head, _): &(SessionHead, Duration)| *head.session == *format!("s{}", head.value);
    assert!(heads.iter().all(matches));
}
