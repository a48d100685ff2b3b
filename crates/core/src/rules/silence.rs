//! Messages that say nothing and still have to stay.

use super::{empty_message, empty_text};
use crate::{
    check::View,
    draft::{Layout, Marks, Wire},
    profile::Profile,
};

/// The message that may not go although it says nothing: without it nobody would ask anything, the
/// history would begin with the model, or nothing would be left. What it should say nobody knows, so it is filled only
/// where repairs that need asking were asked for.
pub(super) fn kept(view: &View<'_, '_>) -> Option<usize> {
    let silent = |at: usize| {
        let message = &view.draft.messages[at];
        let parts = view.draft.parts_of(message);
        let refused = |part: &crate::draft::Part<'_>| {
            empty_text::is_refused(view.profile(), view.draft.wire, &part.kind)
        };
        empty_message::is_empty(view, message, parts)
            || !parts.is_empty() && view.layout() != Layout::Items && parts.iter().all(refused)
    };
    let user = |at: &usize| view.draft.messages[*at].role.is_user();
    let count = view.draft.messages.len();
    let Some(last) = (0..count).rev().find(user) else {
        // A history of nothing but silence may not become an empty one either.
        return (0..count).all(silent).then(|| count.checked_sub(1)).flatten();
    };
    if (0..count).filter(user).all(silent) {
        return Some(last);
    }
    let system = |at: usize| view.draft.messages[at].role.is_system();
    let first = (0..count).find(|&at| !system(at) && !silent(at))?;
    let message = &view.draft.messages[first];
    let refused = match view.profile() {
        Profile::Anthropic | Profile::Bedrock | Profile::Strict => view.layout() != Layout::Items,
        Profile::Gemini => view.draft.wire == Wire::Gemini && view.draft.calls_in(message),
        _ => false,
    };
    let begins = !message.role.is_user() && !message.marks.has(Marks::COMPACTION);
    if !refused || !begins || view.draft.body.stateful {
        return None;
    }
    (0..first).rev().find(user)
}
