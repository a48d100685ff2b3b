//! What can be done while a run is at work: stop it, and keep what waits for its end. Follows the
//! conversation from one session to the next.

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_engine::tool_loop::{Handle, Inbox, Pressed, ToolLoop};
use foxwedge_store::AnyStore;
use foxwedge_tools::Future;

use super::terminal::Desk;

/// Where presses and prompts that wait arrive. A copy is the same.
#[derive(Clone, Default)]
pub(crate) struct Reception(Arc<Mutex<Option<Open>>>);

#[derive(Clone)]
struct Open {
    handle: Handle,
    inbox: Inbox<AnyStore>,
}

impl Reception {
    /// Another session is the one that is worked on.
    pub(super) fn turn_to(&self, tool_loop: &ToolLoop<AnyStore>) {
        let open = Open { handle: tool_loop.handle(), inbox: tool_loop.inbox() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(open);
    }

    /// None is.
    pub(super) fn leave(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// An interrupt, stronger each time.
    pub(crate) fn press(&self) -> Pressed {
        self.open().map_or(Pressed::Idle, |open| open.handle.press())
    }

    fn open(&self) -> Option<Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Desk for Reception {
    fn press(&self) {
        Reception::press(self);
    }

    fn queue<'a>(&'a self, texts: Vec<String>) -> Future<'a, anyhow::Result<()>> {
        let open = self.open();
        Box::pin(async move {
            match open {
                Some(open) => Ok(open.inbox.put(&texts).await?),
                // Nothing was said yet: there is nothing that could be at work.
                None => Ok(()),
            }
        })
    }
}
