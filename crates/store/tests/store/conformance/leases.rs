//! One holder at a time; the previous holder is refused.

use std::sync::Arc;

use foxwedge_run::Outcome;
use foxwedge_store::{ArchiveStore, CloseAuthority, Lease, NewRun, sweep};

use crate::sample::{
    LONG, closing, current, log, new_run, new_session, open_run, refusal, start_run, texts,
};

/// A session with a run whose lease has expired.
async fn abandoned(store: &impl ArchiveStore, id: &str) -> (foxwedge_store::RunRow, Lease) {
    store.create_session(new_session("s")).await.expect("a session");
    start_run(store, NewRun { ttl: 0, ..new_run("s", id) }).await
}

pub(crate) async fn a_stale_lease_is_refused(store: Arc<impl ArchiveStore>) {
    let (run, stale) = abandoned(&*store, "r").await;
    let lease = store.take_over("r", "node-2", LONG).await.expect("an answer").expect("a lease");
    assert_eq!(lease, Lease { owner: "node-2".to_owned(), fence: 2 });
    assert_eq!(current(&*store, "r").await.lease, Some(lease.clone()));
    let fenced = "run `r` is leased by another process: its lease is 2, yours is 1";
    assert_eq!(refusal(store.append("r", &stale, texts(&run, 2, 2)).await), fenced);
    assert_eq!(refusal(store.append("r", &stale, Vec::new()).await), fenced);
    assert_eq!(refusal(store.renew("r", &stale, LONG).await), fenced);
    let holder = CloseAuthority::Holder(stale);
    let end = closing(&run, Outcome::Completed);
    assert_eq!(refusal(store.finalize("r", holder, end).await), fenced);
    assert_eq!(log(&*store, "r").await.len(), 1);
    assert_eq!(store.append("r", &lease, texts(&run, 2, 2)).await.expect("stored"), 2);
}

pub(crate) async fn an_expired_lease_writes_until_the_run_is_taken_over(
    store: Arc<impl ArchiveStore>,
) {
    let (run, lease) = abandoned(&*store, "r").await;
    assert_eq!(store.append("r", &lease, texts(&run, 2, 3)).await.expect("stored"), 3);
    store.renew("r", &lease, LONG).await.expect("renewed");
    assert_eq!(store.take_over("r", "node-2", LONG).await.expect("an answer"), None);
}

pub(crate) async fn a_held_run_is_not_taken(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    for owner in ["node-2", "node-1"] {
        assert_eq!(store.take_over("r", owner, LONG).await.expect("an answer"), None);
    }
    assert_eq!(current(&*store, "r").await, run);
    store.append("r", &lease, texts(&run, 2, 2)).await.expect("still held");
}

pub(crate) async fn an_ended_run_is_not_taken(store: Arc<impl ArchiveStore>) {
    let (run, lease) = abandoned(&*store, "r").await;
    let end = closing(&run, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease), end).await.expect("ended");
    assert_eq!(store.take_over("r", "node-2", 0).await.expect("an answer"), None);
    assert_eq!(store.abandoned_runs(10).await.expect("a list"), []);
}

pub(crate) async fn fences_go_up(store: Arc<impl ArchiveStore>) {
    abandoned(&*store, "r").await;
    let mut fences = Vec::new();
    for owner in ["node-2", "node-1", "node-1"] {
        let lease = store.take_over("r", owner, 0).await.expect("an answer").expect("a lease");
        assert_eq!(lease.owner, owner);
        fences.push(lease.fence);
    }
    assert_eq!(fences, [2, 3, 4]);
}

pub(crate) async fn a_renewed_run_is_not_abandoned(store: Arc<impl ArchiveStore>) {
    let (_, lease) = abandoned(&*store, "r").await;
    assert_eq!(ids(&*store, 10).await, ["r"]);
    store.renew("r", &lease, LONG).await.expect("renewed");
    assert_eq!(ids(&*store, 10).await, [""; 0]);
    // It can also be given up.
    store.renew("r", &lease, 0).await.expect("given up");
    assert_eq!(ids(&*store, 10).await, ["r"]);
}

