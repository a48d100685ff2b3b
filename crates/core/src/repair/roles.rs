//! Who speaks: roles that nobody knows.

use super::work::Work;
use crate::{
    draft::{Layout, Marks, Role},
    profile::Profile,
    report::Strategy,
    rules::RuleSet,
};

/// Gives every message a role its provider knows (FW407).
pub(super) fn name(work: &mut Work<'_, '_>, _: RuleSet) {
    let few =
        matches!(work.question.profile, Profile::Mistral | Profile::Deepseek | Profile::Strict);
    let chat = work.input.layout() == Layout::Chat;
    for at in 0..work.slots.len() {
        let (role, note) = match work.slots[at].role {
            Role::Unknown if work.slots[at].marks.has(Marks::MODEL) => {
                (Role::Assistant, "the message is the model's")
            }
            Role::Unknown => (Role::User, "the message is read as the user's"),
            Role::Developer if few => (Role::System, "`developer` becomes `system`"),
            Role::Neutral if few && chat => (Role::User, "`function` becomes `user`"),
            _ => continue,
        };
        let slot = work.mark(at);
        slot.role = role;
        slot.recast = true;
        if role == Role::Assistant {
            // Its calls are where they belong now.
            slot.marks = slot.marks.without(Marks::STRAY_CALLS);
        }
        work.note(407, Strategy::Recode, at, Vec::new(), note.to_owned());
    }
}
