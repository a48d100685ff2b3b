//! Finds where the plain text of a string ends: at a quote, a backslash, or a control character,
//! which JSON strings must escape.
//!
//! Reads 512 bytes at once and turns each into one bit. The next end in the same window is then
//! found without another search.

use fearless_simd::{Level, dispatch, prelude::*};

/// How many bytes one number of bits covers.
const BLOCK: usize = 64;

/// How many blocks are read at once. Choosing the instructions of this processor costs a call, and
/// is done once for all of them.
const WINDOW_BLOCKS: usize = 8;

/// How many bytes are read at once.
const WINDOW: usize = WINDOW_BLOCKS * BLOCK;

/// Finds the next quote, backslash or control character of a text. Caches one window of it.
#[derive(Clone, Copy, Debug)]
pub struct StringEnds {
    /// Index of the cached window.
    window: usize,
    /// One bit for each byte of the window: set for ends.
    bits: [u64; WINDOW_BLOCKS],
    /// Those of the ends that are backslashes.
    backslashes: [u64; WINDOW_BLOCKS],
    /// Set for the letters of escapes of one character. Unset if the window has no escapes.
    short_escapes: [u64; WINDOW_BLOCKS],
}

impl StringEnds {
    /// An empty cache.
    pub const NONE: StringEnds = StringEnds {
        window: usize::MAX,
        bits: [0; WINDOW_BLOCKS],
        backslashes: [0; WINDOW_BLOCKS],
        short_escapes: [0; WINDOW_BLOCKS],
    };

    /// Offset of the first end at or behind `at`; the length of the text if there is none. Use one
    /// value of this type for one text only, because the cache does not notice another text.
    #[inline]
    pub fn next_end(&mut self, bytes: &[u8], at: usize) -> usize {
        if at / WINDOW != self.window {
            self.read_window(bytes, at / WINDOW);
        }
        let block = at / BLOCK;
        let rest = self.bits[block % WINDOW_BLOCKS] >> (at % BLOCK);
        if rest != 0 {
            return at + rest.trailing_zeros() as usize;
        }
        self.next_block_end(bytes, block + 1)
    }

    /// The same, behind escapes of one character such as `\\n`. Other escapes are ends, at their
    /// backslash.
    pub(crate) fn next_end_behind_escapes(&mut self, bytes: &[u8], at: usize) -> usize {
        let mut block = at / BLOCK;
        // What comes before `at` does not count, and does not escape what follows.
        let mut wanted = u64::MAX << (at % BLOCK);
        let mut carry = 0;
        while block * BLOCK < bytes.len() {
            if block / WINDOW_BLOCKS != self.window {
                self.read_window(bytes, block / WINDOW_BLOCKS);
            }
            let index = block % WINDOW_BLOCKS;
            let backslashes = self.backslashes[index];
            let escaped = escaped_bits(backslashes & wanted, &mut carry);
            let rare = escaped & !self.short_escapes[index];
            let ends = rare | (self.bits[index] & wanted & !backslashes & !escaped);
            if ends != 0 {
                let first = ends.trailing_zeros();
                return block * BLOCK + first as usize - (rare >> first & 1) as usize;
            }
            (block, wanted) = (block + 1, u64::MAX);
        }
        bytes.len() - carry as usize
    }

    /// The first end in a block or behind it.
    #[inline(never)]
    fn next_block_end(&mut self, bytes: &[u8], mut block: usize) -> usize {
        while block * BLOCK < bytes.len() {
            if block / WINDOW_BLOCKS != self.window {
                self.read_window(bytes, block / WINDOW_BLOCKS);
            }
            let bits = self.bits[block % WINDOW_BLOCKS];
            if bits != 0 {
                return block * BLOCK + bits.trailing_zeros() as usize;
            }
            block += 1;
        }
        bytes.len()
    }

    #[inline(never)]
    fn read_window(&mut self, bytes: &[u8], window: usize) {
        let rest = bytes.get(window * WINDOW..).unwrap_or_default();
        let begins_escaped = bytes.get((window * WINDOW).wrapping_sub(1)) == Some(&b'\\');
        let (blocks, end) = rest.get(..WINDOW).unwrap_or(rest).as_chunks();
        // Behind the end of the text there is no other end.
        let mut last = [b' '; BLOCK];
        if let Some(beginning) = last.get_mut(..end.len()) {
            beginning.copy_from_slice(end);
        }
        let last = (!end.is_empty()).then_some(&last);
        *self = StringEnds { window, ..StringEnds::NONE };
        dispatch!(Level::new(), simd => {
            let blocks = blocks.iter().chain(last);
            let bits = self.bits.iter_mut().zip(&mut self.backslashes);
            let mut all_backslashes = 0;
            for (block, (bits, backslashes)) in blocks.clone().zip(bits) {
                (*bits, *backslashes) = end_bits(simd, block);
                all_backslashes |= *backslashes;
            }
            if all_backslashes != 0 || begins_escaped {
                for (block, letters) in blocks.zip(&mut self.short_escapes) {
                    *letters = short_escape_bits(simd, block);
                }
            }
        });
    }
}

