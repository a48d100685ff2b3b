//! The fields of the first object in a text that may break off anywhere.
//!
//! Whoever wants to know what flows in a pipe cannot wait for its end.

/// The fields of an object, as far as they came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PartialObject<'t> {
    /// Keys and values as they are spelled; the last value may break off.
    fields: Vec<(&'t str, &'t str)>,
    /// What stands behind the object; `None` if it breaks off.
    pub(super) rest: Option<&'t str>,
}

impl<'t> PartialObject<'t> {
    /// The fields of the object that a text begins with; `None` if it begins with something else.
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

    /// The fields of the first object in a list.
    pub(super) fn of_first(list: &'t str) -> Option<PartialObject<'t>> {
        PartialObject::of(list.trim_ascii_start().strip_prefix('[')?)
    }

    /// The value of a field, as it is spelled.
    pub(super) fn get(&self, key: &str) -> Option<&'t str> {
        self.fields.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The text of a field that has come as a whole. Words of formats need no escapes.
    pub(super) fn string_value(&self, key: &str) -> Option<&'t str> {
        self.get(key).and_then(unquote)
    }

    /// The fields of an object in a field.
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
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn skip(&mut self, bytes: &[u8]) {
        while self.peek().is_some_and(|byte| bytes.contains(&byte)) {
            self.at += 1;
        }
    }

    /// Goes behind a value; `None` if it breaks off.
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

    /// Goes behind a string; `None` if it breaks off.
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
    fn fields_are_seen_as_far_as_they_came() {
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
        // Whatever is seen of a beginning is seen of the whole.
        for end in 2..text.len() - " } rest".len() {
            let part = PartialObject::of(&text[..end]).unwrap();
            assert_eq!(part.rest, None, "{end}");
            let keys: String = part.keys().collect();
            assert!("abcg".starts_with(&keys), "{end}: {keys}");
            for key in part.keys() {
                let (seen, all) = (part.get(key).unwrap(), whole.get(key).unwrap());
                assert!(all.starts_with(seen.trim_end()), "{end}: {seen}");
            }
        }
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
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
