//! Finds the session of a request, without the client's help: by a name where there is one, else by
//! the longest known prefix of the conversation.
//!
//! A conversation is a chain of digests, one after each message. The index stores one digest per
//! exchange: the one after its reply. A request whose history continues after the newest reply of a
//! session continues that session. One that continues after an older reply, or while the session is
//! busy, is a branch and gets a session of its own. Nothing here depends on a provider or a store.
//!
//! Requests of one conversation under a name wait for each other, because each may continue the
//! other's history and because a session has one open run. Requests under that name which share no
//! message with it do not wait: `named.rs` gives them sessions of their own.

mod session_ids;
mod keys;
mod named;
mod query;
mod prefix_index;
mod replay_cache;
mod table;
mod shared;
mod shared_claim;
mod shared_entries;
mod unpublished;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::config::{self, BusyPolicy};
use keys::{digest_key, owner_key, reply_key};
use prefix_index::PrefixNode;
use replay_cache::ReplayLookup;
use table::SessionTable;

pub use query::{
    ConversationTraits, RequestOrigin, RetryMark, SessionMatchKind, SessionQuery, SessionSelector,
};
pub use replay_cache::CachedReply;
pub(crate) use replay_cache::list_headers;
pub(crate) use session_ids::{LONGEST_NAME, conversation_name, is_session_name, named_session_id};
pub use session_ids::{SessionScope, conversation_scope};
pub(crate) use shared::{SharedFacts, SharedGuardQuery, SharedPlan, lookup_keys};
pub(crate) use shared_claim::{SharedClaim, SharedRelease};
pub(crate) use shared_entries::{SharedRun, content_key, session_key};
pub(crate) use unpublished::SessionPublication;

/// The result of a session lookup.
#[derive(Debug)]
pub enum SessionMatch {
    /// The request has the session to itself.
    Acquired(SessionGuard),
    /// The request is a retry, and its reply is cached.
    Replay(Arc<CachedReply>),
    /// Another request of the session took too long.
    Busy,
    /// The node at this address has the reply, or the agent, of the request.
    Elsewhere(String),
}

/// The newest position of a session: enough to find it again after a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionHead {
    /// The session.
    pub session: Arc<str>,
    /// The digest after its newest reply.
    pub value: u128,
    /// Time of that reply, in milliseconds since 1970.
    pub at: u64,
}

/// The size of the index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionStats {
    /// Replies by which a conversation can be found.
    pub nodes: usize,
    /// Number of replies in the longest conversation.
    pub depth: usize,
    /// Sessions.
    pub sessions: usize,
    /// Sessions with a request in progress.
    pub busy: usize,
    /// Replies that are cached for retries.
    pub replies: usize,
    /// Bytes of the cached replies.
    pub reply_bytes: usize,
}

/// The index of all known sessions. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct SessionIndex(Arc<SessionIndexShared>);

#[derive(Debug)]
struct SessionIndexShared {
    config: config::SessionConfig,
    state: Mutex<SessionTable>,
}

/// Exclusive use of a session for one request. Dropping it releases the session.
#[derive(Debug)]
pub struct SessionGuard {
    shared: Arc<SessionIndexShared>,
    serial: u32,
    session: Arc<str>,
    match_kind: SessionMatchKind,
    forked_from: Option<Arc<str>>,
    scope: u128,
    fingerprint: Option<u128>,
    origin: RequestOrigin,
    /// The opening by which requests of the same conversation find that it is in progress.
    opening: Option<u128>,
    /// The session was created for this request and has no reply yet.
    is_new: bool,
    /// The session in the store, where several nodes share it.
    claim: Option<Box<SharedClaim>>,
}

impl SessionIndex {
    /// Creates an empty index.
    pub fn new(config: config::SessionConfig) -> SessionIndex {
        // A retry comes soon. The rest is for replies that clients refer to by id.
        let (max, max_replies) = (config.max_prefixes, config.reply_cache / 8);
        let state = SessionTable::new(max.min(MAX_RESERVED), max, max_replies);
        SessionIndex(Arc::new(SessionIndexShared { config, state: Mutex::new(state) }))
    }

