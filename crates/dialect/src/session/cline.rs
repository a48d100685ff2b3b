//! Cline, Roo Code and Kilo Code: `tasks/<id>/api_conversation_history.json`, one list of
//! Anthropic messages.
//!
//! Roo and Kilo keep what a summary or a truncation replaced, and mark it.

use foxwedge_core::{Content, Marks, Role, Span, binds_thinking};

use super::{
    about::About,
    log::{Control, Seen, is_true, said, spelled},
};
use crate::{
    anthropic,
    json::{Scan, Scanner, field},
    outline::{Once, Reader, role},
};

/// Whether an object is a message and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field(source, object, key).is_some();
    has("role") && has("content")
}

/// Reads one message.
pub(super) fn record<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    seen: &mut Seen<'a>,
    about: &mut About<'a>,
) -> Scan<()> {
    let source = reader.source;
    let mut who = None;
    let mut content = None;
    let mut summary = false;
    let mut model = None;
    let mut hides = Hides::default();
    let mut once = Once::default();
    let span = scan.object(|scan, key, _| {
        once.one_of(scan, &[b"role", b"content"], key)?;
        match key {
            b"role" => who = Some(role(scan, source, anthropic::known)?.0),
            b"content" => content = Some(anthropic::body(scan, reader, anthropic::block)?),
            b"type" => seen.kind = spelled(scan, source)?.unwrap_or_default(),
            b"ts" => seen.time = Some(scan.skip()?.of(source)),
            b"isSummary" => summary = is_true(scan, source)?,
            b"isTruncationMarker" => hides.marker = is_true(scan, source)?,
            b"truncationId" => hides.truncation = spelled(scan, source)?,
            b"truncationParent" => seen.link.parent = spelled(scan, source)?,
            b"condenseId" => hides.summary = spelled(scan, source)?,
            b"condenseParent" => seen.link.source = spelled(scan, source)?,
            b"model" => model = said(scan, source)?,
            _ => {
                scan.skip()?;
            }
        }
        Ok(())
    })?;
    let unbound = model.as_deref().is_some_and(|model| !binds_thinking(Some(model)));
    let marks = if unbound { Marks::UNBOUND } else { Marks::default() };
    about.model = model.or(about.model.take());
    // Reasoning items of other providers stand beside the messages.
    let (Some(who), Some(content)) = (who, content) else { return Ok(()) };
    if who == Role::Unknown {
        return scan.trouble("a message without a role that we know");
    }
    // What names a marker or a summary is hidden as long as that is there.
    seen.link.id = match (hides.marker, summary) {
        (true, _) => hides.truncation,
        (false, true) => hides.summary,
        (false, false) => None,
    };
    // A summary of the user's begins anew; an older one stands among what it left.
    if summary && who == Role::User {
        seen.control = Some(Control::Summary);
    }
    let content = if content == Content::Absent { Content::Null } else { content };
    seen.message = Some((who, span, content, marks));
    Ok(())
}

/// What a marker or a summary is called by those it hides.
#[derive(Default)]
struct Hides<'a> {
    marker: bool,
    truncation: Option<&'a str>,
    summary: Option<&'a str>,
}
