//! Tests the ring and its readers under many thread schedules: a writer, a pump and two followers.
//! Followers with a bug show that the test would find one.

mod sync {
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
}
#[path = "ring.rs"]
#[expect(clippy::duplicate_mod, reason = "the same code, with the locks of the scheduler")]
mod ring;
#[path = "reader.rs"]
#[expect(clippy::duplicate_mod, reason = "the same code, with the locks of the scheduler")]
mod reader;

use std::{
    future::Future,
    panic,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use foxwedge_run::encode::FrameId;
use reader::{FeedReader, FrameLog};
use ring::{FeedEnd, FrameRing, RingLimits};
use shuttle::{sync::Mutex, thread};

use super::{FeedItem, SseFrame};
use crate::{
    Result,
    bell::{Bell, block_on},
};

const SCHEDULES: usize = 1_000;

/// A bug is found long before; then the search ends.
const FOUND_WITHIN: usize = 30 * SCHEDULES;

/// The frames written in each step.
const WRITTEN: [&[FrameId]; 4] = [&[id(1, 0)], &[id(2, 0), id(2, 1)], &[id(3, 0)], &[id(4, 0)]];

/// Room for the largest step: a fast follower loses nothing, and a slow one lags.
const RING_LIMITS: RingLimits = RingLimits { frames: 2, bytes: 1 << 10 };

const BEGINNING: FrameId = id(0, 0);

const fn id(seq: u64, part: u32) -> FrameId {
    FrameId { seq, part }
}

/// How a follower behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FollowerMode {
    /// Follows from the start; follows again only after a lag.
    Stays,
    /// Leaves after every frame and returns; uses the ring if it has the next frame.
    ComesBack,
    /// Starts in the log each time.
    ReadsTheLog,
    /// Has all but the last frame, and starts on a ring that may be behind it.
    ComesLate,
    /// Continues after a lag without following again.
    GoesOn,
    /// Cancels every wait once before it waits.
    Hesitates,
    /// Bug: polls, releases the lock, and only then registers the waker.
    LooksThenWaits,
    /// Bug: takes the frames left in the ring after a lag.
    PassesOver,
    /// Bug: has all but the last frame, and compares ring positions instead of frame ids.
    CountsPlaces,
}

const PAIRS: [[FollowerMode; 2]; 6] = [
    [FollowerMode::Stays, FollowerMode::ComesBack],
    [FollowerMode::Stays, FollowerMode::ReadsTheLog],
    [FollowerMode::Hesitates, FollowerMode::ReadsTheLog],
    [FollowerMode::Hesitates, FollowerMode::ComesBack],
    [FollowerMode::ComesLate, FollowerMode::Stays],
    [FollowerMode::ComesLate, FollowerMode::GoesOn],
];

/// The last frame of a follower that starts late.
const KNOWN: FrameId = id(3, 0);

/// State shared by the run and its followers.
struct Shared {
    log: Mutex<(Vec<FrameId>, Option<FeedEnd>)>,
    /// Rings when the log has grown.
    news: Bell,
    ring: FrameRing,
    /// Bells outside the ring, for followers with a bug.
    extra_bells: Mutex<Vec<Arc<Bell>>>,
}

/// The log, read by one follower.
struct WrittenLog(Arc<Shared>);

impl FrameLog for WrittenLog {
    async fn next_after(&mut self, last: FrameId) -> Result<Option<SseFrame>> {
        let log = self.0.log.lock().expect("the log");
        Ok(log.0.iter().copied().find(|id| *id > last).map(frame))
    }

    fn release(&mut self) {}
}

/// Runs a writer, a pump and two followers. Each follower must receive the whole log if the run
/// ends, and a prefix of it if the log fails.
fn check_followers(modes: [FollowerMode; 2], end: &FeedEnd) {
    let shared = Arc::new(Shared {
        log: Mutex::new((Vec::new(), None)),
        news: Bell::default(),
        ring: FrameRing::new(RING_LIMITS),
        extra_bells: Mutex::default(),
    });
    let last = end.clone();
    let mut threads = vec![spawn(&shared, move |shared| write(shared, last)), spawn(&shared, pump)];
    for mode in modes {
        let end = end.clone();
        threads.push(spawn(&shared, move |shared| {
            let received = follow(shared, mode);
            let mut expected = WRITTEN.concat();
            expected.retain(|id| *id > mode.initial_frame());
            match end {
                FeedEnd::Ended => assert_eq!(received, expected, "{mode:?}"),
                FeedEnd::Failed(_) => {
                    assert!(expected.starts_with(&received), "{mode:?}: {received:?}")
                }
            }
        }));
    }
    for thread in threads {
        thread.join().expect("a thread");
    }
}

impl FollowerMode {
    /// The last frame that the follower has when it starts.
    fn initial_frame(self) -> FrameId {
        match self {
            FollowerMode::ComesLate | FollowerMode::CountsPlaces => KNOWN,
            FollowerMode::Stays
            | FollowerMode::ComesBack
            | FollowerMode::ReadsTheLog
            | FollowerMode::GoesOn
            | FollowerMode::Hesitates
            | FollowerMode::LooksThenWaits
            | FollowerMode::PassesOver => BEGINNING,
        }
    }
}

fn spawn(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || work(&shared))
}

fn write(shared: &Arc<Shared>, end: FeedEnd) {
    for frames in WRITTEN {
        shared.log.lock().expect("the log").0.extend(frames);
        shared.news.ring();
    }
    shared.log.lock().expect("the log").1 = Some(end);
    shared.news.ring();
}

