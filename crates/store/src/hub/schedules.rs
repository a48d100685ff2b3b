//! Tests the mailbox under many thread schedules. A variant with a bug shows that the test would
//! find one.

mod sync {
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
}
#[path = "mailbox.rs"]
#[expect(clippy::duplicate_mod, reason = "the same code, with the locks of the scheduler")]
mod mailbox;

use std::{
    collections::VecDeque,
    future::poll_fn,
    panic,
    task::{Context, Poll, Waker},
};

use foxwedge_run::SharedId;
use mailbox::{WatchMailbox, lock};
use shuttle::{
    sync::{Arc, Mutex},
    thread,
};

use super::StoreWake;
use crate::bell::block_on;

const SCHEDULES: usize = 25_000;

/// A queue of wake-ups.
trait WakeQueue: Default + Send + Sync + 'static {
    fn post(&self, run: &SharedId, last: u64);
    fn poll(&self, context: &Context<'_>) -> Poll<Option<StoreWake>>;
}

impl WakeQueue for WatchMailbox {
    fn post(&self, run: &SharedId, last: u64) {
        WatchMailbox::post(self, run, last);
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<StoreWake>> {
        WatchMailbox::poll(self, context)
    }
}

/// Polls, releases the lock, and only then registers the waker: a post in between wakes no task.
#[derive(Default)]
struct LateWaker {
    queue: Mutex<VecDeque<(SharedId, u64)>>,
    waker: Mutex<Option<Waker>>,
}

impl WakeQueue for LateWaker {
    fn post(&self, run: &SharedId, last: u64) {
        lock(&self.queue).push_back((run.clone(), last));
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<StoreWake>> {
        if let Some((run, last)) = lock(&self.queue).pop_front() {
            return Poll::Ready(Some(StoreWake::Run { run, last }));
        }
        *lock(&self.waker) = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Two writers and a reader that reads the log only when it is woken. It must see everything.
fn two_writers_and_a_reader<L: WakeQueue>() {
    let mailbox = Arc::new(L::default());
    let log = Arc::new(Mutex::new([0_u64; 2]));
    let writers: Vec<_> = (0..2)
        .map(|number: usize| {
            let (mailbox, log) = (mailbox.clone(), log.clone());
            thread::spawn(move || {
                let run = SharedId::from(format!("run-{number}"));
                for last in 1..=2 {
                    lock(&log)[number] = last;
                    mailbox.post(&run, last);
                }
            })
        })
        .collect();
    let mut seen = [0; 2];
    while seen != [2; 2] {
        let wake = block_on(poll_fn(|context| mailbox.poll(context)));
        match wake {
            Some(StoreWake::Run { run, last }) => {
                let number = usize::from(&*run == "run-1");
                seen[number] = lock(&log)[number];
                assert!(seen[number] >= last, "woken before it was written");
            }
            Some(StoreWake::All) | None => panic!("nobody said so"),
        }
    }
    for writer in writers {
        writer.join().expect("a writer");
    }
}

/// The store closes while a watcher waits: it receives the remaining wake-ups, then the end.
fn a_writer_that_closes() {
    let mailbox = Arc::new(WatchMailbox::default());
    let sender = mailbox.clone();
    let writer = thread::spawn(move || {
        sender.post(&"run".into(), 1);
        sender.post_all();
        sender.close();
    });
    let mut wakes = Vec::new();
    while let Some(wake) = block_on(poll_fn(|context| mailbox.poll(context))) {
        wakes.push(wake);
    }
    assert_eq!(wakes.last(), Some(&StoreWake::All));
    writer.join().expect("a writer");
}

#[test]
fn no_schedule_loses_the_end() {
    shuttle::check_random(a_writer_that_closes, SCHEDULES / 5);
}

#[test]
fn no_schedule_loses_a_wake_up() {
    shuttle::check_random(two_writers_and_a_reader::<WatchMailbox>, SCHEDULES);
    shuttle::check_pct(two_writers_and_a_reader::<WatchMailbox>, SCHEDULES, 3);
}

#[test]
fn waker_registered_after_the_poll_is_found() {
    let found = panic::catch_unwind(|| {
        shuttle::check_random(two_writers_and_a_reader::<LateWaker>, SCHEDULES);
    });
    assert!(found.is_err(), "the mistake was not found");
}
