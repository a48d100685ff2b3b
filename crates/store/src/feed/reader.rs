//! One who reads a run: out of the log until the ring holds what comes next, then out of the ring.
//!
//! Whoever waits in the ring has everything, so a burst that is longer than the ring is not its
//! fault: it reads the log again. Only who took frames of the ring and did not come back in time
//! was too slow, and is told so.

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

/// A log that is told.
pub(super) trait FrameLog {
    /// The first frame behind another, if the log has one already.
    fn next_after(
        &mut self,
        last: FrameId,
    ) -> impl Future<Output = Result<Option<SseFrame>>> + Send;

    /// It is not needed for a while: what it remembers may go.
    fn release(&mut self);
}

/// Where somebody is in a run.
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
    /// The log, until the ring holds what comes next.
    Log,
    /// The ring, and the reader has all that was in there.
    Waiting,
    /// The ring, which has more, or had when the reader took its last frame.
    Ring,
}

impl<L: FrameLog> FeedReader<L> {
    /// Begins behind a frame: in the ring if that holds what comes next, else in the log.
    pub(super) fn in_ring(ring: &FrameRing, last: FrameId, log: L) -> FeedReader<L> {
        let source = if ring.holds_after(last) { FrameSource::Waiting } else { FrameSource::Log };
        FeedReader { slot: ring.take_slot(), last, log, source }
    }

    /// Begins behind a frame in the log.
    pub(super) fn in_log(ring: &FrameRing, last: FrameId, log: L) -> FeedReader<L> {
        FeedReader { slot: ring.take_slot(), last, log, source: FrameSource::Log }
    }

    /// What comes next. May be dropped halfway: nothing is lost.
    pub(super) async fn next(&mut self, ring: &FrameRing) -> Result<FeedItem> {
        loop {
            if self.source == FrameSource::Log {
                if let Some(frame) = self.log.next_after(self.last).await? {
                    self.last = frame.id;
                    return Ok(FeedItem::Frame(Arc::new(frame)));
                }
                if !ring.holds_after(self.last) {
                    // The run went on meanwhile, and so far that the ring is ahead again.
                    continue;
                }
                self.log.release();
                self.source = FrameSource::Waiting;
            }
            let (seat, last, source) = (self.slot, self.last, &mut self.source);
            let poll = |context: &mut Context<'_>| {
                let found = ring.poll(seat, last, context);
                if found.is_pending() {
                    *source = FrameSource::Waiting;
                }
                found
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
    /// Gives the seat back.
    pub(super) fn leave(&self, ring: &FrameRing) {
        ring.free_slot(self.slot);
    }
}
