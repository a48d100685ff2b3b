//! Every known session with its prefixes and kept replies, and which of them a request belongs to.

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
    pub(super) replies: ReplayCache,
    /// The number of the next session.
    pub(super) next: u32,
}

#[derive(Debug)]
pub(super) struct IndexedSession {
    pub(super) id: Arc<str>,
    /// Whose it is, if that is known, and whether its id was given out by us.
    pub(super) owner: Option<u64>,
    pub(super) is_issued: bool,
    /// The number of its newest exchange.
    pub(super) newest: u32,
    /// Whether there ever was an exchange.
    pub(super) used: bool,
    /// The newest reply, if it is kept and nothing shows yet that its client has it.
    pub(super) unconfirmed_reply: Option<u128>,
    /// When it was used last.
    pub(super) at: Instant,
    /// Somebody is at work; whoever waits is told when that ends.
    pub(super) busy: Option<Arc<Notify>>,
}

pub(super) type ResolvedSession = (u32, SessionMatchKind, Option<Arc<str>>);

impl SessionTable {
    pub(super) fn resolve(
        &mut self,
        wanted: &SessionQuery<'_>,
        now: Instant,
        config: &config::SessionConfig,
    ) -> Result<ResolvedSession, Arc<Notify>> {
        self.make_room(config.nodes);
        match wanted.selector {
            SessionSelector::Name(name) => {
                let serial = self.find_named(wanted.owner, name, now);
                match self.sessions.get(&serial).and_then(|session| session.busy.clone()) {
                    Some(waiting) => Err(waiting),
                    None => Ok((serial, SessionMatchKind::Named, None)),
                }
            }
            SessionSelector::CacheKey(name) => {
                let owner = wanted.owner;
                let found = self.continue_session(
                    wanted,
                    wanted.prefix_keys(),
                    SessionMatchKind::Named,
                    now,
                    config.session,
                );
                if let Some(found) = found {
                    return Ok(found);
                }
                // Many conversations may share such a name: the first of them has its session, and
                // one that does not go on behind a reply under it has one of its own.
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
                let serial = self.find_or_create(id, Some(wanted.owner), now);
                match self.sessions.get(&serial).and_then(|session| session.busy.clone()) {
                    Some(waiting) => Err(waiting),
                    None => {
                        self.confirm_reply(serial);
                        Ok((serial, SessionMatchKind::Call, None))
                    }
                }
            }
            SessionSelector::Reply(id) => {
                let values = [reply_key(id, wanted.scope)];
                let found = self.continue_session(
                    wanted,
                    values,
                    SessionMatchKind::Reply,
                    now,
                    config.session,
                );
                Ok(found.unwrap_or_else(|| self.start_session(wanted.owner, now)))
            }
            SessionSelector::None => {
                let found = self.continue_session(
                    wanted,
                    wanted.prefix_keys(),
                    SessionMatchKind::Prefix,
                    now,
                    config.session,
                );
                Ok(found.unwrap_or_else(|| self.start_session(wanted.owner, now)))
            }
        }
    }

    /// A conversation that nobody has seen.
    pub(super) fn start_session(&mut self, owner: &str, now: Instant) -> ResolvedSession {
        (self.create_unnamed(owner, now), SessionMatchKind::New, None)
    }

    /// A client goes on behind the newest reply of a session, so it has that: whoever asks for it
    /// again is somebody else.
    pub(super) fn confirm_reply(&mut self, serial: u32) {
        let session = self.sessions.get_mut(&serial);
        if let Some(fingerprint) = session.and_then(|session| session.unconfirmed_reply.take()) {
            self.replies.forget(fingerprint);
        }
    }

    /// The session behind the first of these values that is known.
    pub(super) fn continue_session(
        &mut self,
        wanted: &SessionQuery<'_>,
        values: impl IntoIterator<Item = u64>,
        matched: SessionMatchKind,
        now: Instant,
        longest: Duration,
    ) -> Option<ResolvedSession> {
        let mut values = values.into_iter();
        let found = values.find_map(|value| {
            let node = self.prefixes.get(value)?;
            let session = self.sessions.get(&node.session)?;
            let fresh = now.duration_since(session.at) <= longest;
            fresh.then(|| (node, session.newest, session.busy.is_some(), session.id.clone()))
        });
        let (node, newest, busy, id) = found?;
        if !busy && node.number == newest {
            self.confirm_reply(node.session);
            return Some((node.session, matched, None));
        }
        Some((self.create_unnamed(wanted.owner, now), SessionMatchKind::New, Some(id)))
    }

    /// The session that an owner calls so. Whoever knows the id of somebody else's gets its own.
    pub(super) fn find_named(&mut self, owner: &str, name: &str, at: Instant) -> u32 {
        let id = session_ids::named_session_id(owner, name);
        let found = self.by_name.get(&id).and_then(|serial| self.sessions.get(serial));
        let foreign = found.and_then(|it| it.owner).is_some_and(|it| it != owner_key(owner));
        let id = if foreign { session_ids::hashed_session_id(owner, name) } else { id };
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

    /// A session that nobody has named.
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
            at,
            busy: None,
        };
        self.sessions.insert(serial, session);
        serial
    }

    /// At most so many sessions: the older half of those at rest goes.
    pub(super) fn make_room(&mut self, most: usize) {
        if self.sessions.len() < most.max(2) {
            return;
        }
        let mut times: Vec<Instant> = self.sessions.values().map(|session| session.at).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        self.forget_sessions(|session| session.at <= median);
    }

    pub(super) fn forget_sessions(&mut self, old: impl Fn(&IndexedSession) -> bool) {
        let before = self.sessions.len();
        let SessionTable { sessions, by_name, .. } = self;
        sessions.retain(|_, session| {
            let stays = session.busy.is_some() || !old(session);
            if !stays {
                by_name.remove(&session.id);
            }
            stays
        });
        if self.sessions.len() < before {
            let sessions = &self.sessions;
            self.prefixes.retain(|node| sessions.contains_key(&node.session));
        }
    }
}
