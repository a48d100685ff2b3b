//! The chain over the events of a run: every link is a hash over all that came before, so that a
//! bit that changed, a line that is gone or one that was put in cannot pass for the truth.

use crate::{LogHead, Result, StoreError, StoredEvent, codec};

/// One link of the chain.
pub(crate) type ChainLink = [u8; 16];

/// What stands before the first event.
pub(crate) const ROOT: ChainLink = [0; 16];

/// An event as it lies in a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// Its place.
    pub seq: u64,
    /// The event, as JSON.
    pub body: String,
    /// The link that was stored with it.
    pub chain: [u8; 16],
}

/// The link of an event, by the one before.
pub(crate) fn link(before: &ChainLink, seq: u64, body: &str) -> ChainLink {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(&seq.to_le_bytes()).update(body.as_bytes());
    let mut link = ROOT;
    hasher.finalize_xof().fill(&mut link);
    link
}

/// Whether an event is what follows a place.
pub(crate) fn follows(place: u64, before: &ChainLink, event: &RawEvent) -> Result<(), String> {
    if event.seq != place + 1 {
        return Err(format!("place {} is missing", place + 1));
    }
    if event.chain != link(before, event.seq, &event.body) {
        return Err("it does not fit what came before".to_owned());
    }
    Ok(())
}

/// Which events of a run are read, and what its row says about them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRange<'a> {
    /// The run.
    pub(crate) run: &'a str,
    /// Its number, for events that do not bear it.
    pub(crate) epoch: u64,
    /// The end of its log.
    pub(crate) head: LogHead,
    /// Events behind this place.
    pub(crate) after: u64,
    /// At most so many.
    pub(crate) limit: usize,
}

impl EventRange<'_> {
    /// The last place that is read.
    pub(crate) fn end(&self) -> u64 {
        self.after.saturating_add(u64::try_from(self.limit).unwrap_or(u64::MAX)).min(self.head.last)
    }

    /// The events, read and verified. `before` is the link that was found at the place `after`;
    /// nothing stands before place 1.
    pub(crate) fn read(
        &self,
        before: Option<ChainLink>,
        rows: Vec<RawEvent>,
    ) -> Result<Vec<StoredEvent>> {
        let mut before = match (self.after, before) {
            (0, _) => ROOT,
            (_, Some(link)) => link,
            (after, None) => return Err(damage_error(self.run, after, "it is missing".to_owned())),
        };
        let mut place = self.after;
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            follows(place, &before, &row).map_err(|why| damage_error(self.run, place + 1, why))?;
            (place, before) = (row.seq, row.chain);
            let mut event = codec::read_event(self.run, row.seq, &row.body)?;
            event.epoch.get_or_insert(self.epoch);
            event.seq.get_or_insert(row.seq);
            events.push(StoredEvent { seq: row.seq, event, chain: row.chain });
        }
        if place < self.end() {
            return Err(damage_error(self.run, place + 1, "it is missing".to_owned()));
        }
        if place == self.head.last && place > self.after && before != self.head.chain {
            return Err(damage_error(
                self.run,
                place,
                "it is not the one the run ends with".to_owned(),
            ));
        }
        Ok(events)
    }
}

/// Whether an error tells of an event that is not what it was. Trouble with the disk may look like
/// damage of the database, and pass.
pub(crate) fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt { what, .. } if what.starts_with("event "))
}

/// The error for an event that is not what it was.
pub(crate) fn damage_error(run: &str, place: u64, why: String) -> StoreError {
    StoreError::Corrupt { what: format!("event {place} of run `{run}`"), why }
}
