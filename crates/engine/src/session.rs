//! Finds the session of a request, without the client's help: by a name where there is one, else by
//! the longest beginning of the conversation that was seen before.
//!
//! A conversation is a chain of digests, one value after each message. What is remembered is one
//! value per exchange: the one behind its reply. A request whose history goes on behind the newest
//! reply of a session continues it; one that goes on behind an older reply, or while the session is
//! at work, is a branch and gets a session of its own. Nothing here knows a provider or a store.

mod session_ids;
mod keys;
mod query;
mod prefix_index;
mod replay_cache;
mod table;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::config::{self, BusyPolicy};
use keys::{digest_key, owner_key, reply_key};
use prefix_index::{PrefixIndex, PrefixNode};
use replay_cache::{ReplayCache, ReplayLookup};
use table::SessionTable;

pub use query::{RequestOrigin, RetryMark, SessionMatchKind, SessionQuery, SessionSelector};
pub use replay_cache::CachedReply;
pub(crate) use session_ids::{LONGEST_NAME, is_session_name, named_session_id};
pub use session_ids::{SessionScope, conversation_scope};

/// What became of a request that looked for its session.
#[derive(Debug)]
pub enum SessionMatch {
    /// It has its session for itself.
    Acquired(SessionGuard),
    /// It was answered before.
    Replay(Arc<CachedReply>),
    /// Another request of the session is at work, for too long.
    Busy,
}

/// The newest place of a session: enough to find it again after a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionHead {
    /// The session.
    pub session: Arc<str>,
    /// The value behind its newest reply.
    pub value: u128,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// How much is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionStats {
    /// Replies by which a conversation can be found.
    pub nodes: usize,
    /// Replies of the longest conversation.
    pub depth: usize,
    /// Sessions.
    pub sessions: usize,
    /// Sessions at work.
    pub busy: usize,
    /// Replies that are kept for clients that ask again.
    pub replies: usize,
    /// Bytes of them.
    pub reply_bytes: usize,
}

/// Everything that is remembered. A copy is the same.
#[derive(Clone, Debug)]
pub struct SessionIndex(Arc<SessionIndexShared>);

#[derive(Debug)]
struct SessionIndexShared {
    config: config::SessionConfig,
    state: Mutex<SessionTable>,
}

/// A session that one request has for itself. Dropping it sets the session free.
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
    /// The session was made for this request, and there is no reply yet.
    is_new: bool,
}

impl SessionIndex {
    /// Remembers nothing yet.
    pub fn new(config: config::SessionConfig) -> SessionIndex {
        let state = SessionTable {
            prefixes: PrefixIndex::new(config.nodes),
            sessions: HashMap::new(),
            by_name: HashMap::new(),
            replies: ReplayCache::new(config.replies),
            next: 0,
        };
        SessionIndex(Arc::new(SessionIndexShared { config, state: Mutex::new(state) }))
    }

    /// Sessions of before a restart, with how long ago they were used.
    pub fn load(&self, tips: impl IntoIterator<Item = (SessionHead, Duration)>) {
        let now = Instant::now();
        let mut state = self.0.lock();
        for (tip, ago) in tips {
            let Some(at) = now.checked_sub(ago) else { continue };
            let serial = state.find_or_create(&tip.session, None, at);
            if let Some(session) = state.sessions.get_mut(&serial) {
                session.used = true;
            }
            let number = state.sessions.get(&serial).map_or(0, |session| session.newest);
            state.prefixes.put(digest_key(tip.value), PrefixNode { session: serial, number });
        }
    }

    /// Finds the session of a request, and keeps it for that request.
    pub async fn claim(&self, wanted: SessionQuery<'_>) -> SessionMatch {
        let deadline = match self.0.config.busy {
            BusyPolicy::Wait(long) => Some(Instant::now() + long),
            BusyPolicy::Refuse => None,
        };
        loop {
            let waiting = match self.try_claim(&wanted) {
                Ok(claimed) => return claimed,
                Err(waiting) => waiting,
            };
            // Whoever is told may find somebody else was faster; then it waits on.
            let told = waiting.notified();
            let Some(deadline) = deadline else { return SessionMatch::Busy };
            if timeout_at(deadline.min(Instant::now() + RECHECK_INTERVAL), told).await.is_err()
                && Instant::now() >= deadline
            {
                return SessionMatch::Busy;
            }
        }
    }

