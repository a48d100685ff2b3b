//! Eight tasks at once: what may happen once happens once.

use std::{collections::BTreeSet, future::Future, sync::Arc};

use foxwedge_run::{EventPayload, Outcome, StopRequest};
use foxwedge_store::{
    ArchiveStore, CloseAuthority, FinalizeResult, Lease, NewRun, Result, RunRow, RunState,
    StartResult, StoreError, close_run, sweep,
};
use tokio::{sync::Barrier, task::JoinSet};

use crate::sample::{
    LONG, closing, current, log, new_run, new_session, open_run, record, start_run, text_event,
};

const EIGHT: usize = 8;
const ROUNDS: usize = 5;

/// Starts eight tasks at the same moment.
async fn eight<T, F>(job: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(EIGHT));
    let mut tasks = JoinSet::new();
    for number in 0..EIGHT {
        let (barrier, job) = (barrier.clone(), job(number));
        tasks.spawn(async move {
            barrier.wait().await;
            job.await
        });
    }
    tasks.join_all().await
}

pub(crate) async fn eight_starts_with_one_key_make_one_run(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for round in 1..=ROUNDS {
        let results = eight(|number| {
            let store = store.clone();
            let key = Some(format!("key-{round}"));
            let new = NewRun { key, ..new_run("s", &format!("r{round}-{number}")) };
            async move { store.start_run(new).await.expect("an answer") }
        })
        .await;
        let mut ids = BTreeSet::new();
        let mut new = 0;
        for result in results {
            match result {
                StartResult::New { run, .. } => {
                    new += 1;
                    ids.insert(run.id);
                }
                StartResult::Existing(run) => {
                    ids.insert(run.id);
                }
            }
        }
        assert_eq!((new, ids.len()), (1, 1));
    }
    let session = store.session("s").await.expect("an answer").expect("a session");
    assert_eq!(session.epoch, ROUNDS as u64);
}

pub(crate) async fn eight_starts_make_eight_epochs(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    let mut epochs = BTreeSet::new();
    for round in 1..=ROUNDS {
        let results =
            eight(|number| {
                let store = store.clone();
                async move {
                    start_run(&*store, new_run("s", &format!("r{round}-{number}"))).await.0.epoch
                }
            })
            .await;
        epochs.extend(results);
    }
    assert_eq!(epochs, (1..=(EIGHT * ROUNDS) as u64).collect());
}

pub(crate) async fn eight_ends_make_one(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for round in 1..=ROUNDS {
        let id = format!("r{round}");
        let (run, lease) = start_run(&*store, new_run("s", &id)).await;
        let results = eight(|number| {
            let (store, run) = (store.clone(), run.clone());
            let authority = match number % 2 {
                0 => CloseAuthority::Operator,
                _ => CloseAuthority::Holder(lease.clone()),
            };
            let end = closing(&run, Outcome::ALL[number]);
            async move { store.finalize(&run.id, authority, end).await.expect("an answer") }
        })
        .await;
        let recorded: Vec<&RunRow> = results
            .iter()
            .filter_map(|result| match result {
                FinalizeResult::Recorded(run) => Some(run),
                FinalizeResult::AlreadyEnded(_) => None,
            })
            .collect();
        assert_eq!(recorded.len(), 1);
        for result in &results {
            let (FinalizeResult::Recorded(run) | FinalizeResult::AlreadyEnded(run)) = result;
            assert_eq!(run, recorded[0]);
        }
        assert_eq!(&current(&*store, &id).await, recorded[0]);
        assert_eq!(log(&*store, &id).await.len(), 2);
    }
}

pub(crate) async fn eight_takers_get_one_lease(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for round in 1..=ROUNDS {
        let id = format!("r{round}");
        start_run(&*store, NewRun { ttl: 0, ..new_run("s", &id) }).await;
        let results = eight(|number| {
            let (store, id) = (store.clone(), id.clone());
            async move {
                store.take_over(&id, &format!("node-{number}"), LONG).await.expect("an answer")
            }
        })
        .await;
        let leases: Vec<Lease> = results.into_iter().flatten().collect();
        assert_eq!(leases.len(), 1, "{leases:?}");
        assert_eq!(current(&*store, &id).await.lease, Some(leases[0].clone()));
    }
}

