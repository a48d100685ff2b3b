//! A hash of every record and every snapshot, which detects changes on the disk. Events have their
//! chain instead.

use crate::{AgentSnapshot, NewRecord, Result, StoreError, chain::ChainLink};

pub(super) fn seal_record(ordinal: u64, at: u64, record: &NewRecord) -> ChainLink {
    let mut hasher = SealHasher::default();
    hasher.number(ordinal).number(at);
    hasher.bytes(Some(record.id.as_bytes()));
    hasher.bytes(record.parent.as_ref().map(String::as_bytes));
    hasher.bytes(record.run.as_ref().map(String::as_bytes));
    hasher.bytes(Some(record.kind.as_bytes()));
    hasher.bytes(Some(record.body.as_bytes()));
    hasher.finish()
}

pub(super) fn seal_snapshot(snapshot: &AgentSnapshot) -> ChainLink {
    let mut hasher = SealHasher::default();
    hasher.bytes(Some(snapshot.name.as_bytes())).bytes(Some(&snapshot.body));
    // As SQLite stores it.
    hasher.number(snapshot.expires.map_or(u64::MAX, |at| at.min(i64::MAX.unsigned_abs())));
    hasher.finish()
}

/// Refuses a row that does not match its seal.
pub(super) fn check_seal(
    what: impl FnOnce() -> String,
    expected: ChainLink,
    found: ChainLink,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let why = "its checksum does not match".to_owned();
    Err(StoreError::Corrupt { what: what(), why })
}

#[derive(Default)]
struct SealHasher(blake3::Hasher);

impl SealHasher {
    fn number(&mut self, number: u64) -> &mut SealHasher {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// Adds the length first, so that two different lists of fields have different hashes.
    fn bytes(&mut self, bytes: Option<&[u8]>) -> &mut SealHasher {
        self.number(bytes.map_or(u64::MAX, |bytes| bytes.len() as u64));
        self.0.update(bytes.unwrap_or_default());
        self
    }

    fn finish(&self) -> ChainLink {
        let mut link = ChainLink::default();
        self.0.finalize_xof().fill(&mut link);
        link
    }
}
