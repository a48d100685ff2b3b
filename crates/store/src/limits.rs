//! How large things may be. Whatever is larger is refused before anything is written.

/// The bytes of an id: of a session, a run, a record, or the name of a snapshot.
pub const ID_BYTES: usize = 128;
/// The bytes of an owner, a key, a kind, or the name of an agent or a model.
pub const NAME_BYTES: usize = 1_024;
/// The bytes of a title.
pub const TITLE_BYTES: usize = 4_096;
/// The bytes of what else is known about a session.
pub const META_BYTES: usize = 1 << 20;
/// The bytes of one event, as JSON.
pub const EVENT_BYTES: usize = 16 << 20;
/// The events of one append.
pub const APPEND_EVENTS: usize = 10_000;
/// The bytes of all events, or of all records, of one append.
pub const APPEND_BYTES: usize = 64 << 20;
/// The bytes of one record, as JSON.
pub const RECORD_BYTES: usize = 16 << 20;
/// The records of one append.
pub const APPEND_RECORDS: usize = 10_000;
/// The bytes of one snapshot.
pub const SNAPSHOT_BYTES: usize = 64 << 20;
/// The events of one run: places go up to here.
pub const RUN_EVENTS: u64 = u32::MAX as u64;
