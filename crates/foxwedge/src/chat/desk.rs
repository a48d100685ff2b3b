//! What can be done while a run is at work: stop it, and keep what waits for its end. Follows the
//! conversation from one session to the next.

use std::sync::Arc;

use foxwedge_engine::tool_loop::{Handle, Inbox, Pressed, ToolLoop};
use foxwedge_store::AnyStore;
use foxwedge_tools::Future;
use tokio::sync::watch;

use super::terminal::{Desk, Heed};

/// Where presses and prompts that wait arrive. A copy is the same.
#[derive(Clone)]
pub(crate) struct Reception(Arc<watch::Sender<Option<Open>>>);

#[derive(Clone)]
struct Open {
    handle: Handle,
    inbox: Inbox<AnyStore>,
}

impl Default for Reception {
    fn default() -> Reception {
        Reception(Arc::new(watch::Sender::new(None)))
    }
}

impl Reception {
    /// Another session is the one that is worked on.
    pub(super) fn turn_to(&self, tool_loop: &ToolLoop<AnyStore>) {
        let open = Open { handle: tool_loop.handle(), inbox: tool_loop.inbox() };
        self.0.send_replace(Some(open));
    }

    /// None is.
    pub(super) fn leave(&self) {
        self.0.send_replace(None);
    }

    /// An interrupt, stronger each time.
    pub(crate) fn press(&self) -> Pressed {
        self.0.borrow().as_ref().map_or(Pressed::Idle, |open| open.handle.press())
    }
}

impl Desk for Reception {
    fn press(&self) -> Heed {
        match Reception::press(self) {
            Pressed::Idle => Heed::Unheard,
            Pressed::Asked | Pressed::Forced | Pressed::Leave => Heed::Heard,
        }
    }

    fn queue<'a>(&'a self, texts: Vec<String>) -> Future<'a, anyhow::Result<()>> {
        let mut opened = self.0.subscribe();
        Box::pin(async move {
            // Without a session nothing was ever kept.
            if texts.is_empty() && opened.borrow().is_none() {
                return Ok(());
            }
            // A prompt may wait for the end of the very first run while its session is still made.
            let open = opened.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
            match open {
                Some(open) => Ok(open.inbox.put(&texts).await?),
                None => Ok(()),
            }
        })
    }
}
