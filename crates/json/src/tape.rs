//! A document as a flat list of its values: scanned once, read as often as needed.
//!
//! Every value is a node behind the node of its container. A node has the index of the next node
//! behind its own children, so that a lookup skips values without reading them. The list can be
//! filled again. That saves allocations where many small documents follow each other, as in a
//! stream.

use std::{borrow::Cow, cell::Cell};

use crate::Span;

use super::{JsonScanner, JsonShape, ScanResult, unescape};

/// A document as a flat list of its values.
///
/// A tape stores spans, not text. Pass the text that was read to [`JsonTape::root`].
#[derive(Clone, Debug, Default)]
pub struct JsonTape {
    nodes: Vec<TapeNode>,
    /// See [`JsonTape::is_odd`].
    odd: Cell<bool>,
}

#[derive(Clone, Copy, Debug)]
struct TapeNode {
    /// The key with its quotes; [`Span::NOWHERE`] for array elements and the root.
    key: Span,
    /// The value; a string with its quotes.
    value: Span,
    /// Index of the node behind this one and its children.
    next: u32,
    shape: JsonShape,
    /// Whether the value is a string with escapes.
    escaped: bool,
    /// Whether the key has escapes.
    odd_key: bool,
}

impl JsonTape {
    /// Reads a whole text. Only white space may follow the value.
    pub fn read(source: &str) -> ScanResult<JsonTape> {
        let nodes = Vec::with_capacity(source.len() / 48);
        let mut tape = JsonTape { nodes, odd: Cell::new(false) };
        tape.fill(source)?;
        Ok(tape)
    }

    /// Reads the value at the start of a span of a text that was scanned before. Unlike
    /// [`JsonTape::fill`], this does not count a lone surrogate as odd.
    pub fn within(source: &str, span: Span) -> ScanResult<JsonTape> {
        let nodes = Vec::with_capacity(span.len() / 48);
        let mut tape = JsonTape { nodes, odd: Cell::new(false) };
        tape.values(&mut JsonScanner::within(source, span))?;
        Ok(tape)
    }

    /// Reads another text into the same list. After an error the tape is incomplete: do not read
    /// values from it.
    pub fn fill(&mut self, source: &str) -> ScanResult<()> {
        self.nodes.clear();
        self.odd.set(false);
        let mut scan = JsonScanner::new(source);
        self.values(&mut scan)?;
        self.odd.set(self.odd.get() || !scan.lone_surrogates.is_empty());
        scan.end()
    }

    /// Whether the document is odd, as far as it was read: an object has a key twice, a string has
    /// a lone surrogate, or [`JsonValue::mark_odd`] was called. An object also counts as odd if it
    /// has a key with escapes or more than 24 fields, because the search for duplicate keys stops
    /// there.
    #[inline]
    pub fn is_odd(&self) -> bool {
        self.odd.get()
    }

    /// The whole document. `source` must be the text that was read. An empty tape has a null root.
    #[inline]
    pub fn root<'t, 'a>(&'t self, source: &'a str) -> JsonValue<'t, 'a> {
        JsonValue { tape: self, source, at: 0 }
    }

    fn values(&mut self, scan: &mut JsonScanner<'_>) -> ScanResult<()> {
        self.value(scan, Span::NOWHERE, false)
    }

    fn value(&mut self, scan: &mut JsonScanner<'_>, key: Span, odd_key: bool) -> ScanResult<()> {
        let at = self.nodes.len();
        let shape = scan.shape()?;
        self.nodes.push(TapeNode {
            key,
            value: Span::NOWHERE,
            next: 0,
            shape,
            escaped: false,
            odd_key,
        });
        let (value, escaped) = match shape {
            JsonShape::String => {
                let text = scan.string()?;
                (Span { start: text.span.start - 1, end: text.span.end + 1 }, text.escaped)
            }
            JsonShape::Object => {
                let value = scan.object(|scan, key, name| {
                    let odd_key = key.len() + 2 != name.len();
                    self.value(scan, name, odd_key)
                })?;
                self.detect_duplicates(scan.source(), at);
                (value, false)
            }
            JsonShape::Array => {
                (scan.array(|scan, _| self.value(scan, Span::NOWHERE, false))?, false)
            }
            JsonShape::Number | JsonShape::Bool | JsonShape::Null => (scan.skip()?, false),
        };
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let node = &mut self.nodes[at];
        (node.value, node.next, node.escaped) = (value, next, escaped);
        Ok(())
    }
}

