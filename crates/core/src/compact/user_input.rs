//! What the user said, as opposed to what stands in the user's messages: answers of tools, our own
//! words, reminders that agents put in.

use crate::{
    draft::{Draft, Part, PartKind, Role, TextShape},
    placeholder,
};

/// The first part of a message that is the user's own; `None` if nothing in it is. What we say in
/// the user's place about tools does not count; a summary does.
pub fn user_part<'d, 'a>(draft: &'d Draft<'a>, message: usize) -> Option<&'d Part<'a>> {
    find_user_part(draft, message, |raw| !placeholder::is_tool_note(raw))
}

/// The same, but a summary does not count: nobody asks for anything in it.
pub(super) fn user_request<'d, 'a>(draft: &'d Draft<'a>, message: usize) -> Option<&'d Part<'a>> {
    find_user_part(draft, message, |raw| {
        !placeholder::is_tool_note(raw) && !placeholder::is_summary(raw)
    })
}

fn find_user_part<'d, 'a>(
    draft: &'d Draft<'a>,
    message: usize,
    is_own: fn(&str) -> bool,
) -> Option<&'d Part<'a>> {
    let header = draft.messages.get(message)?;
    if !matches!(header.role, Role::User | Role::Unknown) {
        return None;
    }
    let parts = draft.parts_of(header);
    let words = |part: &&Part<'_>| {
        matches!(part.kind, PartKind::Text(TextShape::Full | TextShape::Trailing))
    };
    let is_own = |part: &Part<'_>| {
        let raw = part.span.of(draft.source);
        is_own(raw) && !placeholder::is_agent_reminder(raw)
    };
    if let Some(text) = parts.iter().filter(words).find(|part| is_own(part)) {
        return Some(text);
    }
    // Pictures beside answers, or under a heading of ours, came from a tool. What we do not know
    // may say something.
    let told = draft.has_answers(header) || !parts.iter().filter(words).all(is_own);
    let shows = |part: &&Part<'_>| match part.kind {
        PartKind::Media => true,
        PartKind::Other => !part.span.of(draft.source).trim_matches(['{', '}']).trim().is_empty(),
        _ => false,
    };
    parts.iter().filter(|_| !told).find(shows)
}
