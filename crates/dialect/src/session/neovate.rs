//! Neovate Code: `projects/<folder>/<id>.jsonl`.
//!
//! Messages are linked like Claude Code's, with parts of its own: calls are `tool_use`, answers
//! `tool-result` in messages of the role `tool`, and in old files `tool_result` in the user's.

use foxwedge_core::{
    Answer, Arguments, Call, Content, Family, Kind, Marks, Output, Role, Seal, Span, Text,
    chain::Manner,
};

use super::{
    about::About,
    lines::State,
    log::{Control, Log, Seen, said, spelled},
};
use crate::{
    anthropic,
    json::{Scan, Scanner, field},
    outline::{Once, Reader, fullness, object_arguments, role, string, text, word},
};

mod tell;
mod write;

pub(super) use tell::tell;
pub(super) use write::{changed, new};

/// What Neovate does when it loads a file: it walks, and nothing else.
pub(super) const MANNER: Manner =
    Manner { finds_siblings: false, leaves_hollow: true, leaves_blank: false };

/// Whether an object is a record and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field(source, object, key).is_some();
    has("type") && (has("uuid") || has("config") || has("messageId") || has("customTitle"))
}

/// Marks messages that begin anew although nothing was compacted: where the last line was not a
/// message, some versions forgot what the next one hangs on. They hang on nobody we know.
pub(super) fn mark_forgotten(log: &mut Log<'_>) {
    let compacted: Vec<u32> = log.controls.iter().map(|(record, _)| *record).collect();
    let mut spoken = false;
    for at in 0..log.records.len() {
        let before = log.records.get(..at).unwrap_or(&[]).iter().rev();
        let forgot = before.take(8).find(|record| record.state != State::Torn);
        let forgot =
            forgot.is_some_and(|record| matches!(record.kind, "snapshot" | "custom-title"));
        let link = &mut log.links[at];
        let own = u32::try_from(at).is_ok_and(|at| compacted.binary_search(&at).is_ok());
        if spoken && forgot && !own && link.fragment.is_some() && link.parent.is_none() {
            link.parent = Some("");
        }
        spoken |= link.fragment.is_some();
    }
}

fn known(role: &str) -> Option<Role> {
    Some(match role {
        "user" | "tool" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return None,
    })
}

/// Reads one record.
pub(super) fn record<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    seen: &mut Seen<'a>,
    about: &mut About<'a>,
) -> Scan<()> {
    let source = reader.source;
    let mut who = Role::Unknown;
    let mut content = None;
    let (mut title, mut model) = (None, None);
    let mut once = Once::default();
    let span = scan.object(|scan, key, _| {
        once.one_of(scan, &[b"type", b"uuid", b"parentUuid", b"role", b"content"], key)?;
        match key {
            b"type" => seen.kind = spelled(scan, source)?.unwrap_or_default(),
            b"uuid" => seen.link.id = spelled(scan, source)?,
            b"parentUuid" => seen.link.parent = spelled(scan, source)?,
            b"timestamp" => seen.time = spelled(scan, source)?,
            b"role" => who = role(scan, source, known)?.0,
            b"content" => content = Some(anthropic::body(scan, reader, part)?),
            b"model" => model = said(scan, source)?,
            b"customTitle" => title = said(scan, source)?,
            // What a compaction leaves begins anew, and says so.
            b"uiContent" => {
                scan.skip()?;
                seen.control = Some(Control::Summary);
            }
            b"sessionId" => {
                let id = said(scan, source)?;
                about.id = about.id.take().or(id);
            }
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    about.written(seen.time);
    about.title = title.or(about.title.take());
    if seen.kind != "message" {
        // Snapshots name messages, and titles sessions; nobody hangs on them.
        seen.link.id = None;
        return Ok(());
    }
    about.model = model.or(about.model.take());
    if who == Role::Unknown {
        return scan.trouble("a message without a role that we know");
    }
    if seen.link.id.is_none() {
        return scan.trouble("a message without a `uuid`");
    }
    let content = content.unwrap_or(Content::Absent);
    seen.message = Some((who, span, content, Marks::default()));
    Ok(())
}

fn part<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    let source = reader.source;
    let mut kind = None;
    let (mut id, mut call_id, mut name) = (None, None, None);
    let mut arguments = Arguments::Missing;
    let mut result = Span::NOWHERE;
    let mut says = Text::Empty;
    let mut once = Once::default();
    let span = scan.object(|scan, key, _| {
        once.one_of(scan, &[b"type", b"id", b"toolCallId", b"input", b"result"], key)?;
        match key {
            b"type" => kind = Some(text(scan, key)?),
            b"text" => says = string(scan)?.map_or(Text::Empty, |text| fullness(source, text)),
            b"id" => id = word(scan, source)?,
            b"toolCallId" => call_id = word(scan, source)?,
            b"name" | b"toolName" => name = word(scan, source)?,
            b"input" => arguments = object_arguments(scan)?,
            b"result" => result = scan.skip()?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let Some(kind) = kind else { return scan.trouble("a part has no `type`") };
    let kind = match &*kind.text(source) {
        "text" => Kind::Text(says),
        "image" => Kind::Media,
        "reasoning" => Kind::Reasoning(Seal::Plain),
        "tool_use" => Kind::call(Call {
            id: id.into(),
            name: name.into(),
            family: Family::Function,
            arguments,
            signed: false,
            typed: true,
        }),
        "tool-result" | "tool_result" => Kind::answer(Answer {
            id: call_id.or(id).into(),
            name: name.map(Box::new),
            family: Family::Function,
            output: Output::Full,
            content: output(source, result),
            media: false,
        }),
        _ => Kind::Other,
    };
    reader.builder.part(span, kind);
    Ok(())
}

/// What the model sees of a result.
fn output(source: &str, result: Span) -> Span {
    field(source, result, "llmContent").unwrap_or(result)
}
