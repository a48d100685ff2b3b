//! Canonical forms for values that have several encodings.

use foxwedge_core::Span;
use memchr::{memchr, memmem::Finder};

use super::{
    chain::{
        BROKEN, LIST, NUMBER, OBJECT, STRING, TOP, WORD, combine_sum, digest_tagged, index_place,
        key_place,
    },
    walk::{JsonQuoting, walk_arguments},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, escape_into, unescape, unescape_into};

/// Brings texts into canonical form: the inside of a JSON string with the fewest and shortest
/// escapes. Nearly all texts arrive in this form, so almost nothing is copied.
#[derive(Clone)]
pub(super) struct TextNormalizer {
    /// Whether all texts of the document are in canonical form.
    is_plain: bool,
    /// Finds escapes that may have a shorter form or be unnecessary.
    wide: Finder<'static>,
    slash: Finder<'static>,
    text: String,
    arguments: String,
}

impl TextNormalizer {
    pub(super) fn new(is_plain: bool) -> TextNormalizer {
        TextNormalizer {
            is_plain,
            wide: Finder::new("\\u"),
            slash: Finder::new("\\/"),
            text: String::new(),
            arguments: String::new(),
        }
    }

    /// The canonical form of the inside of a string of the document.
    #[inline]
    pub(super) fn normalize_document_text<'s>(&'s mut self, raw: &'s str) -> &'s str {
        if self.is_plain { raw } else { self.normalize(raw) }
    }

    /// The canonical form of the inside of a JSON string.
    #[inline]
    pub(super) fn normalize<'s>(&'s mut self, raw: &'s str) -> &'s str {
        if self.is_plain(raw.as_bytes()) { raw } else { self.normalize_plain(&unescape(raw)) }
    }

