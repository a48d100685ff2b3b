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
            Some(Kept::There(..)) | None => Found::Nothing,
        }
    }

    /// A reply will come; whether this request is the one that brings it.
    pub(super) fn expect(&mut self, fingerprint: u128) -> bool {
        if self.most == 0 || matches!(self.all.get(&fingerprint), Some(Kept::Coming(_))) {
            return false;
        }
        if let Some(Kept::There(stored, _)) =
            self.all.insert(fingerprint, Kept::Coming(Arc::new(Notify::new())))
        {
            self.bytes = self.bytes.saturating_sub(weight(&stored));
        }
        true
    }

    /// It came.
    pub(super) fn put(&mut self, fingerprint: u128, stored: Stored, now: Instant) {
        self.bytes += weight(&stored);
        let before = self.all.insert(fingerprint, Kept::There(Arc::new(stored), now));
        if let Some(Kept::Coming(waiting)) = before {
            waiting.notify_waiters();
        }
        self.order.push_back((fingerprint, now));
        while self.bytes > self.most && self.drop_oldest() {}
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

    fn drop_oldest(&mut self) -> bool {
        let Some((fingerprint, kept_at)) = self.order.pop_front() else { return false };
        // A later reply to the same request has its own place in the order.
        let is_it =
            matches!(self.all.get(&fingerprint), Some(Kept::There(_, at)) if *at == kept_at);
        if is_it && let Some(Kept::There(stored, _)) = self.all.remove(&fingerprint) {
            self.bytes = self.bytes.saturating_sub(weight(&stored));
        }
        true
    }
}

fn weight(stored: &Stored) -> usize {
    stored.body.len() + 512
}
