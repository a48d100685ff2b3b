//! Finds the session of a request, without the client's help: by a name where there is one, else by
//! the longest beginning of the conversation that was seen before.
//!
//! A conversation is a chain of digests, one value after each message. What is remembered is one
//! value per exchange: the one behind its reply. A request whose history goes on behind the newest
//! reply of a session continues it; one that goes on behind an older reply, or while the session is
//! at work, is a branch and gets a session of its own. Nothing here knows a provider or a store.

mod names;
mod keys;
mod query;
mod tips;
mod replies;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::config::{self, Busy};
use keys::{key, owner_key, reply_key};
use replies::{Found, Replies};
use tips::{Node, Tips};

pub(crate) use names::{LONGEST_NAME, is_session_name, named};
pub use names::{SessionScope, scope};
pub use query::{Matched, Named, Repeated, RequestOrigin, Wanted};
pub use replies::Stored;

/// What became of a request that looked for its session.
#[derive(Debug)]
pub enum Claimed {
    /// It has its session for itself.
    Held(Held),
    /// It was answered before.
    Again(Arc<Stored>),
    /// Another request of the session is at work, for too long.
    Busy,
}

/// The newest place of a session: enough to find it again after a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tip {
    /// The session.
    pub session: Arc<str>,
    /// The value behind its newest reply.
    pub value: u128,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// How much is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
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
pub struct Sessions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: config::Sessions,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tips: Tips,
    sessions: HashMap<u32, Session>,
    by_name: HashMap<Arc<str>, u32>,
    replies: Replies,
    /// The number of the next session.
    next: u32,
}

#[derive(Debug)]
struct Session {
    id: Arc<str>,
    /// Whose it is, if that is known, and whether its id was given out by us.
    owner: Option<u64>,
    given_out: bool,
    /// The number of its newest exchange.
    newest: u32,
    /// Whether there ever was an exchange.
    used: bool,
    /// The newest reply, if it is kept and nothing shows yet that its client has it.
    unproven: Option<u128>,
    /// When it was used last.
    at: Instant,
    /// Somebody is at work; whoever waits is told when that ends.
    busy: Option<Arc<Notify>>,
}

/// A session that one request has for itself. Dropping it sets the session free.
#[derive(Debug)]
pub struct Held {
    shared: Arc<Shared>,
    serial: u32,
    session: Arc<str>,
    matched: Matched,
    forked: Option<Arc<str>>,
    scope: u128,
    fingerprint: Option<u128>,
    origin: RequestOrigin,
    /// The session was made for this request, and there is no reply yet.
    unused: bool,
}

impl Sessions {
    /// Remembers nothing yet.
    pub fn new(config: config::Sessions) -> Sessions {
        let state = State {
            tips: Tips::new(config.nodes),
            sessions: HashMap::new(),
            by_name: HashMap::new(),
            replies: Replies::new(config.replies),
            next: 0,
        };
        Sessions(Arc::new(Shared { config, state: Mutex::new(state) }))
    }

    /// Sessions of before a restart, with how long ago they were used.
    pub fn load(&self, tips: impl IntoIterator<Item = (Tip, Duration)>) {
        let now = Instant::now();
        let mut state = self.0.lock();
        for (tip, ago) in tips {
            let Some(at) = now.checked_sub(ago) else { continue };
            let serial = state.find_or_make(&tip.session, None, at);
            if let Some(session) = state.sessions.get_mut(&serial) {
                session.used = true;
            }
            let number = state.sessions.get(&serial).map_or(0, |session| session.newest);
            state.tips.put(key(tip.value), Node { session: serial, number });
        }
    }

    /// Finds the session of a request, and keeps it for that request.
    pub async fn claim(&self, wanted: Wanted<'_>) -> Claimed {
        let deadline = match self.0.config.busy {
            Busy::Wait(long) => Some(Instant::now() + long),
            Busy::Refuse => None,
        };
        loop {
            let waiting = match self.try_claim(&wanted) {
                Ok(claimed) => return claimed,
                Err(waiting) => waiting,
            };
            // Whoever is told may find somebody else was faster; then it waits on.
            let told = waiting.notified();
            let Some(deadline) = deadline else { return Claimed::Busy };
            if timeout_at(deadline.min(Instant::now() + LOOK), told).await.is_err()
                && Instant::now() >= deadline
            {
                return Claimed::Busy;
            }
        }
    }

    /// Whether an owner means a session by a name that we gave out: its conversation has no name.
    pub(crate) fn gave_out(&self, owner: &str, name: &str) -> bool {
        let state = self.0.lock();
        let serial = state.by_name.get(&*names::named(owner, name));
        let session = serial.and_then(|serial| state.sessions.get(serial));
        session.is_some_and(|it| it.given_out && it.owner == Some(owner_key(owner)))
    }

