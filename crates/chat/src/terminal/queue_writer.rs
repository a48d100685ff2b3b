//! Saves queued prompts to the store in the background. Only the newest state matters.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};

use super::RunController;

/// Time limit for saving the last state.
const FINISH_TIMEOUT: Duration = Duration::from_secs(3);

/// Saves the queue whenever it changes.
pub(super) struct PromptQueueWriter {
    newest: watch::Sender<Vec<String>>,
    task: JoinHandle<()>,
}

impl PromptQueueWriter {
    /// Starts the task. Error messages are sent to `errors`.
    pub(super) fn new(
        controller: Arc<dyn RunController>,
        queue: Vec<String>,
        errors: mpsc::UnboundedSender<String>,
    ) -> PromptQueueWriter {
        let (newest, mut changes) = watch::channel(queue);
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let queue = changes.borrow_and_update().clone();
                if let Err(error) = controller.save_queue(queue).await {
                    let _ = errors.send(format!("queued prompts could not be saved: {error:#}"));
                }
            }
        });
        PromptQueueWriter { newest, task }
    }

    /// Saves this queue, unless a newer one follows first.
    pub(super) fn save(&self, queue: Vec<String>) {
        self.newest.send_replace(queue);
    }

    /// Waits until the last state is saved, up to the time limit.
    pub(super) async fn finish(self) {
        let PromptQueueWriter { newest, mut task } = self;
        drop(newest);
        if timeout(FINISH_TIMEOUT, &mut task).await.is_err() {
            task.abort();
        }
    }
}