pub(crate) async fn abandoned_runs_are_listed_oldest_first(store: Arc<impl ArchiveStore>) {
    for id in ["r1", "r2", "r3"] {
        abandoned(&*store, id).await;
    }
    start_run(&*store, new_run("s", "held")).await;
    let found = store.abandoned_runs(10).await.expect("a list");
    let until: Vec<_> = found.iter().map(|run| run.lease_until).collect();
    assert!(until.is_sorted(), "{until:?}");
    let mut ids: Vec<_> = found.iter().map(|run| run.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["r1", "r2", "r3"]);
    assert_eq!(store.abandoned_runs(2).await.expect("a list")[..], found[..2]);
    assert_eq!(store.abandoned_runs(0).await.expect("a list"), []);
}

pub(crate) async fn the_earliest_lease_is_known(store: Arc<impl ArchiveStore>) {
    assert_eq!(store.earliest_lease().await.expect("an answer"), None);
    store.create_session(new_session("s")).await.expect("a session");
    let earliest = async || store.earliest_lease().await.expect("an answer");
    let (_, long) = start_run(&*store, NewRun { ttl: LONG, ..new_run("s", "long") }).await;
    let rest = earliest().await.expect("a run is open");
    assert!((LONG / 2..=LONG).contains(&rest), "{rest}");
    start_run(&*store, NewRun { ttl: LONG / 3, ..new_run("s", "short") }).await;
    let rest = earliest().await.expect("two are open");
    assert!((LONG / 6..=LONG / 3).contains(&rest), "{rest}");
    store.renew("long", &long, 0).await.expect("given up");
    assert_eq!(earliest().await, Some(0));
    sweep(&*store, "sweeper", 10).await.expect("swept");
    let rest = earliest().await.expect("one is open");
    assert!((LONG / 6..=LONG / 3).contains(&rest), "{rest}");
}

pub(crate) async fn a_forged_owner_is_refused(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    for forged in [
        Lease { owner: "node-2".to_owned(), ..lease.clone() },
        Lease { fence: 0, ..lease.clone() },
        Lease { fence: u64::MAX, ..lease },
    ] {
        let refused = refusal(store.append("r", &forged, texts(&run, 2, 2)).await);
        let yours = forged.fence;
        let expected =
            format!("run `r` is leased by another process: its lease is 1, yours is {yours}");
        assert_eq!(refused, expected);
    }
}

pub(crate) async fn a_very_long_lease_holds(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let (run, lease) = start_run(&*store, NewRun { ttl: u64::MAX, ..new_run("s", "r") }).await;
    assert!(run.lease_until > Some(4_102_444_800_000), "{run:?}");
    assert_eq!(store.take_over("r", "node-2", 1).await.expect("an answer"), None);
    store.renew("r", &lease, u64::MAX).await.expect("renewed");
    assert_eq!(store.abandoned_runs(1).await.expect("a list"), []);
}

async fn ids(store: &impl ArchiveStore, limit: usize) -> Vec<String> {
    store.abandoned_runs(limit).await.expect("a list").into_iter().map(|run| run.id).collect()
}

pub(crate) async fn a_held_run_is_handed_over(store: Arc<impl ArchiveStore>) {
    let (run, stale) = open_run(&*store, "s", "r").await;
    let lease = store.hand_over("r", "node-2", LONG).await.expect("an answer").expect("a lease");
    assert_eq!(lease, Lease { owner: "node-2".to_owned(), fence: 2 });
    let fenced = "run `r` is leased by another process: its lease is 2, yours is 1";
    assert_eq!(refusal(store.append("r", &stale, texts(&run, 2, 2)).await), fenced);
    assert_eq!(store.append("r", &lease, texts(&run, 2, 2)).await.expect("stored"), 2);
    let end = closing(&current(&*store, "r").await, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease), end).await.expect("ended");
    for run in ["r", "none"] {
        assert_eq!(store.hand_over(run, "node-3", LONG).await.expect("an answer"), None, "{run}");
    }
}
