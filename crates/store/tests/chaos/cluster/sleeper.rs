//! A process that holds a run, sleeps through its lease, and then wants to write to it.

use std::time::Duration;

use foxwedge_run::{EventPayload, Outcome, RunEnd, RunEvent};
use foxwedge_store::{
    CloseAuthority, FinalizeResult, Lease, PostgresStore, Result, RunClosing, StartResult, Store,
    StoreError,
};
use tokio::time::sleep;

use super::node::NAME;
use crate::{
    process::{number, say, told, value},
    settings::wait_for,
    story::{Story, Weight},
    writer::{SEED, STORE},
};

/// How long its lease holds, in milliseconds.
const TTL: u64 = 400;

/// Renews its lease until it is refused; then it tries everything else. What was let through that
/// should not have been it says.
pub(crate) fn play() {
    let _told = told();
    wait_for(async {
        let story = Story { seed: number(SEED), weight: Weight::Light };
        let store = loop {
            if let Ok(store) = PostgresStore::open(&value(STORE)).await {
                break store;
            }
        };
        let Some((run, lease)) = hold(&store, &story).await else { return say("gone") };
        say(&format!("holding {run}"));
        loop {
            match store.renew(&run, &lease, TTL).await {
                Ok(()) | Err(StoreError::Unavailable(_)) => {
                    sleep(Duration::from_millis(TTL / 4)).await;
                }
                Err(StoreError::Fenced { .. } | StoreError::Ended(_)) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
        let event = story.tale(&run).event(3).expect("an event");
        let append = || store.append(&run, &lease, vec![event.clone()]);
        say(verdict("append", insist(append).await));
        let end = || store.finalize(&run, CloseAuthority::Holder(lease.clone()), closing(&run));
        // It has ended, or somebody else is about to end it.
        let ended = insist(end).await;
        say(match ended {
            Ok(FinalizeResult::AlreadyEnded(_)) => "refused end",
            ended => verdict("end", ended),
        });
        say(verdict("renewal", insist(|| store.renew(&run, &lease, TTL)).await));
        say("awake");
    });
}

/// Begins a run; `None` if it was taken away before it was held.
async fn hold(store: &PostgresStore, story: &Story) -> Option<(String, Lease)> {
    let tale = story.tale(&value(NAME));
    let run = tale.run.to_string();
    insist(|| store.create_session(Story::session(&tale.session))).await.ok()?;
    let lease = match insist(|| store.start_run(tale.start("sleeper", TTL))).await.ok()? {
        StartResult::New { lease, .. } => lease,
        StartResult::Existing(row) => row.lease?,
    };
    let event = tale.event(2).expect("an event");
    insist(|| store.append(&run, &lease, vec![event.clone()])).await.ok()?;
    Some((run, lease))
}

fn verdict<T: std::fmt::Debug>(what: &'static str, done: Result<T>) -> &'static str {
    match (what, done) {
        ("append", Err(StoreError::Fenced { .. } | StoreError::Ended(_))) => "refused append",
        ("end", Err(StoreError::Fenced { .. } | StoreError::Ended(_))) => "refused end",
        ("renewal", Err(StoreError::Fenced { .. } | StoreError::Ended(_))) => "refused renewal",
        (what, done) => panic!("{what}: {done:?}"),
    }
}

async fn insist<T, F: Future<Output = Result<T>>>(work: impl Fn() -> F) -> Result<T> {
    loop {
        match work().await {
            Err(StoreError::Unavailable(_)) => {}
            done => return done,
        }
    }
}

fn closing(run: &str) -> RunClosing {
    let ended = RunEnd { outcome: Some(Outcome::Completed), ..RunEnd::default() };
    let end =
        RunEvent { seq: Some(3), ..RunEvent::new(&run.into(), EventPayload::Ended(ended.clone())) };
    RunClosing { events: vec![end], ended, summary: Default::default(), records: Vec::new() }
}
