//! Control of an open run: interrupts it and saves queued prompts. Follows the conversation from
//! one session to the next.

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_agent_loop::tool_loop::{InterruptResult, LoopHandle, PromptQueue, ToolLoop};
use foxwedge_store::AnyStore;
use foxwedge_tools::{StopLevel, StopSender, ToolFuture};
use tokio::sync::watch;

use super::terminal::{InterruptDelivery, RunController};

/// Receives interrupts and queued prompts. Cheap to clone; clones share state.
#[derive(Clone)]
pub(crate) struct ChatRunController {
    session: Arc<watch::Sender<Option<ControlledSession>>>,
    /// Stops the command that the user runs.
    command: Arc<Mutex<Option<StopSender>>>,
}

#[derive(Clone)]
struct ControlledSession {
    handle: LoopHandle,
    inbox: PromptQueue<AnyStore>,
}

impl Default for ChatRunController {
    fn default() -> ChatRunController {
        ChatRunController { session: Arc::new(watch::Sender::new(None)), command: Arc::default() }
    }
}

impl ChatRunController {
    /// Attaches to the loop of another session.
    pub(super) fn attach(&self, tool_loop: &ToolLoop<AnyStore>) {
        let open = ControlledSession { handle: tool_loop.handle(), inbox: tool_loop.inbox() };
        self.session.send_replace(Some(open));
    }

    /// Detaches from the session.
    pub(super) fn detach(&self) {
        self.session.send_replace(None);
    }

    /// Sets what interrupts stop instead of a run.
    pub(super) fn set_command(&self, command: Option<StopSender>) {
        *self.command.lock().unwrap_or_else(PoisonError::into_inner) = command;
    }

    /// Interrupts the run: first asks it to stop, then forces it.
    pub(crate) fn interrupt(&self) -> InterruptResult {
        let command = self.command.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(command) = command {
            let first = command.level() == StopLevel::None;
            command.raise(if first { StopLevel::Graceful } else { StopLevel::Kill });
            return if first { InterruptResult::Stopping } else { InterruptResult::Forced };
        }
        self.session.borrow().as_ref().map_or(InterruptResult::Idle, |open| open.handle.interrupt())
    }
}

impl RunController for ChatRunController {
    fn interrupt(&self) -> InterruptDelivery {
        match ChatRunController::interrupt(self) {
            InterruptResult::Idle => InterruptDelivery::NotRunning,
            InterruptResult::Stopping
            | InterruptResult::Forced
            | InterruptResult::AlreadyForced => InterruptDelivery::Delivered,
        }
    }

    fn save_queue<'a>(&'a self, texts: Vec<String>) -> ToolFuture<'a, anyhow::Result<()>> {
        let mut opened = self.session.subscribe();
        Box::pin(async move {
            // Without a session there is no saved queue to clear.
            if texts.is_empty() && opened.borrow().is_none() {
                return Ok(());
            }
            // A prompt may be queued during the first run, while its session is being created.
            let open = opened.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
            match open {
                Some(open) => Ok(open.inbox.replace(&texts).await?),
                None => Ok(()),
            }
        })
    }
}
