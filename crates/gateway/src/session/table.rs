//! All known sessions with their prefixes and cached replies. Finds the session of a request.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use hashbrown::HashTable;
use slab::Slab;
use tokio::{sync::Notify, time::Instant};

use super::{
    SessionMatchKind, SessionQuery, SessionSelector,
    keys::{owner_key, reply_key},
    prefix_index::PrefixIndex,
    replay_cache::ReplayCache,
    session_ids::{self, CompactId},
};
use crate::config;

#[derive(Debug)]
pub(super) struct SessionTable {
    pub(super) prefixes: PrefixIndex,
    /// Sessions by number. A number is used again after the session is forgotten with all references.
    sessions: Slab<IndexedSession>,
    /// The numbers of sessions, by the hashes of their ids.
    by_id: HashTable<u32>,
    hasher: RandomState,
    /// Openings of the named conversations in progress.
    pub(super) openings: HashMap<u128, u32>,
    pub(super) replies: ReplayCache,
    /// The entries of what replies have that are not committed yet, by the id of the reply.
    pub(super) announced: HashMap<Box<str>, Vec<String>>,
    /// What was committed without the store, by session. `None` where no other node shares sessions.
    pub(super) unpublished: Option<HashMap<Arc<str>, UnpublishedReplies>>,
}

/// The replies of a session that are not in the store.
#[derive(Clone, Debug, Default)]
pub(super) struct UnpublishedReplies {
    /// How many there are.
    pub(super) count: u32,
    /// The keys by which the newest is found.
    pub(super) newest: Vec<u64>,
    /// The keys of the others.
    pub(super) earlier: Vec<u64>,
    /// The entries of what later requests may refer to.
    pub(super) contents: Vec<String>,
    /// They are not published before this.
    pub(super) deferred_until: Option<Instant>,
}

/// A known session. There may be a million of them, so every byte counts.
#[derive(Debug)]
pub(super) struct IndexedSession {
    id: CompactId,
    /// The owner, if known, and whether we issued the id.
    pub(super) owner: Option<u64>,
    pub(super) is_issued: bool,
    /// The number of its newest exchange.
    pub(super) newest: u32,
    /// Whether the session ever had an exchange.
    pub(super) used: bool,
    /// The fingerprint of the newest reply, if it is cached and its client has not confirmed it
    /// yet. As bytes, so that no room is left for alignment.
    pub(super) unconfirmed_reply: Option<[u8; 16]>,
    /// Whether no request has had the session yet.
    pub(super) is_fresh: bool,
    /// Whether a request of the session declared tools.
    pub(super) has_tools: bool,
    /// Whether calls of the newest reply wait for their results, unless they timed out.
    pub(super) awaits_results: bool,
    /// The session that has the name of this one now.
    pub(super) continued_in: Option<u32>,
    /// When the session was last used.
    pub(super) at: Instant,
    /// Set while a request is in progress; waiting requests are notified when it ends.
    pub(super) busy: Option<Arc<Notify>>,
}

pub(super) type ResolvedSession = (u32, SessionMatchKind, Option<Arc<str>>);

impl IndexedSession {
    pub(super) fn id(&self) -> Arc<str> {
        self.id.text()
    }
}

impl SessionTable {
    /// An empty table. The room that it reserves takes no memory before it is used, and need not be
    /// copied to grow.
    pub(super) fn new(
        reserved: usize,
        max_prefixes: usize,
        max_reply_bytes: usize,
    ) -> SessionTable {
        SessionTable {
            prefixes: PrefixIndex::new(max_prefixes),
            sessions: Slab::with_capacity(reserved),
            by_id: HashTable::new(),
            hasher: RandomState::new(),
            openings: HashMap::new(),
            replies: ReplayCache::new(max_reply_bytes),
            announced: HashMap::new(),
            unpublished: None,
        }
    }

    pub(super) fn session(&self, serial: u32) -> Option<&IndexedSession> {
        self.sessions.get(serial as usize)
    }

    pub(super) fn session_mut(&mut self, serial: u32) -> Option<&mut IndexedSession> {
        self.sessions.get_mut(serial as usize)
    }

