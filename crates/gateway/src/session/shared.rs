//! Sessions that several nodes share. Their state is in the store, as entries: one for each session,
//! and one for each digest, name and reply by which requests find it.
//!
//! A request is matched by the same rules as on one node: a table is built from the entries that
//! concern it. The node then takes the session's entry if it has not changed since. When the request
//! has ended, the new state is written and the entry released, in one step.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use foxwedge_store::{EntryHold, EntryVersion, EntryWrite, SharedEntry, node_key};
use tokio::{sync::mpsc::UnboundedSender, time::Instant};

use super::{
    CachedReply, RequestOrigin, RetryMark, SessionGuard, SessionIndex, SessionQuery,
    SessionSelector,
    keys::{digest_key, owner_key, reply_key},
    prefix_index::PrefixNode,
    replay_cache::ReplayLookup,
    session_ids::{hashed_session_id, named_session_id},
    shared_claim::{SharedClaim, SharedRelease},
    shared_entries::{
        SharedSession, digest_entry_key, main_key, millis, opening_key, removal, reply_entry_key,
        session_key,
    },
    table::SessionTable,
};
use crate::{config, ordered_id::unix_millis};

/// How many of the newest messages of a conversation are looked up.
const MAX_DIGESTS: usize = 1_000;
/// How long a request waits for a reply that it seems to continue: until a node is gone that was
/// killed while the request waited, which takes six seconds.
const REPLY_PATIENCE: Duration = Duration::from_secs(9);
/// How long a request waits for a reply that it names and nobody knows.
const NAME_PATIENCE: Duration = Duration::from_secs(2);

/// The entries that concern a request. While a request is in progress, the entry of its session links
/// to its last digest: several sessions may have requests with the same digests.
pub(crate) struct SharedFacts(HashMap<String, SharedEntry>);

/// What a node does with a request.
pub(crate) enum SharedPlan {
    /// Take this session.
    Take(Box<SharedClaim>),
    /// Wait until another request of the session has ended.
    Wait,
    /// Wait a little: the request seems to continue a reply that is about to end.
    WaitForReply,
    /// Return a cached reply.
    Replay(Arc<CachedReply>),
    /// Let the node with this key answer at this address: it has the reply.
    Forward { node: String, address: String },
}

/// The keys of everything that concerns a request.
pub(crate) fn lookup_keys(query: &SessionQuery<'_>) -> Vec<String> {
    let mut keys = vec![reply_entry_key(query.fingerprint)];
    match query.selector {
        SessionSelector::Name(name) | SessionSelector::CacheKey(name) => {
            let (own, hashed) =
                (named_session_id(query.owner, name), hashed_session_id(query.owner, name));
            keys.extend([session_key(&own), main_key(&own)]);
            if own != hashed {
                keys.extend([session_key(&hashed), main_key(&hashed)]);
            }
        }
        SessionSelector::SessionId(id) => keys.push(session_key(id)),
        SessionSelector::Reply(id) => keys.push(digest_entry_key(reply_key(id, query.scope))),
        SessionSelector::None => {}
    }
    keys.extend(query.traits.opening.map(opening_key));
    keys.extend(query.prefix_keys().take(MAX_DIGESTS).map(digest_entry_key));
    keys
}

impl SharedFacts {
    pub(crate) fn new(entries: Vec<SharedEntry>) -> SharedFacts {
        SharedFacts(entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect())
    }

