//! Stopping a run from outside of it.

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_tools::{Interrupt, Stage, Stop};

/// Stops what a loop is doing. A copy is the same.
#[derive(Clone, Debug, Default)]
pub struct Handle(Arc<Mutex<Option<Interrupt>>>);

/// What an interrupt did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pressed {
    /// Nothing: no run is at work.
    Idle,
    /// The run was asked to stop: what is nearly done may finish.
    Asked,
    /// It is stopped by force.
    Forced,
    /// It was stopped by force before: whoever presses on wants to leave.
    Leave,
}

impl Handle {
    /// Interrupts what is at work, more strongly each time.
    pub fn press(&self) -> Pressed {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(interrupt) = &*current else { return Pressed::Idle };
        match interrupt.stage() {
            Stage::Quiet => {
                interrupt.raise(Stage::Asked);
                Pressed::Asked
            }
            Stage::Asked => {
                interrupt.raise(Stage::Forced);
                Pressed::Forced
            }
            Stage::Forced => Pressed::Leave,
        }
    }

    /// Whether something is at work.
    pub fn is_busy(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Something is at work from now on, until the guard is dropped. An interrupt of before does
    /// not count.
    pub(super) fn begin(&self) -> Busy {
        let interrupt = Interrupt::new();
        let stop = interrupt.stop();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupt);
        Busy { handle: self.clone(), stop }
    }
}

/// Something is at work.
#[derive(Debug)]
pub(super) struct Busy {
    handle: Handle,
    pub(super) stop: Stop,
}

impl Drop for Busy {
    fn drop(&mut self) {
        *self.handle.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_press_is_stronger_and_none_counts_while_nothing_is_at_work() {
        let handle = Handle::default();
        assert_eq!(handle.press(), Pressed::Idle);
        let busy = handle.begin();
        assert_eq!(busy.stop.stage(), Stage::Quiet);
        let pressed = [handle.press(), handle.press(), handle.press(), handle.press()];
        assert_eq!(pressed, [Pressed::Asked, Pressed::Forced, Pressed::Leave, Pressed::Leave]);
        assert_eq!(busy.stop.stage(), Stage::Forced);
        drop(busy);
        assert_eq!((handle.press(), handle.is_busy()), (Pressed::Idle, false));
        assert_eq!(handle.begin().stop.stage(), Stage::Quiet);
    }
}
