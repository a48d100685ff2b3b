//! Keeps what waits in the store, beside everything else: only the newest state matters.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::timeout,
};

use super::RunController;

/// How long the last state may take.
const FINISH_TIMEOUT: Duration = Duration::from_secs(3);

/// Writes the queue down whenever it changes.
pub(super) struct PromptQueueWriter {
    newest: watch::Sender<Vec<String>>,
    task: JoinHandle<()>,
}

impl PromptQueueWriter {
    /// Begins. What goes wrong is told to `troubles`.
    pub(super) fn new(
        desk: Arc<dyn RunController>,
        queue: Vec<String>,
        troubles: mpsc::UnboundedSender<String>,
    ) -> PromptQueueWriter {
        let (newest, mut changes) = watch::channel(queue);
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let queue = changes.borrow_and_update().clone();
                if let Err(error) = desk.save_queue(queue).await {
                    let _ = troubles.send(format!("what is queued could not be kept: {error:#}"));
                }
            }
        });
        PromptQueueWriter { newest, task }
    }

    /// The queue is this from now on.
    pub(super) fn save(&self, queue: Vec<String>) {
        self.newest.send_replace(queue);
    }

    /// Waits until the last state is kept, but not for ever.
    pub(super) async fn finish(self) {
        let PromptQueueWriter { newest, mut task } = self;
        drop(newest);
        if timeout(FINISH_TIMEOUT, &mut task).await.is_err() {
            task.abort();
        }
    }
}
