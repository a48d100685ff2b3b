//! A session that a node has taken in the store, until it is released with its new state.

use std::{sync::Arc, time::Duration};

use foxwedge_store::{EntryHold, EntryVersion, EntryWrite};
use tokio::sync::mpsc::UnboundedSender;

use super::{
    SessionMatchKind,
    shared_entries::{
        SharedSession, content_entry, digest_entry_key, millis, removal, reply_entry_key,
    },
};
use crate::ordered_id::unix_millis;

/// A session that is about to be taken, or is held.
#[derive(Debug)]
pub(crate) struct SharedClaim {
    pub(crate) id: Arc<str>,
    pub(crate) hold: EntryHold,
    /// The digest that the request ends with.
    pub(crate) last_digest: Option<String>,
    /// Written when the session is taken.
    pub(crate) writes: Vec<EntryWrite>,
    /// The entry of the reply, as it was read for a retry: of several, one is sent upstream.
    pub(crate) replaced: Option<EntryVersion>,
    /// The state of the session as it was found.
    pub(crate) found: Option<SharedSession>,
    /// Whether the node that had the session was killed meanwhile.
    pub(crate) is_orphaned: bool,
    pub(super) session: SharedSession,
    pub(super) match_kind: SessionMatchKind,
    pub(super) forked_from: Option<Arc<str>>,
    /// The entry that shows that the conversation is in progress.
    pub(super) opening: Option<String>,
    pub(super) registers_reply: bool,
    /// Whether the session is busy in the index of this node because of this claim.
    pub(super) is_busy_here: bool,
    /// Written when the session is released.
    pub(super) commits: Vec<EntryWrite>,
    pub(super) releases: Option<UnboundedSender<SharedRelease>>,
}

/// A session to release.
#[derive(Debug)]
pub(crate) struct SharedRelease {
    pub(crate) id: Arc<str>,
    pub(crate) hold: EntryHold,
    /// The new state; `None` if there never was a reply.
    pub(crate) session: Option<SharedSession>,
    pub(crate) writes: Vec<EntryWrite>,
    pub(crate) session_ttl: u64,
}

impl SharedRelease {
    /// All writes, with that of the session.
    pub(crate) fn into_writes(self) -> (EntryHold, Vec<EntryWrite>) {
        let SharedRelease { hold, session, mut writes, session_ttl, .. } = self;
        let key = hold.key.clone();
        writes.push(match session {
            // A state of plain fields can always be encoded.
            Some(session) => {
                let value = serde_json::to_vec(&session).unwrap_or_default();
                EntryWrite { key, value, link: None, ttl: session_ttl }
            }
            None => removal(key),
        });
        (hold, writes)
    }
}

impl SharedClaim {
    /// What releases the session as it was found.
    pub(super) fn undo(&self, fingerprint: u128, session_ttl: Duration) -> SharedRelease {
        let mut session = self.found.clone();
        if let Some(session) = session.as_mut().filter(|_| self.is_orphaned) {
            // Its node was killed during a request: its run is closed when its lease expires.
            session.waiting = None;
        }
        let mut writes: Vec<EntryWrite> = self.opening.clone().into_iter().map(removal).collect();
        writes.extend(self.registers_reply.then(|| removal(reply_entry_key(fingerprint))));
        let (id, hold, session_ttl) = (self.id.clone(), self.hold.clone(), millis(session_ttl));
        SharedRelease { id, hold, session, writes, session_ttl }
    }

    /// Notes until when the calls of the reply wait for their results.
    pub(super) fn expect_results(&mut self, call_timeout: Duration) {
        self.session.results_due = Some(unix_millis().saturating_add(millis(call_timeout)));
    }

    /// Notes a complete reply, and the keys by which it is found. `contents`: the entries of what later
    /// requests may refer to, which this node has.
    pub(super) fn commit(
        &mut self,
        keys: &[u64],
        contents: Vec<String>,
        unconfirmed: Option<u128>,
        session_ttl: Duration,
    ) {
        self.session.newest += 1;
        self.session.used = true;
        self.session.unconfirmed_reply = unconfirmed.map(|it| format!("{it:032x}"));
        let (value, link) = (self.session.newest.to_string().into_bytes(), &self.hold.key);
        let ttl = millis(session_ttl);
        let writes = keys.iter().map(|key| EntryWrite {
            key: digest_entry_key(*key),
            value: value.clone(),
            link: Some(link.clone()),
            ttl,
        });
        self.commits.extend(writes);
        let node = &self.hold.node;
        self.commits.extend(contents.into_iter().map(|key| content_entry(key, node, ttl)));
    }

    /// Releases the session. `lost_reply`: the request that a reply was announced for without one.
    pub(super) fn release(mut self, lost_reply: Option<u128>, session_ttl: Duration) {
        let Some(releases) = self.releases.take() else { return };
        let mut writes: Vec<EntryWrite> = self.opening.into_iter().map(removal).collect();
        writes.extend(lost_reply.map(|it| removal(reply_entry_key(it))));
        writes.extend(self.commits);
        self.session.at = unix_millis();
        let release = SharedRelease {
            id: self.id,
            hold: self.hold,
            session: self.session.used.then_some(self.session),
            writes,
            session_ttl: millis(session_ttl),
        };
        // After a shutdown, the node is gone and so are its holds.
        let _ = releases.send(release);
    }
}
