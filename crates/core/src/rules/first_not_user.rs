#![doc = include_str!("first_not_user.md")]

use super::prelude::*;
use crate::draft::{Marks, Wire};
use crate::{
    check::{Notes, View},
    draft::Facts,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 401,
    name: "first-not-user",
    summary: "a history that does not start with the user",
    explain: include_str!("first_not_user.md"),
    applies: &[(Anthropic, Sure), (Gemini, Sure), (Bedrock, Likely), (Strict, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.body.stateful {
        return;
    }
    let first =
        view.draft.messages.iter().enumerate().find(|(_, message)| !message.role.is_system());
    let Some((at, message)) = first else { return };
    if message.marks.has(Marks::COMPACTION) {
        return; // The provider drops what stands before its own summary.
    }
    let refused = if view.profile() == Profile::Gemini {
        view.draft.wire == Wire::Gemini
            && message.role.is_assistant()
            && view.draft.calls_in(message)
    } else {
        !message.role.is_user()
    };
    if refused {
        let text = "the first message is not the user's".to_owned();
        notes.add(at, message.span, text, Fix::safe(Strategy::Insert));
    }
}
