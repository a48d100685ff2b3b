//! New ids for runs, and conversion of agents' ids to valid store ids.

use std::hash::{BuildHasher, RandomState};

use crate::disk::ContentFingerprint;

/// Longest id that a store accepts.
const MAX_ID_BYTES: usize = 128;

/// A new random id.
pub fn new_id(kind: &str) -> String {
    // Seeded by the system for every process, and different each time.
    let random = RandomState::new().hash_one((std::process::id(), std::time::Instant::now()));
    format!("{kind}-{random:016x}")
}

/// Whether a store accepts an id.
pub fn is_store_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.len() <= MAX_ID_BYTES && id.bytes().all(plain)
}

/// An id converted to a valid store id. Different ids stay different.
pub fn to_store_id(id: &str) -> String {
    if is_store_id(id) {
        return id.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let head: String = id.chars().take(80).map(plain).collect();
    format!("{head}-{}", ContentFingerprint::of(id.as_bytes()).hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_store_ids_are_converted() {
        assert_eq!(to_store_id("0a1b-c_D"), "0a1b-c_D");
        let converted = ["", "a/b", "a:b", "ä", &"x".repeat(129)].map(to_store_id);
        for (at, id) in converted.iter().enumerate() {
            assert!(is_store_id(id), "{id}");
            assert!(!converted.iter().skip(at + 1).any(|other| other == id), "{id}");
        }
        assert_eq!(to_store_id("a/b"), to_store_id("a/b"));
    }

    #[test]
    fn new_ids_differ() {
        let (one, two) = (new_id("run"), new_id("run"));
        assert!(is_store_id(&one) && one != two, "{one} {two}");
    }
}
