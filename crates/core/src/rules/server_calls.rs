//! Calls that the provider runs itself have their answer in the same assistant turn. A tool of the
//! provider may call tools of the client: then the turn continues after their answers.

use std::{collections::HashSet, ops::Range};

use crate::draft::{Draft, Message, PartKind};

/// Whether a message continues an assistant turn: assistant messages, and answers of the client.
fn continues_turn(draft: &Draft<'_>, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    let answers =
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)));
    message.role.is_assistant() || message.role.is_user() && answers
}

/// The assistant turns, including the client's answers inside them.
fn assistant_turns(draft: &Draft<'_>) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for (at, _) in draft.messages.iter().enumerate().filter(|(_, it)| continues_turn(draft, it)) {
        match turns.last_mut().filter(|turn| turn.end == at) {
            Some(turn) => turn.end = at + 1,
            None => turns.push(at..at + 1),
        }
    }
    turns
}

/// Server calls (message, part) without an answer in their turn that are no longer running:
/// something other than client answers follows.
pub(crate) fn dead_calls(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut dead_calls = Vec::new();
    // The last message that ends an open call: more assistant content, or user content.
    let moved_on = draft.messages.iter().rposition(|message| {
        let has_other_content =
            || draft.parts_of(message).iter().any(|part| !matches!(part.kind, PartKind::Answer(_)));
        message.role.is_assistant() || message.role.is_user() && has_other_content()
    });
    for turn in assistant_turns(draft) {
        let parts = || {
            let messages = turn.clone().zip(&draft.messages[turn.clone()]);
            messages.flat_map(|(at, message)| message.range().map(move |part| (at, part)))
        };
        let answered: HashSet<&str> = parts()
            .filter_map(|(_, part)| match &draft.parts[part].kind {
                kind @ PartKind::ServerAnswer(_) => kind.server_id(),
                _ => None,
            })
            .collect();
        let open = parts().filter(|&(_, part)| match &draft.parts[part].kind {
            kind @ PartKind::ServerCall(_) => {
                kind.server_id().is_none_or(|id| !answered.contains(id))
            }
            _ => false,
        });
        dead_calls.extend(open.filter(|&(at, _)| moved_on.is_some_and(|last| last > at)));
    }
    dead_calls
}

/// Server answers (message, part) with no server call of that id before them in their turn.
pub(crate) fn orphan_answers(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut orphans = Vec::new();
    let mut called: HashSet<&str> = HashSet::new();
    for (at, message) in draft.messages.iter().enumerate() {
        if !continues_turn(draft, message) {
            called.clear();
        }
        for part in message.range() {
            match &draft.parts[part].kind {
                kind @ PartKind::ServerCall(_) if message.role.is_assistant() => {
                    called.extend(kind.server_id());
                }
                kind @ PartKind::ServerAnswer(_) => {
                    let has_call = kind.server_id().is_some_and(|id| called.contains(id));
                    if !has_call || !message.role.is_assistant() {
                        orphans.push((at, part));
                    }
                }
                _ => {}
            }
        }
    }
    orphans
}