    /// Whether the entry with this key exists. That of a session may be the session of the request.
    pub(crate) fn contain(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The key and the address of another node that is alive and has what a request refers to.
    pub(crate) fn content_node(
        &self,
        references: &[String],
        node: &str,
    ) -> Option<(String, String)> {
        let own_node = node_key(node);
        references.iter().find_map(|key| {
            let link = self.0.get(key)?.link.as_ref().filter(|link| **link != own_node)?;
            let address = String::from_utf8(self.0.get(link)?.value.clone()).ok()?;
            (!address.is_empty()).then(|| (link.clone(), address))
        })
    }

    fn session(&self, key: &str) -> Option<(&SharedEntry, SharedSession)> {
        let entry = self.0.get(key)?;
        Some((entry, serde_json::from_slice(&entry.value).ok()?))
    }

    /// The last digests of requests that are in progress, or that were when their node was killed.
    fn open_digests(&self, is_alive: bool) -> impl Iterator<Item = (&str, &SharedEntry)> {
        let has_holder = move |entry: &SharedEntry| {
            entry.holder.as_ref().is_some_and(|holder| holder.is_alive == is_alive)
        };
        let open = self.0.values().filter(move |entry| has_holder(entry));
        open.filter_map(|entry| Some((entry.link.as_deref()?, entry)))
    }

    /// The table of the sessions that concern a request.
    fn table(&self, now: Instant, now_ms: u64) -> SessionTable {
        let mut table = SessionTable::new(0, 2 * self.0.len() + 2, 0);
        for (key, entry) in &self.0 {
            let Some(id) = key.strip_prefix("session ") else { continue };
            let known = serde_json::from_slice::<SharedSession>(&entry.value).ok();
            // A session that is taken for the first time has no state yet, nor if its node was killed.
            if known.is_none() && entry.holder.is_none() {
                continue;
            }
            let serial = table.create_session(id, None, now);
            let Some(session) = table.session_mut(serial) else { continue };
            session.busy = is_held(entry).then(Arc::default);
            if let Some(known) = known {
                known.fill(session, now, now_ms);
            }
        }
        let serial = |table: &SessionTable, link: Option<&str>| {
            let id = link.and_then(|link| link.strip_prefix("session "))?;
            table.find(id)
        };
        for (key, entry) in &self.0 {
            let Some(linked) = serial(&table, entry.link.as_deref()) else { continue };
            match key.split_once(' ') {
                Some(("digest", digest)) => {
                    let number =
                        std::str::from_utf8(&entry.value).ok().and_then(|it| it.parse().ok());
                    let digest = u64::from_str_radix(digest, 16).ok();
                    if let (Some(digest), Some(number)) = (digest, number) {
                        table.prefixes.put(digest, PrefixNode { session: linked, number });
                    }
                }
                Some(("main", id)) => {
                    let named = table.find(id);
                    if let Some(named) = named.and_then(|named| table.session_mut(named)) {
                        named.continued_in = Some(linked);
                    }
                }
                Some(("opening", opening)) => {
                    if let Ok(opening) = u128::from_str_radix(opening, 16) {
                        table.openings.insert(opening, linked);
                    }
                }
                Some(_) | None => {}
            }
        }
        // The reply of a node that was killed, if there was one, was the newest.
        for (key, entry) in self.open_digests(false).filter(|(key, _)| !self.0.contains_key(*key)) {
            let digits = key.strip_prefix("digest ");
            let digest = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            let session = serial(&table, Some(&entry.key));
            if let (Some(digest), Some(session)) = (digest, session) {
                let number = table.session(session).map_or(0, |session| session.newest);
                table.prefixes.put(digest, PrefixNode { session, number });
            }
        }
        table
    }

    /// Whether the request seems to continue a reply that is still in progress: the longest known
    /// part of its history is a request and no reply, or nobody knows the reply that it names yet.
    /// This is so until every session with that request is released: nothing shows which is its own.
    fn continues_in_progress(&self, query: &SessionQuery<'_>, waited: Duration) -> bool {
        match query.selector {
            SessionSelector::SessionId(_) => return false,
            SessionSelector::Reply(id) => {
                let key = digest_entry_key(reply_key(id, query.scope));
                return waited < NAME_PATIENCE && !self.0.contains_key(&key);
            }
            SessionSelector::Name(_) | SessionSelector::CacheKey(_) | SessionSelector::None => {}
        }
        // The last digest is that of the request itself. A retry waits for the reply to it.
        let is_retry = query.retry_mark == RetryMark::Retry
            && self.0.contains_key(&reply_entry_key(query.fingerprint));
        let earlier = query.prefix_keys().skip(usize::from(!is_retry)).take(MAX_DIGESTS);
        let open: HashSet<&str> = self.open_digests(true).map(|(key, _)| key).collect();
        let newest = earlier
            .map(digest_entry_key)
            .find(|key| self.0.contains_key(key) || open.contains(key.as_str()));
        waited < REPLY_PATIENCE && newest.is_some_and(|key| !self.0.contains_key(&key))
    }
}

fn is_held(entry: &SharedEntry) -> bool {
    entry.holder.as_ref().is_some_and(|holder| holder.is_alive)
}

impl SessionIndex {
    /// Plans a request by what the nodes know. `may_forward`: another node may answer it.
    /// `waited`: how long it has waited.
    pub(crate) fn plan_shared(
        &self,
        query: &SessionQuery<'_>,
        facts: &SharedFacts,
        node: &str,
        may_forward: bool,
        waited: Duration,
    ) -> SharedPlan {
        let (now, now_ms, config) = (Instant::now(), unix_millis(), &self.0.config);
        let own_node = node_key(node);
        let reply_entry = reply_entry_key(query.fingerprint);
        let reply = facts.0.get(&reply_entry);
        // The node that has the reply, if it is alive and the reply belongs to one request.
        let reply_node = reply.and_then(|reply| reply.link.as_deref());
        let reply_node = reply_node.filter(|key| **key == own_node || facts.0.contains_key(*key));
        let is_retry = query.retry_mark == RetryMark::Retry;
        if is_retry {
            let is_own = reply_node.is_some_and(|key| *key == own_node);
            match self.0.lock().replies.find(query.fingerprint, now, config.reply_ttl) {
                ReplayLookup::Ready(cached) if is_own => return SharedPlan::Replay(cached),
                // Its entry may not be written yet.
                ReplayLookup::Pending(_) => return SharedPlan::Wait,
                ReplayLookup::Ready(_) | ReplayLookup::Missing => {}
            }
            let other = reply_node.filter(|_| may_forward && !is_own);
            if let Some(entry) = other.and_then(|key| facts.0.get(key))
                && let Ok(address) = String::from_utf8(entry.value.clone())
                && !address.is_empty()
            {
                return SharedPlan::Forward { node: entry.key.clone(), address };
            }
        }
        if facts.continues_in_progress(query, waited) {
            return SharedPlan::WaitForReply;
        }
        let mut table = facts.table(now, now_ms);
        // Sessions of a table have no more room than they need.
        let roomy = config::SessionConfig { max_prefixes: usize::MAX, ..*config };
        let Ok((serial, match_kind, forked_from)) = table.resolve(query, now, &roomy) else {
            return SharedPlan::Wait;
        };
        let mut writes: Vec<EntryWrite> = continued_names(&table, facts).collect();
        let Some(session) = table.session_mut(serial) else { return SharedPlan::Wait };
        session.has_tools |= query.traits.has_tools;
        let key = session_key(&session.id());
        let entry = facts.0.get(&key);
        let found = facts.session(&key).map(|(_, found)| found);
        if found.is_none() && session.owner.is_none() {
            // Its node was killed before the first reply was released.
            session.owner = Some(owner_key(query.owner));
            session.is_issued = matches!(query.selector, SessionSelector::None);
        }
        // The client has received the newest reply: a retry of its request is another client's.
        let confirmed = found.as_ref().and_then(|found| found.unconfirmed_reply.clone());
        if session.unconfirmed_reply.is_none() {
            writes.extend(confirmed.map(|digits| removal(format!("reply {digits}"))));
        }
        let ttl = millis(config.session_ttl);
        let link = Some(key.clone());
        let is_named = matches!(query.selector, SessionSelector::Name(_));
        let opening = query.traits.opening.filter(|_| is_named).map(opening_key);
        writes.extend(opening.clone().map(|key| EntryWrite { key, value: Vec::new(), link, ttl }));
        let is_second = query.retry_mark == RetryMark::First
            && query.origin == RequestOrigin::Anonymous
            && (reply_node.is_some() || reply.is_some_and(|reply| reply.link.is_none()));
        let has_cache = query.retry_mark != RetryMark::Ignored && config.reply_cache > 0;
        if has_cache {
            // Without a node, a reply is that of two clients which sent the same.
            let link = (!is_second).then_some(own_node);
            let key = reply_entry.clone();
            writes.push(EntryWrite { key, value: Vec::new(), link, ttl: millis(config.reply_ttl) });
        }
        SharedPlan::Take(Box::new(SharedClaim {
            id: session.id(),
            hold: EntryHold {
                key,
                node: node.to_owned(),
                version: entry.map_or(0, |entry| entry.version),
            },
            last_digest: query.chain.last().map(|value| digest_entry_key(digest_key(*value))),
            writes,
            replaced: (has_cache && is_retry).then(|| EntryVersion {
                key: reply_entry,
                version: reply.map_or(0, |entry| entry.version),
            }),
            is_orphaned: entry.is_some_and(|entry| entry.holder.is_some()),
            session: SharedSession::of(session, node, now_ms),
            found,
            match_kind,
            forked_from,
            opening,
            registers_reply: has_cache && !is_second,
            is_busy_here: false,
            commits: Vec::new(),
            releases: None,
        }))
    }

