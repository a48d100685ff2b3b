//! What this node did while the store was out of reach, once the store answers again.

use std::sync::Arc;

use foxwedge_store::{EntryTake, Result, Store};

use tokio::time::timeout;

use super::{ANSWER_TIMEOUT, ClusterShared, GatewayCluster, HOLD_MILLIS, lock};
use crate::session::{SessionPublication, SharedRelease, session_key};

impl GatewayCluster {
    /// Publishes what this node did without the store. A client that disconnects leaves nothing held,
    /// because a task of its own waits for the store.
    pub(super) async fn publish(&self) {
        let shared = self.shared.clone();
        // Without an answer, this is tried again with a beat.
        let task = tokio::spawn(async move { shared.publish_sessions().await });
        let _ = timeout(ANSWER_TIMEOUT, task).await;
    }
}

impl ClusterShared {
    /// Publishes the replies that the store does not have. What cannot be published now is published
    /// later.
    pub(super) async fn publish_sessions(&self) {
        let _publishing = self.publishing.lock().await;
        let sessions = self.sessions.unpublished_sessions();
        if sessions.is_empty() {
            return;
        }
        // The next node finds their runs.
        self.recorder.flush().await;
        for id in sessions {
            if self.publish_session(&id).await.is_err() {
                return;
            }
        }
    }

    /// Takes a session, and releases it with its newest state. One that another request has is published
    /// later.
    async fn publish_session(&self, id: &Arc<str>) -> Result<()> {
        let key = session_key(id);
        let entries = self.entries(vec![key.clone()]).await?;
        let entry = entries.iter().find(|entry| entry.key == key);
        let holder = entry.and_then(|entry| entry.holder.as_ref());
        let holder = holder.filter(|holder| holder.is_alive);
        let has_request = lock(&self.hold_counts).contains_key(&key);
        if has_request || holder.is_some_and(|holder| holder.node != self.node) {
            self.sessions.defer_publication(id);
            return Ok(());
        }
        let Some(publication) = self.sessions.plan_publication(id, entry, &self.node) else {
            return Ok(());
        };
        let SessionPublication { mut release, count, is_newest } = publication;
        if let Some(session) = release.session.as_mut().filter(|_| is_newest) {
            session.waiting = self.recorder.waiting_run(id);
            session.has_agent = self.agents.find_by_session(id).is_some();
        }
        self.count_up(&key);
        // A hold of this node without a request is that of an earlier try, whose end was not answered.
        let written = self.write_publication(release, holder.is_some()).await;
        self.count_down(&key);
        match written? {
            true => self.sessions.note_published(id, count),
            false => self.sessions.defer_publication(id),
        }
        Ok(())
    }

    /// Writes the newest state of a session. Returns whether it was free.
    async fn write_publication(&self, mut release: SharedRelease, is_held: bool) -> Result<bool> {
        if !is_held {
            let take = EntryTake {
                hold: release.hold.clone(),
                ttl: HOLD_MILLIS,
                link: None,
                writes: Vec::new(),
                replaced: None,
            };
            match self.answers.ask(self.store.hold_entry(take)).await? {
                Some(version) => release.hold.version = version,
                None => return Ok(false),
            }
        }
        let key = release.hold.key.clone();
        let (hold, writes) = release.into_writes();
        let is_written = self.answers.ask(self.store.write_entries(Some(hold), writes)).await?;
        // Nothing may be waiting.
        let _ = self.released.send(key.into());
        Ok(is_written)
    }
}
