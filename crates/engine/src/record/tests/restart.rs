//! What a process finds that another one left.

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
    // One whose run waits for answers, and one whose reply broke off.
    whole(bench.begin("waits", &[], ""), "", &[("a", "{}")], old);
    whole(bench.begin("broken", &[], ""), "one", &[], 7);
    bench.begin("broken", &[], "").finish(ReplyCompletion::Cut, None);
    bench.begin("never", &[], "").fail_with_status(StatusCode::BAD_GATEWAY);
    bench.recorder.drain().await;

    let (_recorder, tips) = start(&bench.store).await;
    let mut found: Vec<(String, u128)> =
        tips.iter().map(|(tip, _)| (tip.session.to_string(), tip.value)).collect();
    found.sort();
    let expected = [("broken", 7), ("ended", new), ("waits", old)];
    assert_eq!(found, expected.map(|(session, value)| (session.to_owned(), value)));
    assert!(tips.iter().all(|(_, ago)| *ago < Duration::from_secs(60)));
    let times: Vec<u64> = tips.iter().map(|(tip, _)| tip.at).collect();
    assert!(times.is_sorted_by(|one, other| one >= other), "{times:?}");
    // Nobody goes on with what waited: whoever was to do so is gone.
    let mut told = bench.told().await;
    told.retain(|told| told.starts_with("interrupted"));
    assert_eq!(told, ["interrupted, 1 interrupted"]);
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
    let dead = store.run("r-dead").await.expect("a store").map(|row| told(&row));
    let alive = store.run("r-alive").await.expect("a store").map(|row| told(&row));
    assert_eq!((dead.as_deref(), alive.as_deref()), (Some("interrupted"), Some("open")));
}

#[tokio::test]
async fn many_sessions_are_found_again() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    for number in 0..2_500_u32 {
        whole(bench.begin(&format!("s{number}"), &[], ""), "hi", &[], number.into());
    }
    bench.recorder.drain().await;
    let (_recorder, tips) = start(&bench.store).await;
    assert_eq!(tips.len(), 2_500);
    let right = |(tip, _): &(SessionHead, Duration)| *tip.session == *format!("s{}", tip.value);
    assert!(tips.iter().all(right));
}
