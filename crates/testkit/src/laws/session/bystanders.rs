//! What a repair leaves alone: records of types we do not know byte for byte, and everything
//! that is not in the conversation up to its links.

use foxwedge_dialect::session::SessionAgent;
use serde_json::Value;

use super::judge::{Seen, Verdict, breach, flaws, shown_bytes};
use crate::View;

/// What a repair may do to a record.
enum Kind {
    /// Nothing.
    Other,
    /// Link it anew.
    Note,
    /// Change it, if it is part of the conversation.
    Message,
    /// Change it.
    Whole,
}

fn kind(agent: SessionAgent, record: &Value) -> Kind {
    let linked = record["uuid"].is_string();
    match agent {
        // What a compaction names as carried over may be put behind its summary instead.
        SessionAgent::ClaudeCode if linked && record.get("compactMetadata").is_some() => {
            Kind::Whole
        }
        SessionAgent::ClaudeCode if linked => match record.get("message") {
            Some(_) => Kind::Message,
            None => Kind::Note,
        },
        SessionAgent::Neovate if record["type"] == "message" => Kind::Message,
        SessionAgent::Codex if record["type"] == "response_item" => Kind::Message,
        SessionAgent::Codex if record["type"] == "compacted" => Kind::Whole,
        SessionAgent::GeminiCli if record["id"].is_string() => Kind::Whole,
        SessionAgent::GeminiCli if record["$set"]["messages"].is_array() => Kind::Whole,
        _ => Kind::Other,
    }
}

/// Whether lines that are no part of the conversation are still there.
pub(super) fn judge(agent: SessionAgent, before: &View, bytes: &[u8], seen: &Seen) -> Verdict {
    if agent == SessionAgent::Cline || is_old_chat(bytes) {
        return Ok(()); // One list, and not one record a line.
    }
    let fixed: Vec<&[u8]> = lines(&seen.fixed);
    let left: Vec<Value> =
        fixed.iter().filter_map(|line| parsed(line)).map(|record| unlinked(&record)).collect();
    // Where a file is damaged the engine may know more of the conversation.
    let flawed = !flaws(&seen.report).is_empty();
    let mut from = 0;
    for (number, line) in lines(bytes).into_iter().enumerate() {
        let Some(record) = parsed(line) else { continue };
        let spoken = before.lines.iter().flatten().any(|at| *at == number);
        let kept = match kind(agent, &record) {
            // In order, byte for byte.
            Kind::Other => match fixed.iter().skip(from).position(|other| *other == line) {
                Some(at) => {
                    from += at + 1;
                    true
                }
                None => false,
            },
            Kind::Note => left.contains(&unlinked(&record)),
            // Where nothing is left of the conversation, another one takes its place.
            Kind::Message => spoken || flawed || seen.emptied || left.contains(&unlinked(&record)),
            Kind::Whole => true,
        };
        if !kept {
            let fixed = shown_bytes(&seen.fixed);
            let edits = &seen.edits;
            return breach(
                "bystanders",
                format!("line {} is lost or changed\nedits {edits:?}\nafter\n{fixed}", number + 1),
            );
        }
    }
    Ok(())
}

/// An older file of Gemini CLI.
fn is_old_chat(bytes: &[u8]) -> bool {
    let first = lines(bytes).first().copied().unwrap_or_default();
    first == b"{"
}

/// The lines without their ends.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect()
}

/// A line that is one whole object, and nothing else.
fn parsed(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

/// A record without what a repair may link anew: parents, ids, and what a compaction carried over.
fn unlinked(record: &Value) -> Value {
    let mut record = record.clone();
    if let Some(fields) = record.as_object_mut() {
        fields.remove("parentUuid");
        fields.remove("uuid");
        let metadata = fields.get_mut("compactMetadata").and_then(Value::as_object_mut);
        if let Some(metadata) = metadata {
            metadata.remove("preservedMessages");
            metadata.remove("preservedSegment");
        }
    }
    record
}
