//! Codex: a `compacted` record holds the history that replaces everything before it.

use super::{CompactedFile, ParsedSession, ids::CompactionIds, mark, summary_text, whole_span};
use crate::{codex::CodexOrdinals, emit::FileEdits};
use foxwedge_json::{FieldChange, SpliceWriter, patched_text};
use foxwedge_json::{field_text, quote};

/// Writes the record of a compaction.
pub(super) fn write_compaction(
    session: &ParsedSession<'_>,
    compacted: &CompactedFile<'_>,
    ids: &mut CompactionIds<'_>,
) -> FileEdits {
    let mut edits = FileEdits::default();
    let mut out = SpliceWriter::new(session.log.source, &[]);
    out.text("{");
    if let Some(time) = ids.next_time() {
        out.text(&format!("\"timestamp\":{},", quote(&time)));
    }
    if let Some(ordinal) = CodexOrdinals::new(session, &edits).next(Some(u32::MAX)) {
        out.text(&format!("\"ordinal\":{ordinal},"));
    }
    // For Codex versions that do not know the list.
    let message = summary_text(compacted, session.agent.wire());
    let message = quote(message.as_deref().unwrap_or(compacted.marker));
    out.text(&format!(
        "\"type\":\"compacted\",\"payload\":{{\"message\":{message},\"replacement_history\":["
    ));
    for (at, remaining) in compacted.messages.iter().enumerate() {
        if at > 0 {
            out.text(",");
        }
        let unchanged =
            session.kept_origin(remaining).and_then(|at| session.draft().messages.get(at));
        match unchanged {
            Some(message) => out.copy(message.span),
            None => out.text(&stored_item(remaining.json)),
        }
    }
    out.text(&format!("],\"{}\":{}}}}}", mark::MARK, mark::plain(&ids.compaction)));
    edits.last.push(out.finish());
    edits
}

/// An item as Codex stores it: results of its shell calls have the type of any other result.
fn stored_item(json: &str) -> String {
    if field_text(json, whole_span(json), "type").as_deref() != Some("local_shell_call_output") {
        return json.to_owned();
    }
    let kind = FieldChange::Text("\"function_call_output\"".to_owned());
    patched_text(json, whole_span(json), vec![("type", kind)])
}

/// Removes a compaction: the messages it replaced count again.
pub(super) fn remove_compaction(session: &ParsedSession<'_>, compaction: &str) -> FileEdits {
    let own = mark::records(session, compaction);
    let changed = own.into_iter().map(|record| (record, Vec::new())).collect();
    FileEdits { changed, ..FileEdits::default() }
}
