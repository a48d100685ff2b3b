//! Empty messages that have to stay.

use super::{empty_message, empty_text};
use crate::{
    check::RuleContext,
    draft::{Format, MessageFlags, MessageLayout},
    profile::Profile,
};

/// The empty message that has to stay: without it there would be no user request, the history would
/// start with the model, or it would be empty. Its intended content is unknown, so it is filled
/// only if unsafe fixes are allowed.
pub(super) fn required_empty_message(context: &RuleContext<'_, '_>) -> Option<usize> {
    let empty = |at: usize| {
        let message = &context.draft.messages[at];
        let parts = context.draft.parts_of(message);
        let refused = |part: &crate::draft::Part<'_>| {
            empty_text::is_refused(context.profile(), context.draft.format, &part.kind)
        };
        empty_message::is_empty(context.draft, context.profile(), message)
            || !parts.is_empty()
                && context.layout() != MessageLayout::Items
                && parts.iter().all(refused)
    };
    let user = |at: &usize| context.draft.messages[*at].role.is_user();
    let count = context.draft.messages.len();
    let first = (0..count).find(|&at| !context.draft.messages[at].role.is_system() && !empty(at));
    let invalid_start = first.filter(|&at| is_invalid_start(context, at));
    if let Some(at) = invalid_start.and_then(|first| (0..first).rev().find(user)) {
        return Some(at);
    }
    match (0..count).rev().find(user) {
        Some(last) => (0..count).filter(user).all(empty).then_some(last),
        // A history with only empty messages must not become empty either.
        None => (0..count).all(empty).then(|| count.checked_sub(1)).flatten(),
    }
}

/// Whether the provider refuses a history that begins with this message.
fn is_invalid_start(context: &RuleContext<'_, '_>, at: usize) -> bool {
    let message = &context.draft.messages[at];
    let refused = match context.profile() {
        Profile::Anthropic | Profile::Bedrock | Profile::Strict => {
            context.layout() != MessageLayout::Items
        }
        Profile::Gemini => {
            context.draft.format == Format::Gemini && context.draft.has_calls(message)
        }
        _ => false,
    };
    let not_user = !message.role.is_user() && !message.flags.has(MessageFlags::COMPACTION);
    refused && not_user && !context.draft.body.stateful
}
