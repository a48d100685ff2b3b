//! Following runs: everybody gets every frame once, in order, from any place.

use std::sync::Arc;

use foxwedge_run::{
    MachineInput, MachineSettings, Outcome, SessionMachine,
    encode::{EncoderOptions, FrameId, RunEncoder, UiFormat},
};
use foxwedge_store::{
    CloseAuthority, FeedFollower, FeedItem, FeedRegistry, Lease, RunRow, SqliteStore, Store,
    StoreError,
};

use tokio::sync::Semaphore;

use crate::sample::{at_work, calls, closing, current, log, texts};

async fn store() -> Arc<SqliteStore> {
    Arc::new(SqliteStore::memory().await.expect("a store"))
}

/// A run with so many texts, a call and its end.
async fn ended_run(store: &SqliteStore, words: u64) -> RunRow {
    let (run, lease) = at_work(store, "s", "r").await;
    for from in (2..2 + words).step_by(1_000) {
        let to = (from + 999).min(1 + words);
        store.append("r", &lease, texts(&run, from, to)).await.expect("texts");
    }
    finish(store, &lease).await;
    current(store, "r").await
}

async fn finish(store: &SqliteStore, lease: &Lease) {
    let run = current(store, "r").await;
    store.append("r", lease, vec![calls(&run, run.last + 1, "a")]).await.expect("a call");
    let end = closing(&current(store, "r").await, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease.clone()), end).await.expect("an end");
}

/// What a log comes to in a format, told by itself.
async fn told(store: &SqliteStore, format: UiFormat) -> Vec<(FrameId, String)> {
    let options = EncoderOptions { run: Some("r".into()), ..EncoderOptions::new(&"s".into()) };
    let (mut encoder, mut frames) = (RunEncoder::new(format, options), Vec::new());
    let (mut session, mut effects) = (SessionMachine::new(MachineSettings::default()), Vec::new());
    for event in log(store, "r").await {
        session.apply(0, MachineInput::Event(event), &mut effects);
    }
    effects.iter().for_each(|effect| encoder.push(effect, &mut frames));
    encoder.finish(&mut frames);
    let sse = |frame: &foxwedge_run::encode::UiFrame| {
        let mut sse = String::new();
        frame.write_sse(&mut sse);
        (frame.id, sse)
    };
    frames.iter().map(sse).collect()
}

/// Everything up to the end.
async fn heard(mut follower: FeedFollower<SqliteStore>) -> Vec<(FrameId, String)> {
    let mut heard = Vec::new();
    loop {
        match follower.next().await.expect("a frame") {
            FeedItem::Frame(frame) => heard.push((frame.id, frame.sse.to_string())),
            FeedItem::Lagged(last) => panic!("lagged behind {last}"),
            FeedItem::Ended => return heard,
        }
    }
}

#[tokio::test]
async fn a_run_that_is_over_is_told_from_any_frame_on() {
    let store = store().await;
    ended_run(&store, 20).await;
    let feeds = FeedRegistry::new(store.clone());
    for format in UiFormat::ALL {
        let all = told(&store, format).await;
        let whole =
            feeds.follow("r", format, EncoderOptions::default(), None).await.expect("a follower");
        assert_eq!(heard(whole).await, all, "{format:?}");
        for (place, (id, _)) in all.iter().enumerate() {
            let follower = feeds.follow("r", format, EncoderOptions::default(), Some(*id)).await;
            let rest = heard(follower.expect("a follower")).await;
            assert_eq!(rest, all[place + 1..], "{format:?} behind {id}");
        }
    }
}

#[tokio::test]
async fn a_long_run_is_read_from_the_log_and_nobody_lags_by_coming_late() {
    let store = store().await;
    ended_run(&store, 5_000).await;
    let feeds = FeedRegistry::new(store.clone());
    let all = told(&store, UiFormat::AgUi).await;
    let mut followers = Vec::new();
    for after in [None, Some(all[10].0), Some(all[2_500].0), Some(all[all.len() - 2].0)] {
        let follower = feeds.follow("r", UiFormat::AgUi, EncoderOptions::default(), after).await;
        followers.push((after, tokio::spawn(heard(follower.expect("a follower")))));
    }
    for (after, follower) in followers {
        let rest: Vec<_> = all.iter().filter(|(id, _)| Some(*id) > after).cloned().collect();
        assert_eq!(follower.await.expect("an end"), rest, "behind {after:?}");
    }
}

#[tokio::test]
async fn a_hundred_follow_live_and_hear_the_same() {
    let store = store().await;
    let (run, lease) = at_work(&*store, "s", "r").await;
    let feeds = FeedRegistry::new(store.clone());
    let mut followers = Vec::new();
    for _ in 0..100 {
        let follower = feeds.follow("r", UiFormat::AiSdk, EncoderOptions::default(), None).await;
        followers.push(tokio::spawn(heard(follower.expect("a follower"))));
    }
    for seq in 2..200 {
        store.append("r", &lease, texts(&run, seq, seq)).await.expect("a text");
    }
    finish(&store, &lease).await;
    let all = told(&store, UiFormat::AiSdk).await;
    for follower in followers {
        assert_eq!(follower.await.expect("an end"), all);
    }
}

