//! The hash chain over the events of a run. Every link is a hash over all events before it, so a
//! changed, removed or inserted event is detected.

use crate::{LogHead, Result, StoreError, StoredEvent, codec};

/// One link of the chain.
pub(crate) type ChainLink = [u8; 16];

/// The link before the first event.
pub(crate) const ROOT: ChainLink = [0; 16];

/// An event as a backend stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// Sequence number.
    pub seq: u64,
    /// The event, as JSON.
    pub body: String,
    /// The link stored with the event.
    pub chain: [u8; 16],
}

/// Computes the link of an event from the link before it.
pub(crate) fn link(before: &ChainLink, seq: u64, body: &str) -> ChainLink {
    const PREFIX_BYTES: usize = size_of::<ChainLink>() + size_of::<u64>();
    let mut link = ROOT;
    // Nearly all events are short, and hashing one text costs half as much as hashing its parts.
    let mut input = [0; 1 << 10];
    let length = PREFIX_BYTES + body.len();
    let hash = match input.get_mut(..length) {
        Some(input) => {
            let (first, rest) = input.split_at_mut(before.len());
            first.copy_from_slice(before);
            let (second, rest) = rest.split_at_mut(size_of::<u64>());
            second.copy_from_slice(&seq.to_le_bytes());
            rest.copy_from_slice(body.as_bytes());
            blake3::hash(input)
        }
        None => {
            let mut hasher = blake3::Hasher::new();
            hasher.update(before).update(&seq.to_le_bytes()).update(body.as_bytes());
            hasher.finalize()
        }
    };
    let (beginning, _) = hash.as_bytes().split_at(link.len());
    link.copy_from_slice(beginning);
    link
}

/// Checks that an event directly follows the event `last`.
pub(crate) fn follows(last: u64, before: &ChainLink, event: &RawEvent) -> Result<(), String> {
    if event.seq != last + 1 {
        return Err(format!("event {} is missing", last + 1));
    }
    if event.chain != link(before, event.seq, &event.body) {
        return Err("its hash does not match the events before it".to_owned());
    }
    Ok(())
}

/// Which events of a run to read, and what the run's row contains about its log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRange<'a> {
    /// The run.
    pub(crate) run: &'a str,
    /// Epoch of the run, for events without one.
    pub(crate) epoch: u64,
    /// The end of the log.
    pub(crate) head: LogHead,
    /// Read only events after this sequence number.
    pub(crate) after: u64,
    /// Maximum number of events.
    pub(crate) limit: usize,
}

impl EventRange<'_> {
    /// The last sequence number to read.
    pub(crate) fn end(&self) -> u64 {
        self.after.saturating_add(u64::try_from(self.limit).unwrap_or(u64::MAX)).min(self.head.last)
    }

    /// Parses and verifies the events. `before` is the stored link of event `after`; event 1
    /// follows [`ROOT`].
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
        let mut last = self.after;
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            follows(last, &before, &row).map_err(|why| damage_error(self.run, last + 1, why))?;
            (last, before) = (row.seq, row.chain);
            let mut event = codec::read_event(self.run, row.seq, &row.body)?;
            event.epoch.get_or_insert(self.epoch);
            event.seq.get_or_insert(row.seq);
            events.push(StoredEvent { seq: row.seq, event, chain: row.chain });
        }
        if last < self.end() {
            return Err(damage_error(self.run, last + 1, "it is missing".to_owned()));
        }
        if last == self.head.last && last > self.after && before != self.head.chain {
            return Err(damage_error(
                self.run,
                last,
                "it is not the last event of the run".to_owned(),
            ));
        }
        Ok(events)
    }
}

/// Whether an error reports a damaged event. An error of the disk can look like damage of the
/// database, but goes away.
pub(crate) fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt { what, .. } if what.starts_with("event "))
}

/// The error for a damaged event.
pub(crate) fn damage_error(run: &str, seq: u64, why: String) -> StoreError {
    StoreError::Corrupt { what: format!("event {seq} of run `{run}`"), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_the_hash_of_its_parts_whatever_their_length() {
        let before: ChainLink = std::array::from_fn(|at| at as u8);
        for length in [0, 1, 999, 1_000, 1_001, 70_000] {
            let body = "b".repeat(length);
            let mut hasher = blake3::Hasher::new();
            hasher.update(&before).update(&7_u64.to_le_bytes()).update(body.as_bytes());
            let mut expected = ROOT;
            hasher.finalize_xof().fill(&mut expected);
            assert_eq!(link(&before, 7, &body), expected, "{length} bytes");
        }
    }
}
