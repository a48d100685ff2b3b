//! The newest frames of a run, for everybody who follows it: a fixed number, whoever is slow.
//!
//! One lock holds the frames and whom to wake, so that a frame cannot fall between a look and the
//! wait that follows it. A reader is known by the last frame it has, not by a place in the ring:
//! one that is ahead of the ring waits for it, and only a frame that it needs can be gone.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError},
    task::{Context, Poll, Waker},
};

use foxwedge_run::encode::FrameId;

use super::{
    Sent,
    sync::{Mutex, MutexGuard},
};

/// How much is kept: so many frames, or so many bytes of them, whichever is less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) frames: usize,
    pub(super) bytes: usize,
}

/// The newest frames of a run.
#[derive(Debug)]
pub(super) struct Ring {
    room: Room,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    frames: VecDeque<Arc<Sent>>,
    bytes: usize,
    /// The last frame that went before those that are kept.
    evicted: FrameId,
    over: Option<Over>,
    /// Whom to wake: one seat for every reader.
    seats: Vec<Seat>,
}

#[derive(Debug)]
enum Seat {
    Free,
    Taken,
    Waiting(Waker),
}

/// Why nothing comes any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The run is over, and everything was told.
    Ended,
    /// Its log cannot be read.
    Failed(Arc<str>),
}

/// What a reader finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The next frame.
    Frame(Arc<Sent>),
    /// The next frame is gone already.
    Gone,
    /// Nothing comes any more.
    Over(Over),
}

impl Ring {
    pub(super) fn new(room: Room) -> Ring {
        let evicted = FrameId { seq: 0, part: 0 };
        let (frames, seats) = (VecDeque::new(), Vec::new());
        let state = State { frames, bytes: 0, evicted, over: None, seats };
        Ring { room, state: Mutex::new(state) }
    }

    /// A seat for a new reader.
    pub(super) fn sit(&self) -> usize {
        let seats = &mut locked(&self.state).seats;
        let free = seats.iter().position(|seat| matches!(seat, Seat::Free));
        let place = free.unwrap_or(seats.len());
        match seats.get_mut(place) {
            Some(seat) => *seat = Seat::Taken,
            None => seats.push(Seat::Taken),
        }
        place
    }

    pub(super) fn stand_up(&self, seat: usize) {
        if let Some(seat) = locked(&self.state).seats.get_mut(seat) {
            *seat = Seat::Free;
        }
    }

    /// Adds frames and wakes everybody who waits, once for all of them.
    pub(super) fn push(&self, frames: impl IntoIterator<Item = Sent>) {
        self.change(|state| {
            for frame in frames {
                state.bytes += frame.sse.len();
                state.frames.push_back(Arc::new(frame));
                while state.frames.len() > 1 && state.is_beyond(self.room) {
                    let Some(oldest) = state.frames.pop_front() else { break };
                    state.bytes -= oldest.sse.len();
                    state.evicted = oldest.id;
                }
            }
        });
    }

    pub(super) fn close(&self, over: Over) {
        self.change(|state| {
            state.over.get_or_insert(over);
        });
    }

    /// Whether no frame behind this one is gone.
    pub(super) fn holds_behind(&self, last: FrameId) -> bool {
        last >= locked(&self.state).evicted
    }

    /// The first frame behind another; or, under the same lock, whom to wake.
    pub(super) fn poll(&self, seat: usize, last: FrameId, context: &Context<'_>) -> Poll<Found> {
        let mut state = locked(&self.state);
        if last < state.evicted {
            return Poll::Ready(Found::Gone);
        }
        let seen = state.frames.partition_point(|frame| frame.id <= last);
        match (state.frames.get(seen).cloned(), state.over.clone()) {
            (Some(frame), _) => Poll::Ready(Found::Frame(frame)),
            (None, Some(over)) => Poll::Ready(Found::Over(over)),
            (None, None) => {
                if let Some(seat) = state.seats.get_mut(seat) {
                    *seat = Seat::Waiting(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let wakers: Vec<Waker> = {
            let mut state = locked(&self.state);
            change(&mut state);
            state.seats.iter_mut().filter_map(Seat::wake).collect()
        };
        // Outside of the lock: whoever wakes up takes it at once.
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn is_beyond(&self, room: Room) -> bool {
        self.frames.len() > room.frames || self.bytes > room.bytes
    }
}

impl Seat {
    fn wake(&mut self) -> Option<Waker> {
        match std::mem::replace(self, Seat::Taken) {
            Seat::Waiting(waker) => Some(waker),
            Seat::Taken => None,
            Seat::Free => {
                *self = Seat::Free;
                None
            }
        }
    }
}

/// A lock that somebody panicked with is still a lock: what it guards is whole between calls.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
