//! A copy of a session under another id.

use foxwedge_core::Span;

use super::{
    Agent, Session,
    lines::State,
    rewritten::{Piece, Rewritten},
};
use crate::{
    json::{field, quote},
    splice::{Change, Changes, Writer, patch},
};

/// Copies every record, those that name the session with its new id.
pub(super) fn fork<'a>(session: &Session<'a>, id: &str) -> Rewritten<'a> {
    let (source, bytes) = (session.log.source, session.log.bytes);
    let old = session.about.id.as_deref().unwrap_or_default();
    let mut pieces = Vec::new();
    let mut done = 0;
    // Where the text had to be cleaned before it could be read, the clean one is copied.
    let raw = bytes.len() == source.len();
    let copy = |from: usize, to: usize| {
        if raw { Piece::Raw(from..to) } else { Piece::Read(Span::new(from, to)) }
    };
    for record in session.log.records.iter().filter(|record| record.state != State::Torn) {
        let changes = changes(session.agent, source, record.span, old, id);
        if changes.is_empty() {
            continue;
        }
        let (start, end) = (record.span.start as usize, record.span.end as usize);
        pieces.push(copy(done, start));
        let mut out = Writer::new(source, &[]);
        patch(&mut out, record.span, changes);
        pieces.extend(out.finish().into_iter().map(Piece::from));
        done = end;
    }
    pieces.push(copy(done, source.len()));
    Rewritten { bytes, source, pieces }
}

/// What changes in a record of a copy.
fn changes(agent: Agent, source: &str, record: Span, old: &str, id: &str) -> Changes<'static> {
    let names = |object: Span, key: &str| {
        field(source, object, key).is_some_and(|value| value.of(source) == quote(old))
    };
    let mut changes: Changes<'static> = Vec::new();
    if !record.of(source).starts_with('{') {
        return changes;
    }
    match agent {
        Agent::ClaudeCode | Agent::GeminiCli => {
            if names(record, "sessionId") {
                changes.push(("sessionId", Change::Text(quote(id))));
            }
        }
        Agent::Neovate => {
            if names(record, "sessionId") {
                changes.push(("sessionId", Change::Text(quote(id))));
                if let Some(uuid) = field(source, record, "uuid") {
                    let from = format!(
                        "{{\"sessionId\":{},\"messageUuid\":{}}}",
                        quote(old),
                        uuid.of(source)
                    );
                    changes.push(("forkedFrom", Change::Text(from)));
                }
            }
        }
        Agent::Codex => {
            if let Some(payload) = field(source, record, "payload") {
                let keys = ["id", "session_id"];
                let meta = field(source, record, "type")
                    .is_some_and(|kind| kind.of(source) == "\"session_meta\"");
                let inside: Changes<'static> = keys
                    .into_iter()
                    .filter(|key| meta && names(payload, key))
                    .map(|key| (key, Change::Text(quote(id))))
                    .collect();
                if !inside.is_empty() {
                    changes.push(("payload", Change::Inside(inside)));
                }
            }
        }
        Agent::Cline => {}
    }
    changes
}
