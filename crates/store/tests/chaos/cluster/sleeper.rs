//! A process that holds a run, sleeps past its lease, and then tries to write to it.

use std::time::Duration;

use foxwedge_run::{EventPayload, Outcome, RunEnd, RunEvent};
use foxwedge_store::{
    CloseAuthority, FinalizeResult, Lease, PostgresStore, Result, RunClosing, StartResult, Store,
    StoreError,
};
use tokio::time::sleep;

use super::node::NAME;
use crate::{
    process::{input_lines, number, print_line, value},
    settings::wait_for,
    story::{Weight, Workload},
    writer::{SEED, STORE},
};

/// How long its lease is valid, in milliseconds.
const TTL: u64 = 400;

/// Renews its lease until it is refused; then it tries everything else and reports the results.
pub(crate) fn play() {
    let _input = input_lines();
    wait_for(async {
        let workload = Workload { seed: number(SEED), weight: Weight::Light };
        let store = loop {
            if let Ok(store) = PostgresStore::open(&value(STORE)).await {
                break store;
            }
        };
        let Some((run, lease)) = hold(&store, &workload).await else { return print_line("gone") };
        print_line(&format!("holding {run}"));
        loop {
            match store.renew(&run, &lease, TTL).await {
                Ok(()) | Err(StoreError::Unavailable(_)) => {
                    sleep(Duration::from_millis(TTL / 4)).await;
                }
                Err(StoreError::Fenced { .. } | StoreError::Ended(_)) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
        let event = workload.plan(&run).event(3).expect("an event");
        let append = || store.append(&run, &lease, vec![event.clone()]);
        print_line(verdict("append", retry(append).await));
        let end = || store.finalize(&run, CloseAuthority::Holder(lease.clone()), closing(&run));
        // It has ended, or another node is about to end it.
        let ended = retry(end).await;
        print_line(match ended {
            Ok(FinalizeResult::AlreadyEnded(_)) => "refused end",
            ended => verdict("end", ended),
        });
        print_line(verdict("renewal", retry(|| store.renew(&run, &lease, TTL)).await));
        print_line("awake");
    });
}

/// Starts a run; `None` if it was taken over before it was held.
async fn hold(store: &PostgresStore, workload: &Workload) -> Option<(String, Lease)> {
    let plan = workload.plan(&value(NAME));
    let run = plan.run.to_string();
    retry(|| store.create_session(Workload::session(&plan.session))).await.ok()?;
    let lease = match retry(|| store.start_run(plan.start("sleeper", TTL))).await.ok()? {
        StartResult::New { lease, .. } => lease,
        StartResult::Existing(row) => row.lease?,
    };
    let event = plan.event(2).expect("an event");
    retry(|| store.append(&run, &lease, vec![event.clone()])).await.ok()?;
    Some((run, lease))
}

fn verdict<T: std::fmt::Debug>(what: &'static str, result: Result<T>) -> &'static str {
    match (what, result) {
        ("append", Err(StoreError::Fenced { .. } | StoreError::Ended(_))) => "refused append",
        ("end", Err(StoreError::Fenced { .. } | StoreError::Ended(_))) => "refused end",
        ("renewal", Err(StoreError::Fenced { .. } | StoreError::Ended(_))) => "refused renewal",
        (what, result) => panic!("{what}: {result:?}"),
    }
}

async fn retry<T, F: Future<Output = Result<T>>>(operation: impl Fn() -> F) -> Result<T> {
    loop {
        match operation().await {
            Err(StoreError::Unavailable(_)) => {}
            result => return result,
        }
    }
}

fn closing(run: &str) -> RunClosing {
    let ended = RunEnd { outcome: Some(Outcome::Completed), ..RunEnd::default() };
    let end =
        RunEvent { seq: Some(3), ..RunEvent::new(&run.into(), EventPayload::Ended(ended.clone())) };
    RunClosing { events: vec![end], ended, summary: Default::default(), records: Vec::new() }
}
