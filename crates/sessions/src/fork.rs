//! Copies a session under another id.

use foxwedge_core::Span;

use super::{
    ParsedSession, SessionAgent, crush, goose,
    lines::RecordState,
    opencode,
    rewritten_file::{FilePiece, RewrittenFile},
    row_copy,
};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, write_patched};
use foxwedge_json::{field_value, quote};

/// Copies every record. Records that name the session get the new id.
pub(super) fn fork<'a>(session: &ParsedSession<'a>, id: &str) -> RewrittenFile<'a> {
    let row_copy = match session.agent {
        SessionAgent::Opencode => Some(&opencode::ROW_COPY),
        SessionAgent::Crush => Some(&crush::ROW_COPY),
        SessionAgent::Goose => Some(&goose::ROW_COPY),
        _ => None,
    };
    if let Some(agent) = row_copy {
        return row_copy::fork(session, id, agent);
    }
    let (source, bytes) = (session.log.source, session.log.bytes);
    let old = session.metadata.id.as_deref().unwrap_or_default();
    let mut pieces = Vec::new();
    let mut done = 0;
    // If the text had to be cleaned before it could be read, the clean text is copied.
    let raw = bytes.len() == source.len();
    let copy = |from: usize, to: usize| {
        if raw { FilePiece::Raw(from..to) } else { FilePiece::Read(Span::new(from, to)) }
    };
    for record in session.log.records.iter().filter(|record| record.state != RecordState::Torn) {
        let changes = id_changes(session.agent, source, record.span, old, id);
        if changes.is_empty() {
            continue;
        }
        let (start, end) = (record.span.start as usize, record.span.end as usize);
        pieces.push(copy(done, start));
        let mut out = SpliceWriter::new(source, &[]);
        write_patched(&mut out, record.span, changes);
        pieces.extend(out.finish().into_iter().map(FilePiece::from));
        done = end;
    }
    pieces.push(copy(done, source.len()));
    RewrittenFile { bytes, source, pieces }
}

/// The changed fields of a record in the copy.
fn id_changes(
    agent: SessionAgent,
    source: &str,
    record: Span,
    old: &str,
    id: &str,
) -> FieldChanges<'static> {
    let names = |object: Span, key: &str| {
        field_value(source, object, key).is_some_and(|value| value.of(source) == quote(old))
    };
    let mut changes: FieldChanges<'static> = Vec::new();
    if !record.of(source).starts_with('{') {
        return changes;
    }
    match agent {
        SessionAgent::ClaudeCode | SessionAgent::GeminiCli | SessionAgent::QwenCode => {
            if names(record, "sessionId") {
                changes.push(("sessionId", FieldChange::Text(quote(id))));
            }
        }
        SessionAgent::Neovate => {
            if names(record, "sessionId") {
                changes.push(("sessionId", FieldChange::Text(quote(id))));
                if let Some(uuid) = field_value(source, record, "uuid") {
                    let from = format!(
                        "{{\"sessionId\":{},\"messageUuid\":{}}}",
                        quote(old),
                        uuid.of(source)
                    );
                    changes.push(("forkedFrom", FieldChange::Text(from)));
                }
            }
        }
        SessionAgent::Codex => {
            if let Some(payload) = field_value(source, record, "payload") {
                let keys = ["id", "session_id"];
                let meta = field_value(source, record, "type")
                    .is_some_and(|kind| kind.of(source) == "\"session_meta\"");
                let inside: FieldChanges<'static> = keys
                    .into_iter()
                    .filter(|key| meta && names(payload, key))
                    .map(|key| (key, FieldChange::Text(quote(id))))
                    .collect();
                if !inside.is_empty() {
                    changes.push(("payload", FieldChange::Nested(inside)));
                }
            }
        }
        SessionAgent::Pi => {
            let kind = field_value(source, record, "type").map(|kind| kind.of(source));
            if kind == Some("\"session\"") && names(record, "id") {
                changes.push(("id", FieldChange::Text(quote(id))));
            }
        }
        SessionAgent::CopilotCli => {
            let data = field_value(source, record, "data");
            if data.is_some_and(|data| names(data, "sessionId")) {
                let inside = vec![("sessionId", FieldChange::Text(quote(id)))];
                changes.push(("data", FieldChange::Nested(inside)));
            }
        }
        SessionAgent::KimiCode
        | SessionAgent::Cline
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => {}
    }
    changes
}
