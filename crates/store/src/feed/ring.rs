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
    SseFrame,
    sync::{Mutex, MutexGuard},
};

/// How much is kept: so many frames, or so many bytes of them, whichever is less.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingLimits {
    pub(super) frames: usize,
    pub(super) bytes: usize,
}

/// The newest frames of a run.
#[derive(Debug)]
pub(super) struct FrameRing {
    limits: RingLimits,
    state: Mutex<RingState>,
}

#[derive(Debug)]
struct RingState {
    frames: VecDeque<Arc<SseFrame>>,
    bytes: usize,
    /// The last frame that went before those that are kept.
    evicted: FrameId,
    over: Option<FeedEnd>,
    /// Whom to wake: one seat for every reader.
    slots: Vec<ReaderSlot>,
}

#[derive(Debug)]
enum ReaderSlot {
    Free,
    Taken,
    Waiting(Waker),
}

/// Why nothing comes any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FeedEnd {
    /// The run is over, and everything was told.
    Ended,
    /// Its log cannot be read.
    Failed(Arc<str>),
}

/// What a reader finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RingItem {
    /// The next frame.
    Frame(Arc<SseFrame>),
    /// The next frame is gone already.
    Gone,
    /// Nothing comes any more.
    Ended(FeedEnd),
}

impl FrameRing {
    pub(super) fn new(room: RingLimits) -> FrameRing {
        let evicted = FrameId { seq: 0, part: 0 };
        let (frames, seats) = (VecDeque::new(), Vec::new());
        let state = RingState { frames, bytes: 0, evicted, over: None, slots: seats };
        FrameRing { limits: room, state: Mutex::new(state) }
    }

    /// A seat for a new reader.
    pub(super) fn take_slot(&self) -> usize {
        let seats = &mut lock(&self.state).slots;
        let free = seats.iter().position(|seat| matches!(seat, ReaderSlot::Free));
        let place = free.unwrap_or(seats.len());
        match seats.get_mut(place) {
            Some(seat) => *seat = ReaderSlot::Taken,
            None => seats.push(ReaderSlot::Taken),
        }
        place
    }

    pub(super) fn free_slot(&self, seat: usize) {
        if let Some(seat) = lock(&self.state).slots.get_mut(seat) {
            *seat = ReaderSlot::Free;
        }
    }

    /// Adds frames and wakes everybody who waits, once for all of them.
    pub(super) fn push(&self, frames: impl IntoIterator<Item = SseFrame>) {
        self.change(|state| {
            for frame in frames {
                state.bytes += frame.sse.len();
                state.frames.push_back(Arc::new(frame));
                while state.frames.len() > 1 && state.exceeds(self.limits) {
                    let Some(oldest) = state.frames.pop_front() else { break };
                    state.bytes -= oldest.sse.len();
                    state.evicted = oldest.id;
                }
            }
        });
    }

    pub(super) fn close(&self, over: FeedEnd) {
        self.change(|state| {
            state.over.get_or_insert(over);
        });
    }

    /// Whether no frame behind this one is gone.
    pub(super) fn holds_after(&self, last: FrameId) -> bool {
        last >= lock(&self.state).evicted
    }

    /// The first frame behind another; or, under the same lock, whom to wake.
    pub(super) fn poll(&self, seat: usize, last: FrameId, context: &Context<'_>) -> Poll<RingItem> {
        let mut state = lock(&self.state);
        if last < state.evicted {
            return Poll::Ready(RingItem::Gone);
        }
        let seen = state.frames.partition_point(|frame| frame.id <= last);
        match (state.frames.get(seen).cloned(), state.over.clone()) {
            (Some(frame), _) => Poll::Ready(RingItem::Frame(frame)),
            (None, Some(over)) => Poll::Ready(RingItem::Ended(over)),
            (None, None) => {
                if let Some(seat) = state.slots.get_mut(seat) {
                    *seat = ReaderSlot::Waiting(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut RingState)) {
        let wakers: Vec<Waker> = {
            let mut state = lock(&self.state);
            change(&mut state);
            state.slots.iter_mut().filter_map(ReaderSlot::wake).collect()
        };
        // Outside of the lock: whoever wakes up takes it at once.
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl RingState {
    fn exceeds(&self, room: RingLimits) -> bool {
        self.frames.len() > room.frames || self.bytes > room.bytes
    }
}

impl ReaderSlot {
    fn wake(&mut self) -> Option<Waker> {
        match std::mem::replace(self, ReaderSlot::Taken) {
            ReaderSlot::Waiting(waker) => Some(waker),
            ReaderSlot::Taken => None,
            ReaderSlot::Free => {
                *self = ReaderSlot::Free;
                None
            }
        }
    }
}

/// A lock that somebody panicked with is still a lock: what it guards is whole between calls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
