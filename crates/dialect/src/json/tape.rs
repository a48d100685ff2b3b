//! A document as a flat list of its values: scanned once, looked into as often as needed.
//!
//! Every value is a node behind its container; a node knows where its own part of the list ends, so
//! that a look passes over what it does not want. The list is kept and filled again where many
//! small documents follow each other, as in a stream.

use std::{borrow::Cow, cell::Cell};

use foxwedge_core::Span;

use super::{JsonScanner, JsonShape, ScanResult, unescape};

/// The values of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonTape {
    nodes: Vec<TapeNode>,
    /// Somebody met a value that is not what it should be, or half a character.
    odd: Cell<bool>,
}

#[derive(Clone, Copy, Debug)]
struct TapeNode {
    /// The key with its quotes; nowhere for elements of a list.
    key: Span,
    /// The value; a string with its quotes.
    value: Span,
    /// The node behind this one and everything in it.
    next: u32,
    shape: JsonShape,
    /// A string that is spelled with escapes.
    escaped: bool,
    /// A key that is spelled with escapes.
    odd_key: bool,
}

impl JsonTape {
    /// Reads a whole text.
    pub(crate) fn read(source: &str) -> ScanResult<JsonTape> {
        let nodes = Vec::with_capacity(source.len() / 48);
        let mut tape = JsonTape { nodes, odd: Cell::new(false) };
        tape.fill(source)?;
        Ok(tape)
    }

    /// Reads a part of a text that was scanned before.
    pub(crate) fn within(source: &str, span: Span) -> ScanResult<JsonTape> {
        let nodes = Vec::with_capacity(span.len() / 48);
        let mut tape = JsonTape { nodes, odd: Cell::new(false) };
        tape.values(&mut JsonScanner::within(source, span))?;
        Ok(tape)
    }

    /// Reads another text into the same list.
    pub(crate) fn fill(&mut self, source: &str) -> ScanResult<()> {
        self.nodes.clear();
        self.odd.set(false);
        let mut scan = JsonScanner::new(source);
        self.values(&mut scan)?;
        self.odd.set(self.odd.get() || !scan.lone_surrogates.is_empty());
        scan.end()
    }

    /// Whether a look into the document met something odd so far: a list that is none, an object
    /// that has a field twice, half a character.
    pub(crate) fn is_odd(&self) -> bool {
        self.odd.get()
    }

    /// The whole document.
    pub(crate) fn root<'t, 'a>(&'t self, source: &'a str) -> JsonValue<'t, 'a> {
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
                    let odd = key.len() + 2 != name.len();
                    self.value(scan, name, odd)
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
    /// Notes whether an object has a field twice; of a very large one that is only feared.
    fn detect_duplicates(&self, source: &str, at: usize) {
        const MOST: usize = 24;
        let mut keys = [Span::NOWHERE; MOST];
        let (mut count, mut child) = (0, at + 1);
        while let Some(node) = self.nodes.get(child) {
            if count == MOST {
                self.odd.set(true);
                return;
            }
            let twin = |key: &Span| {
                key.len() == node.key.len() && bytes(source, *key) == bytes(source, node.key)
            };
            if node.odd_key || keys[..count].iter().any(twin) {
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

/// A value of the document.
#[derive(Clone, Copy)]
pub(crate) struct JsonValue<'t, 'a> {
    tape: &'t JsonTape,
    source: &'a str,
    at: usize,
}

impl<'t, 'a> JsonValue<'t, 'a> {
    fn node(self) -> Option<&'t TapeNode> {
        self.tape.nodes.get(self.at)
    }

    /// Where it lies.
    pub(crate) fn span(self) -> Span {
        self.node().map_or(Span::NOWHERE, |node| node.value)
    }

    /// The text of the value.
    pub(crate) fn raw(self) -> &'a str {
        self.span().of(self.source)
    }

    pub(crate) fn shape(self) -> JsonShape {
        self.node().map_or(JsonShape::Null, |node| node.shape)
    }

    pub(crate) fn is_null(self) -> bool {
        self.shape() == JsonShape::Null
    }

    pub(crate) fn is_object(self) -> bool {
        self.shape() == JsonShape::Object
    }

    pub(crate) fn is_list(self) -> bool {
        self.shape() == JsonShape::Array
    }

    /// The inside of a string as it is spelled, and whether it is spelled with escapes.
    pub(crate) fn raw_string(self) -> Option<(&'a str, bool)> {
        let node = self.node().filter(|node| node.shape == JsonShape::String)?;
        let span = Span { start: node.value.start + 1, end: node.value.end - 1 };
        Some((span.of(self.source), node.escaped))
    }

    /// What a string says.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let (raw, escaped) = self.raw_string()?;
        Some(if escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) })
    }

