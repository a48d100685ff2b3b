//! Converts many byte offsets to lines and columns in one pass over the text.

use foxwedge_formats::TextPosition;

/// The positions of all offsets, in the order of the offsets. Linear in the length of the text and
/// in the number of offsets, however long a line is.
pub fn positions(text: &str, offsets: &[usize]) -> Vec<TextPosition> {
    let bytes = text.as_bytes();
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    order.sort_unstable_by_key(|&index| offsets[index]);
    let mut positions = vec![TextPosition { line: 1, column: 1 }; offsets.len()];
    let mut position = TextPosition { line: 1, column: 1 };
    let mut done = 0;
    for index in order {
        let end = offsets[index].clamp(done, bytes.len());
        advance(&mut position, &bytes[done..end]);
        done = end;
        positions[index] = position;
    }
    positions
}

fn advance(position: &mut TextPosition, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\n' => *position = TextPosition { line: position.line + 1, column: 1 },
            // Columns count characters: continuation bytes do not count.
            0x80..=0xbf => {}
            _ => position.column += 1,
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
