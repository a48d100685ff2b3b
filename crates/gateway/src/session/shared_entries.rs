//! What nodes share of sessions: the entries, their keys, and the state of a session.

use std::time::Duration;

use foxwedge_store::{EntryWrite, node_key};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_128;

use super::table::IndexedSession;

/// What nodes know about a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SharedSession {
    pub(super) owner: Option<u64>,
    pub(super) is_issued: bool,
    pub(super) newest: u32,
    pub(super) used: bool,
    /// The fingerprint of the newest reply that its client has not confirmed yet.
    pub(super) unconfirmed_reply: Option<String>,
    pub(super) has_tools: bool,
    pub(super) results_due: Option<u64>,
    pub(super) at: u64,
    /// The node that had the session last.
    pub(crate) node: String,
    /// The run that waits for tool results.
    pub(crate) waiting: Option<SharedRun>,
    /// Whether a live agent of that node belongs to the session.
    pub(crate) has_agent: bool,
}

/// A run that waits for tool results, on whichever node they arrive.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SharedRun {
    pub(crate) run: String,
    pub(crate) turn: u32,
    pub(crate) calls: Vec<String>,
    /// When the wait times out, in milliseconds since 1970.
    pub(crate) due: u64,
}

impl SharedSession {
    /// Copies the state to a table.
    pub(super) fn fill(&self, session: &mut IndexedSession, now: Instant, now_ms: u64) {
        session.owner = self.owner;
        session.is_issued = self.is_issued;
        session.newest = self.newest;
        session.used = self.used;
        session.has_tools = self.has_tools;
        let fingerprint = self.unconfirmed_reply.as_deref();
        session.unconfirmed_reply = fingerprint
            .and_then(|digits| u128::from_str_radix(digits, 16).ok())
            .map(u128::to_ne_bytes);
        session.awaits_results = self.results_due.is_some_and(|due| due >= now_ms);
        let age = Duration::from_millis(now_ms.saturating_sub(self.at));
        session.at = now.checked_sub(age).unwrap_or(now);
    }

    /// The state in a table, for the node that takes the session.
    pub(super) fn of(session: &IndexedSession, node: &str, now_ms: u64) -> SharedSession {
        SharedSession {
            owner: session.owner,
            is_issued: session.is_issued,
            newest: session.newest,
            used: session.used,
            unconfirmed_reply: session
                .unconfirmed_reply
                .map(|it| format!("{:032x}", u128::from_ne_bytes(it))),
            has_tools: session.has_tools,
            results_due: None,
            at: now_ms,
            node: node.to_owned(),
            waiting: None,
            has_agent: false,
        }
    }
}

/// The key of a session's entry.
pub(crate) fn session_key(id: &str) -> String {
    format!("session {id}")
}

/// The session that has continued a named one.
pub(super) fn main_key(id: &str) -> String {
    format!("main {id}")
}

pub(super) fn digest_entry_key(key: u64) -> String {
    format!("digest {key:016x}")
}

pub(super) fn opening_key(opening: u128) -> String {
    format!("opening {opening:032x}")
}

pub(super) fn reply_entry_key(fingerprint: u128) -> String {
    format!("reply {fingerprint:032x}")
}

/// The key of the entry that says which node has a response or an item.
pub(crate) fn content_key(owner: &str, id: &str) -> String {
    format!("content {:032x}", xxh3_128([owner, id].join("\0").as_bytes()))
}

/// Says that a node has a response or an item.
pub(super) fn content_entry(key: String, node: &str, ttl: u64) -> EntryWrite {
    EntryWrite { key, value: Vec::new(), link: Some(node_key(node)), ttl }
}

pub(super) fn removal(key: String) -> EntryWrite {
    EntryWrite { key, value: Vec::new(), link: None, ttl: 0 }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