    /// How much is remembered.
    pub fn stats(&self) -> Stats {
        let state = self.0.lock();
        let (replies, reply_bytes) = state.replies.size();
        Stats {
            nodes: state.tips.len(),
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
        state.forget(|session| now.duration_since(session.at) > config.session);
        state.replies.expire(now, config.snapshot);
    }

    fn try_claim(&self, wanted: &Wanted<'_>) -> Result<Claimed, Arc<Notify>> {
        let now = Instant::now();
        let config = &self.0.config;
        let mut state = self.0.lock();
        if wanted.repeated == Repeated::Yes {
            match state.replies.find(wanted.fingerprint, now, config.snapshot) {
                Found::There(stored) => return Ok(Claimed::Again(stored)),
                Found::Coming(waiting) => return Err(waiting),
                Found::Nothing => {}
            }
        }
        let next = state.next;
        let (serial, matched, forked) = state.resolve(wanted, now, config)?;
        let unused = state.next != next;
        let Some(session) = state.sessions.get_mut(&serial) else { return Ok(Claimed::Busy) };
        session.at = now;
        session.busy = Some(Arc::new(Notify::new()));
        let id = session.id.clone();
        let Wanted { scope, origin, .. } = *wanted;
        let fingerprint = (wanted.repeated != Repeated::Never
            && state.replies.expect(wanted.fingerprint, origin, now, config.snapshot))
        .then_some(wanted.fingerprint);
        let shared = self.0.clone();
        let held = Held {
            shared,
            serial,
            session: id,
            matched,
            forked,
            scope,
            fingerprint,
            origin,
            unused,
        };
        Ok(Claimed::Held(held))
    }
}

/// A waiter that missed its call looks again after so long.
const LOOK: Duration = Duration::from_millis(250);

impl Held {
    /// The session.
    pub fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// How it was found.
    pub fn matched(&self) -> Matched {
        self.matched
    }

    /// The session it branched off from.
    pub fn forked(&self) -> Option<&Arc<str>> {
        self.forked.as_ref()
    }

