//! Waits for wake-ups under the schedules of a shuttle test.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake},
};

use shuttle::sync::{Condvar, Mutex};

/// A wake-up flag. It may be set before a thread waits, and ends one wait.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    change: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().expect("a bell") = true;
        self.change.notify_all();
    }

    pub(crate) fn wait(&self) {
        let mut rung = self.rung.lock().expect("a bell");
        while !*rung {
            rung = self.change.wait(rung).expect("a bell");
        }
        *rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.ring();
    }
}

/// Runs a future to its end, with a new bell for every poll. The `block_on` of the scheduler counts
/// every earlier wake-up of the thread, including one by a lock, and polls once more: that hides
/// nearly every lost wake-up.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        let bell = Arc::new(Bell::default());
        match future.as_mut().poll(&mut Context::from_waker(&bell.clone().into())) {
            Poll::Ready(output) => return output,
            Poll::Pending => bell.wait(),
        }
    }
}