    /// A number as it is spelled.
    pub(crate) fn number(self) -> Option<&'a str> {
        (self.shape() == JsonShape::Number).then(|| self.raw())
    }

    /// A whole number.
    pub(crate) fn count(self) -> Option<u64> {
        self.number()?.parse().ok()
    }

    /// Notes that it is not what it should be.
    pub(crate) fn mark_odd(self) {
        self.tape.odd.set(true);
    }

    /// The elements of a list; empty for anything else.
    pub(crate) fn list(self) -> TapeChildren<'t, 'a> {
        if !matches!(self.shape(), JsonShape::Array | JsonShape::Null) {
            self.mark_odd();
        }
        self.children(JsonShape::Array)
    }

    /// The fields of an object.
    pub(crate) fn object(self) -> Option<JsonObject<'t, 'a>> {
        self.is_object().then_some(JsonObject { value: self })
    }

    fn children(self, shape: JsonShape) -> TapeChildren<'t, 'a> {
        let end = match self.node() {
            Some(node) if node.shape == shape => node.next as usize,
            _ => 0,
        };
        TapeChildren { value: JsonValue { at: self.at + 1, ..self }, end }
    }
}

/// What a container holds, in order.
pub(crate) struct TapeChildren<'t, 'a> {
    value: JsonValue<'t, 'a>,
    end: usize,
}

impl<'t, 'a> Iterator for TapeChildren<'t, 'a> {
    type Item = JsonValue<'t, 'a>;

    fn next(&mut self) -> Option<JsonValue<'t, 'a>> {
        let value = Some(self.value).filter(|value| value.at < self.end)?;
        self.value.at = value.node()?.next as usize;
        Some(value)
    }
}

/// The fields of an object. Of fields with the same name the first counts.
#[derive(Clone, Copy)]
pub(crate) struct JsonObject<'t, 'a> {
    value: JsonValue<'t, 'a>,
}

impl<'t, 'a> JsonObject<'t, 'a> {
    /// The text of the whole object.
    pub(crate) fn raw(&self) -> &'a str {
        self.value.raw()
    }

    /// The fields, in order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (Cow<'a, str>, JsonValue<'t, 'a>)> {
        self.values().map(|value| (key(value), value))
    }

    /// The keys, in order, as they are spelled; of an empty one where that is with escapes.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.values().map(|value| match value.node() {
            Some(node) if !node.odd_key => {
                let inside = node.key.start as usize + 1..(node.key.end as usize).saturating_sub(1);
                value.source.as_bytes().get(inside).unwrap_or_default()
            }
            _ => b"",
        })
    }

    fn values(&self) -> TapeChildren<'t, 'a> {
        self.value.children(JsonShape::Object)
    }

    pub(crate) fn get(&self, key: &str) -> Option<JsonValue<'t, 'a>> {
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

    /// The value under the first of the keys that is there.
    pub(crate) fn get_any(&self, keys: &[&str]) -> Option<JsonValue<'t, 'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key)?.text()
    }

    /// A string that says something.
    pub(crate) fn non_empty_text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.text(key).filter(|text| !text.is_empty())
    }

    pub(crate) fn object(&self, key: &str) -> Option<JsonObject<'t, 'a>> {
        self.get(key)?.object()
    }

    /// The elements of the list under a key; none if it is anything else.
    pub(crate) fn list(&self, key: &str) -> impl Iterator<Item = JsonValue<'t, 'a>> {
        self.get(key).into_iter().flat_map(JsonValue::list)
    }

    /// The whole number under a key.
    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.get(key)?.count()
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.raw() == "true")
    }

    /// The first key, where an object is a tagged value.
    pub(crate) fn tag(&self) -> Cow<'a, str> {
        self.values().next().map(key).unwrap_or_default()
    }

    /// A field as it stands in the document: `"key": value`.
    pub(crate) fn member(&self, key: &str) -> Option<&'a str> {
        self.get(key).map(slice)
    }

    /// The fields under other keys than these, as they stand in the document.
    pub(crate) fn others(&self, keys: &[&str]) -> Vec<&'a str> {
        let other = |value: &JsonValue<'t, 'a>| {
            value.node().is_some_and(|node| !keys.iter().any(|key| is_key(*value, node, key)))
        };
        self.values().filter(other).map(slice).collect()
    }
}

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
    // Bytes are compared, as a look for the borders of characters would cost more.
    let inside = node.key.start as usize + 1..(node.key.end as usize).saturating_sub(1);
    inside.len() == wanted.len() && value.source.as_bytes().get(inside) == Some(wanted.as_bytes())
}

fn slice<'a>(value: JsonValue<'_, 'a>) -> &'a str {
    let Some(node) = value.node() else { return "" };
    Span { start: node.key.start, end: node.value.end }.of(value.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_where_they_lie() {
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
    fn what_is_no_json_is_refused_as_the_scanner_does() {
        for source in ["", "{", "[1,]", "{\"a\":1} x", "{\"a\" 1}", "nul", "\"a"] {
            let mut scan = JsonScanner::new(source);
            let expected = scan.skip().and_then(|_| scan.end());
            let at = |trouble: super::super::ScanError| trouble.at();
            assert_eq!(JsonTape::read(source).err().map(at), expected.err().map(at), "{source}");
        }
    }
}
