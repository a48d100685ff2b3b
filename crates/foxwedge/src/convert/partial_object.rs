//! Reads the fields of the first JSON object in a text that may be truncated anywhere.
//!
//! Needed to detect the format of a stream before it ends.

/// The fields of a possibly truncated object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PartialObject<'t> {
    /// Raw keys and values. The last value may be truncated.
    fields: Vec<(&'t str, &'t str)>,
    /// The text after the object; `None` if the object is truncated.
    pub(super) rest: Option<&'t str>,
}

impl<'t> PartialObject<'t> {
    /// The object at the beginning of a text; `None` if there is none.
    pub(super) fn of(text: &'t str) -> Option<PartialObject<'t>> {
        let mut scan = PartialObjectScanner { text, at: 0 };
        scan.skip(b" \t\r\n");
        if !scan.take(b'{') {
            return None;
        }
        let mut fields = Vec::new();
        loop {
            scan.skip(b" \t\r\n,");
            if scan.take(b'}') {
                return Some(PartialObject { fields, rest: text.get(scan.at..) });
            }
            let key = scan.skip_value().filter(|key| key.starts_with('"'));
            let Some(key) = key.and_then(unquote) else { break };
            scan.skip(b" \t\r\n:");
            let start = scan.at;
            let whole = scan.skip_value();
            fields.push((key, whole.unwrap_or(text.get(start..).unwrap_or_default())));
            if whole.is_none() {
                break;
            }
        }
        Some(PartialObject { fields, rest: None })
    }

    /// The first object of a list.
    pub(super) fn of_first(list: &'t str) -> Option<PartialObject<'t>> {
        PartialObject::of(list.trim_ascii_start().strip_prefix('[')?)
    }

    /// The raw value of a field.
    pub(super) fn get(&self, key: &str) -> Option<&'t str> {
        self.fields.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The string in a field, if it is not truncated. Escapes stay: keywords of formats have none.
    pub(super) fn string_value(&self, key: &str) -> Option<&'t str> {
        self.get(key).and_then(unquote)
    }

    /// The object in a field.
    pub(super) fn object_value(&self, key: &str) -> Option<PartialObject<'t>> {
        PartialObject::of(self.get(key)?)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'t str> {
        self.fields.iter().map(|(key, _)| *key)
    }
}

/// A string without its quotes.
fn unquote(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

struct PartialObjectScanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> PartialObjectScanner<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let matches = self.peek() == Some(byte);
        self.at += usize::from(matches);
        matches
    }

    fn skip(&mut self, bytes: &[u8]) {
        while self.peek().is_some_and(|byte| bytes.contains(&byte)) {
            self.at += 1;
        }
    }

    /// Skips a value; `None` if it is truncated.
    fn skip_value(&mut self) -> Option<&'t str> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b'}' | b']' if depth == 0 => break,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
        self.text.get(start..self.at).map(str::trim_ascii_end)
    }

    /// Skips a string; `None` if it is truncated.
    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn fields_of_truncated_objects_are_read() {
        let text =
            r#" {"a": 1, "b":"x, \"y\" }","c" :{"d":[1,{"e":"]"}],"f":null}, "g":true } rest"#;
        let whole = PartialObject::of(text).unwrap();
        assert_eq!(whole.keys().collect::<String>(), "abcg");
        assert_eq!(whole.get("a"), Some("1"));
        assert_eq!(whole.string_value("a"), None);
        assert_eq!(whole.get("b"), Some(r#""x, \"y\" }""#));
        assert_eq!(whole.object_value("c").and_then(|c| c.get("f")), Some("null"));
        assert_eq!(whole.get("g"), Some("true"));
        assert_eq!(whole.rest, Some(" rest"));
        // Every field of a prefix is also a field of the whole object.
        for end in 2..text.len() - " } rest".len() {
            let part = PartialObject::of(&text[..end]).unwrap();
            assert_eq!(part.rest, None, "{end}");
            let keys: String = part.keys().collect();
            assert!("abcg".starts_with(&keys), "{end}: {keys}");
            for key in part.keys() {
                let (prefix, all) = (part.get(key).unwrap(), whole.get(key).unwrap());
                assert!(all.starts_with(prefix.trim_end()), "{end}: {prefix}");
            }
        }
    }

    #[test]
    fn only_objects_have_fields() {
        for text in ["", " ", "[1]", "data: {}", "\"{}\""] {
            assert_eq!(PartialObject::of(text), None, "{text}");
        }
        for hostile in ["{", "{]", "{\"", "{\"a", "{\"a\\", "{\"a\":", "{:}", "{\"a\":]", "{\"é\\"]
        {
            assert!(PartialObject::of(hostile).is_some(), "{hostile}");
        }
        assert!(PartialObject::of_first(" [ {\"a\":1}]").is_some_and(|first| first.has("a")));
        assert_eq!(PartialObject::of_first("{}"), None);
    }
}
