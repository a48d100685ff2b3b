//! Reads the frames of a run: from the log until the ring has the next frame, then from the ring.
//!
//! A reader that waits in the ring is up to date. If a burst is longer than the ring, it reads the
//! log again and has not lagged. Only a reader that took a frame from the ring and did not return
//! in time was too slow, and gets [`FeedItem::Lagged`].

use std::{
    future::{Future, poll_fn},
    sync::Arc,
    task::Context,
};

use foxwedge_run::encode::FrameId;

use super::{
    FeedItem, SseFrame,
    ring::{FeedEnd, FrameRing, RingItem},
};
use crate::{Result, StoreError};

/// A log of frames.
pub(super) trait FrameLog {
    /// Returns the first frame after `last`, if the log has one already.
    fn next_after(
        &mut self,
        last: FrameId,
    ) -> impl Future<Output = Result<Option<SseFrame>>> + Send;

    /// Drops buffers until the next read.
    fn release(&mut self);
}

/// The position of a follower in a run.
#[derive(Debug)]
pub(super) struct FeedReader<L> {
    slot: usize,
    last: FrameId,
    log: L,
    source: FrameSource,
}

/// Where the next frame comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FrameSource {
    /// The log, until the ring has the next frame.
    Log,
    /// The ring; the reader has taken every frame in it.
    Waiting,
    /// The ring; it has more frames, or had when the reader took its last one.
    Ring,
}

impl<L: FrameLog> FeedReader<L> {
    /// Starts after a frame: in the ring if it has the next frame, else in the log.
    pub(super) fn in_ring(ring: &FrameRing, last: FrameId, log: L) -> FeedReader<L> {
        let source = if ring.holds_after(last) { FrameSource::Waiting } else { FrameSource::Log };
        FeedReader { slot: ring.take_slot(), last, log, source }
    }

    /// Starts after a frame, in the log.
    pub(super) fn in_log(ring: &FrameRing, last: FrameId, log: L) -> FeedReader<L> {
        FeedReader { slot: ring.take_slot(), last, log, source: FrameSource::Log }
    }

    /// Returns the next item. Cancel-safe: nothing is lost.
    pub(super) async fn next(&mut self, ring: &FrameRing) -> Result<FeedItem> {
        loop {
            if self.source == FrameSource::Log {
                if let Some(frame) = self.log.next_after(self.last).await? {
                    self.last = frame.id;
                    return Ok(FeedItem::Frame(Arc::new(frame)));
                }
                if !ring.holds_after(self.last) {
                    // The run continued meanwhile, and the ring is ahead again.
                    continue;
                }
                self.log.release();
                self.source = FrameSource::Waiting;
            }
            let (slot, last, source) = (self.slot, self.last, &mut self.source);
            let poll = |context: &mut Context<'_>| {
                let item = ring.poll(slot, last, context);
                if item.is_pending() {
                    *source = FrameSource::Waiting;
                }
                item
            };
            return match poll_fn(poll).await {
                RingItem::Frame(frame) => {
                    self.last = frame.id;
                    self.source = FrameSource::Ring;
                    Ok(FeedItem::Frame(frame))
                }
                RingItem::Gone => match std::mem::replace(&mut self.source, FrameSource::Log) {
                    FrameSource::Ring => Ok(FeedItem::Lagged(self.last)),
                    FrameSource::Waiting | FrameSource::Log => continue,
                },
                RingItem::Ended(FeedEnd::Ended) => Ok(FeedItem::Ended),
                RingItem::Ended(FeedEnd::Failed(why)) => {
                    let what = "the log".to_owned();
                    Err(StoreError::Corrupt { what, why: why.to_string() })
                }
            };
        }
    }
}

impl<L> FeedReader<L> {
    /// Frees the slot.
    pub(super) fn leave(&self, ring: &FrameRing) {
        ring.free_slot(self.slot);
    }
}
