//! Ids of records that a repair creates.

use std::collections::{HashMap, HashSet};

/// Ids that were given to new records, and the next round for each seed.
#[derive(Debug, Default)]
pub(super) struct UsedIds {
    pub(super) taken: HashSet<String>,
    pub(super) rounds: HashMap<String, u32>,
}

impl UsedIds {
    /// Derives an id from a seed that neither a new record has nor one in the file.
    pub(super) fn derive(&mut self, seed: &[&str], is_in_file: impl Fn(&str) -> bool) -> String {
        // Skips the rounds of this seed that are already used.
        let round = self.rounds.entry(derive_uuid(seed, 0)).or_insert(0);
        loop {
            let id = derive_uuid(seed, *round);
            *round += 1;
            if !is_in_file(&id) && self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Derives a UUID from strings (version 8: vendor-defined), the same on every machine.
pub(super) fn derive_uuid(seed: &[&str], round: u32) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut add = |byte: u8| {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    };
    for text in seed {
        text.bytes().for_each(&mut add);
        add(0);
    }
    round.to_le_bytes().into_iter().for_each(&mut add);
    let hash = hash & !(0xf << 76) & !(0x3 << 62) | (0x8 << 76) | (0x2 << 62);
    let hex = format!("{hash:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_uuids_and_depend_only_on_seed_and_round() {
        let id = derive_uuid(&["a", "b"], 0);
        assert_eq!(id, derive_uuid(&["a", "b"], 0));
        assert_eq!(
            (id.len(), id.as_bytes()[14], id.as_bytes()[19] & 0b1100 == 0b1000),
            (36, b'8', true)
        );
        assert_ne!(id, derive_uuid(&["ab"], 0));
        assert_ne!(id, derive_uuid(&["a", "b"], 1));
    }

    #[test]
    fn records_of_one_seed_get_different_ids_that_the_file_does_not_have() {
        let in_file = derive_uuid(&["event", "p", "text"], 1);
        let mut used = UsedIds::default();
        let mut next = || used.derive(&["event", "p", "text"], |id| id == in_file);
        let ids = [next(), next(), next()];
        assert_eq!(ids, [0, 2, 3].map(|round| derive_uuid(&["event", "p", "text"], round)));
    }
}
