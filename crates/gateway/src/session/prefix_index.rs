//! The index of conversation prefixes: a flat map from a digest to a session.
//!
//! Two generations bound it: when the younger one is full, it replaces the older one, whose entries
//! are dropped. An entry that is found again moves to the younger one.

use std::{collections::HashMap, hash::BuildHasherDefault, hash::Hasher, mem};

/// The exchange that ends a prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PrefixNode {
    /// The number of the session.
    pub(super) session: u32,
    /// The number of the exchange in it.
    pub(super) number: u32,
}

#[derive(Debug)]
pub(super) struct PrefixIndex {
    /// Maximum entries of one generation.
    max_nodes: usize,
    young: PrefixMap,
    old: PrefixMap,
}

type PrefixMap = HashMap<u64, PrefixNode, BuildHasherDefault<PassThroughHasher>>;

impl PrefixIndex {
    /// Creates an index with at most `max_nodes` entries.
    pub(super) fn new(max_nodes: usize) -> PrefixIndex {
        PrefixIndex {
            max_nodes: (max_nodes / 2).max(1),
            young: PrefixMap::default(),
            old: PrefixMap::default(),
        }
    }

    pub(super) fn put(&mut self, key: u64, node: PrefixNode) {
        if self.young.len() >= self.max_nodes && !self.young.contains_key(&key) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, node);
    }

    pub(super) fn get(&mut self, key: u64) -> Option<PrefixNode> {
        if let Some(node) = self.young.get(&key) {
            return Some(*node);
        }
        let node = self.old.remove(&key)?;
        self.put(key, node);
        Some(node)
    }

    /// Removes all other entries.
    pub(super) fn retain(&mut self, keep: impl Fn(&PrefixNode) -> bool) {
        for map in [&mut self.young, &mut self.old] {
            map.retain(|_, node| keep(node));
            // Release the memory of removed entries.
            map.shrink_to(2 * map.len());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

/// Keys are digests already: hashing them again would gain nothing.
#[derive(Default)]
struct PassThroughHasher(u64);

impl Hasher for PassThroughHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_in_use_stay_and_the_others_are_dropped() {
        let node = |session| PrefixNode { session, number: 1 };
        let mut index = PrefixIndex::new(8);
        for at in 0..1_000_u32 {
            index.put(u64::from(at), node(at));
            assert_eq!(index.get(0), Some(node(0)), "{at}");
            assert!(index.len() <= 8, "{at}");
        }
        assert_eq!((index.get(999), index.get(500)), (Some(node(999)), None));
    }
}
