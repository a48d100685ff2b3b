//! Feeds: every follower gets every frame once, in order, from any position.

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

use crate::sample::{call_event, closing, current, log, open_run, texts};

async fn store() -> Arc<SqliteStore> {
    Arc::new(SqliteStore::memory().await.expect("a store"))
}

/// A run with `count` texts, a call and its end.
async fn ended_run(store: &SqliteStore, count: u64) -> RunRow {
    let (run, lease) = open_run(store, "s", "r").await;
    for from in (2..2 + count).step_by(1_000) {
        let to = (from + 999).min(1 + count);
        store.append("r", &lease, texts(&run, from, to)).await.expect("texts");
    }
    finish(store, &lease).await;
    current(store, "r").await
}

async fn finish(store: &SqliteStore, lease: &Lease) {
    let run = current(store, "r").await;
    store.append("r", lease, vec![call_event(&run, run.last + 1, "a")]).await.expect("a call");
    let end = closing(&current(store, "r").await, Outcome::Completed);
    store.finalize("r", CloseAuthority::Holder(lease.clone()), end).await.expect("an end");
}

/// The expected frames of a log in a format, encoded without a feed.
async fn expected_frames(store: &SqliteStore, format: UiFormat) -> Vec<(FrameId, String)> {
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

/// All frames up to the end.
async fn receive_all(mut follower: FeedFollower<SqliteStore>) -> Vec<(FrameId, String)> {
    let mut frames = Vec::new();
    loop {
        match follower.next().await.expect("a frame") {
            FeedItem::Frame(frame) => frames.push((frame.id, frame.sse.to_string())),
            FeedItem::Lagged(last) => panic!("lagged behind {last}"),
            FeedItem::Ended => return frames,
        }
    }
}

#[tokio::test]
async fn a_run_that_is_over_is_told_from_any_frame_on() {
    let store = store().await;
    ended_run(&store, 20).await;
    let feeds = FeedRegistry::new(store.clone());
    for format in UiFormat::ALL {
        let all = expected_frames(&store, format).await;
        let follower =
            feeds.follow("r", format, EncoderOptions::default(), None).await.expect("a follower");
        assert_eq!(receive_all(follower).await, all, "{format:?}");
        for (index, (id, _)) in all.iter().enumerate() {
            let follower = feeds.follow("r", format, EncoderOptions::default(), Some(*id)).await;
            let rest = receive_all(follower.expect("a follower")).await;
            assert_eq!(rest, all[index + 1..], "{format:?} behind {id}");
        }
    }
}

#[tokio::test]
async fn late_follower_of_a_long_run_reads_the_log_and_does_not_lag() {
    let store = store().await;
    ended_run(&store, 5_000).await;
    let feeds = FeedRegistry::new(store.clone());
    let all = expected_frames(&store, UiFormat::AgUi).await;
    let mut followers = Vec::new();
    for after in [None, Some(all[10].0), Some(all[2_500].0), Some(all[all.len() - 2].0)] {
        let follower = feeds.follow("r", UiFormat::AgUi, EncoderOptions::default(), after).await;
        followers.push((after, tokio::spawn(receive_all(follower.expect("a follower")))));
    }
    for (after, follower) in followers {
        let rest: Vec<_> = all.iter().filter(|(id, _)| Some(*id) > after).cloned().collect();
        assert_eq!(follower.await.expect("an end"), rest, "behind {after:?}");
    }
}

#[tokio::test]
async fn a_hundred_follow_live_and_hear_the_same() {
    let store = store().await;
    let (run, lease) = open_run(&*store, "s", "r").await;
    let feeds = FeedRegistry::new(store.clone());
    let mut followers = Vec::new();
    for _ in 0..100 {
        let follower = feeds.follow("r", UiFormat::AiSdk, EncoderOptions::default(), None).await;
        followers.push(tokio::spawn(receive_all(follower.expect("a follower"))));
    }
    for seq in 2..200 {
        store.append("r", &lease, texts(&run, seq, seq)).await.expect("a text");
    }
    finish(&store, &lease).await;
    let all = expected_frames(&store, UiFormat::AiSdk).await;
    for follower in followers {
        assert_eq!(follower.await.expect("an end"), all);
    }
}

#[tokio::test]
async fn whoever_is_too_slow_is_told_and_goes_on_from_its_last_frame() {
    let store = store().await;
    let (run, lease) = open_run(&*store, "s", "r").await;
    let feeds = FeedRegistry::new(store.clone());
    let mut slow =
        feeds.follow("r", UiFormat::Jsonl, EncoderOptions::default(), None).await.expect("one");
    let fast =
        feeds.follow("r", UiFormat::Jsonl, EncoderOptions::default(), None).await.expect("another");
    let fast = tokio::spawn(receive_all(fast));
    let FeedItem::Frame(first) = slow.next().await.expect("the start") else { panic!("no frame") };
    for from in (2..4_002).step_by(100) {
        store.append("r", &lease, texts(&run, from, from + 99)).await.expect("texts");
        tokio::task::yield_now().await;
    }
    finish(&store, &lease).await;
    let all = expected_frames(&store, UiFormat::Jsonl).await;
    assert_eq!(fast.await.expect("an end"), all, "the fast one is not held up");
    let last = match slow.next().await.expect("an answer") {
        FeedItem::Lagged(last) => last,
        other => panic!("{other:?}"),
    };
    assert_eq!(last, first.id);
    let again = feeds.follow("r", UiFormat::Jsonl, EncoderOptions::default(), Some(last)).await;
    assert_eq!(receive_all(again.expect("a follower")).await, all[1..]);
}

#[tokio::test]
async fn missing_run_cannot_be_followed() {
    let feeds = FeedRegistry::new(store().await);
    let follower = feeds.follow("r", UiFormat::Acp, EncoderOptions::default(), None).await;
    assert!(matches!(follower, Err(StoreError::NoRun(run)) if run == "r"));
}

/// How a follower behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FollowerMode {
    /// Takes every frame at once and must not lag.
    Waits,
    /// Takes one frame, and the rest after the run has ended.
    Sleeps,
    /// Leaves after a few frames and returns, each time.
    ComesBack(usize),
}