impl JsonTape {
    /// Marks the tape as odd if the object at a node has a key twice, or might have one.
    fn detect_duplicates(&self, source: &str, at: usize) {
        const MAX_KEYS: usize = 24;
        let mut keys = [Span::NOWHERE; MAX_KEYS];
        let (mut count, mut child) = (0, at + 1);
        while let Some(node) = self.nodes.get(child) {
            if count == MAX_KEYS {
                self.odd.set(true);
                return;
            }
            let is_same = |key: &Span| {
                key.len() == node.key.len() && bytes(source, *key) == bytes(source, node.key)
            };
            if node.odd_key || keys[..count].iter().any(is_same) {
                self.odd.set(true);
                return;
            }
            keys[count] = node.key;
            count += 1;
            child = (node.next as usize).max(child + 1);
        }
    }
}

fn bytes(source: &str, span: Span) -> &[u8] {
    source.as_bytes().get(span.start as usize..span.end as usize).unwrap_or_default()
}

/// A value of a [`JsonTape`]. Cheap to copy.
#[derive(Clone, Copy)]
pub struct JsonValue<'t, 'a> {
    tape: &'t JsonTape,
    source: &'a str,
    at: usize,
}

impl<'t, 'a> JsonValue<'t, 'a> {
    #[inline]
    fn node(self) -> Option<&'t TapeNode> {
        self.tape.nodes.get(self.at)
    }

    /// Span of the value; a string with its quotes.
    #[inline]
    pub fn span(self) -> Span {
        self.node().map_or(Span::NOWHERE, |node| node.value)
    }

    /// The JSON text of the value, as it is in the document.
    #[inline]
    pub fn raw(self) -> &'a str {
        self.span().of(self.source)
    }

    /// The kind of the value.
    #[inline]
    pub fn shape(self) -> JsonShape {
        self.node().map_or(JsonShape::Null, |node| node.shape)
    }

    /// Whether the value is `null`.
    #[inline]
    pub fn is_null(self) -> bool {
        self.shape() == JsonShape::Null
    }

    /// Whether the value is an object.
    #[inline]
    pub fn is_object(self) -> bool {
        self.shape() == JsonShape::Object
    }

    /// Whether the value is an array.
    #[inline]
    pub fn is_list(self) -> bool {
        self.shape() == JsonShape::Array
    }

    /// The raw text between the quotes of a string, and whether it has escapes. `None` if the value
    /// is not a string.
    #[inline]
    pub fn raw_string(self) -> Option<(&'a str, bool)> {
        let node = self.node().filter(|node| node.shape == JsonShape::String)?;
        let span = Span { start: node.value.start + 1, end: node.value.end - 1 };
        Some((span.of(self.source), node.escaped))
    }

    /// The unescaped text of a string. Borrowed if the string has no escapes. `None` if the value
    /// is not a string.
    #[inline]
    pub fn text(self) -> Option<Cow<'a, str>> {
        let (raw, escaped) = self.raw_string()?;
        Some(if escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) })
    }

    /// A number, as it is written in the document. `None` if the value is not a number.
    #[inline]
    pub fn number(self) -> Option<&'a str> {
        (self.shape() == JsonShape::Number).then(|| self.raw())
    }

    /// A non-negative integer. `None` for `-1`, `1.0`, `1e3` and integers that exceed a `u64`.
    #[inline]
    pub fn count(self) -> Option<u64> {
        self.number()?.parse().ok()
    }

    /// Marks the whole tape as odd: see [`JsonTape::is_odd`].
    #[inline]
    pub fn mark_odd(self) {
        self.tape.odd.set(true);
    }

    /// The elements of an array. Empty for any other value. Anything but an array or null also
    /// marks the tape as odd.
    #[inline]
    pub fn list(self) -> TapeChildren<'t, 'a> {
        if !matches!(self.shape(), JsonShape::Array | JsonShape::Null) {
            self.mark_odd();
        }
        self.children(JsonShape::Array)
    }

    /// The value as an object. `None` if it is not one.
    #[inline]
    pub fn object(self) -> Option<JsonObject<'t, 'a>> {
        self.is_object().then_some(JsonObject { value: self })
    }

    #[inline]
    fn children(self, shape: JsonShape) -> TapeChildren<'t, 'a> {
        let end = match self.node() {
            Some(node) if node.shape == shape => node.next as usize,
            _ => 0,
        };
        TapeChildren { value: JsonValue { at: self.at + 1, ..self }, end }
    }
}

