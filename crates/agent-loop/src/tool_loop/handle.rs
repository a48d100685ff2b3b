//! Stops a run from another task.

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_tools::{StopLevel, StopReceiver, StopSender};

/// Stops the current run of a loop. Cheap to clone; clones share state.
#[derive(Clone, Debug, Default)]
pub struct LoopHandle(Arc<Mutex<Option<StopSender>>>);

/// What an interrupt did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterruptResult {
    /// No run is in progress.
    Idle,
    /// The run was asked to stop; running tools may finish.
    Stopping,
    /// The run is killed.
    Forced,
    /// The run was killed before; the user probably wants to quit.
    AlreadyForced,
}

impl LoopHandle {
    /// Interrupts the current run, more strongly each time.
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

    /// Whether a run is in progress.
    pub fn is_busy(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Marks the loop as busy until the guard is dropped. Earlier interrupts do not count.
    pub(super) fn begin(&self) -> BusyGuard {
        let interrupt = StopSender::new();
        let stop = interrupt.receiver();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupt);
        BusyGuard { handle: self.clone(), stop }
    }
}

/// Marks the loop as busy.
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
    fn each_interrupt_is_stronger_and_none_counts_while_idle() {
        let handle = LoopHandle::default();
        assert_eq!(handle.interrupt(), InterruptResult::Idle);
        let busy = handle.begin();
        assert_eq!(busy.stop.level(), StopLevel::None);
        let results =
            [handle.interrupt(), handle.interrupt(), handle.interrupt(), handle.interrupt()];
        assert_eq!(
            results,
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
