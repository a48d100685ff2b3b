//! Codex: a `compacted` record holds the history that takes the place of everything before it.

use super::{Condensed, Session, all, fresh::Fresh, mark, summary};
use crate::{
    json::{quote, says},
    session::{codex::Ordinals, emit::Edits},
    splice::{Change, Writer, patched},
};

/// The record of a compaction.
pub(super) fn compacted(
    session: &Session<'_>,
    condensed: &Condensed<'_>,
    fresh: &mut Fresh<'_>,
) -> Edits {
    let mut edits = Edits::default();
    let mut out = Writer::new(session.log.source, &[]);
    out.text("{");
    if let Some(time) = fresh.time() {
        out.text(&format!("\"timestamp\":{},", quote(&time)));
    }
    if let Some(ordinal) = Ordinals::new(session, &edits).next(u32::MAX) {
        out.text(&format!("\"ordinal\":{ordinal},"));
    }
    // Versions that do not know the list tell this instead.
    let message = summary(condensed, session.agent.wire());
    let message = quote(message.as_deref().unwrap_or(condensed.marker));
    out.text(&format!(
        "\"type\":\"compacted\",\"payload\":{{\"message\":{message},\"replacement_history\":["
    ));
    for (at, shown) in condensed.messages.iter().enumerate() {
        if at > 0 {
            out.text(",");
        }
        let kept = session.kept(shown).and_then(|at| session.draft().messages.get(at));
        match kept {
            Some(message) => out.copy(message.span),
            None => out.text(&stored(shown.json)),
        }
    }
    out.text(&format!("],\"{}\":{}}}}}", mark::MARK, mark::plain(&fresh.compaction)));
    edits.last.push(out.finish());
    edits
}

/// An item as Codex keeps it: it answers its shell calls like any other.
fn stored(json: &str) -> String {
    if says(json, all(json), "type").as_deref() != Some("local_shell_call_output") {
        return json.to_owned();
    }
    let kind = Change::Text("\"function_call_output\"".to_owned());
    patched(json, all(json), vec![("type", kind)])
}

/// The file without a compaction: what it replaced counts again.
pub(super) fn uncompacted(session: &Session<'_>, compaction: &str) -> Edits {
    let own = mark::records(session, compaction);
    let changed = own.into_iter().map(|record| (record, Vec::new())).collect();
    Edits { changed, ..Edits::default() }
}
