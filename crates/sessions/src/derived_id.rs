//! Ids of records that a repair creates.

use std::collections::{HashMap, HashSet};

/// Ids that were given to new records, and the next round for each seed.
#[derive(Debug, Default)]
pub(super) struct UsedIds {
    pub(super) taken: HashSet<String>,
    pub(super) rounds: HashMap<String, u32>,
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
}
