//! Messages that say nothing and still have to stay.

use super::{empty_message, empty_text};
use crate::{
    check::RuleContext,
    draft::{Format, MessageFlags, MessageLayout},
    profile::Profile,
};

/// The message that may not go although it says nothing: without it nobody would ask anything, the
/// history would begin with the model, or nothing would be left. What it should say nobody knows, so it is filled only
/// where repairs that need asking were asked for.
pub(super) fn required_empty_message(view: &RuleContext<'_, '_>) -> Option<usize> {
    let silent = |at: usize| {
        let message = &view.draft.messages[at];
        let parts = view.draft.parts_of(message);
        let refused = |part: &crate::draft::Part<'_>| {
            empty_text::is_refused(view.profile(), view.draft.format, &part.kind)
        };
        empty_message::is_empty(view, message, parts)
            || !parts.is_empty()
                && view.layout() != MessageLayout::Items
                && parts.iter().all(refused)
    };
    let user = |at: &usize| view.draft.messages[*at].role.is_user();
    let count = view.draft.messages.len();
    let first = (0..count).find(|&at| !view.draft.messages[at].role.is_system() && !silent(at));
    let opens = first.filter(|&at| is_invalid_start(view, at));
    if let Some(at) = opens.and_then(|first| (0..first).rev().find(user)) {
        return Some(at);
    }
    match (0..count).rev().find(user) {
        Some(last) => (0..count).filter(user).all(silent).then_some(last),
        // A history of nothing but silence may not become an empty one either.
        None => (0..count).all(silent).then(|| count.checked_sub(1)).flatten(),
    }
}

/// Whether the provider refuses a history that begins with this message.
fn is_invalid_start(view: &RuleContext<'_, '_>, at: usize) -> bool {
    let message = &view.draft.messages[at];
    let refused = match view.profile() {
        Profile::Anthropic | Profile::Bedrock | Profile::Strict => {
            view.layout() != MessageLayout::Items
        }
        Profile::Gemini => view.draft.format == Format::Gemini && view.draft.has_calls(message),
        _ => false,
    };
    let begins = !message.role.is_user() && !message.flags.has(MessageFlags::COMPACTION);
    refused && begins && !view.draft.body.stateful
}
