//! What the user said, as opposed to what stands in the user's messages: answers of tools, our own
//! words, reminders that agents put in.

use crate::{
    draft::{Draft, Kind, Part, Role, Text},
    placeholder,
};

/// The first part of a message that is the user's own; `None` if nothing in it is. What we say in
/// the user's place about tools does not count; a summary does.
pub fn wish<'d, 'a>(draft: &'d Draft<'a>, message: usize) -> Option<&'d Part<'a>> {
    own(draft, message, |raw| !placeholder::speaks_for_a_tool(raw))
}

/// The same, but a summary does not count: nobody asks for anything in it.
pub(super) fn asks<'d, 'a>(draft: &'d Draft<'a>, message: usize) -> Option<&'d Part<'a>> {
    own(draft, message, |raw| !placeholder::speaks_for_a_tool(raw) && !placeholder::is_summary(raw))
}

fn own<'d, 'a>(
    draft: &'d Draft<'a>,
    message: usize,
    is_own: fn(&str) -> bool,
) -> Option<&'d Part<'a>> {
    let header = draft.messages.get(message)?;
    if !matches!(header.role, Role::User | Role::Unknown) {
        return None;
    }
    let parts = draft.parts_of(header);
    let words = |part: &&Part<'_>| matches!(part.kind, Kind::Text(Text::Full | Text::Trailing));
    let is_own = |part: &Part<'_>| {
        let raw = part.span.of(draft.source);
        is_own(raw) && !placeholder::reminds(raw)
    };
    if let Some(text) = parts.iter().filter(words).find(|part| is_own(part)) {
        return Some(text);
    }
    // Pictures beside answers, or under a heading of ours, came from a tool. What we do not know
    // may say something.
    let told = draft.answers_in(header) || !parts.iter().filter(words).all(is_own);
    let shows = |part: &&Part<'_>| match part.kind {
        Kind::Media => true,
        Kind::Other => !part.span.of(draft.source).trim_matches(['{', '}']).trim().is_empty(),
        _ => false,
    };
    parts.iter().filter(|_| !told).find(shows)
}
