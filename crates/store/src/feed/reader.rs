//! One who reads a run: out of the log until the ring holds what comes next, then out of the ring.

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
}

/// Where somebody is in a run.
#[derive(Debug)]
pub(super) struct Reader<L> {
    seat: usize,
    last: FrameId,
    place: u64,
    /// Until the ring holds what comes next, it is read from the log.
    catch_up: Option<L>,
}

impl<L: Log> Reader<L> {
    /// Begins behind a frame in the ring; `None` if frames behind it are gone from there.
    pub(super) fn in_ring(ring: &Ring, last: FrameId) -> Option<Reader<L>> {
        let place = ring.behind(last)?;
        Some(Reader { seat: ring.sit(), last, place, catch_up: None })
    }

    /// Begins behind a frame in the log.
    pub(super) fn in_log(ring: &Ring, last: FrameId, log: L) -> Reader<L> {
        Reader { seat: ring.sit(), last, place: 0, catch_up: Some(log) }
    }

    /// What comes next. May be dropped halfway: nothing is lost.
    pub(super) async fn next(&mut self, ring: &Ring) -> Result<Told> {
        while let Some(log) = &mut self.catch_up {
            if let Some(frame) = log.next_behind(self.last).await? {
                self.last = frame.id;
                return Ok(Told::Frame(Arc::new(frame)));
            }
            if let Some(place) = ring.behind(self.last) {
                self.place = place;
                self.catch_up = None;
            }
        }
        loop {
            let poll = |context: &mut Context<'_>| ring.poll(self.seat, self.place, context);
            return match poll_fn(poll).await {
                Found::Frame(frame) => {
                    self.place += 1;
                    if frame.id <= self.last {
                        // The log was faster than the ring.
                        continue;
                    }
                    self.last = frame.id;
                    Ok(Told::Frame(frame))
                }
                Found::Gone => Ok(Told::Lagged(self.last)),
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
