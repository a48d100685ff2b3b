//! What a call changed in a list of messages, for programs that hold the list as objects: they keep
//! every object that did not change, and parse only the new ones.

use std::{borrow::Cow, collections::HashMap};

use foxwedge_json::{JsonScanner, JsonShape, escape_into};

use crate::{CallReply, report::ReportObject};

/// The keys under which a document holds its messages.
const LISTS: [&str; 3] = ["messages", "contents", "input"];

impl CallReply {
    /// The new document as changes to the one that the call got: a JSON object with `key`, the name of
    /// the list in the document or `null` if the document is the list; `items`, the new list, in which
    /// `[a, b]` stands for the old messages from `a` to before `b`; and `fields`, the other fields that
    /// changed, and `removed`, the names of those that are gone.
    ///
    /// `None` if there is no new document, or if the two are no lists of messages.
    pub fn list_changes(&self, source: &[u8]) -> Option<String> {
        let text = |bytes| foxwedge_formats::text(bytes).ok();
        list_changes(text(source)?, text(self.document.as_deref()?)?)
    }
}

fn list_changes(source: &str, result: &str) -> Option<String> {
    let old = outline(source, &[])?;
    let new = outline(result, &old)?;
    let field = |fields: &'_ [OutlinedField<'_>], name: &str| {
        fields.iter().position(|field| field.key.as_deref() == Some(name))
    };
    let listed = |fields: &[OutlinedField<'_>], at: usize| fields[at].elements.is_some();
    let (from, to) = match (old.first(), new.first()) {
        (Some(OutlinedField { key: None, .. }), Some(OutlinedField { key: None, .. })) => (0, 0),
        _ => LISTS.iter().find_map(|name| {
            let (from, to) = (field(&old, name)?, field(&new, name)?);
            (listed(&old, from) && listed(&new, to)).then_some((from, to))
        })?,
    };
    let items = kept_items(old[from].elements.as_deref()?, new[to].elements.as_deref()?)?;
    let mut fields = ReportObject::new();
    for (at, entry) in new.iter().enumerate().filter(|(at, _)| *at != to) {
        let name = entry.key.as_deref()?;
        let same = field(&old, name).is_some_and(|old_at| old[old_at].value == new[at].value);
        if !same {
            let mut key = String::new();
            escape_into(&mut key, name);
            fields = fields.raw(&key, entry.value);
        }
    }
    let names = old.iter().filter_map(|entry| entry.key.as_deref());
    let removed = names.filter(|name| field(&new, name).is_none());
    let changes = ReportObject::new()
        .optional("key", old[from].key.as_deref())
        .list("items", items)
        .raw("fields", fields.end())
        .texts("removed", removed);
    Some(changes.end())
}

/// A field of a document. A document that is a list is one field without a key.
struct OutlinedField<'t> {
    key: Option<Cow<'t, str>>,
    value: &'t str,
    /// The elements, if it may be the list of messages.
    elements: Option<Vec<&'t str>>,
}

/// The fields of a document; `None` if it is neither an object nor a list. What is in the fields of
/// another document, `known`, is compared instead of read.
fn outline<'t>(text: &'t str, known: &[OutlinedField<'_>]) -> Option<Vec<OutlinedField<'t>>> {
    let known_list = |key: Option<&str>| {
        let field = known.iter().find(|field| field.key.as_deref() == key);
        field.and_then(|field| field.elements.as_deref()).unwrap_or_default()
    };
    let mut scanner = JsonScanner::new(text);
    let mut fields = Vec::new();
    match scanner.shape().ok()? {
        JsonShape::Array => {
            fields.push(read_field(&mut scanner, None, Some(known_list(None)))?);
        }
        JsonShape::Object => {
            let mut complete = true;
            let read = scanner.object(|scan, key, _| {
                let key = String::from_utf8_lossy(key).into_owned();
                let known = LISTS.contains(&key.as_str()).then(|| known_list(Some(&key)));
                let found = read_field(scan, Some(Cow::Owned(key)), known);
                complete &= found.is_some();
                fields.extend(found);
                if complete { Ok(()) } else { scan.fail("no value") }
            });
            read.ok()?;
        }
        _ => return None,
    }
    Some(fields)
}

/// Reads a value. It may be the list of messages if there are `known` elements, or none of them.
fn read_field<'t>(
    scan: &mut JsonScanner<'t>,
    key: Option<Cow<'t, str>>,
    known: Option<&[&str]>,
) -> Option<OutlinedField<'t>> {
    let text = scan.source();
    let known = known.filter(|_| scan.shape() == Ok(JsonShape::Array));
    let Some(mut known) = known else {
        let value = scan.skip().ok()?.of(text);
        return Some(OutlinedField { key, value, elements: None });
    };
    let mut elements = Vec::new();
    let list = scan.array(|scan, _| {
        let (at, depth) = scan.checkpoint();
        let rest = text.get(at..).unwrap_or_default();
        // One element may be gone. The end of an object does not depend on what follows it.
        let is_next = |element: &&str| element.starts_with('{') && rest.starts_with(*element);
        match known.iter().take(2).position(is_next) {
            Some(skipped) => {
                let length = known[skipped].len();
                scan.reset((at + length, depth));
                elements.push(rest.get(..length).unwrap_or_default());
                known = &known[skipped + 1..];
            }
            None => elements.push(scan.skip()?.of(text)),
        }
        Ok(())
    });
    Some(OutlinedField { key, value: list.ok()?.of(text), elements: Some(elements) })
}

