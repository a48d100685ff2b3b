//! Repairs unknown roles.

use super::{content::found_messages, state::RepairState};
use crate::{
    draft::{MessageFlags, MessageLayout, Role},
    profile::Profile,
    report::Strategy,
    rules::RuleSet,
};

/// Gives every message a role that its provider accepts (FW407).
pub(super) fn fix_roles(state: &mut RepairState<'_, '_>, _: RuleSet) {
    let few_roles =
        matches!(state.options.profile, Profile::Mistral | Profile::Deepseek | Profile::Strict);
    let chat = state.input.layout() == MessageLayout::Chat;
    for at in found_messages(state, 407) {
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
}