/// Iterator over the values of an array or object, in order.
pub struct TapeChildren<'t, 'a> {
    value: JsonValue<'t, 'a>,
    end: usize,
}

impl<'t, 'a> Iterator for TapeChildren<'t, 'a> {
    type Item = JsonValue<'t, 'a>;

    #[inline]
    fn next(&mut self) -> Option<JsonValue<'t, 'a>> {
        let value = Some(self.value).filter(|value| value.at < self.end)?;
        self.value.at = value.node()?.next as usize;
        Some(value)
    }
}

/// An object of a [`JsonTape`]. Cheap to copy.
///
/// If several fields have the same key, lookups return the first.
#[derive(Clone, Copy)]
pub struct JsonObject<'t, 'a> {
    value: JsonValue<'t, 'a>,
}

impl<'t, 'a> JsonObject<'t, 'a> {
    /// The JSON text of the whole object, as it is in the document.
    #[inline]
    pub fn raw(&self) -> &'a str {
        self.value.raw()
    }

    /// The unescaped keys and the values, in order.
    #[inline]
    pub fn fields(&self) -> impl Iterator<Item = (Cow<'a, str>, JsonValue<'t, 'a>)> {
        self.values().map(|value| (key(value), value))
    }

    /// The keys, in order. A key that has escapes appears as an empty one.
    #[inline]
    pub fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.values().map(|value| match value.node() {
            Some(node) if !node.odd_key => {
                let inside = node.key.start as usize + 1..(node.key.end as usize).saturating_sub(1);
                value.source.as_bytes().get(inside).unwrap_or_default()
            }
            _ => b"",
        })
    }

    #[inline]
    fn values(&self) -> TapeChildren<'t, 'a> {
        self.value.children(JsonShape::Object)
    }

    /// The value of a field.
    #[inline]
    pub fn get(&self, key: &str) -> Option<JsonValue<'t, 'a>> {
        let JsonValue { tape, source, at } = self.value;
        let end = tape.nodes.get(at)?.next as usize;
        let mut at = at + 1;
        while let Some(node) = tape.nodes.get(at).filter(|_| at < end) {
            let value = JsonValue { tape, source, at };
            if is_key(value, node, key) {
                return Some(value);
            }
            at = node.next as usize;
        }
        None
    }

    /// The value of the first of these keys that the object has.
    #[inline]
    pub fn get_any(&self, keys: &[&str]) -> Option<JsonValue<'t, 'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    /// The unescaped string value of a field. `None` if it is not a string.
    #[inline]
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// The unescaped string value of a field. `None` if it is empty or not a string.
    #[inline]
    pub fn non_empty_text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// The object value of a field. `None` if it is not an object.
    #[inline]
    pub fn object(&self, key: &str) -> Option<JsonObject<'t, 'a>> {
        self.get(key)?.object()
    }

    /// The elements of the array value of a field: see [`JsonValue::list`].
    #[inline]
    pub fn list(&self, key: &str) -> impl Iterator<Item = JsonValue<'t, 'a>> {
        self.get(key).into_iter().flat_map(JsonValue::list)
    }

    /// The non-negative integer value of a field: see [`JsonValue::count`].
    #[inline]
    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key)?.count()
    }

    /// Whether the value of a field is `true`.
    #[inline]
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.raw() == "true")
    }

    /// The first key, for objects that are a tagged value (`{"tag": …}`). Empty if there is none.
    #[inline]
    pub fn tag(&self) -> Cow<'a, str> {
        self.values().next().map(key).unwrap_or_default()
    }

    /// The JSON text of a field, as it is in the document: `"key": value`.
    #[inline]
    pub fn member(&self, key: &str) -> Option<&'a str> {
        self.get(key).map(slice)
    }

    /// The JSON text of every field whose key is not one of these, as it is in the document.
    pub fn others(&self, keys: &[&str]) -> Vec<&'a str> {
        let other = |value: &JsonValue<'t, 'a>| {
            value.node().is_some_and(|node| !keys.iter().any(|key| is_key(*value, node, key)))
        };
        self.values().filter(other).map(slice).collect()
    }
}

