//! Short keys of the tables of sessions.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Half of a digest tells a million conversations apart.
pub(super) fn digest_key(value: u128) -> u64 {
    value as u64
}

/// Tells owners apart.
pub(super) fn owner_key(owner: &str) -> u64 {
    xxh3_64_with_seed(owner.as_bytes(), 0)
}

/// Replies that clients continue by their id are found by it, each client its own.
pub(super) fn reply_key(id: &str, scope: u128) -> u64 {
    xxh3_64_with_seed(id.as_bytes(), digest_key(scope)) ^ 0x5245_504c_5953_4944
}
