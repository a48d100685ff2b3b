//! Byte offsets to lines and columns: many at once, in one pass over the text.

use foxwedge_formats::TextPosition;

/// The positions of all offsets, in the order they were given. Linear in the text and in the
/// number of offsets, however long a line is.
pub(crate) fn positions(text: &str, offsets: &[usize]) -> Vec<TextPosition> {
    let bytes = text.as_bytes();
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_unstable_by_key(|&index| offsets[index]);
    let mut found = vec![TextPosition { line: 1, column: 1 }; offsets.len()];
    let mut here = TextPosition { line: 1, column: 1 };
    let mut done = 0;
    for index in order {
        let end = offsets[index].clamp(done, bytes.len());
        advance(&mut here, &bytes[done..end]);
        done = end;
        found[index] = here;
    }
    found
}

fn advance(here: &mut TextPosition, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\n' => *here = TextPosition { line: here.line + 1, column: 1 },
            // A column is a character: bytes inside one do not count.
            0x80..=0xbf => {}
            _ => here.column += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_positions_agree_with_one_at_a_time() {
        let text = "ab\né中c\r\n\nlast";
        let offsets: Vec<usize> =
            text.char_indices().map(|(at, _)| at).rev().chain([text.len(), 999, 0]).collect();
        let expected: Vec<TextPosition> =
            offsets.iter().map(|&at| foxwedge_formats::position(text.as_bytes(), at)).collect();
        assert_eq!(positions(text, &offsets), expected);
    }
}