/// The unescaped key of a field.
fn key<'a>(value: JsonValue<'_, 'a>) -> Cow<'a, str> {
    let Some(node) = value.node() else { return Cow::Borrowed("") };
    let inside = Span { start: node.key.start + 1, end: node.key.end.saturating_sub(1) };
    let raw = inside.of(value.source);
    if node.odd_key { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) }
}

#[inline]
fn is_key(value: JsonValue<'_, '_>, node: &TapeNode, wanted: &str) -> bool {
    if node.odd_key {
        return key(value) == wanted;
    }
    // Compares bytes: slicing the `str` would also check character boundaries.
    let inside = node.key.start as usize + 1..(node.key.end as usize).saturating_sub(1);
    inside.len() == wanted.len() && value.source.as_bytes().get(inside) == Some(wanted.as_bytes())
}

/// The JSON text of a field, from its key to the end of its value.
fn slice<'a>(value: JsonValue<'_, 'a>) -> &'a str {
    let Some(node) = value.node() else { return "" };
    Span { start: node.key.start, end: node.value.end }.of(value.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tape_finds_values_and_their_raw_text() {
        let source = r#" {"a":[1,{"b":"x\ny"},[]],"\u0063":null,"d":{"e":true},"a":2} "#;
        let tape = JsonTape::read(source).expect("JSON");
        let root = tape.root(source).object().expect("an object");
        let list: Vec<&str> = root.list("a").map(JsonValue::raw).collect();
        assert_eq!(list, ["1", r#"{"b":"x\ny"}"#, "[]"]);
        let inner = root.list("a").nth(1).and_then(JsonValue::object).expect("an object");
        assert_eq!(inner.text("b").as_deref(), Some("x\ny"));
        assert!(root.get("c").is_some_and(JsonValue::is_null));
        assert!(root.object("d").is_some_and(|d| d.is_true("e")));
        assert_eq!(root.member("d"), Some(r#""d":{"e":true}"#));
        assert_eq!(root.others(&["a", "d"]), [r#""\u0063":null"#]);
        assert_eq!(root.count("a"), None);
        assert!(root.get("x").is_none() && root.tag() == "a");
    }

    #[test]
    fn tape_and_scanner_refuse_invalid_json_at_the_same_byte() {
        for source in ["", "{", "[1,]", "{\"a\":1} x", "{\"a\" 1}", "nul", "\"a"] {
            let mut scan = JsonScanner::new(source);
            let expected = scan.skip().and_then(|_| scan.end());
            let at = |error: super::super::ScanError| error.at();
            assert_eq!(JsonTape::read(source).err().map(at), expected.err().map(at), "{source}");
        }
    }
}
