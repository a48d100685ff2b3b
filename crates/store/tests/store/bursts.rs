//! Bursts: nothing is lost, however much arrives at once, around every batch size.

use std::{sync::Arc, time::Duration};

use foxwedge_run::{
    EventPayload, Outcome, RunUsage,
    encode::{EncoderOptions, UiFormat},
};
use foxwedge_store::{CloseAuthority, FeedItem, FeedRegistry, SqliteStore, Store};
use tokio::{task::JoinSet, time::timeout};

use crate::sample::{call_event, closing, current, event, new_session, open_run, texts};

/// Maximum number of jobs in one transaction of SQLite's writer.
const GROUP: usize = 1_024;
/// Events that a feed reads per page.
const PAGE: u64 = 500;
/// Only a test that hangs takes this long.
const TIMEOUT: Duration = Duration::from_secs(120);

#[tokio::test]
async fn every_job_of_a_burst_completes() {
    let store = Arc::new(SqliteStore::memory().await.expect("a store"));
    for count in [GROUP - 1, GROUP, GROUP + 1, 2 * GROUP, 2 * GROUP + 1] {
        let id = |index: usize| format!("s{count}-{index}");
        let mut jobs = JoinSet::new();
        for index in 0..count {
            let (store, new) = (store.clone(), new_session(&id(index)));
            jobs.spawn(async move { store.create_session(new).await });
        }
        let results = timeout(TIMEOUT, jobs.join_all()).await.expect("answers in time");
        assert!(results.iter().all(Result::is_ok), "{count} jobs");
        for index in 0..count {
            let found = store.session(&id(index)).await.expect("a look");
            assert!(found.is_some(), "{} of {count}", id(index));
        }
    }
}

/// Follows a run to its end. Returns the number of frames.
async fn count_frames(store: &Arc<SqliteStore>, run: &str, format: UiFormat) -> usize {
    let feeds = FeedRegistry::new(store.clone());
    let follower = feeds.follow(run, format, EncoderOptions::default(), None).await;
    let mut follower = follower.expect("a follower");
    let mut frames = 0;
    let all = async {
        loop {
            match follower.next().await.expect("a frame") {
                FeedItem::Frame(_) => frames += 1,
                FeedItem::Lagged(last) => panic!("lagged behind {last}"),
                FeedItem::Ended => return frames,
            }
        }
    };
    timeout(TIMEOUT, all).await.unwrap_or_else(|_| panic!("{run} in {format:?} never ends"))
}

#[tokio::test]
async fn a_log_of_any_length_is_followed_to_its_end() {
    let store = Arc::new(SqliteStore::memory().await.expect("a store"));
    for count in [PAGE - 2, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1] {
        let (run, session) = (format!("r{count}"), format!("s{count}"));
        let (row, lease) = open_run(&*store, &session, &run).await;
        store.append(&run, &lease, texts(&row, 2, 1 + count)).await.expect("texts");
        let end = closing(&current(&*store, &run).await, Outcome::Completed);
        store.finalize(&run, CloseAuthority::Holder(lease), end).await.expect("an end");
        let frames = count_frames(&store, &run, UiFormat::Jsonl).await;
        // The start, every text and the end are one line each.
        assert_eq!(frames as u64, count + 2, "{count} texts");
    }
}

#[tokio::test]
async fn pages_without_a_frame_do_not_end_a_feed() {
    let store = Arc::new(SqliteStore::memory().await.expect("a store"));
    let (row, lease) = open_run(&*store, "s", "r").await;
    // Usage that does not change makes no frame in most formats.
    let usages =
        (2..2 + 5 * PAGE).map(|seq| event(&row, seq, EventPayload::Usage(RunUsage::default())));
    store.append("r", &lease, usages.collect()).await.expect("figures");
    let run = current(&*store, "r").await;
    store.append("r", &lease, vec![call_event(&run, run.last + 1, "a")]).await.expect("a call");
    let end = closing(&current(&*store, "r").await, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease), end).await.expect("an end");
    for format in UiFormat::ALL {
        assert!(count_frames(&store, "r", format).await > 0, "{format:?}");
    }
}
