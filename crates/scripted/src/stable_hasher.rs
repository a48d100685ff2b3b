//! Hashes: everything that the model generates is computed from the request.

/// A deterministic hash. Not for secrets: different input only has to give a different result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StableHasher {
    low: u64,
    high: u64,
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl StableHasher {
    /// A hash for one purpose.
    pub(crate) fn new(purpose: &str) -> StableHasher {
        StableHasher { low: 0x9e37_79b9_7f4a_7c15, high: 0xc2b2_ae3d_27d4_eb4f }
            .with_field(purpose.as_bytes())
    }

    /// Adds a field. The boundaries between fields count.
    #[must_use]
    pub(crate) fn with_field(mut self, bytes: &[u8]) -> StableHasher {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in chunks.by_ref() {
            self.mix(chunk);
        }
        let rest = chunks.remainder();
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.mix(&last);
        self.mix(&(bytes.len() as u64).to_le_bytes());
        self
    }

    /// The hash as this many letters and digits.
    pub(crate) fn letters(self, count: usize) -> String {
        let mut state = self;
        let mut out = String::with_capacity(count);
        while out.len() < count {
            state.mix(&(out.len() as u64).to_le_bytes());
            let mut bits = u128::from(state.low) << 64 | u128::from(state.high);
            for _ in 0..16 {
                if out.len() == count {
                    break;
                }
                let letter = LETTERS.get((bits % 62) as usize).copied().unwrap_or(b'A');
                out.push(char::from(letter));
                bits /= 62;
            }
        }
        out
    }

    fn mix(&mut self, chunk: &[u8]) {
        let chunk = chunk.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        let product = u128::from(self.low ^ chunk) * 0xa076_1d64_78bd_642f_u128;
        self.low = (product as u64) ^ self.high.rotate_left(23);
        self.high = ((product >> 64) as u64 ^ chunk).wrapping_mul(0xe703_7ed1_a0b4_28db) ^ self.low;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn different_fields_give_different_letters() {
        let fields: [&[&[u8]]; 7] =
            [&[], &[b""], &[b"", b""], &[b"a"], &[b"a", b"b"], &[b"ab"], &[b"ab\0"]];
        let seal = |fields: &&[&[u8]]| {
            fields
                .iter()
                .fold(StableHasher::new("test"), |seal, field| seal.with_field(field))
                .letters(24)
        };
        let all: BTreeSet<String> = fields.iter().map(seal).collect();
        assert_eq!(all.len(), fields.len());
        assert!(all.iter().all(|one| one.len() == 24), "{all:?}");
    }
}
