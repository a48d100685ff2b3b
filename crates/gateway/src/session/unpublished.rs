//! What a node replied while the store was out of reach. It is written once the store answers again:
//! then the conversation is found on every node, by its newest reply.

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_store::{EntryHold, EntryWrite, SharedEntry};
use tokio::time::Instant;

use super::{
    SessionIndex,
    prefix_index::PrefixNode,
    shared_claim::SharedRelease,
    shared_entries::{SharedSession, content_entry, digest_entry_key, millis, session_key},
    table::{SessionTable, UnpublishedReplies},
};
use crate::ordered_id::unix_millis;

/// How long to wait before a session is published that another node has.
const DEFERRAL: Duration = Duration::from_secs(1);
/// For how many replies in progress it is known what they have.
const MAX_ANNOUNCED: usize = 1_000;

/// What publishes the replies of a session.
pub(crate) struct SessionPublication {
    pub(crate) release: SharedRelease,
    /// How many replies there are.
    pub(crate) count: u32,
    /// Whether they are newer than those of other nodes, so that the session continues after them.
    pub(crate) is_newest: bool,
}

impl SessionTable {
    /// Keeps a session of several nodes as a reply leaves it. `keys`: those of the reply. While the
    /// store is out of reach, the conversation is found here.
    pub(super) fn keep_shared(&mut self, id: &Arc<str>, known: &SharedSession, keys: &[u64]) {
        let now = Instant::now();
        let serial = self.find_or_create(id, None, now);
        let Some(session) = self.session_mut(serial) else { return };
        known.fill(session, now, unix_millis());
        (session.is_fresh, session.at) = (false, now);
        let node = PrefixNode { session: serial, number: known.newest };
        keys.iter().for_each(|key| self.prefixes.put(*key, node));
    }

    /// Notes a reply that was committed without the store.
    pub(super) fn note_unpublished(
        &mut self,
        session: &Arc<str>,
        keys: Vec<u64>,
        contents: Vec<String>,
    ) {
        let Some(unpublished) = &mut self.unpublished else { return };
        let replies = unpublished.entry(session.clone()).or_default();
        replies.count += 1;
        replies.earlier.extend(std::mem::replace(&mut replies.newest, keys));
        replies.contents.extend(contents);
    }

    /// Forgets the replies of sessions that are forgotten.
    pub(super) fn forget_unpublished(&mut self) {
        let Some(mut unpublished) = self.unpublished.take() else { return };
        unpublished.retain(|id, _| self.find(id).is_some());
        self.unpublished = Some(unpublished);
    }

    /// The sessions whose replies can be published now: no request of theirs is in progress.
    fn unpublished_sessions(&self) -> impl Iterator<Item = &Arc<str>> {
        let now = Instant::now();
        let is_due = move |replies: &UnpublishedReplies| {
            replies.deferred_until.is_none_or(|until| until <= now)
        };
        let all = self.unpublished.iter().flatten().filter(move |(_, replies)| is_due(replies));
        all.map(|(id, _)| id).filter(move |id| {
            let session = self.find(id).and_then(|serial| self.session(serial));
            session.is_some_and(|session| session.busy.is_none())
        })
    }
}

impl SessionIndex {
    /// Says that other nodes share the sessions: what is committed without the store is kept until it
    /// is published.
    pub(crate) fn share(&self) {
        self.0.lock().unpublished.get_or_insert_with(HashMap::new);
    }

    /// Notes the entries of what a reply has that is about to be committed.
    pub(crate) fn announce(&self, reply_id: &str, entries: Vec<String>) {
        let mut state = self.0.lock();
        if state.announced.len() >= MAX_ANNOUNCED {
            // Replies that were never committed.
            state.announced.clear();
        }
        state.announced.insert(reply_id.into(), entries);
    }

    /// Whether a request of this session is in progress on this node.
    pub(crate) fn is_busy_here(&self, id: &str) -> bool {
        let state = self.0.lock();
        let session = state.find(id).and_then(|serial| state.session(serial));
        session.is_some_and(|session| session.busy.is_some())
    }