    /// All sessions.
    pub(super) fn sessions(&self) -> impl ExactSizeIterator<Item = &IndexedSession> {
        self.sessions.iter().map(|(_, session)| session)
    }

    /// The number of the session with this id.
    pub(super) fn find(&self, id: &str) -> Option<u32> {
        let SessionTable { sessions, by_id, hasher, .. } = self;
        let id = CompactId::new(id);
        let has_id = |serial: &u32| sessions.get(*serial as usize).is_some_and(|it| it.id == id);
        by_id.find(hasher.hash_one(&id), has_id).copied()
    }

    pub(super) fn resolve(
        &mut self,
        query: &SessionQuery<'_>,
        now: Instant,
        config: &config::SessionConfig,
    ) -> Result<ResolvedSession, Arc<Notify>> {
        self.make_room(config.max_prefixes);
        match query.selector {
            SessionSelector::Name(name) => self.resolve_name(query, name, now, config),
            SessionSelector::CacheKey(name) => {
                let owner = query.owner;
                let found = self.continue_session(
                    query,
                    query.prefix_keys(),
                    SessionMatchKind::Named,
                    now,
                    config.session_ttl,
                );
                if let Some(found) = found {
                    return Ok(found);
                }
                // Many conversations may share a cache key. The first of them has the session of
                // that name; one that does not continue a reply under it gets a session of its own.
                let serial = self.find_named(owner, name, now);
                let session = self.session(serial);
                match session.filter(|session| session.used || session.busy.is_some()) {
                    Some(first) => {
                        let first = first.id();
                        Ok((self.create_unnamed(owner, now), SessionMatchKind::New, Some(first)))
                    }
                    None => Ok((serial, SessionMatchKind::Named, None)),
                }
            }
            SessionSelector::SessionId(id) => {
                let serial = self.find_or_create(id, Some(query.owner), now);
                match self.session(serial).and_then(|session| session.busy.clone()) {
                    Some(waiting) => Err(waiting),
                    None => {
                        self.confirm_reply(serial);
                        Ok((serial, SessionMatchKind::Call, None))
                    }
                }
            }
            SessionSelector::Reply(id) => {
                let values = [reply_key(id, query.scope)];
                let found = self.continue_session(
                    query,
                    values,
                    SessionMatchKind::Reply,
                    now,
                    config.session_ttl,
                );
                Ok(found.unwrap_or_else(|| self.start_session(query.owner, now)))
            }
            SessionSelector::None => {
                let found = self.continue_session(
                    query,
                    query.prefix_keys(),
                    SessionMatchKind::Prefix,
                    now,
                    config.session_ttl,
                );
                Ok(found.unwrap_or_else(|| self.start_session(query.owner, now)))
            }
        }
    }

    /// Starts a session for an unknown conversation.
    pub(super) fn start_session(&mut self, owner: &str, now: Instant) -> ResolvedSession {
        (self.create_unnamed(owner, now), SessionMatchKind::New, None)
    }

    /// A client that continues after the newest reply has received it, so a later retry of that
    /// request comes from another client.
    pub(super) fn confirm_reply(&mut self, serial: u32) {
        let session = self.session_mut(serial);
        if let Some(fingerprint) = session.and_then(|session| session.unconfirmed_reply.take()) {
            self.replies.forget(u128::from_ne_bytes(fingerprint));
        }
    }

    /// The session of the first key that is known.
    pub(super) fn continue_session(
        &mut self,
        query: &SessionQuery<'_>,
        keys: impl IntoIterator<Item = u64>,
        match_kind: SessionMatchKind,
        now: Instant,
        max_age: Duration,
    ) -> Option<ResolvedSession> {
        let mut keys = keys.into_iter();
        let found = keys.find_map(|key| {
            let node = self.prefixes.get(key)?;
            let session = self.session(node.session)?;
            let is_recent = now.duration_since(session.at) <= max_age;
            let is_free = session.busy.is_none() && node.number == session.newest;
            is_recent.then(|| (node.session, (!is_free).then(|| session.id())))
        });
        let (serial, branch_of) = found?;
        if branch_of.is_none() {
            self.confirm_reply(serial);
            return Some((serial, match_kind, None));
        }
        Some((self.create_unnamed(query.owner, now), SessionMatchKind::New, branch_of))
    }

