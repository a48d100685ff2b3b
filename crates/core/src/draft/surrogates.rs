//! Half characters: escapes of a lone surrogate inside a JSON string.

use std::ops::Range;

/// The escapes of lone surrogates in the raw inside of a JSON string, or in a part of it that
/// begins where an escape or a character begins. Each is six bytes long.
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

/// The code unit of a `\u` escape.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &byte| Some(unit * 16 + char::from(byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_told_from_pairs_and_from_escaped_backslashes() {
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
        for (raw, halves) in table {
            let found: Vec<Range<usize>> = lone_surrogates(raw).collect();
            assert_eq!(found.len(), halves, "{raw}");
            assert!(found.iter().all(|range| raw[range.clone()].starts_with("\\u")), "{raw}");
        }
    }
}
