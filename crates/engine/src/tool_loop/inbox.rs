//! Input that waits for the end of a run. It is kept in the store, so that it survives whatever
//! happens to the process.

use std::sync::Arc;

use foxwedge_store::{AgentSnapshot, Store};

use super::LoopError;

/// The name under which it is kept.
const SNAPSHOT_NAME: &str = "queue";

/// Where input waits. A copy is the same, and can be used while a run is at work.
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

    /// What waits, from now on.
    ///
    /// # Errors
    /// If the store cannot keep it.
    pub async fn replace(&self, texts: &[String]) -> Result<(), LoopError> {
        if texts.is_empty() {
            self.store.drop_snapshot(&self.session, SNAPSHOT_NAME).await?;
            return Ok(());
        }
        let body = serde_json::Value::from(texts).to_string().into_bytes();
        let snapshot = AgentSnapshot { name: SNAPSHOT_NAME.to_owned(), body, expires: None };
        Ok(self.store.put_snapshot(&self.session, snapshot).await?)
    }

    /// What waits.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get(&self) -> Result<Vec<String>, LoopError> {
        let snapshot = self.store.snapshot(&self.session, SNAPSHOT_NAME).await?;
        let texts = snapshot.and_then(|snapshot| serde_json::from_slice(&snapshot.body).ok());
        Ok(texts.unwrap_or_default())
    }
}