    /// The session with this name. A client that sends another owner's session id gets its own
    /// session.
    pub(super) fn find_named(&mut self, owner: &str, name: &str, at: Instant) -> u32 {
        let id = session_ids::named_session_id(owner, name);
        let found = self.find(&id).and_then(|serial| self.session(serial));
        let is_foreign = found.and_then(|it| it.owner).is_some_and(|it| it != owner_key(owner));
        let id = if is_foreign { session_ids::hashed_session_id(owner, name) } else { id };
        self.find_or_create(&id, Some(owner), at)
    }

    pub(super) fn find_or_create(
        &mut self,
        id: &Arc<str>,
        owner: Option<&str>,
        at: Instant,
    ) -> u32 {
        self.find(id).unwrap_or_else(|| self.create_session(id, owner, at))
    }

    /// Creates a session without a name.
    pub(super) fn create_unnamed(&mut self, owner: &str, at: Instant) -> u32 {
        let serial = self.create_session(&session_ids::new_session_id(), Some(owner), at);
        if let Some(session) = self.session_mut(serial) {
            session.is_issued = true;
        }
        serial
    }

    pub(super) fn create_session(&mut self, id: &str, owner: Option<&str>, at: Instant) -> u32 {
        let session = IndexedSession {
            id: CompactId::new(id),
            owner: owner.map(owner_key),
            is_issued: false,
            newest: 0,
            used: false,
            unconfirmed_reply: None,
            is_fresh: true,
            has_tools: false,
            awaits_results: false,
            continued_in: None,
            at,
            busy: None,
        };
        let SessionTable { sessions, by_id, hasher, .. } = self;
        let hash = hasher.hash_one(&session.id);
        let serial = sessions.insert(session) as u32;
        by_id.insert_unique(hash, serial, |other| {
            sessions.get(*other as usize).map_or(0, |session| hasher.hash_one(&session.id))
        });
        serial
    }

    /// Marks a session as busy. Returns whether it is known and was free.
    pub(super) fn make_busy(&mut self, id: &str) -> bool {
        let session = self.find(id).and_then(|serial| self.session_mut(serial));
        let Some(session) = session.filter(|session| session.busy.is_none()) else { return false };
        session.busy = Some(Arc::default());
        true
    }

    /// Marks a session as free, and notifies the requests that wait for it.
    pub(super) fn make_free(&mut self, id: &str) {
        let session = self.find(id).and_then(|serial| self.session_mut(serial));
        if let Some(waiting) = session.and_then(|session| session.busy.take()) {
            waiting.notify_waiters();
        }
    }

    /// Removes a session that has no replies and so no references.
    pub(super) fn remove(&mut self, serial: u32) {
        let Some(session) = self.sessions.try_remove(serial as usize) else { return };
        let hash = self.hasher.hash_one(&session.id);
        if let Ok(entry) = self.by_id.find_entry(hash, |other| *other == serial) {
            entry.remove();
        }
    }

    /// Keeps at most `max` sessions: drops the older half of the idle ones.
    pub(super) fn make_room(&mut self, max: usize) {
        if self.sessions.len() < max.max(2) {
            return;
        }
        let mut times: Vec<Instant> = self.sessions().map(|session| session.at).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        self.forget_sessions(|session| session.at <= median);
    }

    pub(super) fn forget_sessions(&mut self, expired: impl Fn(&IndexedSession) -> bool) {
        let before = self.sessions.len();
        let SessionTable { sessions, by_id, prefixes, .. } = self;
        sessions.retain(|_, session| session.busy.is_some() || !expired(session));
        if sessions.len() == before {
            return;
        }
        by_id.retain(|serial| {
            let next = sessions.get(*serial as usize).map(|session| session.continued_in);
            if let Some(Some(next)) = next
                && !sessions.contains(next as usize)
                && let Some(session) = sessions.get_mut(*serial as usize)
            {
                session.continued_in = None;
            }
            next.is_some()
        });
        prefixes.retain(|node| sessions.contains(node.session as usize));
    }
}
