//! The mark on records that a compaction wrote: the compaction, and the record it replaces.

use foxwedge_core::Span;

use super::ParsedSession;
use crate::{SessionAgent, lines::RecordState};
use foxwedge_json::{field_text, field_value, quote};

/// A field that agents do not know and keep.
pub(super) const MARK: &str = "foxwedge";

/// The mark of a record that replaces no other record.
pub(super) fn plain(compaction: &str) -> String {
    format!("{{\"compaction\":{}}}", quote(compaction))
}

/// The mark of a message in a list, where the latest compaction need not be the last.
pub(super) fn numbered(compaction: &str, number: u64) -> String {
    format!("{{\"compaction\":{},\"number\":{number}}}", quote(compaction))
}

/// The number of the compaction that wrote a record.
pub(super) fn number(session: &ParsedSession<'_>, record: usize) -> Option<u64> {
    let source = session.log.source;
    let mark = of(source, marked_object(session, record)?)?;
    field_value(source, mark, "number").and_then(|number| number.of(source).parse().ok())
}

/// The mark of a record, with the id of the record that its successors continue from once the
/// compaction is removed.
pub(super) fn standing_for(compaction: &str, stands: Option<&str>) -> String {
    let stands = stands.map_or("null".to_owned(), quote);
    format!("{{\"compaction\":{},\"for\":{stands}}}", quote(compaction))
}

/// The mark of an object.
pub(super) fn of(source: &str, object: Span) -> Option<Span> {
    // Searching for the name is much faster than parsing every field.
    let named = object.of(source).contains("\"foxwedge\"");
    named.then(|| field_value(source, object, MARK)).flatten()
}

/// The object of a record that carries the mark.
pub(super) fn marked_object(session: &ParsedSession<'_>, record: usize) -> Option<Span> {
    let record = session.log.records.get(record)?;
    match session.agent {
        _ if record.state == RecordState::Torn => None,
        SessionAgent::Codex if record.kind == "compacted" => {
            field_value(session.log.source, record.span, "payload")
        }
        SessionAgent::Codex => None,
        SessionAgent::ClaudeCode
        | SessionAgent::Neovate
        | SessionAgent::Cline
        | SessionAgent::GeminiCli => Some(record.span),
        SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::Pi
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => None,
    }
}

/// The id of the compaction that wrote a record.
pub(super) fn compaction(session: &ParsedSession<'_>, record: usize) -> Option<String> {
    let source = session.log.source;
    let mark = of(source, marked_object(session, record)?)?;
    field_text(source, mark, "compaction").map(Into::into)
}

/// The id of the last compaction that we wrote.
pub(super) fn last(session: &ParsedSession<'_>) -> Option<String> {
    let mut all = (0..session.log.records.len()).rev();
    if session.agent == SessionAgent::Cline {
        let latest = all.filter_map(|record| Some((number(session, record)?, record))).max()?;
        return compaction(session, latest.1);
    }
    all.find_map(|record| compaction(session, record))
}

/// The records of a compaction, in order.
pub(super) fn records(session: &ParsedSession<'_>, id: &str) -> Vec<u32> {
    let all = 0..session.log.records.len();
    let own = all.filter(|record| compaction(session, *record).as_deref() == Some(id));
    own.filter_map(|record| u32::try_from(record).ok()).collect()
}