    /// The guard of a session that is about to be taken: it releases nothing before
    /// [`SessionGuard::hold_shared`]. `None` for a retry of what this node has begun meanwhile.
    pub(crate) fn shared_guard(
        &self,
        query: &SharedGuardQuery,
        claim: Box<SharedClaim>,
    ) -> Option<SessionGuard> {
        let SharedGuardQuery { fingerprint, origin, .. } = *query;
        let (now, ttl) = (Instant::now(), self.0.config.reply_ttl);
        let expects_reply = claim.registers_reply && {
            let mut state = self.0.lock();
            match state.replies.find(fingerprint, now, ttl) {
                ReplayLookup::Pending(_) if query.retry_mark == RetryMark::Retry => return None,
                // It is replaced once the session is taken, and not if it was written meanwhile.
                ReplayLookup::Ready(_) => false,
                ReplayLookup::Pending(_) | ReplayLookup::Missing => {
                    state.replies.expect_reply(fingerprint, origin, now, ttl)
                }
            }
        };
        Some(SessionGuard {
            shared: self.0.clone(),
            serial: 0,
            session: claim.id.clone(),
            match_kind: claim.match_kind,
            forked_from: claim.forked_from.clone(),
            scope: query.scope,
            fingerprint: expects_reply.then_some(fingerprint),
            origin,
            opening: None,
            is_new: !claim.session.used,
            claim: Some(claim),
        })
    }

