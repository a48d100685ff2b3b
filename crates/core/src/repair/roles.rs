//! Repairs unknown roles.

use super::{RepairedMessage, RepairedPart, content::found_messages, state::RepairState};
use crate::{
    draft::{ContentShape, MessageFlags, MessageLayout, PartKind, Role},
    profile::Profile,
    report::Strategy,
    rules::RuleSet,
};

/// Gives every message a role that its provider accepts, and results that are written as in another
/// format messages of their own (FW407).
pub(super) fn fix_roles(state: &mut RepairState<'_, '_>, _: RuleSet) {
    let few_roles =
        matches!(state.options.profile, Profile::Mistral | Profile::Deepseek | Profile::Strict);
    let chat = state.input.layout() == MessageLayout::Chat;
    let mut foreign = Vec::new();
    for at in found_messages(state, 407) {
        if state.messages[at].holds(state.input, PartKind::is_foreign_answer) {
            foreign.push(at);
            continue;
        }
        let (role, note) = match state.messages[at].role {
            Role::Unknown if state.messages[at].flags.has(MessageFlags::MODEL) => {
                (Role::Assistant, "the role becomes that of the model")
            }
            Role::Unknown => (Role::User, "the role becomes user"),
            Role::Developer if few_roles => (Role::System, "`developer` becomes `system`"),
            Role::Neutral if few_roles && chat => (Role::User, "`function` becomes `user`"),
            _ => continue,
        };
        let message = state.mark_message(at);
        message.role = role;
        message.mark_new_role();
        if role == Role::Assistant {
            // Its calls are now in a valid place.
            message.flags = message.flags.without(MessageFlags::STRAY_CALLS);
        }
        state.note_edit(407, Strategy::Recode, at, Vec::new(), note.to_owned());
    }
    rewrite_results(state, &foreign);
}

/// Gives the results in these messages that are written as in another format new messages in front
/// of what else is there.
fn rewrite_results(state: &mut RepairState<'_, '_>, foreign: &[usize]) {
    for &at in foreign {
        let message = state.load_message(at);
        let results = message.parts.iter().filter(|part| part.part.kind.is_foreign_answer());
        let ids = results.filter_map(|part| part.part.kind.id()).map(str::to_owned).collect();
        let note = "the tool result is written as this format requires".to_owned();
        state.note_edit(407, Strategy::Recode, at, ids, note);
    }
    let blocks = state.input.layout() == MessageLayout::Blocks;
    let role = if blocks { Role::User } else { Role::Answer };
    let new_message = |parts| RepairedMessage::new(role, ContentShape::List, parts);
    let mut foreign = foreign.iter().copied().peekable();
    let old = std::mem::take(&mut state.messages);
    for (at, mut message) in old.into_iter().enumerate() {
        if foreign.next_if_eq(&at).is_none() {
            state.messages.push(message);
            continue;
        }
        let (mut results, rest): (Vec<RepairedPart<'_>>, Vec<_>) =
            message.parts.take().into_iter().partition(|part| part.part.kind.is_foreign_answer());
        for result in &mut results {
            result.part.kind.answer_mut().into_iter().for_each(|answer| answer.foreign = false);
            result.patch.set_rewritten();
        }
        match blocks {
            true => state.messages.push(new_message(results)),
            false => state.messages.extend(results.into_iter().map(|part| new_message(vec![part]))),
        }
        if !rest.is_empty() {
            message.parts = rest.into();
            message.touch();
            state.messages.push(message);
        }
    }
}
