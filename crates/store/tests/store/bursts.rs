//! However much comes at once, around every number that is taken at once, nothing is lost.

use std::{sync::Arc, time::Duration};

use foxwedge_run::{
    EventPayload, Outcome, RunUsage,
    encode::{EncoderOptions, UiFormat},
};
use foxwedge_store::{CloseAuthority, FeedItem, FeedRegistry, SqliteStore, Store};
use tokio::{task::JoinSet, time::timeout};

use crate::sample::{at_work, calls, closing, current, event, new_session, texts};

/// Jobs that SQLite's writer takes into one transaction.
const GROUP: usize = 1_024;
/// Events that a feed reads at once.
const PAGE: u64 = 500;
/// Nothing takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn every_job_of_a_burst_is_done_and_answered() {
    let store = Arc::new(SqliteStore::memory().await.expect("a store"));
    for number in [GROUP - 1, GROUP, GROUP + 1, 2 * GROUP, 2 * GROUP + 1] {
        let id = |place: usize| format!("s{number}-{place}");
        let mut jobs = JoinSet::new();
        for place in 0..number {
            let (store, new) = (store.clone(), new_session(&id(place)));
            jobs.spawn(async move { store.create_session(new).await });
        }
        let answered = timeout(PATIENCE, jobs.join_all()).await.expect("answers in time");
        assert!(answered.iter().all(Result::is_ok), "{number} jobs");
        for place in 0..number {
            let found = store.session(&id(place)).await.expect("a look");
            assert!(found.is_some(), "{} of {number}", id(place));
        }
    }
}

/// Follows a run to its end: the number of frames.
async fn followed(store: &Arc<SqliteStore>, run: &str, format: UiFormat) -> usize {
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
    timeout(PATIENCE, all).await.unwrap_or_else(|_| panic!("{run} in {format:?} never ends"))
}

#[tokio::test]
async fn a_log_of_any_length_is_followed_to_its_end() {
    let store = Arc::new(SqliteStore::memory().await.expect("a store"));
    for number in [PAGE - 2, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1] {
        let (run, session) = (format!("r{number}"), format!("s{number}"));
        let (row, lease) = at_work(&*store, &session, &run).await;
        store.append(&run, &lease, texts(&row, 2, 1 + number)).await.expect("texts");
        let end = closing(&current(&*store, &run).await, Outcome::Completed);
        store.finalize(&run, CloseAuthority::Holder(lease), end).await.expect("an end");
        let frames = followed(&store, &run, UiFormat::Jsonl).await;
        // The start, every text and the end are a line each.
        assert_eq!(frames as u64, number + 2, "{number} texts");
    }
}

#[tokio::test]
async fn pages_without_a_frame_do_not_end_a_feed() {
    let store = Arc::new(SqliteStore::memory().await.expect("a store"));
    let (row, lease) = at_work(&*store, "s", "r").await;
    // Figures that do not change say nothing in most formats.
    let figures =
        (2..2 + 5 * PAGE).map(|seq| event(&row, seq, EventPayload::Usage(RunUsage::default())));
    store.append("r", &lease, figures.collect()).await.expect("figures");
    let run = current(&*store, "r").await;
    store.append("r", &lease, vec![calls(&run, run.last + 1, "a")]).await.expect("a call");
    let end = closing(&current(&*store, "r").await, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease), end).await.expect("an end");
    for format in UiFormat::ALL {
        assert!(followed(&store, "r", format).await > 0, "{format:?}");
    }
}
