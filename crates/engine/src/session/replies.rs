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
pub struct Stored {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
}

/// What there is for a client that asks again.
pub(super) enum Found {
    There(Arc<Stored>),
    /// The first is still at work.
    Coming(Arc<Notify>),
    Nothing,
}

#[derive(Debug)]
pub(super) struct Replies {
    most: usize,
    bytes: usize,
    all: HashMap<u128, Kept>,
    /// In the order in which they were kept.
    order: VecDeque<(u128, Instant)>,
}

#[derive(Debug)]
enum Kept {
    Coming(Arc<Notify>),
    There(Arc<Stored>, Instant),
    /// Several clients asked for the same: nobody can tell whose retry another one is.
    Several(Instant),
}

impl Replies {
    /// At most so many bytes.
    pub(super) fn new(most: usize) -> Replies {
        Replies { most, bytes: 0, all: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn find(&self, fingerprint: u128, now: Instant, longest: Duration) -> Found {
        match self.all.get(&fingerprint) {
            Some(Kept::There(stored, at)) if now.duration_since(*at) <= longest => {
                Found::There(stored.clone())
            }
            Some(Kept::Coming(waiting)) => Found::Coming(waiting.clone()),
            Some(Kept::There(..) | Kept::Several(_)) | None => Found::Nothing,
        }
    }

    /// A reply will come; whether this request is the one that brings it.
    pub(super) fn expect(
        &mut self,
        fingerprint: u128,
        origin: RequestOrigin,
        now: Instant,
        longest: Duration,
    ) -> bool {
        let is_recent = |at: &Instant| now.duration_since(*at) <= longest;
        let first = match (self.all.get(&fingerprint), origin) {
            _ if self.most == 0 => return false,
            (Some(Kept::Coming(_)), RequestOrigin::Declared) => return false,
            (Some(Kept::Coming(_)), RequestOrigin::Anonymous) => false,
            (Some(Kept::There(_, at) | Kept::Several(at)), RequestOrigin::Anonymous) => {
                !is_recent(at)
            }
            (Some(Kept::There(..) | Kept::Several(_)), RequestOrigin::Declared) | (None, _) => true,
        };
        if first {
            self.set(fingerprint, Kept::Coming(Arc::new(Notify::new())));
        } else {
            self.set(fingerprint, Kept::Several(now));
            self.order.push_back((fingerprint, now));
            self.make_room();
        }
        first
    }

    /// It came. Not kept if somebody else has asked the same meanwhile.
    pub(super) fn put(&mut self, fingerprint: u128, stored: Stored, now: Instant) {
        if matches!(self.all.get(&fingerprint), Some(Kept::Several(_))) {
            return;
        }
        self.set(fingerprint, Kept::There(Arc::new(stored), now));
        self.order.push_back((fingerprint, now));
        self.make_room();
    }

    /// Whoever it was for has it.
    pub(super) fn forget(&mut self, fingerprint: u128) {
        if matches!(self.all.get(&fingerprint), Some(Kept::There(..))) {
            let gone = self.all.remove(&fingerprint);
            self.bytes = self.bytes.saturating_sub(gone.as_ref().map_or(0, weight));
        }
    }

    /// It did not come.
    pub(super) fn give_up(&mut self, fingerprint: u128) {
        if !matches!(self.all.get(&fingerprint), Some(Kept::Coming(_))) {
            return;
        }
        if let Some(Kept::Coming(waiting)) = self.all.remove(&fingerprint) {
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
        (self.all.len(), self.bytes)
    }

    fn set(&mut self, fingerprint: u128, kept: Kept) {
        self.bytes += weight(&kept);
        let Some(before) = self.all.insert(fingerprint, kept) else { return };
        self.bytes = self.bytes.saturating_sub(weight(&before));
        if let Kept::Coming(waiting) = before {
            waiting.notify_waiters();
        }
    }

    fn make_room(&mut self) {
        while self.bytes > self.most && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((fingerprint, kept_at)) = self.order.pop_front() else { return false };
        // A later reply to the same request has its own place in the order.
        let is_it = matches!(
            self.all.get(&fingerprint),
            Some(Kept::There(_, at) | Kept::Several(at)) if *at == kept_at
        );
        if is_it && let Some(gone) = self.all.remove(&fingerprint) {
            self.bytes = self.bytes.saturating_sub(weight(&gone));
        }
        true
    }
}

fn weight(kept: &Kept) -> usize {
    match kept {
        Kept::Coming(_) => 0,
        Kept::There(stored, _) => stored.body.len() + 512,
        Kept::Several(_) => 128,
    }
}
