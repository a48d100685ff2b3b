//! Separates user input from other content of user messages: tool results, foxwedge headings,
//! reminders of agents.

use crate::{
    draft::{Draft, Part, PartKind, Role, TextShape},
    placeholder,
};

/// The first part of a message that is the user's own; `None` if there is none. Foxwedge headings
/// about tools do not count; a summary does.
pub fn user_part<'d, 'a>(draft: &'d Draft<'a>, message: usize) -> Option<&'d Part<'a>> {
    find_user_part(draft, message, |raw| !placeholder::is_tool_note(raw))
}

/// The same, but a summary does not count: it requests nothing.
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
    let is_text = |part: &&Part<'_>| {
        matches!(part.kind, PartKind::Text(TextShape::Full | TextShape::Trailing))
    };
    let is_own = |part: &Part<'_>| {
        let raw = part.span.of(draft.source);
        is_own(raw) && !placeholder::is_agent_reminder(raw)
    };
    if let Some(text) = parts.iter().filter(is_text).find(|part| is_own(part)) {
        return Some(text);
    }
    // Images beside answers, or under a foxwedge heading, came from a tool. Unknown parts may be
    // user input.
    let from_tool = draft.has_answers(header) || !parts.iter().filter(is_text).all(is_own);
    let has_content = |part: &&Part<'_>| match part.kind {
        PartKind::Media => true,
        PartKind::Other | PartKind::Unknown => {
            !part.span.of(draft.source).trim_matches(['{', '}']).trim().is_empty()
        }
        _ => false,
    };
    parts.iter().filter(|_| !from_tool).find(has_content)
}
