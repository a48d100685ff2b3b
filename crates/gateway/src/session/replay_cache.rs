//! Caches replies for a while, for clients that retry because the first reply did not reach them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::{sync::Notify, time::Instant};

use super::RequestOrigin;

/// A reply as it was sent.
#[derive(Clone, Debug)]
pub struct CachedReply {
    /// The status.
    pub status: StatusCode,
    /// The headers, in less memory than a map of them.
    pub headers: Box<[(HeaderName, HeaderValue)]>,
    /// The complete body.
    pub body: Bytes,
}

/// The headers of a reply for [`CachedReply`].
pub(crate) fn list_headers(headers: &HeaderMap) -> Box<[(HeaderName, HeaderValue)]> {
    headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The cached reply for a retry, if any.
pub(super) enum ReplayLookup {
    Ready(Arc<CachedReply>),
    /// The first request is still in progress.
    Pending(Arc<Notify>),
    Missing,
}

#[derive(Debug)]
pub(super) struct ReplayCache {
    max_bytes: usize,
    bytes: usize,
    entries: HashMap<u128, ReplayEntry>,
    /// Fingerprints in the order of insertion.
    order: VecDeque<(u128, Instant)>,
}

#[derive(Debug)]
enum ReplayEntry {
    Pending(Arc<Notify>),
    Ready(Arc<CachedReply>, Instant),
    /// Several clients sent the same request: a retry cannot be attributed to one of them.
    Ambiguous(Instant),
}

impl ReplayCache {
    /// Creates a cache of at most `max_bytes`.
    pub(super) fn new(max_bytes: usize) -> ReplayCache {
        ReplayCache { max_bytes, bytes: 0, entries: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn find(&self, fingerprint: u128, now: Instant, max_age: Duration) -> ReplayLookup {
        match self.entries.get(&fingerprint) {
            Some(ReplayEntry::Ready(cached, at)) if now.duration_since(*at) <= max_age => {
                ReplayLookup::Ready(cached.clone())
            }
            Some(ReplayEntry::Pending(waiting)) => ReplayLookup::Pending(waiting.clone()),
            Some(ReplayEntry::Ready(..) | ReplayEntry::Ambiguous(_)) | None => {
                ReplayLookup::Missing
            }
        }
    }

    /// Announces a reply. Returns whether this request is the one that will provide it.
    pub(super) fn expect_reply(
        &mut self,
        fingerprint: u128,
        origin: RequestOrigin,
        now: Instant,
        max_age: Duration,
    ) -> bool {
        let is_recent = |at: &Instant| now.duration_since(*at) <= max_age;
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
            // It has its place in the order already, as often as it is repeated.
            let is_queued =
                matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Ambiguous(_)));
            self.replace_entry(fingerprint, ReplayEntry::Ambiguous(now));
            if !is_queued {
                self.order.push_back((fingerprint, now));
            }
            self.make_room();
        }
        first
    }

    /// Stores a reply, unless another client has sent the same request meanwhile.
    pub(super) fn put(&mut self, fingerprint: u128, reply: CachedReply, now: Instant) {
        if matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Ambiguous(_))) {
            return;
        }
        self.replace_entry(fingerprint, ReplayEntry::Ready(Arc::new(reply), now));
        self.order.push_back((fingerprint, now));
        self.make_room();
    }

    /// Drops a reply that its client has received.
    pub(super) fn forget(&mut self, fingerprint: u128) {
        if matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Ready(..))) {
            self.forget_entry(fingerprint);
        }
    }

    fn forget_entry(&mut self, fingerprint: u128) {
        let removed = self.entries.remove(&fingerprint);
        self.bytes = self.bytes.saturating_sub(removed.as_ref().map_or(0, entry_bytes));
    }

    /// Withdraws an announced reply.
    pub(super) fn cancel(&mut self, fingerprint: u128) {
        if !matches!(self.entries.get(&fingerprint), Some(ReplayEntry::Pending(_))) {
            return;
        }
        if let Some(ReplayEntry::Pending(waiting)) = self.entries.remove(&fingerprint) {
            waiting.notify_waiters();
        }
    }

    pub(super) fn expire(&mut self, now: Instant, max_age: Duration) {
        while self.order.front().is_some_and(|(_, at)| now.duration_since(*at) > max_age) {
            self.drop_oldest();
        }
    }

    /// The number of entries, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    /// How many places in the order are taken.
    #[cfg(test)]
    pub(super) fn queued(&self) -> usize {
        self.order.len()
    }

    fn replace_entry(&mut self, fingerprint: u128, entry: ReplayEntry) {
        self.bytes += entry_bytes(&entry);
        let Some(previous) = self.entries.insert(fingerprint, entry) else { return };
        self.bytes = self.bytes.saturating_sub(entry_bytes(&previous));
        if let ReplayEntry::Pending(waiting) = previous {
            waiting.notify_waiters();
        }
    }

    fn make_room(&mut self) {
        while self.bytes > self.max_bytes && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((fingerprint, inserted_at)) = self.order.pop_front() else { return false };
        match self.entries.get(&fingerprint) {
            Some(ReplayEntry::Ready(_, at) | ReplayEntry::Ambiguous(at)) if *at == inserted_at => {
                self.forget_entry(fingerprint);
            }
            // It was repeated since.
            Some(ReplayEntry::Ambiguous(at)) => self.order.push_back((fingerprint, *at)),
            // A later reply to the same request has its own place in the order.
            Some(ReplayEntry::Ready(..) | ReplayEntry::Pending(_)) | None => {}
        }
        true
    }
}

/// The memory of an entry and its place in the order, as measured.
fn entry_bytes(entry: &ReplayEntry) -> usize {
    match entry {
        ReplayEntry::Pending(_) => 0,
        ReplayEntry::Ready(cached, _) => cached.body.len() + 96 * cached.headers.len() + 384,
        ReplayEntry::Ambiguous(_) => 128,
    }
}
