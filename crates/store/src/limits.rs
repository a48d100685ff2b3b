//! Size limits. The store refuses larger values before it writes anything.

/// Bytes of an id (session, run, record) or of a snapshot name.
pub const ID_BYTES: usize = 128;
/// Bytes of an owner, a key, a kind, an agent name or a model name.
pub const NAME_BYTES: usize = 1_024;
/// Bytes of a title.
pub const TITLE_BYTES: usize = 4_096;
/// Bytes of a session's `meta` object.
pub const META_BYTES: usize = 1 << 20;
/// Bytes of one event, as JSON.
pub const EVENT_BYTES: usize = 16 << 20;
/// Events of one append.
pub const APPEND_EVENTS: usize = 10_000;
/// Bytes of all events, or of all records, of one append.
pub const APPEND_BYTES: usize = 64 << 20;
/// Bytes of one record, as JSON.
pub const RECORD_BYTES: usize = 16 << 20;
/// Records of one append.
pub const APPEND_RECORDS: usize = 10_000;
/// Bytes of one snapshot.
pub const SNAPSHOT_BYTES: usize = 64 << 20;
/// Events of one run: the highest sequence number.
pub const RUN_EVENTS: u64 = u32::MAX as u64;
/// Bytes of one entry that nodes share.
pub const ENTRY_BYTES: usize = 1 << 20;
