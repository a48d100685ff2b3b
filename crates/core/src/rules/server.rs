//! Calls that the provider runs itself carry their answer in the same assistant turn.

use std::collections::HashSet;

use crate::{
    check::assistant_runs,
    draft::{Draft, Kind},
};

/// Server calls (message, part) without an answer in their turn that are not in flight any more:
/// something other than client answers follows.
pub(crate) fn dead_calls(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut dead = Vec::new();
    // The last message that leaves an open call behind: more of the model, or user words.
    let moved_on = draft.messages.iter().rposition(|message| {
        let words =
            || draft.parts_of(message).iter().any(|part| !matches!(part.kind, Kind::Answer(_)));
        message.role.is_assistant() || message.role.is_user() && words()
    });
    for run in assistant_runs(draft) {
        let parts = || {
            let messages = run.clone().zip(&draft.messages[run.clone()]);
            messages.flat_map(|(at, message)| message.range().map(move |part| (at, part)))
        };
        let answered: HashSet<&str> = parts()
            .filter_map(|(_, part)| match &draft.parts[part].kind {
                Kind::ServerAnswer(id) => id.as_deref(),
                _ => None,
            })
            .collect();
        let open = parts().filter(|&(_, part)| match &draft.parts[part].kind {
            Kind::ServerCall(id) => id.as_deref().is_none_or(|id| !answered.contains(id)),
            _ => false,
        });
        dead.extend(open.filter(|&(at, _)| moved_on.is_some_and(|last| last > at)));
    }
    dead
}

/// Server answers (message, part) with no server call of that id before them in their turn.
pub(crate) fn orphan_answers(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut orphans = Vec::new();
    let mut called: HashSet<&str> = HashSet::new();
    for (at, message) in draft.messages.iter().enumerate() {
        if !message.role.is_assistant() {
            called.clear();
        }
        for part in message.range() {
            match &draft.parts[part].kind {
                Kind::ServerCall(id) if message.role.is_assistant() => {
                    called.extend(id.as_deref());
                }
                Kind::ServerAnswer(id) => {
                    let known = id.as_deref().is_some_and(|id| called.contains(id));
                    if !known || !message.role.is_assistant() {
                        orphans.push((at, part));
                    }
                }
                _ => {}
            }
        }
    }
    orphans
}
