//! Changes values inside a record: messages of a list, parts of a message.

use foxwedge_core::Span;
use foxwedge_json::{OutputChunk, SpliceWriter};

use super::ParsedSession;

/// Writes a record with changed values inside. A value without chunks is removed from its list.
pub(super) fn write_with_changes(
    session: &ParsedSession<'_>,
    record: u32,
    mut changes: Vec<(Span, Vec<OutputChunk>)>,
) -> Vec<OutputChunk> {
    let source = session.log.source;
    let whole = session.span(record);
    changes.sort_by_key(|(span, _)| span.start);
    let mut out = SpliceWriter::new(source, &[]);
    let mut done = whole.start;
    for (span, chunks) in changes {
        let (mut start, mut end) = (span.start, span.end);
        if chunks.is_empty() {
            // One of the surrounding commas goes with it.
            let before = source.get(done as usize..start as usize).unwrap_or("").trim_end();
            if before.ends_with(',') {
                start = done + u32::try_from(before.len() - 1).unwrap_or(0);
            } else {
                let after = source.get(end as usize..whole.end as usize).unwrap_or("");
                let comma = after.trim_start().starts_with(',');
                let gap = u32::try_from(after.len() - after.trim_start().len()).unwrap_or(0);
                end += if comma { gap + 1 } else { 0 };
            }
        }
        out.copy(Span { start: done, end: start });
        out.append(chunks);
        done = end;
    }
    out.copy(Span { start: done, end: whole.end });
    out.finish()
}