    /// There is a reply: the conversation is found by it from now on, also by its id where the
    /// client may name it, and a client that asks again gets the same.
    ///
    /// `also`: values behind earlier replies from which a client may go on as well as from this
    /// one, since it only repeats what they said.
    pub fn settle(
        &mut self,
        tip: u128,
        also: &[u128],
        reply_id: Option<&str>,
        stored: Option<Stored>,
    ) {
        self.unused = false;
        let mut state = self.shared.lock();
        let state = &mut *state;
        if let Some(session) = state.sessions.get_mut(&self.serial) {
            session.newest += 1;
            session.used = true;
            session.at = Instant::now();
            session.unproven = self.fingerprint.filter(|_| self.origin == RequestOrigin::Anonymous);
            let node = Node { session: self.serial, number: session.newest };
            for value in also.iter().chain([&tip]) {
                state.tips.put(key(*value), node);
            }
            if let Some(id) = reply_id {
                state.tips.put(reply_key(id, self.scope), node);
            }
        }
        if let (Some(fingerprint), Some(stored)) = (self.fingerprint.take(), stored) {
            state.replies.put(fingerprint, stored, Instant::now());
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(fingerprint) = self.fingerprint.take() {
            state.replies.give_up(fingerprint);
        }
        let session = state.sessions.get_mut(&self.serial);
        if let Some(waiting) = session.and_then(|session| session.busy.take()) {
            waiting.notify_waiters();
        }
        // Nobody can find a session without a reply, but by its name, and that makes it again.
        if self.unused
            && let Some(session) = state.sessions.remove(&self.serial)
        {
            state.by_name.remove(&session.id);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Resolved = (u32, Matched, Option<Arc<str>>);

impl State {
    fn resolve(
        &mut self,
        wanted: &Wanted<'_>,
        now: Instant,
        config: &config::Sessions,
    ) -> Result<Resolved, Arc<Notify>> {
        self.make_room(config.nodes);
        match wanted.named {
            Named::Exactly(name) => {
                let serial = self.find_named(wanted.owner, name, now);
                match self.sessions.get(&serial).and_then(|session| session.busy.clone()) {
                    Some(waiting) => Err(waiting),
                    None => Ok((serial, Matched::Named, None)),
                }
            }
            Named::Loosely(name) => {
                let owner = wanted.owner;
                let found =
                    self.follow(wanted, wanted.histories(), Matched::Named, now, config.session);
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
                        Ok((self.make_fresh(owner, now), Matched::New, Some(first)))
                    }
                    None => Ok((serial, Matched::Named, None)),
                }
            }
            Named::This(id) => {
                let serial = self.find_or_make(id, Some(wanted.owner), now);
                match self.sessions.get(&serial).and_then(|session| session.busy.clone()) {
                    Some(waiting) => Err(waiting),
                    None => {
                        self.is_proven(serial);
                        Ok((serial, Matched::Call, None))
                    }
                }
            }
            Named::Reply(id) => {
                let values = [reply_key(id, wanted.scope)];
                let found = self.follow(wanted, values, Matched::Reply, now, config.session);
                Ok(found.unwrap_or_else(|| self.begin(wanted.owner, now)))
            }
            Named::Not => {
                let found =
                    self.follow(wanted, wanted.histories(), Matched::Prefix, now, config.session);
                Ok(found.unwrap_or_else(|| self.begin(wanted.owner, now)))
            }
        }
    }

    /// A conversation that nobody has seen.
    fn begin(&mut self, owner: &str, now: Instant) -> Resolved {
        (self.make_fresh(owner, now), Matched::New, None)
    }

    /// A client goes on behind the newest reply of a session, so it has that: whoever asks for it
    /// again is somebody else.
    fn is_proven(&mut self, serial: u32) {
        let session = self.sessions.get_mut(&serial);
        if let Some(fingerprint) = session.and_then(|session| session.unproven.take()) {
            self.replies.forget(fingerprint);
        }
    }

    /// The session behind the first of these values that is known.
    fn follow(
        &mut self,
        wanted: &Wanted<'_>,
        values: impl IntoIterator<Item = u64>,
        matched: Matched,
        now: Instant,
        longest: Duration,
    ) -> Option<Resolved> {
        let mut values = values.into_iter();
        let found = values.find_map(|value| {
            let node = self.tips.get(value)?;
            let session = self.sessions.get(&node.session)?;
            let fresh = now.duration_since(session.at) <= longest;
            fresh.then(|| (node, session.newest, session.busy.is_some(), session.id.clone()))
        });
        let (node, newest, busy, id) = found?;
        if !busy && node.number == newest {
            self.is_proven(node.session);
            return Some((node.session, matched, None));
        }
        Some((self.make_fresh(wanted.owner, now), Matched::New, Some(id)))
    }

    /// The session that an owner calls so. Whoever knows the id of somebody else's gets its own.
    fn find_named(&mut self, owner: &str, name: &str, at: Instant) -> u32 {
        let id = names::named(owner, name);
        let found = self.by_name.get(&id).and_then(|serial| self.sessions.get(serial));
        let foreign = found.and_then(|it| it.owner).is_some_and(|it| it != owner_key(owner));
        let id = if foreign { names::hashed(owner, name) } else { id };
        self.find_or_make(&id, Some(owner), at)
    }

    fn find_or_make(&mut self, id: &Arc<str>, owner: Option<&str>, at: Instant) -> u32 {
        match self.by_name.get(id) {
            Some(serial) => *serial,
            None => self.make(id.clone(), owner, at),
        }
    }

    /// A session that nobody has named.
    fn make_fresh(&mut self, owner: &str, at: Instant) -> u32 {
        let serial = self.make(names::fresh(), Some(owner), at);
        if let Some(session) = self.sessions.get_mut(&serial) {
            session.given_out = true;
        }
        serial
    }

    fn make(&mut self, id: Arc<str>, owner: Option<&str>, at: Instant) -> u32 {
        let serial = self.next;
        self.next = self.next.wrapping_add(1);
        self.by_name.insert(id.clone(), serial);
        let session = Session {
            id,
            owner: owner.map(owner_key),
            given_out: false,
            newest: 0,
            used: false,
            unproven: None,
            at,
            busy: None,
        };
        self.sessions.insert(serial, session);
        serial
    }

    /// At most so many sessions: the older half of those at rest goes.
    fn make_room(&mut self, most: usize) {
        if self.sessions.len() < most.max(2) {
            return;
        }
        let mut times: Vec<Instant> = self.sessions.values().map(|session| session.at).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        self.forget(|session| session.at <= median);
    }

    fn forget(&mut self, old: impl Fn(&Session) -> bool) {
        let before = self.sessions.len();
        let State { sessions, by_name, .. } = self;
        sessions.retain(|_, session| {
            let stays = session.busy.is_some() || !old(session);
            if !stays {
                by_name.remove(&session.id);
            }
            stays
        });
        if self.sessions.len() < before {
            let sessions = &self.sessions;
            self.tips.retain(|node| sessions.contains_key(&node.session));
        }
    }
}

#[cfg(test)]
mod tests;
