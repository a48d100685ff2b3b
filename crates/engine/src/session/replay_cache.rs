//! Replies that are kept for a while, for clients that ask again because the first did not reach
//! them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tokio::{sync::Notify, time::Instant};

use super::RequestOrigin;

/// A reply as it went out.
#[derive(Clone, Debug)]
pub struct CachedReply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

/// What there is for a client that asks again.
pub(super) enum ReplayLookup {
    Ready(Arc<CachedReply>),
    /// The first is still at work.
    Pending(Arc<Notify>),
    Missing,
}

#[derive(Debug)]
pub(super) struct ReplayCache {
    max_bytes: usize,
    bytes: usize,
    entries: HashMap<u128, ReplayEntry>,
    /// In the order in which they were kept.
    order: VecDeque<(u128, Instant)>,
}

#[derive(Debug)]
enum ReplayEntry {
    Pending(Arc<Notify>),
    Ready(Arc<CachedReply>, Instant),
    /// Several clients asked for the same: nobody can tell whose retry another one is.
    Ambiguous(Instant),
}

impl ReplayCache {
    /// At most so many bytes.
    pub(super) fn new(most: usize) -> ReplayCache {
        ReplayCache { max_bytes: most, bytes: 0, entries: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn find(&self, fingerprint: u128, now: Instant, longest: Duration) -> ReplayLookup {
        match self.entries.get(&fingerprint) {
            Some(ReplayEntry::Ready(stored, at)) if now.duration_since(*at) <= longest => {
                ReplayLookup::Ready(stored.clone())
            }
            Some(ReplayEntry::Pending(waiting)) => ReplayLookup::Pending(waiting.clone()),
            Some(ReplayEntry::Ready(..) | ReplayEntry::Ambiguous(_)) | None => {
                ReplayLookup::Missing
            }
        }
    }

    /// A reply will come; whether this request is the one that brings it.
    pub(super) fn expect_reply(
        &mut self,
        fingerprint: u128,
        origin: RequestOrigin,
        now: Instant,
        longest: Duration,
    ) -> bool {
        let is_recent = |at: &Instant| now.duration_since(*at) <= longest;
        let first = match (self.entries.get(&fingerprint), origin) {
            _ if self.max_bytes == 0 => return false,
            (Some(ReplayEntry::Pending(_)), RequestOrigin::Declared) => return false,
            (Some(ReplayEntry::Pending(_)), RequestOrigin::Anonymous) => false,
            (
                Some(ReplayEntry::Ready(_, at) | ReplayEntry::Ambiguous(at)),
                RequestOrigin::Anonymous,
            ) => !is_recent(at),
            (Some(ReplayEntry::Ready(..) | ReplayEntry::Ambiguous(_)), RequestOrigin::Declared)
            | (None, _) => true,
        };
        if first {
            self.replace_entry(fingerprint, ReplayEntry::Pending(Arc::new(Notify::new())));
        } else {
            self.replace_entry(fingerprint, ReplayEntry::Ambiguous(now));
            self.order.push_back((fingerprint, now));
            self.make_room();
        }
        first
    }

    /// It came. Not kept if somebody else has asked the same meanwhile.
    pub(super) fn put(&mut self, fingerprint: u128, stored: CachedReply, now: Instant) {
        if matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Ambiguous(_))) {
            return;
        }
        self.replace_entry(fingerprint, ReplayEntry::Ready(Arc::new(stored), now));
        self.order.push_back((fingerprint, now));
        self.make_room();
    }

    /// Whoever it was for has it.
    pub(super) fn forget(&mut self, fingerprint: u128) {
        if matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Ready(..))) {
            let gone = self.entries.remove(&fingerprint);
            self.bytes = self.bytes.saturating_sub(gone.as_ref().map_or(0, entry_bytes));
        }
    }

    /// It did not come.
    pub(super) fn cancel(&mut self, fingerprint: u128) {
        if !matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Pending(_))) {
            return;
        }
        if let Some(ReplayEntry::Pending(waiting)) = self.entries.remove(&fingerprint) {
            waiting.notify_waiters();
        }
    }

    pub(super) fn expire(&mut self, now: Instant, longest: Duration) {
        while self.order.front().is_some_and(|(_, at)| now.duration_since(*at) > longest) {
            self.drop_oldest();
        }
    }

    /// How many there are, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    fn replace_entry(&mut self, fingerprint: u128, kept: ReplayEntry) {
        self.bytes += entry_bytes(&kept);
        let Some(before) = self.entries.insert(fingerprint, kept) else { return };
        self.bytes = self.bytes.saturating_sub(entry_bytes(&before));
        if let ReplayEntry::Pending(waiting) = before {
            waiting.notify_waiters();
        }
    }

    fn make_room(&mut self) {
        while self.bytes > self.max_bytes && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((fingerprint, kept_at)) = self.order.pop_front() else { return false };
        // A later reply to the same request has its own place in the order.
        let is_it = matches!(
            self.entries.get(&fingerprint),
            Some(ReplayEntry::Ready(_, at) | ReplayEntry::Ambiguous(at)) if *at == kept_at
        );
        if is_it && let Some(gone) = self.entries.remove(&fingerprint) {
            self.bytes = self.bytes.saturating_sub(entry_bytes(&gone));
        }
        true
    }
}

fn entry_bytes(kept: &ReplayEntry) -> usize {
    match kept {
        ReplayEntry::Pending(_) => 0,
        ReplayEntry::Ready(stored, _) => stored.body.len() + 512,
        ReplayEntry::Ambiguous(_) => 128,
    }
}
