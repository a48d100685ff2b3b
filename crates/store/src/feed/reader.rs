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
    Sent, Told,
    ring::{Found, Over, Ring},
};
use crate::{Result, StoreError};

/// A log that is told.
pub(super) trait Log {
    /// The first frame behind another, if the log has one already.
    fn next_behind(&mut self, last: FrameId) -> impl Future<Output = Result<Option<Sent>>> + Send;

    /// It is not needed for a while: what it remembers may go.
    fn rest(&mut self);
}

/// Where somebody is in a run.
#[derive(Debug)]
pub(super) struct Reader<L> {
    seat: usize,
    last: FrameId,
    log: L,
    source: Source,
}

/// Where the next frame comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The log, until the ring holds what comes next.
    Log,
    /// The ring, and the reader has all that was in there.
    Waiting,
    /// The ring, which has more, or had when the reader took its last frame.
    Ring,
}

impl<L: Log> Reader<L> {
    /// Begins behind a frame: in the ring if that holds what comes next, else in the log.
    pub(super) fn in_ring(ring: &Ring, last: FrameId, log: L) -> Reader<L> {
        let source = if ring.holds_behind(last) { Source::Waiting } else { Source::Log };
        Reader { seat: ring.sit(), last, log, source }
    }

    /// Begins behind a frame in the log.
    pub(super) fn in_log(ring: &Ring, last: FrameId, log: L) -> Reader<L> {
        Reader { seat: ring.sit(), last, log, source: Source::Log }
    }

    /// What comes next. May be dropped halfway: nothing is lost.
    pub(super) async fn next(&mut self, ring: &Ring) -> Result<Told> {
        loop {
            if self.source == Source::Log {
                if let Some(frame) = self.log.next_behind(self.last).await? {
                    self.last = frame.id;
                    return Ok(Told::Frame(Arc::new(frame)));
                }
                if !ring.holds_behind(self.last) {
                    // The run went on meanwhile, and so far that the ring is ahead again.
                    continue;
                }
                self.log.rest();
                self.source = Source::Waiting;
            }
            let (seat, last, source) = (self.seat, self.last, &mut self.source);
            let poll = |context: &mut Context<'_>| {
                let found = ring.poll(seat, last, context);
                if found.is_pending() {
                    *source = Source::Waiting;
                }
                found
            };
            return match poll_fn(poll).await {
                Found::Frame(frame) => {
                    self.last = frame.id;
                    self.source = Source::Ring;
                    Ok(Told::Frame(frame))
                }
                Found::Gone => match std::mem::replace(&mut self.source, Source::Log) {
                    Source::Ring => Ok(Told::Lagged(self.last)),
                    Source::Waiting | Source::Log => continue,
                },
                Found::Over(Over::Ended) => Ok(Told::Over),
                Found::Over(Over::Failed(why)) => {
                    let what = "the log".to_owned();
                    Err(StoreError::Corrupt { what, why: why.to_string() })
                }
            };
        }
    }
}

impl<L> Reader<L> {
    /// Gives the seat back.
    pub(super) fn leave(&self, ring: &Ring) {
        ring.stand_up(self.seat);
    }
}
