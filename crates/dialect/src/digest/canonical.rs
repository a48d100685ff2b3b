//! One spelling for everything that can be spelled in several ways.

use foxwedge_core::Span;
use memchr::{memchr, memmem::Finder};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    chain::{of_sort, of_sum},
    walk::{Place, walk},
};
use crate::json::{Scan, Scanner, Shape, escape_into, unescape, unescape_into};

/// What a value is, so that `"1"` is not `1`. Added to the place where it stands.
pub(super) const STRING: u64 = 1;
pub(super) const NUMBER: u64 = 2;
pub(super) const WORD: u64 = 3;
const BROKEN: u64 = 4;
pub(super) const LIST: u64 = 5;
pub(super) const OBJECT: u64 = 6;

/// Where a value stands. What an object or a list holds is added up, so every value has to know
/// its place, and the order of the fields does not matter.
pub(super) const TOP: u64 = 0;

/// The place under a key.
#[inline]
pub(super) fn of_key(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// A place in a list.
#[inline]
pub(super) fn in_list(index: u64) -> u64 {
    index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Spells texts plainly: as the inside of a JSON string with as few and as short escapes as there
/// can be. That is how nearly all texts arrive, so nearly nothing is copied.
#[derive(Clone)]
pub(super) struct Speller {
    /// All texts of the document are spelled plainly.
    trusted: bool,
    /// Escapes that have a shorter spelling, or need not be.
    wide: Finder<'static>,
    slash: Finder<'static>,
    text: String,
    arguments: String,
}

impl Speller {
    pub(super) fn new(trusted: bool) -> Speller {
        Speller {
            trusted,
            wide: Finder::new("\\u"),
            slash: Finder::new("\\/"),
            text: String::new(),
            arguments: String::new(),
        }
    }

    /// Spells the inside of a string of the document.
    #[inline]
    pub(super) fn spell_said<'s>(&'s mut self, raw: &'s str) -> &'s str {
        if self.trusted { raw } else { self.spell(raw) }
    }

    /// Spells the inside of a JSON string.
    #[inline]
    pub(super) fn spell<'s>(&'s mut self, raw: &'s str) -> &'s str {
        if self.is_plain(raw.as_bytes()) { raw } else { self.plain(&unescape(raw)) }
    }

    /// Whether there is no escape that could be spelled in another way. Where there are many, some
    /// are doubted that are none.
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

    /// Spells a text that is no JSON.
    pub(super) fn plain(&mut self, text: &str) -> &str {
        self.text.clear();
        escape_into(&mut self.text, text);
        &self.text
    }

    /// The value of arguments that stand as a JSON text inside a string, and where the inside of
    /// that string ends; `None` if it takes a closer look. The text may go on behind the string.
    pub(super) fn quoted_quickly(&mut self, raw: &str) -> Option<(u128, usize)> {
        let found = walk(raw, Place::Quoted, &mut self.text);
        found.filter(|(_, end)| raw.as_bytes().get(*end) == Some(&b'"'))
    }

    /// The value of the arguments at the beginning of a text, be they an object or a string that
    /// holds one; `None` if it takes a closer look.
    pub(super) fn quickly(&mut self, rest: &str) -> Option<u128> {
        let found = match rest.strip_prefix('"') {
            Some(quoted) => self.quoted_quickly(quoted),
            None => walk(rest, Place::Plain, &mut self.text).filter(|_| rest.starts_with('{')),
        };
        found.map(|(value, _)| value)
    }

    /// The value of arguments that stand as a JSON text inside a string.
    pub(super) fn quoted(&mut self, raw: &str) -> u128 {
        let mut text = std::mem::take(&mut self.arguments);
        text.clear();
        unescape_into(&mut text, raw);
        let value = self.arguments(&text);
        self.arguments = text;
        value
    }

    /// The value of arguments: of what they say, or of their text if they are cut off or odd.
    pub(super) fn arguments(&mut self, json: &str) -> u128 {
        // No arguments are an empty object.
        let json = if json.trim_ascii().is_empty() { "{}" } else { json };
        let mut scan = Scanner::new(json);
        let value = self.value(&mut scan, TOP, "");
        value.and_then(|value| scan.end().map(|()| value)).unwrap_or_else(|_| of_sort(json, BROKEN))
    }

    /// The value of a JSON value that was scanned before.
    pub(super) fn json(&mut self, source: &str, span: Span) -> u128 {
        let raw = span.of(source);
        match walk(raw, Place::Plain, &mut self.text) {
            Some((value, end)) if end == raw.len() => value,
            _ => self.json_without(source, span, ""),
        }
    }

    /// The same, without fields of that name.
    pub(super) fn json_without(&mut self, source: &str, span: Span, without: &str) -> u128 {
        let value = self.value(&mut Scanner::within(source, span), TOP, without);
        value.unwrap_or_else(|_| of_sort(span.of(source), BROKEN))
    }

    fn value(&mut self, scan: &mut Scanner<'_>, place: u64, without: &str) -> Scan<u128> {
        let source = scan.source();
        Ok(match scan.shape()? {
            Shape::String => {
                let raw = scan.string()?.span.of(source);
                of_sort(self.spell(raw), place.wrapping_add(STRING))
            }
            Shape::Number => number(scan.skip()?.of(source), place),
            Shape::Bool | Shape::Null => of_sort(scan.skip()?.of(source), place.wrapping_add(WORD)),
            Shape::Array => {
                let mut all = 0_u128;
                scan.array(|scan, index| {
                    all = all.wrapping_add(self.value(scan, in_list(index as u64), without)?);
                    Ok(())
                })?;
                of_sum(all, place.wrapping_add(LIST))
            }
            Shape::Object => {
                let mut all = 0_u128;
                scan.object(|scan, key, _| {
                    let value = self.value(scan, of_key(key), without)?;
                    if without.is_empty() || key != without.as_bytes() {
                        all = all.wrapping_add(value);
                    }
                    Ok(())
                })?;
                of_sum(all, place.wrapping_add(OBJECT))
            }
        })
    }
}

/// The value of arguments that are free text, spelled plainly. Formats without such tools have an
/// object with the text in it.
pub(super) fn free_text(words: &str) -> u128 {
    of_sum(of_sort(words, of_key(b"input").wrapping_add(STRING)), TOP.wrapping_add(OBJECT))
}

/// The value of a number: `1.0`, `1` and `1e0` are the same to most readers.
fn number(raw: &str, place: u64) -> u128 {
    /// Up to here every whole number is one of those that everybody can hold.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let told = |raw: &str| of_sort(raw, place.wrapping_add(NUMBER));
    if raw.bytes().all(|byte| byte.is_ascii_digit()) {
        return told(raw);
    }
    match raw.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < EXACT => {
            told(&(number as i64).to_string())
        }
        Ok(number) if number.is_finite() && raw.contains(['.', 'e', 'E']) => {
            told(&number.to_string())
        }
        _ => told(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::quote;

    #[test]
    fn the_quick_way_comes_to_the_same_values() {
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
            let mut speller = Speller::new(false);
            let expected = speller.arguments(json);
            let span = Span::new(0, json.len());
            assert_eq!(speller.json_without(json, span, ""), expected, "{json}");
            assert_eq!(speller.json(json, span), expected, "{json}");
            let quoted = quote(json);
            let inside = &quoted[1..quoted.len() - 1];
            assert_eq!(speller.quoted(inside), expected, "{json}");
            let quick = speller.quoted_quickly(&quoted[1..]);
            assert_eq!(quick, usual.then_some((expected, inside.len())), "{json}");
        }
    }

    #[test]
    fn the_quick_way_takes_nothing_that_is_broken() {
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
            let mut speller = Speller::new(false);
            let quoted = quote(json);
            assert_eq!(speller.quoted_quickly(&quoted[1..]), None, "{json}");
            let plain = walk(json, Place::Plain, &mut String::new());
            assert!(plain.is_none_or(|(_, end)| end < json.len() || json.contains('\n')), "{json}");
        }
    }

    #[test]
    fn numbers_are_what_they_say() {
        let same = [("1", "1.0"), ("1", "1e0"), ("100", "1E2"), ("0", "-0"), ("-5", "-5.0")];
        let other = [("1", "-1"), ("1.5", "1.25"), ("9007199254740993", "9007199254740992")];
        for (one, two) in same {
            assert_eq!(number(one, TOP), number(two, TOP), "{one} {two}");
        }
        for (one, two) in other {
            assert_ne!(number(one, TOP), number(two, TOP), "{one} {two}");
        }
        assert_eq!(number("0.10", TOP), number("1e-1", TOP));
    }
}