    /// Loads the sessions of a previous process, each with the time since its last use.
    pub fn load(&self, heads: impl IntoIterator<Item = (SessionHead, Duration)>) {
        let now = Instant::now();
        let mut state = self.0.lock();
        for (head, age) in heads {
            let Some(at) = now.checked_sub(age) else { continue };
            let serial = state.find_or_create(&head.session, None, at);
            if let Some(session) = state.session_mut(serial) {
                (session.used, session.is_fresh) = (true, false);
            }
            let number = state.session(serial).map_or(0, |session| session.newest);
            state.prefixes.put(digest_key(head.value), PrefixNode { session: serial, number });
        }
    }

    /// Finds the session of a request, and reserves it for that request.
    pub async fn claim(&self, query: SessionQuery<'_>) -> SessionMatch {
        let deadline = match self.0.config.busy_wait {
            BusyPolicy::Wait(max_wait) => Some(Instant::now() + max_wait),
            BusyPolicy::Refuse => None,
        };
        loop {
            let waiting = match self.try_claim(&query) {
                Ok(claimed) => return claimed,
                Err(waiting) => waiting,
            };
            // Another waiting request may have been faster after a notification; then wait again.
            let notified = waiting.notified();
            let Some(deadline) = deadline else { return SessionMatch::Busy };
            if timeout_at(deadline.min(Instant::now() + RECHECK_INTERVAL), notified).await.is_err()
                && Instant::now() >= deadline
            {
                return SessionMatch::Busy;
            }
        }
    }

    /// Whether a name is a session id that we issued to this owner: its conversation is unnamed.
    pub(crate) fn is_issued_name(&self, owner: &str, name: &str) -> bool {
        let state = self.0.lock();
        let serial = state.find(&session_ids::named_session_id(owner, name));
        let session = serial.and_then(|serial| state.session(serial));
        session.is_some_and(|it| it.is_issued && it.owner == Some(owner_key(owner)))
    }

    /// How long a request waits for a busy session.
    pub(crate) fn busy_policy(&self) -> BusyPolicy {
        self.0.config.busy_wait
    }

    /// The size of the index.
    pub fn stats(&self) -> SessionStats {
        let state = self.0.lock();
        let (replies, reply_bytes) = state.replies.size();
        SessionStats {
            nodes: state.prefixes.len(),
            depth: state.sessions().map(|it| it.newest as usize).max().unwrap_or(0),
            sessions: state.sessions().len(),
            busy: state.sessions().filter(|session| session.busy.is_some()).count(),
            replies,
            reply_bytes,
        }
    }

    /// Removes sessions and replies that have expired.
    pub fn sweep(&self) {
        let (now, config) = (Instant::now(), self.0.config);
        let mut state = self.0.lock();
        state.forget_sessions(|session| now.duration_since(session.at) > config.session_ttl);
        state.replies.expire(now, config.reply_ttl);
        state.forget_unpublished();
    }

    fn try_claim(&self, query: &SessionQuery<'_>) -> Result<SessionMatch, Arc<Notify>> {
        let now = Instant::now();
        let config = &self.0.config;
        let mut state = self.0.lock();
        if query.retry_mark == RetryMark::Retry {
            match state.replies.find(query.fingerprint, now, config.reply_ttl) {
                ReplayLookup::Ready(cached) => return Ok(SessionMatch::Replay(cached)),
                ReplayLookup::Pending(waiting) => return Err(waiting),
                ReplayLookup::Missing => {}
            }
        }
        let (serial, match_kind, forked_from) = state.resolve(query, now, config)?;
        let Some(session) = state.session_mut(serial) else { return Ok(SessionMatch::Busy) };
        session.at = now;
        session.busy = Some(Arc::new(Notify::new()));
        session.has_tools |= query.traits.has_tools;
        session.awaits_results = false;
        let (id, is_new) = (session.id(), std::mem::take(&mut session.is_fresh));
        let SessionQuery { scope, origin, .. } = *query;
        let is_named = matches!(query.selector, SessionSelector::Name(_));
        let opening = query.traits.opening.filter(|_| is_named);
        if let Some(opening) = opening {
            state.openings.insert(opening, serial);
        }
        let fingerprint = (query.retry_mark != RetryMark::Ignored
            && state.replies.expect_reply(query.fingerprint, origin, now, config.reply_ttl))
        .then_some(query.fingerprint);
        let shared = self.0.clone();
        let guard = SessionGuard {
            shared,
            serial,
            session: id,
            match_kind,
            forked_from,
            scope,
            fingerprint,
            origin,
            opening,
            is_new,
            claim: None,
        };
        Ok(SessionMatch::Acquired(guard))
    }
}