    /// Whether there are replies that can be published.
    pub(crate) fn has_unpublished(&self) -> bool {
        self.0.lock().unpublished_sessions().next().is_some()
    }

    /// The sessions whose replies can be published.
    pub(crate) fn unpublished_sessions(&self) -> Vec<Arc<str>> {
        self.0.lock().unpublished_sessions().cloned().collect()
    }

    /// What publishes the replies of a session. `entry`: the session in the store, in which other nodes
    /// may have replied meanwhile.
    pub(crate) fn plan_publication(
        &self,
        id: &Arc<str>,
        entry: Option<&SharedEntry>,
        node: &str,
    ) -> Option<SessionPublication> {
        let (now_ms, config) = (unix_millis(), &self.0.config);
        let ttl = millis(config.session_ttl);
        let found = entry.and_then(|it| serde_json::from_slice::<SharedSession>(&it.value).ok());
        let state = self.0.lock();
        let replies = state.unpublished.as_ref()?.get(id)?;
        let session = state.session(state.find(id)?).filter(|session| session.busy.is_none())?;
        let at = now_ms.saturating_sub(millis(session.at.elapsed()));
        // What the store had when these replies began, as far as this node knows.
        let known = session.newest.saturating_sub(replies.count);
        let newer = found.as_ref().filter(|found| found.newest > known && found.at > at).cloned();
        let is_newest = newer.is_none();
        let mut shared = newer.unwrap_or_else(|| SharedSession::of(session, node, at));
        if is_newest {
            let (call_timeout, waits) = (millis(config.call_timeout), session.awaits_results);
            shared.results_due = waits.then(|| at.saturating_add(call_timeout));
            // Retries of these requests are not known to other nodes.
            shared.unconfirmed_reply = None;
        }
        if let Some(found) = found.filter(|_| is_newest) {
            shared.owner = shared.owner.or(found.owner);
            shared.is_issued |= found.is_issued;
            shared.has_tools |= found.has_tools;
            shared.newest = shared.newest.max(found.newest.saturating_add(1));
        }
        // Replies with another number than the newest one are continued by branches.
        let older = shared.newest.wrapping_sub(1);
        let link = Some(session_key(id));
        let digest_writes = |keys: &[u64], number: u32| -> Vec<EntryWrite> {
            let value = number.to_string().into_bytes();
            let write = |key: &u64| EntryWrite {
                key: digest_entry_key(*key),
                value: value.clone(),
                link: link.clone(),
                ttl,
            };
            keys.iter().map(write).collect()
        };
        let mut writes = digest_writes(&replies.earlier, older);
        let newest = if is_newest { shared.newest } else { older };
        writes.extend(digest_writes(&replies.newest, newest));
        let contents = replies.contents.iter().cloned();
        writes.extend(contents.map(|key| content_entry(key, node, ttl)));
        let hold = EntryHold {
            key: session_key(id),
            node: node.to_owned(),
            version: entry.map_or(0, |entry| entry.version),
        };
        let release =
            SharedRelease { id: id.clone(), hold, session: Some(shared), writes, session_ttl: ttl };
        Some(SessionPublication { release, count: replies.count, is_newest })
    }

    /// Notes that the replies of a session are published. Those that were committed since are not.
    pub(crate) fn note_published(&self, id: &str, count: u32) {
        let mut state = self.0.lock();
        let Some(unpublished) = &mut state.unpublished else { return };
        if unpublished.get(id).is_some_and(|replies| replies.count == count) {
            unpublished.remove(id);
        }
    }

    /// Publishes the replies of a session later: another request has it.
    pub(crate) fn defer_publication(&self, id: &str) {
        let mut state = self.0.lock();
        if let Some(replies) = state.unpublished.as_mut().and_then(|all| all.get_mut(id)) {
            replies.deferred_until = Some(Instant::now() + DEFERRAL);
        }
    }
}