    /// Whether every escape is in its only form. May return `false` for a canonical text with many
    /// escapes.
    fn is_plain(&self, mut rest: &[u8]) -> bool {
        for _ in 0..8 {
            let Some(at) = memchr(b'\\', rest) else { return true };
            if matches!(rest.get(at + 1), Some(b'u' | b'/')) {
                return false;
            }
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        self.wide.find(rest).is_none() && self.slash.find(rest).is_none()
    }

    /// The canonical form of a text that is not JSON.
    pub(super) fn normalize_plain(&mut self, text: &str) -> &str {
        self.text.clear();
        escape_into(&mut self.text, text);
        &self.text
    }

    /// The value of arguments that are JSON inside a string, and where the inside of that string
    /// ends; `None` if the slow path is needed. The text may continue after the string.
    pub(super) fn digest_quoted_fast(&mut self, raw: &str) -> Option<(u128, usize)> {
        let result = walk_arguments(raw, JsonQuoting::Quoted, &mut self.text);
        result.filter(|(_, end)| raw.as_bytes().get(*end) == Some(&b'"'))
    }

    /// The value of the arguments at the start of a text, either an object or a string that holds
    /// one; `None` if the slow path is needed.
    pub(super) fn digest_fast(&mut self, rest: &str) -> Option<u128> {
        let result = match rest.strip_prefix('"') {
            Some(quoted) => self.digest_quoted_fast(quoted),
            None => walk_arguments(rest, JsonQuoting::Plain, &mut self.text)
                .filter(|_| rest.starts_with('{')),
        };
        result.map(|(value, _)| value)
    }

    /// The value of arguments that are JSON inside a string.
    pub(super) fn digest_quoted(&mut self, raw: &str) -> u128 {
        let mut text = std::mem::take(&mut self.arguments);
        text.clear();
        unescape_into(&mut text, raw);
        let value = self.digest_arguments(&text);
        self.arguments = text;
        value
    }

    /// The value of arguments: of the parsed JSON, or of the text if it is truncated or malformed.
    pub(super) fn digest_arguments(&mut self, json: &str) -> u128 {
        // Missing arguments equal an empty object.
        let json = if json.trim_ascii().is_empty() { "{}" } else { json };
        let mut scan = JsonScanner::new(json);
        let value = self.digest_value(&mut scan, TOP, "");
        value
            .and_then(|value| scan.end().map(|()| value))
            .unwrap_or_else(|_| digest_tagged(json, BROKEN))
    }

    /// The value of a scanned JSON value.
    pub(super) fn digest_json(&mut self, source: &str, span: Span) -> u128 {
        let raw = span.of(source);
        match walk_arguments(raw, JsonQuoting::Plain, &mut self.text) {
            Some((value, end)) if end == raw.len() => value,
            _ => self.digest_json_without(source, span, ""),
        }
    }

    /// The same, without fields of the given name.
    pub(super) fn digest_json_without(&mut self, source: &str, span: Span, without: &str) -> u128 {
        let value = self.digest_value(&mut JsonScanner::within(source, span), TOP, without);
        value.unwrap_or_else(|_| digest_tagged(span.of(source), BROKEN))
    }

    fn digest_value(
        &mut self,
        scan: &mut JsonScanner<'_>,
        place: u64,
        without: &str,
    ) -> ScanResult<u128> {
        let source = scan.source();
        Ok(match scan.shape()? {
            JsonShape::String => {
                let raw = scan.string()?.span.of(source);
                digest_tagged(self.normalize(raw), place.wrapping_add(STRING))
            }
            JsonShape::Number => digest_number(scan.skip()?.of(source), place),
            JsonShape::Bool | JsonShape::Null => {
                digest_tagged(scan.skip()?.of(source), place.wrapping_add(WORD))
            }
            JsonShape::Array => {
                let mut sum = 0_u128;
                scan.array(|scan, index| {
                    sum = sum.wrapping_add(self.digest_value(
                        scan,
                        index_place(index as u64),
                        without,
                    )?);
                    Ok(())
                })?;
                combine_sum(sum, place.wrapping_add(LIST))
            }
            JsonShape::Object => {
                let mut sum = 0_u128;
                scan.object(|scan, key, _| {
                    let value = self.digest_value(scan, key_place(key), without)?;
                    if without.is_empty() || key != without.as_bytes() {
                        sum = sum.wrapping_add(value);
                    }
                    Ok(())
                })?;
                combine_sum(sum, place.wrapping_add(OBJECT))
            }
        })
    }
}

/// The value of free-text arguments in canonical form. Formats without free-text tools have an
/// object that holds the text.
pub(super) fn digest_free_text(text: &str) -> u128 {
    combine_sum(
        digest_tagged(text, key_place(b"input").wrapping_add(STRING)),
        TOP.wrapping_add(OBJECT),
    )
}

/// The value of a number: `1.0`, `1` and `1e0` are equal to most parsers.
fn digest_number(raw: &str, place: u64) -> u128 {
    /// Every integer up to this one has an exact `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let digest = |raw: &str| digest_tagged(raw, place.wrapping_add(NUMBER));
    if raw.bytes().all(|byte| byte.is_ascii_digit()) {
        return digest(raw);
    }
    match raw.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < EXACT => {
            digest(&(number as i64).to_string())
        }
        Ok(number) if number.is_finite() && raw.contains(['.', 'e', 'E']) => {
            digest(&number.to_string())
        }
        _ => digest(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_json::quote;

    #[test]
    fn the_fast_path_computes_the_same_values() {
        let table = [
            ("{}", true),
            (r#" { "a" : [ 1 , -2, true,false,null , "x" ], "é":{} } "#, true),
            ("{\n\t\"a\":\r\n\"b\"}", true),
            (r#"{"a":"line\n\"quoted\" \\ and more\t\r\b\f"}"#, true),
            (r#""text""#, true),
            ("0", true),
            ("[[],[[]],0,10,123456789012345678901234567890]", true),
            (r#"[{"a":1,"b":{"c":[]}},"a",-15,[true]]"#, true),
            (r#"{"a":"\u00e9"}"#, false),
            (r#"{"a":"\/"}"#, false),
            (r#"{"\n":1}"#, false),
            ("1.5", false),
            ("-0", false),
            ("-1234567890123456789", false),
            ("1e3", false),
        ];
        for (json, usual) in table {
            let mut normalizer = TextNormalizer::new(false);
            let expected = normalizer.digest_arguments(json);
            let span = Span::new(0, json.len());
            assert_eq!(normalizer.digest_json_without(json, span, ""), expected, "{json}");
            assert_eq!(normalizer.digest_json(json, span), expected, "{json}");
            let quoted = quote(json);
            let inside = &quoted[1..quoted.len() - 1];
            assert_eq!(normalizer.digest_quoted(inside), expected, "{json}");
            let fast = normalizer.digest_quoted_fast(&quoted[1..]);
            assert_eq!(fast, usual.then_some((expected, inside.len())), "{json}");
        }
    }

    #[test]
    fn the_fast_path_rejects_broken_json() {
        let table = [
            "",
            "{",
            "[",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "01",
            "-",
            "1.",
            "tru",
            "\"a",
            "{} {}",
            "\"a\nb\"",
            "\"\\x\"",
            "[1 2]",
            "{\"a\":1]",
            "\u{1}",
        ];
        for json in table {
            let mut normalizer = TextNormalizer::new(false);
            let quoted = quote(json);
            assert_eq!(normalizer.digest_quoted_fast(&quoted[1..]), None, "{json}");
            let plain = walk_arguments(json, JsonQuoting::Plain, &mut String::new());
            assert!(plain.is_none_or(|(_, end)| end < json.len() || json.contains('\n')), "{json}");
        }
    }

    #[test]
    fn equal_numbers_have_the_same_value() {
        let same = [("1", "1.0"), ("1", "1e0"), ("100", "1E2"), ("0", "-0"), ("-5", "-5.0")];
        let other = [("1", "-1"), ("1.5", "1.25"), ("9007199254740993", "9007199254740992")];
        for (one, two) in same {
            assert_eq!(digest_number(one, TOP), digest_number(two, TOP), "{one} {two}");
        }
        for (one, two) in other {
            assert_ne!(digest_number(one, TOP), digest_number(two, TOP), "{one} {two}");
        }
        assert_eq!(digest_number("0.10", TOP), digest_number("1e-1", TOP));
    }
}
