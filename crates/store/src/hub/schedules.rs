//! The mailbox under many schedules of threads. A variant with a mistake in it shows that a
//! mistake would be found.

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

use foxwedge_run::Id;
use mailbox::{Mailbox, locked};
use shuttle::{
    sync::{Arc, Mutex},
    thread,
};

use super::Wake;
use crate::bell::block_on;

const SCHEDULES: usize = 25_000;

/// Something that wake-ups can be put into and taken out of.
trait Letters: Default + Send + Sync + 'static {
    fn post(&self, run: &Id, last: u64);
    fn poll(&self, context: &Context<'_>) -> Poll<Option<Wake>>;
}

impl Letters for Mailbox {
    fn post(&self, run: &Id, last: u64) {
        Mailbox::post(self, run, last);
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<Wake>> {
        Mailbox::poll(self, context)
    }
}

/// Looks, lets go of the lock, and only then says whom to wake: what is posted in between wakes
/// nobody.
#[derive(Default)]
struct Forgetful {
    waits: Mutex<VecDeque<(Id, u64)>>,
    waker: Mutex<Option<Waker>>,
}

impl Letters for Forgetful {
    fn post(&self, run: &Id, last: u64) {
        locked(&self.waits).push_back((run.clone(), last));
        let waker = locked(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<Wake>> {
        if let Some((run, last)) = locked(&self.waits).pop_front() {
            return Poll::Ready(Some(Wake::Run { run, last }));
        }
        *locked(&self.waker) = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Two writers, and a reader that reads the log only when it is woken. It has to see everything.
fn two_writers_and_a_reader<L: Letters>() {
    let mailbox = Arc::new(L::default());
    let log = Arc::new(Mutex::new([0_u64; 2]));
    let writers: Vec<_> = (0..2)
        .map(|number: usize| {
            let (mailbox, log) = (mailbox.clone(), log.clone());
            thread::spawn(move || {
                let run = Id::from(format!("run-{number}"));
                for last in 1..=2 {
                    locked(&log)[number] = last;
                    mailbox.post(&run, last);
                }
            })
        })
        .collect();
    let mut seen = [0; 2];
    while seen != [2; 2] {
        let wake = block_on(poll_fn(|context| mailbox.poll(context)));
        match wake {
            Some(Wake::Run { run, last }) => {
                let number = usize::from(&*run == "run-1");
                seen[number] = locked(&log)[number];
                assert!(seen[number] >= last, "woken before it was written");
            }
            Some(Wake::All) | None => panic!("nobody said so"),
        }
    }
    for writer in writers {
        writer.join().expect("a writer");
    }
}

/// The store goes away while somebody watches: the rest is heard, and then the end.
fn a_writer_that_leaves() {
    let mailbox = Arc::new(Mailbox::default());
    let writing = mailbox.clone();
    let writer = thread::spawn(move || {
        writing.post(&"run".into(), 1);
        writing.post_all();
        writing.close();
    });
    let mut heard = Vec::new();
    while let Some(wake) = block_on(poll_fn(|context| mailbox.poll(context))) {
        heard.push(wake);
    }
    assert_eq!(heard.last(), Some(&Wake::All));
    writer.join().expect("a writer");
}

#[test]
fn no_schedule_loses_the_end() {
    shuttle::check_random(a_writer_that_leaves, SCHEDULES / 5);
}

#[test]
fn no_schedule_loses_a_wake_up() {
    shuttle::check_random(two_writers_and_a_reader::<Mailbox>, SCHEDULES);
    shuttle::check_pct(two_writers_and_a_reader::<Mailbox>, SCHEDULES, 3);
}

#[test]
fn a_look_before_the_wait_without_a_second_look_is_found() {
    let found = panic::catch_unwind(|| {
        shuttle::check_random(two_writers_and_a_reader::<Forgetful>, SCHEDULES);
    });
    assert!(found.is_err(), "the mistake was not found");
}
