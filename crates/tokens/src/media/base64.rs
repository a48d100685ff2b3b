//! Decodes the first bytes of base64.

/// Decodes up to `max` bytes; stops at the end of the text or at the first invalid character.
/// Accepts both alphabets; skips line breaks.
pub(super) fn decode(text: &str, max: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(max.min(text.len()));
    let (mut bits, mut bit_count) = (0_u32, 0_u32);
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
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count & 0xff) as u8);
            if bytes.len() >= max {
                break;
            }
        }
    }
    bytes
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Encodes bytes, for tests.
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
    fn encoded_bytes_decode_unchanged() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            let part = &bytes[..length];
            assert_eq!(decode(&encode(part), 1000), part);
            assert_eq!(decode(&encode(&bytes), length.max(1)), bytes[..length.max(1)]);
        }
    }

    #[test]
    fn decoding_stops_at_invalid_characters() {
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