#[tokio::test]
async fn whoever_is_too_slow_is_told_and_goes_on_from_its_last_frame() {
    let store = store().await;
    let (run, lease) = at_work(&*store, "s", "r").await;
    let feeds = FeedRegistry::new(store.clone());
    let mut slow =
        feeds.follow("r", UiFormat::Jsonl, EncoderOptions::default(), None).await.expect("one");
    let fast =
        feeds.follow("r", UiFormat::Jsonl, EncoderOptions::default(), None).await.expect("another");
    let fast = tokio::spawn(heard(fast));
    let FeedItem::Frame(first) = slow.next().await.expect("the start") else { panic!("no frame") };
    for from in (2..4_002).step_by(100) {
        store.append("r", &lease, texts(&run, from, from + 99)).await.expect("texts");
        tokio::task::yield_now().await;
    }
    finish(&store, &lease).await;
    let all = told(&store, UiFormat::Jsonl).await;
    assert_eq!(fast.await.expect("an end"), all, "the fast one is not held up");
    let last = match slow.next().await.expect("an answer") {
        FeedItem::Lagged(last) => last,
        other => panic!("{other:?}"),
    };
    assert_eq!(last, first.id);
    let again = feeds.follow("r", UiFormat::Jsonl, EncoderOptions::default(), Some(last)).await;
    assert_eq!(heard(again.expect("a follower")).await, all[1..]);
}

#[tokio::test]
async fn a_run_that_is_not_there_cannot_be_followed() {
    let feeds = FeedRegistry::new(store().await);
    let nobody = feeds.follow("r", UiFormat::Acp, EncoderOptions::default(), None).await;
    assert!(matches!(nobody, Err(StoreError::NoRun(run)) if run == "r"));
}

/// How somebody follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// Takes every frame at once, and has no reason to be told that it lagged.
    Waits,
    /// Takes a frame, and the rest when the run is over.
    Sleeps,
    /// Leaves after a few frames and comes back, each time.
    ComesBack(usize),
}

/// Everything behind a frame, in some manner. `over` is open once the run is.
async fn followed(
    feeds: FeedRegistry<SqliteStore>,
    format: UiFormat,
    after: Option<FrameId>,
    (manner, over): (Manner, Arc<Semaphore>),
) -> Vec<(FrameId, String)> {
    let follow = |after| feeds.follow("r", format, EncoderOptions::default(), after);
    let mut follower = follow(after).await.expect("a follower");
    let mut heard = Vec::new();
    loop {
        match follower.next().await.expect("a frame") {
            FeedItem::Frame(frame) => heard.push((frame.id, frame.sse.to_string())),
            FeedItem::Lagged(last) => assert!(
                manner != Manner::Waits || heard.last().is_some_and(|(id, _)| *id == last),
                "{manner:?} lagged behind {last} and has {:?}",
                heard.last()
            ),
            FeedItem::Ended => return heard,
        }
        match manner {
            Manner::Waits => {}
            Manner::Sleeps => drop(over.acquire().await.expect("the end")),
            Manner::ComesBack(frames) if heard.len() % frames == 0 => {
                let last = heard.last().map(|(id, _)| *id).or(after);
                follower = follow(last).await.expect("a follower");
            }
            Manner::ComesBack(_) => {}
        }
    }
}

/// Sizes around the limits: frames of the ring, events of a page, events that are near.
const AT_ONCE: [u64; 18] =
    [1, 2, 3, 127, 128, 129, 255, 256, 257, 258, 299, 300, 499, 500, 501, 1_023, 1_024, 1_025];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_events_at_once_arrives_once_and_in_order_for_everybody() {
    for (round, count) in AT_ONCE.into_iter().enumerate() {
        let format = UiFormat::ALL[round % UiFormat::ALL.len()];
        for chunk in [count, 1 + count / 3] {
            everybody_hears(format, count, chunk).await;
        }
    }
}

async fn everybody_hears(format: UiFormat, count: u64, chunk: u64) {
    let store = store().await;
    let (run, lease) = at_work(&*store, "s", "r").await;
    let feeds = FeedRegistry::new(store.clone());
    let over = Arc::new(Semaphore::new(0));
    let manners = [Manner::Waits, Manner::Sleeps, Manner::ComesBack(1 + count as usize / 3)];
    let follow = |manner, after| {
        let follows = followed(feeds.clone(), format, after, (manner, over.clone()));
        (manner, after, tokio::spawn(follows))
    };
    let mut followers: Vec<_> = manners.map(|manner| follow(manner, None)).into();
    let last = 1 + count;
    for from in (2..=last).step_by(chunk as usize) {
        let to = (from + chunk - 1).min(last);
        let body = |seq| match seq % 3 {
            0 => calls(&run, seq, &format!("call-{seq}")),
            _ => texts(&run, seq, seq).remove(0),
        };
        store.append("r", &lease, (from..=to).map(body).collect()).await.expect("events");
        followers.push(follow(Manner::Waits, None));
    }
    finish(&store, &lease).await;
    over.add_permits(Semaphore::MAX_PERMITS);
    let all = told(&store, format).await;
    for place in [0, all.len() / 2, all.len() - 1] {
        followers.extend(manners.map(|manner| follow(manner, Some(all[place].0))));
    }
    for (manner, after, follower) in followers {
        let rest: Vec<_> = all.iter().filter(|(id, _)| Some(*id) > after).cloned().collect();
        let heard = follower.await.expect("an end");
        assert!(heard == rest, "{format:?}, {count} by {chunk}: {manner:?} behind {after:?}");
    }
}
