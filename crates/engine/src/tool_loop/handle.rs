//! Stopping a run from outside of it.

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_tools::{StopLevel, StopReceiver, StopSender};

/// Stops what a loop is doing. A copy is the same.
#[derive(Clone, Debug, Default)]
pub struct LoopHandle(Arc<Mutex<Option<StopSender>>>);

/// What an interrupt did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterruptResult {
    /// Nothing: no run is at work.
    Idle,
    /// The run was asked to stop: what is nearly done may finish.
    Stopping,
    /// It is stopped by force.
    Forced,
    /// It was stopped by force before: whoever presses on wants to leave.
    AlreadyForced,
}

impl LoopHandle {
    /// Interrupts what is at work, more strongly each time.
    pub fn interrupt(&self) -> InterruptResult {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(interrupt) = &*current else { return InterruptResult::Idle };
        match interrupt.level() {
            StopLevel::None => {
                interrupt.raise(StopLevel::Graceful);
                InterruptResult::Stopping
            }
            StopLevel::Graceful => {
                interrupt.raise(StopLevel::Kill);
                InterruptResult::Forced
            }
            StopLevel::Kill => InterruptResult::AlreadyForced,
        }
    }

    /// Whether something is at work.
    pub fn is_busy(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Something is at work from now on, until the guard is dropped. An interrupt of before does
    /// not count.
    pub(super) fn begin(&self) -> BusyGuard {
        let interrupt = StopSender::new();
        let stop = interrupt.receiver();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupt);
        BusyGuard { handle: self.clone(), stop }
    }
}

/// Something is at work.
#[derive(Debug)]
pub(super) struct BusyGuard {
    handle: LoopHandle,
    pub(super) stop: StopReceiver,
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        *self.handle.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_press_is_stronger_and_none_counts_while_nothing_is_at_work() {
        let handle = LoopHandle::default();
        assert_eq!(handle.interrupt(), InterruptResult::Idle);
        let busy = handle.begin();
        assert_eq!(busy.stop.level(), StopLevel::None);
        let pressed =
            [handle.interrupt(), handle.interrupt(), handle.interrupt(), handle.interrupt()];
        assert_eq!(
            pressed,
            [
                InterruptResult::Stopping,
                InterruptResult::Forced,
                InterruptResult::AlreadyForced,
                InterruptResult::AlreadyForced
            ]
        );
        assert_eq!(busy.stop.level(), StopLevel::Kill);
        drop(busy);
        assert_eq!((handle.interrupt(), handle.is_busy()), (InterruptResult::Idle, false));
        assert_eq!(handle.begin().stop.level(), StopLevel::None);
    }
}
