//! Who speaks: roles that nobody knows.

use super::state::RepairState;
use crate::{
    draft::{MessageFlags, MessageLayout, Role},
    profile::Profile,
    report::Strategy,
    rules::RuleSet,
};

/// Gives every message a role its provider knows (FW407).
pub(super) fn fix_roles(work: &mut RepairState<'_, '_>, _: RuleSet) {
    let few =
        matches!(work.options.profile, Profile::Mistral | Profile::Deepseek | Profile::Strict);
    let chat = work.input.layout() == MessageLayout::Chat;
    for at in 0..work.messages.len() {
        let (role, note) = match work.messages[at].role {
            Role::Unknown if work.messages[at].flags.has(MessageFlags::MODEL) => {
                (Role::Assistant, "the message is the model's")
            }
            Role::Unknown => (Role::User, "the message is read as the user's"),
            Role::Developer if few => (Role::System, "`developer` becomes `system`"),
            Role::Neutral if few && chat => (Role::User, "`function` becomes `user`"),
            _ => continue,
        };
        let slot = work.mark_message(at);
        slot.role = role;
        slot.role_changed = true;
        if role == Role::Assistant {
            // Its calls are where they belong now.
            slot.flags = slot.flags.without(MessageFlags::STRAY_CALLS);
        }
        work.note_edit(407, Strategy::Recode, at, Vec::new(), note.to_owned());
    }
}
