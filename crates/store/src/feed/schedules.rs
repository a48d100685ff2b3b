//! The ring and those who read it under many schedules of threads: a writer, a pump and two
//! followers. Followers with a mistake in them show that a mistake would be found.

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
use reader::{Log, Reader};
use ring::{Over, Ring, Room};
use shuttle::{sync::Mutex, thread};

use super::{Sent, Told};
use crate::{
    Result,
    bell::{Bell, block_on},
};

const SCHEDULES: usize = 1_000;

/// A mistake is found long before; then the search ends.
const FOUND_WITHIN: usize = 30 * SCHEDULES;

/// What is written, step by step.
const WRITTEN: [&[FrameId]; 4] = [&[id(1, 0)], &[id(2, 0), id(2, 1)], &[id(3, 0)], &[id(4, 0)]];

/// As much as is written at once: whoever is fast loses nothing, and whoever is slow lags.
const ROOM: Room = Room { frames: 2, bytes: 1 << 10 };

const BEGINNING: FrameId = id(0, 0);

const fn id(seq: u64, part: u32) -> FrameId {
    FrameId { seq, part }
}

/// How somebody follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// From the beginning on; anew only when it lagged.
    Stays,
    /// Leaves after every frame, and comes back to the ring if that has what comes next.
    ComesBack,
    /// Begins in the log, each time.
    ReadsTheLog,
    /// Has all but the last frame, and comes to a ring that may not have got so far.
    ComesLate,
    /// Lags once, and goes on without coming anew.
    GoesOn,
    /// Drops every wait once, before it waits.
    Hesitates,
    /// Wrong: looks, lets go of the lock, and only then says whom to wake.
    LooksThenWaits,
    /// Wrong: takes what is left in the ring when it lagged.
    PassesOver,
    /// Wrong: has all but the last frame, and counts from the place at which it sat down.
    CountsPlaces,
}

const PAIRS: [[Manner; 2]; 6] = [
    [Manner::Stays, Manner::ComesBack],
    [Manner::Stays, Manner::ReadsTheLog],
    [Manner::Hesitates, Manner::ReadsTheLog],
    [Manner::Hesitates, Manner::ComesBack],
    [Manner::ComesLate, Manner::Stays],
    [Manner::ComesLate, Manner::GoesOn],
];

/// What somebody who comes late has already.
const KNOWN: FrameId = id(3, 0);

/// What a run and its followers have in common.
struct Shared {
    log: Mutex<(Vec<FrameId>, Option<Over>)>,
    /// The log went on.
    news: Bell,
    ring: Ring,
    /// Whom to wake besides those in the ring: only who is wrong waits here.
    aside: Mutex<Vec<Arc<Bell>>>,
}

/// The log, read by one follower.
struct Written(Arc<Shared>);

impl Log for Written {
    async fn next_behind(&mut self, last: FrameId) -> Result<Option<Sent>> {
        let log = self.0.log.lock().expect("the log");
        Ok(log.0.iter().copied().find(|id| *id > last).map(sent))
    }

    fn rest(&mut self) {}
}

/// Somebody writes, a pump brings it into the ring, and two follow. What each of them heard is the
/// whole log if the run ended, and the beginning of it if its log failed.
fn followed(manners: [Manner; 2], end: &Over) {
    let shared = Arc::new(Shared {
        log: Mutex::new((Vec::new(), None)),
        news: Bell::default(),
        ring: Ring::new(ROOM),
        aside: Mutex::default(),
    });
    let last = end.clone();
    let mut threads =
        vec![started(&shared, move |shared| write(shared, last)), started(&shared, pump)];
    for manner in manners {
        let end = end.clone();
        threads.push(started(&shared, move |shared| {
            let heard = follow(shared, manner);
            let mut whole = WRITTEN.concat();
            whole.retain(|id| *id > manner.has());
            match end {
                Over::Ended => assert_eq!(heard, whole, "{manner:?}"),
                Over::Failed(_) => assert!(whole.starts_with(&heard), "{manner:?}: {heard:?}"),
            }
        }));
    }
    for thread in threads {
        thread.join().expect("a thread");
    }
}

impl Manner {
    /// The last frame that it has before it comes.
    fn has(self) -> FrameId {
        match self {
            Manner::ComesLate | Manner::CountsPlaces => KNOWN,
            Manner::Stays
            | Manner::ComesBack
            | Manner::ReadsTheLog
            | Manner::GoesOn
            | Manner::Hesitates
            | Manner::LooksThenWaits
            | Manner::PassesOver => BEGINNING,
        }
    }
}

fn started(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Arc<Shared>) + Send + 'static,
) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || work(&shared))
}

