//! Writes the fields of a JSON object one after the other, and leaves out missing ones.

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

    /// Closes the innermost open object.
    pub(super) fn close(&mut self) {
        self.out.push('}');
    }

    /// Adds a text, even if it is empty.
    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.string(text);
    }

    /// Adds a text, if there is one.
    pub(super) fn text_if(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    /// Adds an id, if there is one. An empty id counts as missing.
    pub(super) fn id(&mut self, key: &str, id: Option<&SharedId>) {
        self.text_if(key, id.map(|id| &**id).filter(|id| !id.is_empty()));
    }

    /// Adds a number.
    pub(super) fn number(&mut self, key: &str, number: u64) {
        self.key(key);
        self.out.push_str(itoa::Buffer::new().format(number));
    }

    /// Adds a number, if there is one.
    pub(super) fn number_if(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.number(key, number);
        }
    }

    /// Adds a boolean.
    pub(super) fn flag(&mut self, key: &str, flag: bool) {
        self.key(key);
        self.out.push_str(if flag { "true" } else { "false" });
    }

    /// Adds a raw JSON value.
    pub(super) fn raw(&mut self, key: &str, json: &RawJson) {
        self.key(key);
        self.out.push_str(json.raw());
    }

    /// Adds a raw JSON value, if there is one. `null` counts as missing.
    pub(super) fn raw_if(&mut self, key: &str, json: Option<&RawJson>) {
        if let Some(json) = json.filter(|json| json.raw() != "null") {
            self.raw(key, json);
        }
    }

    /// Opens a nested object; [`JsonFieldWriter::close`] ends it.
    pub(super) fn object(&mut self, key: &str) {
        self.key(key);
        self.out.push('{');
    }

    /// Adds a list of texts.
    pub(super) fn texts(&mut self, key: &str, texts: &[SharedId]) {
        self.list(key, texts, |writer, text| writer.string(text));
    }

    /// Adds a list of objects. `write_fields` writes the fields of each item.
    pub(super) fn objects<T>(
        &mut self,
        key: &str,
        items: &[T],
        mut write_fields: impl FnMut(&mut Self, &T),
    ) {
        self.list(key, items, |writer, item| {
            writer.out.push('{');
            write_fields(writer, item);
            writer.out.push('}');
        });
    }

    fn list<T>(&mut self, key: &str, items: &[T], mut write_item: impl FnMut(&mut Self, &T)) {
        self.key(key);
        self.out.push('[');
        for (at, value) in items.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            write_item(self, value);
        }
        self.out.push(']');
    }

    /// Keys are our own and need no escapes.
    fn key(&mut self, key: &str) {
        // No value ends in an opening brace, so one here means the first field of an object.
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        foxwedge_json::escape_into(self.out, text);
        self.out.push('"');
    }
}
