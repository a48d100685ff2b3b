//! The newest frames of a run, for all its followers. Its size is fixed, however slow a follower
//! is.
//!
//! One lock guards the frames and the wakers, so a frame cannot fall between a poll and the wait
//! that follows it. A reader is identified by the last frame it has, not by a position in the ring.
//! A reader ahead of the ring waits; it lags only if a frame it needs is gone.

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

/// How much the ring keeps: a number of frames or of bytes, whichever is reached first.
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
    /// The last frame that was evicted.
    evicted: FrameId,
    end: Option<FeedEnd>,
    /// Wakers: one slot per reader.
    slots: Vec<ReaderSlot>,
}

#[derive(Debug)]
enum ReaderSlot {
    Free,
    Taken,
    Waiting(Waker),
}

/// Why the feed ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FeedEnd {
    /// The run has ended, and all frames were delivered.
    Ended,
    /// The log cannot be read.
    Failed(Arc<str>),
}

/// What a reader gets from the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RingItem {
    /// The next frame.
    Frame(Arc<SseFrame>),
    /// The next frame was evicted.
    Gone,
    /// The feed has ended.
    Ended(FeedEnd),
}

impl FrameRing {
    pub(super) fn new(limits: RingLimits) -> FrameRing {
        let evicted = FrameId { seq: 0, part: 0 };
        let (frames, slots) = (VecDeque::new(), Vec::new());
        let state = RingState { frames, bytes: 0, evicted, end: None, slots };
        FrameRing { limits, state: Mutex::new(state) }
    }

    /// Reserves a slot for a new reader.
    pub(super) fn take_slot(&self) -> usize {
        let slots = &mut lock(&self.state).slots;
        let free = slots.iter().position(|slot| matches!(slot, ReaderSlot::Free));
        let index = free.unwrap_or(slots.len());
        match slots.get_mut(index) {
            Some(slot) => *slot = ReaderSlot::Taken,
            None => slots.push(ReaderSlot::Taken),
        }
        index
    }

    pub(super) fn free_slot(&self, slot: usize) {
        if let Some(slot) = lock(&self.state).slots.get_mut(slot) {
            *slot = ReaderSlot::Free;
        }
    }

    /// Adds frames, then wakes all waiting readers once.
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

    pub(super) fn close(&self, end: FeedEnd) {
        self.change(|state| {
            state.end.get_or_insert(end);
        });
    }

    /// Whether the ring still has all frames after this one.
    pub(super) fn holds_after(&self, last: FrameId) -> bool {
        last >= lock(&self.state).evicted
    }

    /// Returns the first frame after `last`, or registers the waker under the same lock.
    pub(super) fn poll(&self, slot: usize, last: FrameId, context: &Context<'_>) -> Poll<RingItem> {
        let mut state = lock(&self.state);
        if last < state.evicted {
            return Poll::Ready(RingItem::Gone);
        }
        let seen = state.frames.partition_point(|frame| frame.id <= last);
        match (state.frames.get(seen).cloned(), state.end.clone()) {
            (Some(frame), _) => Poll::Ready(RingItem::Frame(frame)),
            (None, Some(end)) => Poll::Ready(RingItem::Ended(end)),
            (None, None) => {
                if let Some(slot) = state.slots.get_mut(slot) {
                    *slot = ReaderSlot::Waiting(context.waker().clone());
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
        // Outside the lock, because the woken tasks take it at once.
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl RingState {
    fn exceeds(&self, limits: RingLimits) -> bool {
        self.frames.len() > limits.frames || self.bytes > limits.bytes
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

/// Ignores poisoning: the guarded data is consistent between calls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
