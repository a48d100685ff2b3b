//! A pen that writes the fields of an object, one after the other, and leaves out what is not
//! there.

use super::strings;
use crate::{RawJson, SharedId};

/// Writes fields into an open object.
pub(super) struct JsonFieldWriter<'out> {
    out: &'out mut String,
}

impl<'out> JsonFieldWriter<'out> {
    /// Opens an object.
    pub(super) fn open(out: &'out mut String) -> JsonFieldWriter<'out> {
        out.push('{');
        JsonFieldWriter { out }
    }

    /// Closes the object, or the one inside of it that was opened last.
    pub(super) fn close(&mut self) {
        self.out.push('}');
    }

    /// A text, also an empty one.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.string(text);
    }

    /// A text that may be missing.
    pub(super) fn text_if(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    /// An id that may be missing. An empty one is no id.
    pub(super) fn id(&mut self, key: &str, id: Option<&SharedId>) {
        self.text_if(key, id.map(|id| &**id).filter(|id| !id.is_empty()));
    }

    /// A number.
    pub(super) fn number(&mut self, key: &str, number: u64) {
        self.key(key);
        let mut digits = [b'0'; 20];
        let mut left = number;
        let mut first = digits.len();
        for (at, digit) in digits.iter_mut().enumerate().rev() {
            *digit += (left % 10) as u8;
            left /= 10;
            first = at;
            if left == 0 {
                break;
            }
        }
        let digits = digits.get(first..).unwrap_or(&[]);
        self.out.push_str(std::str::from_utf8(digits).unwrap_or("0"));
    }

    /// A number that may be missing.
    pub(super) fn number_if(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.number(key, number);
        }
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, key: &str, flag: bool) {
        self.key(key);
        self.out.push_str(if flag { "true" } else { "false" });
    }

    /// A value as it was spelled.
    pub(super) fn raw(&mut self, key: &str, json: &RawJson) {
        self.key(key);
        self.out.push_str(json.raw());
    }

    /// A value that may be missing. `null` is no value.
    pub(super) fn raw_if(&mut self, key: &str, json: Option<&RawJson>) {
        if let Some(json) = json.filter(|json| json.raw() != "null") {
            self.raw(key, json);
        }
    }

    /// Opens an object inside of this one; [`Pen::close`] ends it.
    pub(super) fn object(&mut self, key: &str) {
        self.key(key);
        self.out.push('{');
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &str, texts: &[SharedId]) {
        self.list(key, texts, |pen, text| pen.string(text));
    }

    /// A list of objects, each of which writes its own fields.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        items: &[T],
        mut fields: impl FnMut(&mut Self, &T),
    ) {
        self.list(key, items, |pen, item| {
            pen.out.push('{');
            fields(pen, item);
            pen.out.push('}');
        });
    }

    fn list<T>(&mut self, key: &str, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.key(key);
        self.out.push('[');
        for (at, one) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            item(self, one);
        }
        self.out.push(']');
    }

    /// Keys are ours, and need no escape.
    fn key(&mut self, key: &str) {
        // No value ends in an opening brace, so this is the first field of its object.
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        strings::escape_into(text, self.out);
        self.out.push('"');
    }
}