/// The items of the new list: ranges of old elements, and new ones. Of equal old elements, those that
/// keep their order stand for the new ones.
fn kept_items(old: &[&str], new: &[&str]) -> Option<Vec<String>> {
    // Most repairs touch a few neighbours: what is equal before and behind them needs no search.
    let ahead = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[ahead..], &new[ahead..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let behind = pairs.take_while(|(one, other)| one == other).count();
    let mut items = KeptItems::default();
    items.add_old(0, ahead);
    let places = places_of(&old[..old.len() - behind], ahead);
    let mut next = ahead;
    for element in &new[ahead..new.len() - behind] {
        let place = places.get(element).map(|same| {
            let later = same.partition_point(|place| *place < next);
            *same.get(later).unwrap_or(&same[0])
        });
        match place {
            Some(place) => {
                items.add_old(place, place + 1);
                next = place + 1;
            }
            // It would be taken for a range.
            None if element.starts_with('[') => return None,
            None => items.0.push(KeptItem::New(element)),
        }
    }
    items.add_old(old.len() - behind, old.len());
    let written = items.0.into_iter().map(|item| match item {
        KeptItem::Old(start, end) => format!("[{start},{end}]"),
        KeptItem::New(element) => element.to_owned(),
    });
    Some(written.collect())
}

/// The items of a new list.
#[derive(Default)]
struct KeptItems<'t>(Vec<KeptItem<'t>>);

impl KeptItems<'_> {
    /// Adds a range of old elements, to the last range if it goes on.
    fn add_old(&mut self, start: usize, end: usize) {
        match self.0.last_mut() {
            _ if start == end => {}
            Some(KeptItem::Old(_, last)) if *last == start => *last = end,
            _ => self.0.push(KeptItem::Old(start, end)),
        }
    }
}

/// An item of a new list.
enum KeptItem<'t> {
    Old(usize, usize),
    New(&'t str),
}

/// The places of elements, from one place on.
fn places_of<'t>(elements: &[&'t str], start: usize) -> HashMap<&'t str, Vec<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, element) in elements.iter().enumerate().skip(start) {
        places.entry(element).or_default().push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_elements_become_ranges_and_new_ones_stay() {
        let table = [
            (
                r#"[{"a":1},{"b":2},{"c":3}]"#,
                r#"[{"a":1},{"n":0},{"b":2},{"c":3}]"#,
                r#"[[0,1],{"n":0},[1,3]]"#,
            ),
            (r#"[{"a":1},{"b":2}]"#, r#"[{"b":2},{"a":1}]"#, "[[1,2],[0,1]]"),
            (
                r#"[{"a":1},{"b":2},{"c":3},{"d":4}]"#,
                r#"[{"a":1},{"c":3},{"n":0},{"d":4}]"#,
                r#"[[0,1],[2,3],{"n":0},[3,4]]"#,
            ),
            (r#"[{"a":1}]"#, r#"[{"a":1},{"n":0},{"a":1}]"#, r#"[[0,1],{"n":0},{"a":1}]"#),
            (r#"[{"a":1},{"b":2},{"a":1}]"#, r#"[{"a":1},{"a":1}]"#, "[[0,1],[2,3]]"),
            (r#"[{"a":1},{"b":2}]"#, "[]", "[]"),
            (r#"[ {"a": 1} ]"#, r#"[ {"a": 1}, {"a":1} ]"#, r#"[[0,1],{"a":1}]"#),
        ];
        for (source, result, items) in table {
            let expected = format!(r#"{{"key":null,"items":{items},"fields":{{}},"removed":[]}}"#);
            assert_eq!(list_changes(source, result).as_deref(), Some(&*expected), "{result}");
        }
    }

    #[test]
    fn fields_beside_the_list_are_named_if_they_change() {
        let source = r#"{"model":"m","thinking":{"type":"enabled"},"input":"x","messages":[{"a":1}],"x":[1]}"#;
        let result = r#"{"model":"m","thinking":{"type":"off"},"new \"one\"":[2],"messages":[{"b":2},{"a":1}],"x":[1]}"#;
        let expected = r#"{"key":"messages","items":[{"b":2},[0,1]],"fields":{"thinking":{"type":"off"},"new \"one\"":[2]},"removed":["input"]}"#;
        assert_eq!(list_changes(source, result).as_deref(), Some(expected));
    }

    #[test]
    fn what_is_no_list_of_messages_has_no_changes() {
        for (source, result) in [
            ("{}", "{}"),
            ("[1]", r#"{"messages":[1]}"#),
            ("[1]", "[[1]]"),
            ("7", "8"),
            ("[1", "[1]"),
            ("{\"messages\":[1", "{\"messages\":[1]}"),
            (r#"{"messages":[1]}"#, r#"{"contents":[1]}"#),
        ] {
            assert_eq!(list_changes(source, result), None, "{source} {result}");
        }
    }
}
