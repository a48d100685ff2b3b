//! Finds where the plain text of a string ends: at a quote, a backslash, or a control character,
//! which JSON strings must escape.
//!
//! Reads 64 bytes at once and turns each into one bit. The next end in the same block is then found
//! without another search.

use wide::u8x16;

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

/// Compares 16 bytes at once, by instructions and not by a loop that the compiler may turn into them: the shipped
/// binary is optimized for size at the end, and takes 50 times as long for that loop.
#[inline]
fn end_bits(block: &[u8; BLOCK]) -> u64 {
    let (lanes, _) = block.as_chunks::<16>();
    let [a, b, c, d] = *lanes else { return 0 };
    lane_bits(a) | lane_bits(b) << 16 | lane_bits(c) << 32 | lane_bits(d) << 48
}

/// The bits of 16 bytes.
#[inline(always)]
fn lane_bits(lane: [u8; 16]) -> u64 {
    let bytes = u8x16::new(lane);
    let quotes = bytes.simd_eq(u8x16::splat(b'"'));
    let escapes = bytes.simd_eq(u8x16::splat(b'\\'));
    let controls = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
    u64::from((quotes | escapes | controls).to_bitmask())
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
