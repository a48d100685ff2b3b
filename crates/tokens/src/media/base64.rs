//! The first bytes of base64.

/// Decodes until `most` bytes are there, the text ends, or it is no base64 any more. Both alphabets
/// are read; line breaks are skipped.
pub(super) fn decode(text: &str, most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(most.min(text.len()));
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'\r' | b'\n' | b' ' => continue,
            _ => break,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
            if bytes.len() >= most {
                break;
            }
        }
    }
    bytes
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The way back, for tests.
    pub(in crate::media) fn encode(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for digit in 0..4 {
                let value = bits >> (18 - 6 * digit) & 63;
                text.push(if digit > group.len() { '=' } else { ALPHABET[value as usize].into() });
            }
        }
        text
    }

    #[test]
    fn bytes_survive_the_way_there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            let part = &bytes[..length];
            assert_eq!(decode(&encode(part), 1000), part);
            assert_eq!(decode(&encode(&bytes), length.max(1)), bytes[..length.max(1)]);
        }
    }

    #[test]
    fn what_is_no_base64_ends_the_bytes() {
        let table: [(&str, &[u8]); 5] = [
            ("", b""),
            ("aGVs\r\nbG8=", b"hello"),
            ("aGVsbG8=aGVs", b"hello"),
            ("_-_-", b"\xff\xef\xfe"),
            ("aGV%bG8", b"he"),
        ];
        for (text, expected) in table {
            assert_eq!(decode(text, 100), expected, "{text}");
        }
    }
}