fn pump(shared: &Arc<Shared>) {
    let mut read = 0;
    loop {
        let (frames, over) = {
            let log = shared.log.lock().expect("the log");
            (log.0[read..].to_vec(), log.1.clone())
        };
        read += frames.len();
        let is_caught_up = frames.is_empty();
        shared.ring.push(frames.into_iter().map(frame));
        let is_over = over.is_some();
        if let Some(over) = over {
            shared.ring.close(over);
        }
        let extra_bells = std::mem::take(&mut *shared.extra_bells.lock().expect("who waits"));
        extra_bells.iter().for_each(|bell| bell.ring());
        if is_over {
            return;
        }
        if is_caught_up {
            shared.news.wait();
        }
    }
}

/// Returns all frames that one follower receives.
fn follow(shared: &Arc<Shared>, mode: FollowerMode) -> Vec<FrameId> {
    let mut received = Vec::new();
    let mut reader = begin(shared, mode, mode.initial_frame());
    loop {
        let item = next(shared, mode, &mut reader);
        let last = match item {
            Ok(FeedItem::Frame(frame)) => {
                received.push(frame.id);
                if mode != FollowerMode::ComesBack {
                    continue;
                }
                frame.id
            }
            Ok(FeedItem::Lagged(last)) => {
                assert_eq!(
                    last,
                    received.last().copied().unwrap_or(mode.initial_frame()),
                    "where it was"
                );
                // A follower without a frame cannot have been too slow.
                assert!(!received.is_empty(), "{mode:?} lags by coming late");
                if mode == FollowerMode::GoesOn {
                    continue;
                }
                last
            }
            Ok(FeedItem::Ended) | Err(_) => break,
        };
        reader.leave(&shared.ring);
        reader = begin(shared, mode, last);
    }
    reader.leave(&shared.ring);
    received
}

fn begin(shared: &Arc<Shared>, mode: FollowerMode, last: FrameId) -> FeedReader<WrittenLog> {
    let (ring, log) = (&shared.ring, WrittenLog(shared.clone()));
    match mode {
        FollowerMode::ReadsTheLog => FeedReader::in_log(ring, last, log),
        FollowerMode::Stays
        | FollowerMode::ComesBack
        | FollowerMode::ComesLate
        | FollowerMode::GoesOn
        | FollowerMode::Hesitates
        | FollowerMode::LooksThenWaits
        | FollowerMode::CountsPlaces => FeedReader::in_ring(ring, last, log),
        FollowerMode::PassesOver => {
            let all = WRITTEN.concat();
            let later = [last].into_iter().chain(all.into_iter().filter(|id| *id > last));
            let left = later.into_iter().find(|id| ring.holds_after(*id));
            FeedReader::in_ring(ring, left.unwrap_or(last), log)
        }
    }
}

fn next(
    shared: &Shared,
    mode: FollowerMode,
    reader: &mut FeedReader<WrittenLog>,
) -> Result<FeedItem> {
    match mode {
        FollowerMode::Stays
        | FollowerMode::ComesBack
        | FollowerMode::ReadsTheLog
        | FollowerMode::ComesLate
        | FollowerMode::GoesOn
        | FollowerMode::PassesOver => {}
        FollowerMode::CountsPlaces => {
            if !shared.ring.holds_after(BEGINNING) {
                return Ok(FeedItem::Lagged(KNOWN));
            }
        }
        FollowerMode::Hesitates => {
            if let Poll::Ready(item) = poll_once(reader.next(&shared.ring), Waker::noop()) {
                return item;
            }
        }
        FollowerMode::LooksThenWaits => loop {
            if let Poll::Ready(item) = poll_once(reader.next(&shared.ring), Waker::noop()) {
                return item;
            }
            let bell = Arc::new(Bell::default());
            shared.extra_bells.lock().expect("who waits").push(bell.clone());
            bell.wait();
        },
    }
    block_on(reader.next(&shared.ring))
}

fn poll_once<F: Future>(future: F, waker: &Waker) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(waker))
}

fn frame(id: FrameId) -> SseFrame {
    SseFrame { id, sse: "".into() }
}

fn is_found(mistaken: FollowerMode) -> bool {
    let check = move || check_followers([mistaken, FollowerMode::Stays], &FeedEnd::Ended);
    panic::catch_unwind(|| shuttle::check_random(check, FOUND_WITHIN)).is_err()
}

#[test]
fn no_schedule_tells_a_frame_twice_or_in_disorder_or_never() {
    for pair in PAIRS {
        shuttle::check_random(move || check_followers(pair, &FeedEnd::Ended), SCHEDULES);
        shuttle::check_pct(move || check_followers(pair, &FeedEnd::Ended), SCHEDULES, 3);
    }
}

#[test]
fn no_schedule_leaves_a_follower_waiting_after_a_failed_log() {
    let failed = || FeedEnd::Failed("torn".into());
    for pair in PAIRS {
        shuttle::check_random(move || check_followers(pair, &failed()), SCHEDULES / 4);
        shuttle::check_pct(move || check_followers(pair, &failed()), SCHEDULES / 4, 3);
    }
}

#[test]
fn waker_registered_after_the_poll_is_found() {
    assert!(is_found(FollowerMode::LooksThenWaits), "the mistake was not found");
}

#[test]
fn unreported_gap_is_found() {
    assert!(is_found(FollowerMode::PassesOver), "the mistake was not found");
}

#[test]
fn reader_that_compares_ring_positions_is_found() {
    assert!(is_found(FollowerMode::CountsPlaces), "the mistake was not found");
}
