//! Short keys for the session tables.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Half of a digest is enough to distinguish a million conversations.
pub(super) fn digest_key(value: u128) -> u64 {
    value as u64
}

/// The key of an owner.
pub(super) fn owner_key(owner: &str) -> u64 {
    xxh3_64_with_seed(owner.as_bytes(), 0)
}

/// The key of a reply that clients continue by its id, separate for each scope.
pub(super) fn reply_key(id: &str, scope: u128) -> u64 {
    xxh3_64_with_seed(id.as_bytes(), digest_key(scope)) ^ 0x5245_504c_5953_4944
}
