//! Prompts that wait for the end of a run. They are in the store, so that they survive a crash.

use std::sync::Arc;

use foxwedge_store::{AgentSnapshot, Store};

use super::LoopError;

/// Name of the snapshot that holds the queue.
const SNAPSHOT_NAME: &str = "queue";

/// The queue of waiting prompts. Cheap to clone; clones share state, also during a run.
#[derive(Debug)]
pub struct PromptQueue<S> {
    store: Arc<S>,
    session: Arc<str>,
}

impl<S> Clone for PromptQueue<S> {
    fn clone(&self) -> PromptQueue<S> {
        PromptQueue { store: self.store.clone(), session: self.session.clone() }
    }
}

impl<S: Store> PromptQueue<S> {
    pub(super) fn new(store: Arc<S>, session: Arc<str>) -> PromptQueue<S> {
        PromptQueue { store, session }
    }

    /// Replaces the waiting prompts.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn replace(&self, texts: &[String]) -> Result<(), LoopError> {
        if texts.is_empty() {
            self.store.drop_snapshot(&self.session, SNAPSHOT_NAME).await?;
            return Ok(());
        }
        let body = serde_json::Value::from(texts).to_string().into_bytes();
        let snapshot = AgentSnapshot { name: SNAPSHOT_NAME.to_owned(), body, expires: None };
        Ok(self.store.put_snapshot(&self.session, snapshot).await?)
    }

    /// The waiting prompts.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get(&self) -> Result<Vec<String>, LoopError> {
        let snapshot = self.store.snapshot(&self.session, SNAPSHOT_NAME).await?;
        let texts = snapshot.and_then(|snapshot| serde_json::from_slice(&snapshot.body).ok());
        Ok(texts.unwrap_or_default())
    }
}
