//! Codex: a `compacted` record holds the history that takes the place of everything before it.

use super::{CompactedFile, ParsedSession, ids::CompactionIds, mark, summary_text, whole_span};
use crate::{
    json::{field_text, quote},
    session::{codex::CodexOrdinals, emit::FileEdits},
    splice::{FieldChange, SpliceWriter, patched_text},
};

/// The record of a compaction.
pub(super) fn write_compaction(
    session: &ParsedSession<'_>,
    condensed: &CompactedFile<'_>,
    fresh: &mut CompactionIds<'_>,
) -> FileEdits {
    let mut edits = FileEdits::default();
    let mut out = SpliceWriter::new(session.log.source, &[]);
    out.text("{");
    if let Some(time) = fresh.next_time() {
        out.text(&format!("\"timestamp\":{},", quote(&time)));
    }
    if let Some(ordinal) = CodexOrdinals::new(session, &edits).next(u32::MAX) {
        out.text(&format!("\"ordinal\":{ordinal},"));
    }
    // Versions that do not know the list tell this instead.
    let message = summary_text(condensed, session.agent.wire());
    let message = quote(message.as_deref().unwrap_or(condensed.marker));
    out.text(&format!(
        "\"type\":\"compacted\",\"payload\":{{\"message\":{message},\"replacement_history\":["
    ));
    for (at, shown) in condensed.messages.iter().enumerate() {
        if at > 0 {
            out.text(",");
        }
        let kept = session.kept_origin(shown).and_then(|at| session.draft().messages.get(at));
        match kept {
            Some(message) => out.copy(message.span),
            None => out.text(&stored_item(shown.json)),
        }
    }
    out.text(&format!("],\"{}\":{}}}}}", mark::MARK, mark::plain(&fresh.compaction)));
    edits.last.push(out.finish());
    edits
}

/// An item as Codex keeps it: it answers its shell calls like any other.
fn stored_item(json: &str) -> String {
    if field_text(json, whole_span(json), "type").as_deref() != Some("local_shell_call_output") {
        return json.to_owned();
    }
    let kind = FieldChange::Text("\"function_call_output\"".to_owned());
    patched_text(json, whole_span(json), vec![("type", kind)])
}

/// The file without a compaction: what it replaced counts again.
pub(super) fn remove_compaction(session: &ParsedSession<'_>, compaction: &str) -> FileEdits {
    let own = mark::records(session, compaction);
    let changed = own.into_iter().map(|record| (record, Vec::new())).collect();
    FileEdits { changed, ..FileEdits::default() }
}