fn write(shared: &Arc<Shared>, end: Over) {
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
        let nothing = frames.is_empty();
        shared.ring.push(frames.into_iter().map(sent));
        let is_over = over.is_some();
        if let Some(over) = over {
            shared.ring.close(over);
        }
        let aside = std::mem::take(&mut *shared.aside.lock().expect("who waits"));
        aside.iter().for_each(|bell| bell.ring());
        if is_over {
            return;
        }
        if nothing {
            shared.news.wait();
        }
    }
}

/// Everything that one follower hears, up to the end.
fn follow(shared: &Arc<Shared>, manner: Manner) -> Vec<FrameId> {
    let mut heard = Vec::new();
    let mut reader = begin(shared, manner, manner.has());
    loop {
        let told = next(shared, manner, &mut reader);
        let last = match told {
            Ok(Told::Frame(frame)) => {
                heard.push(frame.id);
                if manner != Manner::ComesBack {
                    continue;
                }
                frame.id
            }
            Ok(Told::Lagged(last)) => {
                assert_eq!(last, heard.last().copied().unwrap_or(manner.has()), "where it was");
                // Whoever has heard nothing yet cannot have been too slow.
                assert!(!heard.is_empty(), "{manner:?} lags by coming late");
                if manner == Manner::GoesOn {
                    continue;
                }
                last
            }
            Ok(Told::Over) | Err(_) => break,
        };
        reader.leave(&shared.ring);
        reader = begin(shared, manner, last);
    }
    reader.leave(&shared.ring);
    heard
}

fn begin(shared: &Arc<Shared>, manner: Manner, last: FrameId) -> Reader<Written> {
    let (ring, log) = (&shared.ring, Written(shared.clone()));
    match manner {
        Manner::ReadsTheLog => Reader::in_log(ring, last, log),
        Manner::Stays
        | Manner::ComesBack
        | Manner::ComesLate
        | Manner::GoesOn
        | Manner::Hesitates
        | Manner::LooksThenWaits
        | Manner::CountsPlaces => Reader::in_ring(ring, last, log),
        Manner::PassesOver => {
            let all = WRITTEN.concat();
            let later = [last].into_iter().chain(all.into_iter().filter(|id| *id > last));
            let left = later.into_iter().find(|id| ring.holds_behind(*id));
            Reader::in_ring(ring, left.unwrap_or(last), log)
        }
    }
}

fn next(shared: &Shared, manner: Manner, reader: &mut Reader<Written>) -> Result<Told> {
    match manner {
        Manner::Stays
        | Manner::ComesBack
        | Manner::ReadsTheLog
        | Manner::ComesLate
        | Manner::GoesOn
        | Manner::PassesOver => {}
        Manner::CountsPlaces => {
            if !shared.ring.holds_behind(BEGINNING) {
                return Ok(Told::Lagged(KNOWN));
            }
        }
        Manner::Hesitates => {
            if let Poll::Ready(told) = look(reader.next(&shared.ring), Waker::noop()) {
                return told;
            }
        }
        Manner::LooksThenWaits => loop {
            if let Poll::Ready(told) = look(reader.next(&shared.ring), Waker::noop()) {
                return told;
            }
            let bell = Arc::new(Bell::default());
            shared.aside.lock().expect("who waits").push(bell.clone());
            bell.wait();
        },
    }
    block_on(reader.next(&shared.ring))
}

fn look<F: Future>(future: F, waker: &Waker) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(waker))
}

fn sent(id: FrameId) -> Sent {
    Sent { id, sse: "".into() }
}

fn is_found(mistaken: Manner) -> bool {
    let check = move || followed([mistaken, Manner::Stays], &Over::Ended);
    panic::catch_unwind(|| shuttle::check_random(check, FOUND_WITHIN)).is_err()
}

#[test]
fn no_schedule_tells_a_frame_twice_or_in_disorder_or_never() {
    for pair in PAIRS {
        shuttle::check_random(move || followed(pair, &Over::Ended), SCHEDULES);
        shuttle::check_pct(move || followed(pair, &Over::Ended), SCHEDULES, 3);
    }
}

#[test]
fn no_schedule_keeps_anybody_waiting_for_a_log_that_failed() {
    let failed = || Over::Failed("torn".into());
    for pair in PAIRS {
        shuttle::check_random(move || followed(pair, &failed()), SCHEDULES / 4);
        shuttle::check_pct(move || followed(pair, &failed()), SCHEDULES / 4, 3);
    }
}

#[test]
fn a_look_and_then_a_wait_without_a_second_look_is_found() {
    assert!(is_found(Manner::LooksThenWaits), "the mistake was not found");
}

#[test]
fn a_gap_that_nobody_is_told_of_is_found() {
    assert!(is_found(Manner::PassesOver), "the mistake was not found");
}

#[test]
fn a_reader_that_counts_places_in_a_ring_that_has_not_come_so_far_is_found() {
    assert!(is_found(Manner::CountsPlaces), "the mistake was not found");
}
