//! The records of a line-based file.

use serde_json::Value;

/// A record with its line number.
#[derive(Clone, Debug)]
pub(super) struct LineRecord {
    /// Counted from zero.
    pub(super) line: usize,
    pub(super) value: Value,
}

/// Every record that can be read.
pub(super) fn records(bytes: &[u8]) -> Vec<LineRecord> {
    let mut records = Vec::new();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for (line, raw) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let raw: Vec<u8> = raw.iter().copied().filter(|byte| *byte != 0).collect();
        let text = String::from_utf8_lossy(&raw);
        let found = match serde_json::from_str(text.trim()) {
            Ok(value) => vec![value],
            Err(_) => match serde_json::from_slice(&without_strays(&raw)) {
                Ok(value) => vec![value],
                Err(_) => saved(&text),
            },
        };
        records.extend(found.into_iter().map(|value| LineRecord { line, value }));
    }
    records
}

/// The line without bytes that are not UTF-8, except that those in strings are replaced.
pub(super) fn without_strays(raw: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut quoted = false;
    let mut rest = raw;
    while let Some(&byte) = rest.first() {
        let mut widths = 1..=rest.len().min(4);
        let Some(width) = widths.find(|&width| std::str::from_utf8(&rest[..width]).is_ok()) else {
            if quoted {
                kept.extend("\u{fffd}".bytes());
            }
            rest = &rest[1..];
            continue;
        };
        // An escape is two characters long; the second one ends nothing.
        let escape = quoted && byte == b'\\' && rest.len() > 1 && rest[1].is_ascii();
        quoted ^= byte == b'"';
        let width = if escape { 2 } else { width };
        kept.extend(&rest[..width]);
        rest = &rest[width..];
    }
    kept
}

/// Complete records in a line that is not one record: after a truncated one, or several in a row.
fn saved(text: &str) -> Vec<Value> {
    for (start, _) in text.match_indices('{') {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let (mut values, mut end) = (Vec::new(), start);
        while let Some(Ok(value)) = stream.next() {
            values.push(value);
            end = start + stream.byte_offset();
        }
        // An element of a list that was cut off is a part of a record, and a comma follows it.
        let rest = text[end..].trim_start();
        let stands_alone = text[..start].trim().is_empty() || rest.is_empty();
        if !values.is_empty()
            && (stands_alone || rest.starts_with('{'))
            && values.iter().all(is_record)
        {
            return values;
        }
    }
    Vec::new()
}

/// Whether a value is a record and not a part of one.
fn is_record(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let typed = has("type") && (has("sessionId") || has("payload"));
    let chat = has("$set") || has("$rewindTo") || has("id") && has("timestamp") && has("content");
    typed || chat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_in_damaged_files() {
        let one = r#"{"type":"a","sessionId":"1"}"#;
        assert_eq!(records(&[b"\xff\xc3", one.as_bytes(), b"\x80\n"].concat()).len(), 1);
        let table: [(&str, usize); 8] = [
            ("", 0),
            ("ONE\n\nONE\r\n", 2),
            ("ONE\n{\"type\":\"a\",\"uu", 1),
            ("ONEONE", 2),
            ("{\"type\":\"a\",\"message\":{\"id\"ONE\n", 1),
            ("{\"type\":\"a\",\"data\":{\"type\":\"b\",\"uuid\":\"2\"}\n", 0),
            ("{\"$set\":{\"messages\":[ONE,{\"id\":\"2ONE\n", 1),
            ("\0\0\0ONE\0\n", 1),
        ];
        for (text, expected) in table {
            let text = text.replace("ONE", one);
            assert_eq!(records(text.as_bytes()).len(), expected, "{text:?}");
        }
    }
}
