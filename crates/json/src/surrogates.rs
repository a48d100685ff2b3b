//! Lone surrogates: a `\u` escape in a JSON string that is one half of a UTF-16 pair.

use std::ops::Range;

/// The byte ranges of lone surrogate escapes in the raw text between the quotes of a JSON string.
/// Each is six bytes long. `raw` may also be a part of that text, if it starts at an escape or a
/// character.
pub fn lone_surrogates(raw: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = raw.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(escape) = bytes.get(at..)?.iter().position(|&byte| byte == b'\\') {
            let start = at + escape;
            match (code_unit(bytes, start), code_unit(bytes, start + 6)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at = start + 12,
                (Some(0xd800..=0xdfff), _) => {
                    at = start + 6;
                    return Some(start..at);
                }
                (Some(_), _) => at = start + 6,
                (None, _) => at = start + 2,
            }
        }
        None
    })
}

/// The code unit of the `\u` escape at an offset.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &byte| Some(unit * 16 + char::from(byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_escaped_backslashes_are_not_lone_surrogates() {
        let table: [(&str, usize); 9] = [
            ("", 0),
            ("plain", 0),
            (r"\ud83d", 1),
            (r"\ud83d\ude00", 0),
            (r"\ude00\ud83d", 2),
            (r"\ud83d\ud83d\ude00", 1),
            (r"\\ud83d", 0),
            (r"\\\ud83d", 1),
            (r"\n\uD83D x \uDFFF\u0041", 2),
        ];
        for (raw, expected) in table {
            let found: Vec<Range<usize>> = lone_surrogates(raw).collect();
            assert_eq!(found.len(), expected, "{raw}");
            assert!(found.iter().all(|range| raw[range.clone()].starts_with("\\u")), "{raw}");
        }
    }
}