pub(crate) async fn eight_appends_of_one_sequence_number_store_one(store: Arc<impl ArchiveStore>) {
    let (run, lease) = open_run(&*store, "s", "r").await;
    for seq in 2..=(1 + ROUNDS as u64) {
        let results = eight(|number| {
            let (store, lease) = (store.clone(), lease.clone());
            let event = text_event(&run, seq, &format!("task {number}"));
            async move { store.append("r", &lease, vec![event]).await }
        })
        .await;
        let stored = results.iter().filter(|result| result.is_ok()).count();
        let refused = |result: &Result<u64>| matches!(result, Err(StoreError::Conflict(_)));
        assert_eq!(stored, 1, "{results:?}");
        assert_eq!(results.iter().filter(|result| refused(result)).count(), EIGHT - 1);
    }
    assert_eq!(log(&*store, "r").await.len(), 1 + ROUNDS);
}

pub(crate) async fn eight_sweepers_close_a_run_once(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for number in 1..=20 {
        start_run(&*store, NewRun { ttl: 0, ..new_run("s", &format!("r{number}")) }).await;
    }
    let results = eight(|number| {
        let store = store.clone();
        async move { sweep(&*store, &format!("node-{number}"), 100).await.expect("swept") }
    })
    .await;
    let swept: Vec<String> = results.into_iter().flatten().map(|swept| swept.run.id).collect();
    assert_eq!(swept.len(), 20, "{swept:?}");
    assert_eq!(swept.iter().collect::<BTreeSet<_>>().len(), 20);
    for number in 1..=20 {
        let id = format!("r{number}");
        let run = current(&*store, &id).await;
        assert_eq!(run.state.outcome(), Some(Outcome::Interrupted));
        assert_eq!(log(&*store, &id).await.len(), 2);
    }
}

pub(crate) async fn a_stop_and_a_writer_agree_on_the_log(store: Arc<impl ArchiveStore>) {
    store.create_session(new_session("s")).await.expect("a session");
    for round in 1..=ROUNDS {
        let id = format!("r{round}");
        let (run, lease) = start_run(&*store, new_run("s", &id)).await;
        let (writer_store, name) = (store.clone(), id.clone());
        let writer = tokio::spawn(async move {
            let mut last = 1;
            // Enough to interfere, but not for ever.
            while last < 100 {
                let next = vec![text_event(&run, last + 1, "word")];
                match writer_store.append(&name, &lease, next).await {
                    Ok(stored) => last = stored,
                    Err(StoreError::Ended(_)) => return last,
                    Err(error) => panic!("{error}"),
                }
            }
            last
        });
        let stopped = loop {
            let stop = EventPayload::Stop(StopRequest { grace: 0 });
            match close_run(&*store, &id, stop, CloseAuthority::Operator).await {
                Ok(finalized) => break finalized,
                // The writer was faster every time.
                Err(StoreError::Stale { .. } | StoreError::Conflict(_)) => {}
                Err(error) => panic!("{error}"),
            }
        };
        let written = writer.await.expect("the writer");
        let FinalizeResult::Recorded(run) = stopped else { panic!("{stopped:?}") };
        assert_eq!(run.state.outcome(), Some(Outcome::Stopped));
        let log = log(&*store, &id).await;
        assert_eq!(log.len() as u64, run.last);
        // Acknowledged events are stored, and the stop comes after them.
        assert!(written < run.last, "{written} of {}", run.last);
        let stop = &log[written as usize];
        assert_eq!(stop.body, EventPayload::Stop(StopRequest { grace: 0 }));
        assert!(matches!(current(&*store, &id).await.state, RunState::Ended { .. }));
    }
}

pub(crate) async fn eight_writers_of_records_get_ordinals_without_a_gap(
    store: Arc<impl ArchiveStore>,
) {
    store.create_session(new_session("s")).await.expect("a session");
    let results = eight(|task| {
        let store = store.clone();
        async move {
            let mut ordinals = Vec::new();
            for round in 0..ROUNDS {
                let records = vec![
                    record(&format!("a{task}-{round}"), None),
                    record(&format!("b{task}-{round}"), Some(&format!("a{task}-{round}"))),
                ];
                ordinals.extend(store.append_records("s", records).await.expect("stored"));
            }
            ordinals
        }
    })
    .await;
    let ordinals: BTreeSet<u64> = results.into_iter().flatten().collect();
    let all = (EIGHT * ROUNDS * 2) as u64;
    assert_eq!(ordinals, (1..=all).collect());
    let session = store.session("s").await.expect("an answer").expect("a session");
    assert_eq!(session.records, all);
}
