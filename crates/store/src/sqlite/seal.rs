//! A hash beside every record and every snapshot: what changed on the disk is not taken for what
//! somebody said. Events have their chain instead.

use crate::{AgentSnapshot, NewRecord, Result, StoreError, chain::ChainLink};

/// The seal of a record.
pub(super) fn seal_record(ordinal: u64, at: u64, record: &NewRecord) -> ChainLink {
    let mut seal = SealHasher::default();
    seal.number(ordinal).number(at);
    seal.bytes(Some(record.id.as_bytes()));
    seal.bytes(record.parent.as_ref().map(String::as_bytes));
    seal.bytes(record.run.as_ref().map(String::as_bytes));
    seal.bytes(Some(record.kind.as_bytes()));
    seal.bytes(Some(record.body.as_bytes()));
    seal.finish()
}

/// The seal of a snapshot.
pub(super) fn seal_snapshot(snapshot: &AgentSnapshot) -> ChainLink {
    let mut seal = SealHasher::default();
    seal.bytes(Some(snapshot.name.as_bytes())).bytes(Some(&snapshot.body));
    // As SQLite keeps it.
    seal.number(snapshot.expires.map_or(u64::MAX, |at| at.min(i64::MAX.unsigned_abs())));
    seal.finish()
}

/// Refuses what does not bear its seal.
pub(super) fn check_seal(
    what: impl FnOnce() -> String,
    expected: ChainLink,
    found: ChainLink,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let why = "it is not what was stored".to_owned();
    Err(StoreError::Corrupt { what: what(), why })
}

#[derive(Default)]
struct SealHasher(blake3::Hasher);

impl SealHasher {
    fn number(&mut self, number: u64) -> &mut SealHasher {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// With its length, so that no two lists of fields look the same.
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