    /// Whether an owner means a session by a name that we gave out: its conversation has no name.
    pub(crate) fn is_issued_name(&self, owner: &str, name: &str) -> bool {
        let state = self.0.lock();
        let serial = state.by_name.get(&*session_ids::named_session_id(owner, name));
        let session = serial.and_then(|serial| state.sessions.get(serial));
        session.is_some_and(|it| it.is_issued && it.owner == Some(owner_key(owner)))
    }

    /// How much is remembered.
    pub fn stats(&self) -> SessionStats {
        let state = self.0.lock();
        let (replies, reply_bytes) = state.replies.size();
        SessionStats {
            nodes: state.prefixes.len(),
            depth: state.sessions.values().map(|it| it.newest as usize).max().unwrap_or(0),
            sessions: state.sessions.len(),
            busy: state.sessions.values().filter(|session| session.busy.is_some()).count(),
            replies,
            reply_bytes,
        }
    }

    /// Forgets what nobody used for too long.
    pub fn sweep(&self) {
        let (now, config) = (Instant::now(), self.0.config);
        let mut state = self.0.lock();
        state.forget_sessions(|session| now.duration_since(session.at) > config.session);
        state.replies.expire(now, config.snapshot);
    }

    fn try_claim(&self, wanted: &SessionQuery<'_>) -> Result<SessionMatch, Arc<Notify>> {
        let now = Instant::now();
        let config = &self.0.config;
        let mut state = self.0.lock();
        if wanted.retry_mark == RetryMark::Retry {
            match state.replies.find(wanted.fingerprint, now, config.snapshot) {
                ReplayLookup::Ready(stored) => return Ok(SessionMatch::Replay(stored)),
                ReplayLookup::Pending(waiting) => return Err(waiting),
                ReplayLookup::Missing => {}
            }
        }
        let next = state.next;
        let (serial, matched, forked) = state.resolve(wanted, now, config)?;
        let unused = state.next != next;
        let Some(session) = state.sessions.get_mut(&serial) else { return Ok(SessionMatch::Busy) };
        session.at = now;
        session.busy = Some(Arc::new(Notify::new()));
        let id = session.id.clone();
        let SessionQuery { scope, origin, .. } = *wanted;
        let fingerprint = (wanted.retry_mark != RetryMark::Ignored
            && state.replies.expect_reply(wanted.fingerprint, origin, now, config.snapshot))
        .then_some(wanted.fingerprint);
        let shared = self.0.clone();
        let held = SessionGuard {
            shared,
            serial,
            session: id,
            match_kind: matched,
            forked_from: forked,
            scope,
            fingerprint,
            origin,
            is_new: unused,
        };
        Ok(SessionMatch::Acquired(held))
    }
}

/// A waiter that missed its call looks again after so long.
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

    /// There is a reply: the conversation is found by it from now on, also by its id where the
    /// client may name it, and a client that asks again gets the same.
    ///
    /// `also`: values behind earlier replies from which a client may go on as well as from this
    /// one, since it only repeats what they said.
    pub fn commit_reply(
        &mut self,
        tip: u128,
        also: &[u128],
        reply_id: Option<&str>,
        stored: Option<CachedReply>,
    ) {
        self.is_new = false;
        let mut state = self.shared.lock();
        let state = &mut *state;
        if let Some(session) = state.sessions.get_mut(&self.serial) {
            session.newest += 1;
            session.used = true;
            session.at = Instant::now();
            session.unconfirmed_reply =
                self.fingerprint.filter(|_| self.origin == RequestOrigin::Anonymous);
            let node = PrefixNode { session: self.serial, number: session.newest };
            for value in also.iter().chain([&tip]) {
                state.prefixes.put(digest_key(*value), node);
            }
            if let Some(id) = reply_id {
                state.prefixes.put(reply_key(id, self.scope), node);
            }
        }
        if let (Some(fingerprint), Some(stored)) = (self.fingerprint.take(), stored) {
            state.replies.put(fingerprint, stored, Instant::now());
        }
    }
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(fingerprint) = self.fingerprint.take() {
            state.replies.cancel(fingerprint);
        }
        let session = state.sessions.get_mut(&self.serial);
        if let Some(waiting) = session.and_then(|session| session.busy.take()) {
            waiting.notify_waiters();
        }
        // Nobody can find a session without a reply, but by its name, and that makes it again.
        if self.is_new
            && let Some(session) = state.sessions.remove(&self.serial)
        {
            state.by_name.remove(&session.id);
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
