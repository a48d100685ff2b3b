//! All known sessions with their prefixes and cached replies. Finds the session of a request.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use super::{
    SessionMatchKind, SessionQuery, SessionSelector,
    keys::{owner_key, reply_key},
    prefix_index::PrefixIndex,
    replay_cache::ReplayCache,
    session_ids,
};
use crate::config;

#[derive(Debug)]
pub(super) struct SessionTable {
    pub(super) prefixes: PrefixIndex,
    pub(super) sessions: HashMap<u32, IndexedSession>,
    pub(super) by_name: HashMap<Arc<str>, u32>,
    /// Openings of the named conversations in progress.
    pub(super) openings: HashMap<u128, u32>,
    pub(super) replies: ReplayCache,
    /// The number of the next session.
    pub(super) next: u32,
}

#[derive(Debug)]
pub(super) struct IndexedSession {
    pub(super) id: Arc<str>,
    /// The owner, if known, and whether we issued the id.
    pub(super) owner: Option<u64>,
    pub(super) is_issued: bool,
    /// The number of its newest exchange.
    pub(super) newest: u32,
    /// Whether the session ever had an exchange.
    pub(super) used: bool,
    /// The fingerprint of the newest reply, if it is cached and its client has not confirmed it
    /// yet.
    pub(super) unconfirmed_reply: Option<u128>,
    /// Whether a request of the session declared tools.
    pub(super) has_tools: bool,
    /// Until when calls of the newest reply wait for their results.
    pub(super) results_due: Option<Instant>,
    /// The session that has the name of this one now.
    pub(super) continued_in: Option<u32>,
    /// When the session was last used.
    pub(super) at: Instant,
    /// Set while a request is in progress; waiting requests are notified when it ends.
    pub(super) busy: Option<Arc<Notify>>,
}

pub(super) type ResolvedSession = (u32, SessionMatchKind, Option<Arc<str>>);

impl SessionTable {
    pub(super) fn resolve(
        &mut self,
        query: &SessionQuery<'_>,
        now: Instant,
        config: &config::SessionConfig,
    ) -> Result<ResolvedSession, Arc<Notify>> {
        self.make_room(config.max_prefixes);
        match query.selector {
            SessionSelector::Name(name) => self.resolve_name(query, name, now, config.session_ttl),
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
                let session = self.sessions.get(&serial);
                match session.filter(|session| session.used || session.busy.is_some()) {
                    Some(first) => {
                        let first = first.id.clone();
                        Ok((self.create_unnamed(owner, now), SessionMatchKind::New, Some(first)))
                    }
                    None => Ok((serial, SessionMatchKind::Named, None)),
                }
            }
            SessionSelector::SessionId(id) => {
                let serial = self.find_or_create(id, Some(query.owner), now);
                match self.sessions.get(&serial).and_then(|session| session.busy.clone()) {
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
        let session = self.sessions.get_mut(&serial);
        if let Some(fingerprint) = session.and_then(|session| session.unconfirmed_reply.take()) {
            self.replies.forget(fingerprint);
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
            let session = self.sessions.get(&node.session)?;
            let is_recent = now.duration_since(session.at) <= max_age;
            is_recent.then(|| (node, session.newest, session.busy.is_some(), session.id.clone()))
        });
        let (node, newest, busy, id) = found?;
        if !busy && node.number == newest {
            self.confirm_reply(node.session);
            return Some((node.session, match_kind, None));
        }
        Some((self.create_unnamed(query.owner, now), SessionMatchKind::New, Some(id)))
    }

    /// The session with this name. A client that sends another owner's session id gets its own
    /// session.
    pub(super) fn find_named(&mut self, owner: &str, name: &str, at: Instant) -> u32 {
        let id = session_ids::named_session_id(owner, name);
        let found = self.by_name.get(&id).and_then(|serial| self.sessions.get(serial));
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
        match self.by_name.get(id) {
            Some(serial) => *serial,
            None => self.create_session(id.clone(), owner, at),
        }
    }

    /// Creates a session without a name.
    pub(super) fn create_unnamed(&mut self, owner: &str, at: Instant) -> u32 {
        let serial = self.create_session(session_ids::new_session_id(), Some(owner), at);
        if let Some(session) = self.sessions.get_mut(&serial) {
            session.is_issued = true;
        }
        serial
    }

    pub(super) fn create_session(&mut self, id: Arc<str>, owner: Option<&str>, at: Instant) -> u32 {
        let serial = self.next;
        self.next = self.next.wrapping_add(1);
        self.by_name.insert(id.clone(), serial);
        let session = IndexedSession {
            id,
            owner: owner.map(owner_key),
            is_issued: false,
            newest: 0,
            used: false,
            unconfirmed_reply: None,
            has_tools: false,
            results_due: None,
            continued_in: None,
            at,
            busy: None,
        };
        self.sessions.insert(serial, session);
        serial
    }

    /// Keeps at most `max` sessions: drops the older half of the idle ones.
    pub(super) fn make_room(&mut self, max: usize) {
        if self.sessions.len() < max.max(2) {
            return;
        }
        let mut times: Vec<Instant> = self.sessions.values().map(|session| session.at).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        self.forget_sessions(|session| session.at <= median);
    }

    pub(super) fn forget_sessions(&mut self, expired: impl Fn(&IndexedSession) -> bool) {
        let before = self.sessions.len();
        let SessionTable { sessions, by_name, .. } = self;
        sessions.retain(|_, session| {
            let keep = session.busy.is_some() || !expired(session);
            if !keep {
                by_name.remove(&session.id);
            }
            keep
        });
        if self.sessions.len() < before {
            let sessions = &self.sessions;
            self.prefixes.retain(|node| sessions.contains_key(&node.session));
        }
    }
}
