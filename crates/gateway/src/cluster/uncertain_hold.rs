//! Holds whose answer did not come in time, or was lost. The request goes on without the session, so
//! it is released with the state that it had, once the store says that it is held.
//!
//! It cannot be left to its expiry: a node that is alive would hold it for a day.

use std::{collections::HashMap, pin::Pin};

use foxwedge_store::{EntryTake, Result, Store, StoreError};
use tokio::time::sleep;

use super::{ClusterShared, RELEASE_PAUSE, lock};
use crate::session::SharedRelease;

/// The answer to a hold. It does not depend on the request.
pub(super) type HoldAnswer = Pin<Box<dyn Future<Output = Result<Option<u64>>> + Send>>;

/// How many requests of this process hold a session or are taking it, by key.
pub(super) type HoldCounts = HashMap<String, usize>;

impl ClusterShared {
    /// Waits until it is known whether a session is held, and releases it. `answer`: the answer that
    /// may still come. The count of the session's holds includes this one.
    pub(super) async fn settle_hold(
        &self,
        answer: Option<HoldAnswer>,
        take: EntryTake,
        mut release: SharedRelease,
    ) {
        let held = match answer {
            Some(answer) => answer.await,
            None => Err(StoreError::Unavailable("the answer was lost".into())),
        };
        let version = match held {
            Ok(version) => version,
            Err(StoreError::Unavailable(_)) => self.find_hold(&take).await,
            Err(_) => None,
        };
        if let Some(version) = version {
            release.hold.version = version;
            self.write_release(release).await;
        }
        self.count_down(&take.hold.key);
    }

    /// The version of a session that may be held since an attempt whose answer was lost.
    async fn find_hold(&self, take: &EntryTake) -> Option<u64> {
        let mut found = None;
        loop {
            sleep(RELEASE_PAUSE).await;
            // Once this succeeds, what is left of the first attempt comes too late for its version.
            match self.store.hold_entry(take.clone()).await {
                Err(StoreError::Unavailable(_)) => continue,
                Ok(None) => {}
                Ok(version @ Some(_)) => return version,
                Err(_) => return None,
            }
            let Ok(mut entries) = self.store.entries(vec![take.hold.key.clone()]).await else {
                continue;
            };
            entries.retain(|entry| entry.key == take.hold.key);
            let held = entries.pop().filter(|entry| {
                entry.holder.as_ref().is_some_and(|holder| holder.node == take.hold.node)
            });
            // Another hold means that this one has ended, or never was.
            let version = held.map(|entry| entry.version)?;
            if found.is_some_and(|found| found != version) {
                return None;
            }
            found = Some(version);
            if lock(&self.hold_counts).get(&take.hold.key) == Some(&1) {
                return found;
            }
        }
    }

    /// Counts a request that takes a session.
    pub(super) fn count_up(&self, key: &str) {
        *lock(&self.hold_counts).entry(key.to_owned()).or_default() += 1;
    }

    /// Counts a request that has released a session, or did not get it.
    pub(super) fn count_down(&self, key: &str) {
        let mut counts = lock(&self.hold_counts);
        match counts.get_mut(key) {
            Some(count @ 2..) => *count -= 1,
            Some(_) | None => {
                counts.remove(key);
            }
        }
    }
}