    /// Notes that an id was issued to an owner by another node.
    pub(crate) fn note_issued(&self, owner: &str, id: &str) {
        let mut state = self.0.lock();
        let serial = state.find_or_create(&id.into(), Some(owner), Instant::now());
        if let Some(session) = state.session_mut(serial) {
            (session.is_issued, session.is_fresh) = (true, false);
        }
    }

    /// Whether an entry is that of an unnamed session of this owner.
    pub(crate) fn is_issued_to(entry: &SharedEntry, owner: &str) -> bool {
        serde_json::from_slice::<SharedSession>(&entry.value)
            .is_ok_and(|session| session.is_issued && session.owner == Some(owner_key(owner)))
    }
}

impl SessionGuard {
    /// The session was taken: from now on the guard holds it.
    pub(crate) fn hold_shared(
        &mut self,
        query: &SharedGuardQuery,
        version: u64,
        releases: UnboundedSender<SharedRelease>,
    ) {
        let Some(claim) = &mut self.claim else { return };
        claim.hold.version = version;
        claim.releases = Some(releases);
        // For requests that come while the store is out of reach.
        claim.is_busy_here = self.shared.lock().make_busy(&claim.id);
        if claim.registers_reply && self.fingerprint.is_none() {
            let SharedGuardQuery { fingerprint, origin, .. } = *query;
            let (now, ttl) = (Instant::now(), self.shared.config.reply_ttl);
            let mut state = self.shared.lock();
            let expects_reply = state.replies.expect_reply(fingerprint, origin, now, ttl);
            self.fingerprint = expects_reply.then_some(fingerprint);
        }
    }

    /// Gives up a session of which it is not known whether it is held. Returns what releases it as it
    /// was found, for the version that it has then.
    pub(crate) fn give_up(self, query: &SharedGuardQuery) -> Option<SharedRelease> {
        let ttl = self.shared.config.session_ttl;
        self.claim.as_deref().map(|claim| claim.undo(query.fingerprint, ttl))
    }
}

/// What a guard needs to know of its request.
#[derive(Clone, Copy)]
pub(crate) struct SharedGuardQuery {
    pub(crate) scope: u128,
    pub(crate) fingerprint: u128,
    pub(crate) retry_mark: RetryMark,
    pub(crate) origin: RequestOrigin,
}

/// Names that follow another session from now on.
fn continued_names<'a>(
    table: &'a SessionTable,
    facts: &'a SharedFacts,
) -> impl Iterator<Item = EntryWrite> + 'a {
    table.sessions().filter_map(move |named| {
        let main = table.session(named.continued_in?)?;
        let (key, link) = (main_key(&named.id()), Some(session_key(&main.id())));
        let is_known = facts.0.get(&key).is_some_and(|entry| entry.link == link);
        let ttl = 30 * 86_400_000;
        (!is_known).then_some(EntryWrite { key, value: Vec::new(), link, ttl })
    })
}
