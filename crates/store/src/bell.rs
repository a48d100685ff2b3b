//! Waiting for a wake-up under the schedules of a test.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake},
};

use shuttle::sync::{Condvar, Mutex};

/// Something to wait for. It may ring before somebody waits, and rings for one wait.
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

/// Waits for a future, with a new bell for every look. The scheduler's own `block_on` counts whatever
/// woke the thread before, a lock included, and looks once more: that hides nearly every lost
/// wake-up.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        let bell = Arc::new(Bell::default());
        match future.as_mut().poll(&mut Context::from_waker(&bell.clone().into())) {
            Poll::Ready(told) => return told,
            Poll::Pending => bell.wait(),
        }
    }
}
