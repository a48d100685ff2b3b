//! Where plain stretches of strings end: at a quote, a backslash, or a control character, which no
//! string may hold as it is.
//!
//! Sixty-four bytes are looked at at once and become one bit each, without a way out in between:
//! that becomes vector code, and whoever comes for the next end finds it without a search.

/// How many bytes are looked at at once.
const BLOCK: usize = 64;

/// The ends in the block of a text that was asked for last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringEnds {
    /// The number of the block.
    block: usize,
    /// A bit for each of its bytes.
    bits: u64,
}

impl StringEnds {
    /// Nothing was looked at yet.
    pub(crate) const NONE: StringEnds = StringEnds { block: usize::MAX, bits: 0 };

    /// The first end at or behind a place; the end of the text if there is none. One text for one
    /// value of this type.
    #[inline]
    pub(crate) fn next_end(&mut self, bytes: &[u8], at: usize) -> usize {
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

    /// The first end behind the block.
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

#[inline]
fn end_bits(block: &[u8; BLOCK]) -> u64 {
    let mut ends = [0_u8; BLOCK];
    for (end, byte) in ends.iter_mut().zip(block) {
        *end = u8::from((*byte == b'"') | (*byte == b'\\') | (*byte < 0x20));
    }
    if ends.iter().fold(0, |any, end| any | end) == 0 {
        return 0;
    }
    // Moves the lowest bits of eight bytes side by side into the highest byte.
    const TOGETHER: u64 = 0x0102_0408_1020_4080;
    let mut bits = [0_u8; BLOCK / 8];
    for (bits, ends) in bits.iter_mut().zip(ends.as_chunks().0) {
        *bits = (u64::from_le_bytes(*ends).wrapping_mul(TOGETHER) >> 56) as u8;
    }
    u64::from_le_bytes(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_found_from_everywhere() {
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
    fn every_byte_is_an_end_or_not() {
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