/// For how many sessions room is reserved at most.
const MAX_RESERVED: usize = 1_000_000;
/// Waiting requests check again after this time, in case they missed a notification.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

impl SessionGuard {
    /// The session.
    pub fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// How it was found.
    pub fn match_kind(&self) -> SessionMatchKind {
        self.match_kind
    }

    /// The session it branched off from.
    pub fn forked_from(&self) -> Option<&Arc<str>> {
        self.forked_from.as_ref()
    }

    /// The session in the store, where several nodes share it.
    pub(crate) fn shared_claim(&self) -> Option<&SharedClaim> {
        self.claim.as_deref()
    }

    /// Notes that the reply has calls: until their results come, or time out, the session is not
    /// free for another conversation under its name.
    pub fn expect_results(&mut self) {
        if let Some(claim) = &mut self.claim {
            return claim.expect_results(self.shared.config.call_timeout);
        }
        if let Some(session) = self.shared.lock().session_mut(self.serial) {
            session.awaits_results = true;
        }
    }

    /// Records a complete reply. From now on the conversation is found by it, also by its id where
    /// the client may name it, and a retry gets the cached reply.
    ///
    /// `also`: digests after earlier replies from which a client may continue as well, since this
    /// reply only repeats them.
    pub fn commit_reply(
        &mut self,
        tip: u128,
        also: &[u128],
        reply_id: Option<&str>,
        cached: Option<CachedReply>,
    ) {
        self.is_new = false;
        let mut state = self.shared.lock();
        let state = &mut *state;
        let unconfirmed_reply =
            self.fingerprint.filter(|_| self.origin == RequestOrigin::Anonymous);
        let digests = also.iter().chain([&tip]).map(|value| digest_key(*value));
        let id = reply_id.map(|id| reply_key(id, self.scope));
        let keys: Vec<u64> = digests.chain(id).collect();
        let contents = reply_id.and_then(|id| state.announced.remove(id)).unwrap_or_default();
        if let Some(claim) = &mut self.claim {
            let config = &self.shared.config;
            claim.commit(&keys, contents, unconfirmed_reply, config.session_ttl);
            state.make_room(config.max_prefixes);
            state.keep_shared(&claim.id, &claim.session, &keys);
        } else if let Some(session) = state.session_mut(self.serial) {
            session.newest += 1;
            session.used = true;
            session.at = Instant::now();
            session.unconfirmed_reply = unconfirmed_reply.map(u128::to_ne_bytes);
            let node = PrefixNode { session: self.serial, number: session.newest };
            keys.iter().for_each(|key| state.prefixes.put(*key, node));
            state.note_unpublished(&self.session, keys, contents);
        }
        if let (Some(fingerprint), Some(cached)) = (self.fingerprint.take(), cached) {
            state.replies.put(fingerprint, cached, Instant::now());
        }
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let lost_reply = self.fingerprint.take();
        if let Some(fingerprint) = lost_reply {
            state.replies.cancel(fingerprint);
        }
        if let Some(claim) = self.claim.take() {
            if claim.is_busy_here {
                state.make_free(&claim.id);
            }
            return claim.release(lost_reply, self.shared.config.session_ttl);
        }
        if let Some(opening) = self.opening.take() {
            state.openings.remove(&opening);
        }
        let session = state.session_mut(self.serial);
        if let Some(waiting) = session.and_then(|session| session.busy.take()) {
            waiting.notify_waiters();
        }
        // A session without a reply can only be found by its name, and that creates it again.
        if self.is_new {
            state.remove(self.serial);
        }
    }
}

impl SessionIndexShared {
    fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
