//! Finds where the plain text of a string ends: at a quote, a backslash, or a control character,
//! which JSON strings must escape.
//!
//! Reads 64 bytes at once and turns each into one bit. The next end in the same block is then found without
//! another search.

/// How many bytes are read at once.
const BLOCK: usize = 64;

/// Finds the next quote, backslash or control character of a text. Caches one block of 64 bytes.
#[derive(Clone, Copy, Debug)]
pub struct StringEnds {
    /// Index of the cached block.
    block: usize,
    /// One bit for each byte of the block: set for ends.
    bits: u64,
}

impl StringEnds {
    /// An empty cache.
    pub const NONE: StringEnds = StringEnds { block: usize::MAX, bits: 0 };

    /// Offset of the first end at or behind `at`; the length of the text if there is none. Use one
    /// value of this type for one text only, because the cache does not notice another text.
    #[inline]
    pub fn next_end(&mut self, bytes: &[u8], at: usize) -> usize {
        let block = at / BLOCK;
        if block != self.block {
            *self = StringEnds { block, bits: block_bits(bytes, block) };
        }
        let rest = self.bits >> (at % BLOCK);
        if rest != 0 {
            return at + rest.trailing_zeros() as usize;
        }
        self.next_block_end(bytes)
    }

    /// The first end behind the cached block.
    #[inline(never)]
    fn next_block_end(&mut self, bytes: &[u8]) -> usize {
        while (self.block + 1) * BLOCK < bytes.len() {
            self.block += 1;
            self.bits = block_bits(bytes, self.block);
            if self.bits != 0 {
                return self.block * BLOCK + self.bits.trailing_zeros() as usize;
            }
        }
        bytes.len()
    }
}

#[inline(never)]
fn block_bits(bytes: &[u8], block: usize) -> u64 {
    let rest = bytes.get(block * BLOCK..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return end_bits(block);
    }
    let mut last = [b' '; BLOCK];
    if let Some(beginning) = last.get_mut(..rest.len()) {
        beginning.copy_from_slice(rest);
    }
    end_bits(&last)
}

/// WebAssembly has an instruction that gathers bits, but the compiler does not find it. Written without a loop, which
/// stays one where the compiler optimizes for size.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline]
fn end_bits(block: &[u8; BLOCK]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    let [a, b, c, d, e, f, g, h] = *words else { return 0 };
    lane_bits(a, b) | lane_bits(c, d) << 16 | lane_bits(e, f) << 32 | lane_bits(g, h) << 48
}

/// The bits of 16 bytes.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn lane_bits(low: [u8; 8], high: [u8; 8]) -> u64 {
    use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, u64x2, v128_or};
    let bytes = u64x2(u64::from_le_bytes(low), u64::from_le_bytes(high));
    let quotes = u8x16_eq(bytes, u8x16_splat(b'"'));
    let escapes = u8x16_eq(bytes, u8x16_splat(b'\\'));
    let controls = u8x16_lt(bytes, u8x16_splat(0x20));
    u64::from(u8x16_bitmask(v128_or(v128_or(quotes, escapes), controls)))
}

/// A byte in every byte of a word.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;
/// All but the highest bit of every byte.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
const LOW_BITS: u64 = 0x7f * EVERY_BYTE;

/// Eight bytes at once, as one number. A loop over bytes would be as fast where the compiler makes vectors of it, and
/// five times slower in the shipped binary, whose last optimization is for size.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline]
fn end_bits(block: &[u8; BLOCK]) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    let [a, b, c, d, e, f, g, h] = *words else { return 0 };
    let words = [a, b, c, d, e, f, g, h].map(u64::from_le_bytes);
    if words.iter().fold(0, |any, word| any | end_marks(*word)) & !LOW_BITS == 0 {
        return 0;
    }
    // Gathers the lowest bits of eight bytes in the highest byte.
    const TOGETHER: u64 = 0x0102_0408_1020_4080;
    let gather = |word| ((exact_end_marks(word) >> 7).wrapping_mul(TOGETHER) >> 56) as u8;
    u64::from_le_bytes(words.map(gather))
}

/// The highest bit of a byte is set if one of the bytes up to it is an end: a borrow may run on into the next bytes.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn end_marks(word: u64) -> u64 {
    let is_below = |word: u64, limit: u64| word.wrapping_sub(limit * EVERY_BYTE) & !word;
    let quotes = is_below(word ^ (u64::from(b'"') * EVERY_BYTE), 1);
    let escapes = is_below(word ^ (u64::from(b'\\') * EVERY_BYTE), 1);
    quotes | escapes | is_below(word, 0x20)
}

/// The highest bit of each byte that is an end.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn exact_end_marks(word: u64) -> u64 {
    let is_not_zero = |word: u64| ((word & LOW_BITS) + LOW_BITS) | word;
    let quotes = is_not_zero(word ^ (u64::from(b'"') * EVERY_BYTE));
    let escapes = is_not_zero(word ^ (u64::from(b'\\') * EVERY_BYTE));
    let controls = is_not_zero(word & (0xe0 * EVERY_BYTE));
    !(quotes & escapes & controls) & !LOW_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_end_is_found_from_every_offset() {
        let text: Vec<u8> = (0..700_u32).map(|at| (at * at / 3 % 253) as u8 | 0x20).collect();
        for (length, byte) in (0..text.len()).flat_map(|length| [(length, b'"'), (length, 9)]) {
            let mut text = text[..length].to_vec();
            text.iter_mut().step_by(97).for_each(|place| *place = byte);
            let ends = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
            let mut marks = StringEnds::NONE;
            for at in (0..length).chain((0..length).rev().step_by(7)) {
                let found = text[at..].iter().position(ends).map_or(length, |found| at + found);
                assert_eq!(marks.next_end(&text, at), found, "{at} of {length}");
            }
        }
    }

    #[test]
    fn end_bits_are_right_beside_any_byte() {
        for byte in 0..=u8::MAX {
            for neighbor in 0..=u8::MAX {
                let block: [u8; BLOCK] =
                    std::array::from_fn(|at| if at % 3 == 1 { neighbor } else { byte });
                let is_end = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\');
                let expected =
                    block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(is_end(*byte)));
                assert_eq!(end_bits(&block), expected, "{byte} beside {neighbor}");
            }
        }
    }

    #[test]
    fn end_bits_are_right_for_every_byte() {
        for byte in 0..=u8::MAX {
            let end = byte < 0x20 || matches!(byte, b'"' | b'\\');
            for at in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[at] = byte;
                assert_eq!(end_bits(&block), u64::from(end) << at, "{byte} at {at}");
            }
        }
    }
}
