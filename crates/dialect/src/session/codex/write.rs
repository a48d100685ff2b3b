//! Spells records of Codex.

use foxwedge_core::{Message, Span};

use crate::{
    json::field,
    session::{Session, emit::Edits, lines::State},
    splice::{Change, Chunk, Writer, patch},
};

/// Wraps an item into a record, shaped like the one it stands behind.
pub(in crate::session) fn envelope(
    session: &Session<'_>,
    out: &mut Writer<'_>,
    near: u32,
    ordinal: Option<u64>,
    item: Vec<Chunk>,
) {
    out.text("{");
    if let Some(time) = field(out.source, session.span(near), "timestamp") {
        out.text("\"timestamp\":");
        out.copy(time);
        out.text(",");
    }
    if let Some(ordinal) = ordinal {
        out.text(&format!("\"ordinal\":{ordinal},"));
    }
    out.text("\"type\":\"response_item\",\"payload\":");
    out.append(item);
    out.text("}");
}

/// Newer files number their records. A new record at the end gets the next number; one in the
/// middle gets none, so that the others keep theirs and none occurs twice.
pub(in crate::session) struct Ordinals {
    last: Option<u64>,
    record: u32,
}

impl Ordinals {
    /// `edits` says which records go: what becomes the last record has to have a number.
    pub(in crate::session) fn new(session: &Session<'_>, edits: &Edits) -> Ordinals {
        let source = session.log.source;
        let records = &session.log.records;
        let number = |span: Span| field(source, span, "ordinal")?.of(source).parse::<u64>().ok();
        let whole = || {
            (0..u32::try_from(records.len()).unwrap_or(0))
                .zip(records)
                .rev()
                .filter(|(_, record)| record.state != State::Torn)
        };
        let goes = |record: u32| edits.changed.get(&record).is_some_and(Vec::is_empty);
        let last = whole().find(|(at, _)| !goes(*at)).map_or(0, |(at, _)| at);
        Ordinals { last: whole().find_map(|(_, record)| number(record.span)), record: last }
    }

    /// The number of a new record behind an old one.
    pub(in crate::session) fn next(&mut self, near: u32) -> Option<u64> {
        if near < self.record {
            return None;
        }
        self.last = self.last.and_then(|last| last.checked_add(1));
        self.last
    }
}

/// Tells an item as it is sent: without what Codex notes for itself.
pub(in crate::session) fn tell(out: &mut String, source: &str, message: &Message) {
    const OWN: &str = "internal_chat_message_metadata_passthrough";
    let item = message.span.of(source);
    if !item.contains(OWN) {
        out.push_str(item);
        return;
    }
    let mut writer = Writer::new(source, &[]);
    patch(&mut writer, message.span, vec![(OWN, Change::Remove)]);
    for chunk in writer.finish() {
        match chunk {
            Chunk::Copy(span) => out.push_str(span.of(source)),
            Chunk::Text(text) => out.push_str(&text),
        }
    }
}