/// All frames after a given one. `ended` opens when the run has ended.
async fn follow_in_mode(
    feeds: FeedRegistry<SqliteStore>,
    format: UiFormat,
    after: Option<FrameId>,
    (mode, ended): (FollowerMode, Arc<Semaphore>),
) -> Vec<(FrameId, String)> {
    let follow = |after| feeds.follow("r", format, EncoderOptions::default(), after);
    let mut follower = follow(after).await.expect("a follower");
    let mut frames = Vec::new();
    loop {
        match follower.next().await.expect("a frame") {
            FeedItem::Frame(frame) => frames.push((frame.id, frame.sse.to_string())),
            FeedItem::Lagged(last) => assert!(
                mode != FollowerMode::Waits || frames.last().is_some_and(|(id, _)| *id == last),
                "{mode:?} lagged behind {last} and has {:?}",
                frames.last()
            ),
            FeedItem::Ended => return frames,
        }
        match mode {
            FollowerMode::Waits => {}
            FollowerMode::Sleeps => drop(ended.acquire().await.expect("the end")),
            FollowerMode::ComesBack(count) if frames.len() % count == 0 => {
                let last = frames.last().map(|(id, _)| *id).or(after);
                follower = follow(last).await.expect("a follower");
            }
            FollowerMode::ComesBack(_) => {}
        }
    }
}

/// Sizes around the limits: frames of the ring, events of a page, events within reach of the ring.
const AT_ONCE: [u64; 18] =
    [1, 2, 3, 127, 128, 129, 255, 256, 257, 258, 299, 300, 499, 500, 501, 1_023, 1_024, 1_025];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_events_at_once_arrives_once_and_in_order_for_everybody() {
    for (round, count) in AT_ONCE.into_iter().enumerate() {
        let format = UiFormat::ALL[round % UiFormat::ALL.len()];
        for chunk in [count, 1 + count / 3] {
            check_all_followers(format, count, chunk).await;
        }
    }
}

async fn check_all_followers(format: UiFormat, count: u64, chunk: u64) {
    let store = store().await;
    let (run, lease) = open_run(&*store, "s", "r").await;
    let feeds = FeedRegistry::new(store.clone());
    let ended = Arc::new(Semaphore::new(0));
    let modes = [
        FollowerMode::Waits,
        FollowerMode::Sleeps,
        FollowerMode::ComesBack(1 + count as usize / 3),
    ];
    let follow = |mode, after| {
        let task = follow_in_mode(feeds.clone(), format, after, (mode, ended.clone()));
        (mode, after, tokio::spawn(task))
    };
    let mut followers: Vec<_> = modes.map(|mode| follow(mode, None)).into();
    let last = 1 + count;
    for from in (2..=last).step_by(chunk as usize) {
        let to = (from + chunk - 1).min(last);
        let body = |seq| match seq % 3 {
            0 => call_event(&run, seq, &format!("call-{seq}")),
            _ => texts(&run, seq, seq).remove(0),
        };
        store.append("r", &lease, (from..=to).map(body).collect()).await.expect("events");
        followers.push(follow(FollowerMode::Waits, None));
    }
    finish(&store, &lease).await;
    ended.add_permits(Semaphore::MAX_PERMITS);
    let all = expected_frames(&store, format).await;
    for index in [0, all.len() / 2, all.len() - 1] {
        followers.extend(modes.map(|mode| follow(mode, Some(all[index].0))));
    }
    for (mode, after, follower) in followers {
        let rest: Vec<_> = all.iter().filter(|(id, _)| Some(*id) > after).cloned().collect();
        let received = follower.await.expect("an end");
        assert!(received == rest, "{format:?}, {count} by {chunk}: {mode:?} behind {after:?}");
    }
}