/// The bits of the bytes that an odd number of backslashes escapes. `carry` is 1 if the byte before
/// the block escapes its first one, and becomes 1 if the last one escapes the byte behind it.
#[inline(always)]
fn escaped_bits(backslashes: u64, carry: &mut u64) -> u64 {
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    // Runs of backslashes that begin at an even place and those that begin at an odd one are told
    // apart by the carry of an addition, which moves past each run.
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslashes = backslashes & !*carry;
    let behind = backslashes << 1 | *carry;
    let odd_starts = backslashes & !EVEN & !behind;
    let (run_ends, overflows) = odd_starts.overflowing_add(backslashes);
    *carry = u64::from(overflows);
    (EVEN ^ (run_ends << 1)) & behind
}

/// The bits of a block: all ends, and those that are backslashes. By the widest instructions of this
/// processor and not by a loop that the compiler may turn into them: the shipped binary is optimized
/// for size at the end, and takes 50 times as long for that loop.
#[inline(always)]
fn end_bits<S: Simd>(simd: S, block: &[u8; BLOCK]) -> (u64, u64) {
    let lanes = block.chunks_exact(S::u8s::LEN).enumerate();
    lanes.fold((0, 0), |(ends, backslashes), (number, lane)| {
        let bytes = S::u8s::from_slice(simd, lane);
        let quotes = bytes.simd_eq(b'"');
        let controls = bytes.min(0x1f).simd_eq(bytes);
        let escapes = bytes.simd_eq(b'\\').to_bitmask() << (number * S::u8s::LEN);
        let others = (quotes | controls).to_bitmask() << (number * S::u8s::LEN);
        (ends | others | escapes, backslashes | escapes)
    })
}

/// The bits of the bytes that form an escape of one character behind a backslash.
#[inline(always)]
fn short_escape_bits<S: Simd>(simd: S, block: &[u8; BLOCK]) -> u64 {
    let lanes = block.chunks_exact(S::u8s::LEN).enumerate();
    lanes.fold(0, |bits, (number, lane)| {
        let bytes = S::u8s::from_slice(simd, lane);
        let is = |byte: u8| bytes.simd_eq(byte);
        let letters = is(b'"') | is(b'\\') | is(b'b') | is(b'f') | is(b'n') | is(b'r') | is(b't');
        bits | letters.to_bitmask() << (number * S::u8s::LEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_of(block: &[u8; BLOCK]) -> u64 {
        dispatch!(Level::new(), simd => end_bits(simd, block)).0
    }

    #[test]
    fn next_end_is_found_from_every_offset() {
        let text: Vec<u8> = (0..700_u32).map(|at| (at * at / 3 % 253) as u8 | 0x20).collect();
        for (length, byte) in (0..text.len()).flat_map(|length| [(length, b'"'), (length, 9)]) {
            let mut text = text[..length].to_vec();
            text.iter_mut().step_by(97).for_each(|place| *place = byte);
            let ends = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
            let mut marks = StringEnds::NONE;
            for at in (0..=length).chain((0..length).rev().step_by(7)) {
                let found = text[at..].iter().position(ends).map_or(length, |found| at + found);
                assert_eq!(marks.next_end(&text, at), found, "{at} of {length}");
            }
        }
    }

    #[test]
    fn ends_behind_escapes_are_those_of_a_byte_by_byte_reading() {
        const BYTES: &[u8] = b"\\\"naubx\n\\\\";
        for seed in 0..4_000_usize {
            let mut state = seed;
            let text: Vec<u8> = (0..1_100)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let kind = state >> 33;
                    // Long plain texts, long rows of escapes, and mixtures.
                    match seed % 3 {
                        0 if kind % 97 > 0 => b'x',
                        1 if kind % 11 > 0 => b'\\',
                        _ => BYTES[kind % BYTES.len()],
                    }
                })
                .take(1 + seed * 7 % 1_100)
                .collect();
            let (mut marks, mut at) = (StringEnds::NONE, 0);
            while at <= text.len() {
                let mut expected = at;
                while let Some(byte) = text.get(expected) {
                    expected += match (byte, text.get(expected + 1)) {
                        (b'\\', Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't')) => 2,
                        (b'"' | b'\\' | 0..0x20, _) => break,
                        _ => 1,
                    };
                }
                let found = marks.next_end_behind_escapes(&text, at);
                assert_eq!(found, expected.min(text.len()), "{at} of {seed}");
                at = found + 1;
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
                assert_eq!(bits_of(&block), expected, "{byte} beside {neighbor}");
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
                assert_eq!(bits_of(&block), u64::from(end) << at, "{byte} at {at}");
            }
        }
    }
}
