//! Finds the values in a JSON text, with a scanner that accepts any input.

use std::ops::Range;

/// The location of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueLocation {
    /// The key before it, with its quotes.
    pub(super) key: Option<Range<usize>>,
    pub(super) value: Range<usize>,
    /// Whether it is in an object or a list.
    pub(super) inside: bool,
}

impl ValueLocation {
    /// The value with its key.
    pub(super) fn whole(&self) -> Range<usize> {
        self.key.as_ref().map_or(self.value.start, |key| key.start)..self.value.end
    }
}

/// Every value, in the order of their beginnings. A value that is open at the end ends there.
pub(super) fn spots(bytes: &[u8]) -> Vec<ValueLocation> {
    let mut found: Vec<ValueLocation> = Vec::new();
    // Indices of the values that are open.
    let mut open: Vec<usize> = Vec::new();
    let mut key: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'{' | b'[' => {
                at += 1;
                let inside = !open.is_empty();
                open.push(found.len());
                found.push(ValueLocation { key: key.take(), value: start..bytes.len(), inside });
            }
            b'}' | b']' => {
                at += 1;
                key = None;
                if let Some(spot) = open.pop().and_then(|index| found.get_mut(index)) {
                    spot.value.end = at;
                }
            }
            b'"' => {
                at = string_end(bytes, at);
                if next_byte(bytes, at) == Some(b':') {
                    key = Some(start..at);
                } else {
                    let inside = !open.is_empty();
                    found.push(ValueLocation { key: key.take(), value: start..at, inside });
                }
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                let is_literal = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                at += bytes[at..].iter().take_while(|byte| is_literal(byte)).count();
                let inside = !open.is_empty();
                found.push(ValueLocation { key: key.take(), value: start..at, inside });
            }
            _ => at += 1,
        }
    }
    found
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn next_byte(bytes: &[u8], from: usize) -> Option<u8> {
    bytes.get(from..)?.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_with_their_keys() {
        let text = br#"{"a": [1, "x\"y", null], "b":{}}"#;
        let found: Vec<String> = spots(text)
            .iter()
            .map(|spot| String::from_utf8_lossy(&text[spot.whole()]).into_owned())
            .collect();
        let list = r#""a": [1, "x\"y", null]"#;
        let whole = String::from_utf8_lossy(text).into_owned();
        assert_eq!(found, [&whole, list, "1", r#""x\"y""#, "null", r#""b":{}"#]);
    }

    #[test]
    fn values_are_found_in_truncated_text() {
        assert_eq!(spots(br#"{"a":["b"#).len(), 3);
        assert!(spots(b"]}:,").is_empty());
    }
}
