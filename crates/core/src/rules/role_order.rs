#![doc = include_str!("role_order.md")]

use super::prelude::*;
use crate::draft::Wire;
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    profile::{Profile, answers_alone},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 402,
    name: "role-order",
    summary: "two neighbouring messages of one side",
    explain: include_str!("role_order.md"),
    applies: &[(Gemini, Sure), (Bedrock, Sure), (Strict, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::NEIGHBOURS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let draft = view.draft;
    let alone = answers_alone(view.profile(), draft);
    let groups = &view.pairing.groups;
    let in_group = |at: usize| {
        let group = groups.partition_point(|group| group.messages().end <= at);
        groups.get(group).is_some_and(|group| group.messages().start < at)
    };
    for at in 1..draft.messages.len() {
        let (before, message) = (&draft.messages[at - 1], &draft.messages[at]);
        let users = before.role.is_user() && message.role.is_user();
        let assistants = before.role.is_assistant() && message.role.is_assistant();
        if !users && !assistants || assistants && in_group(at) {
            continue;
        }
        let refused = match view.profile() {
            Profile::Gemini => draft.wire == Wire::Gemini && assistants && draft.calls_in(message),
            _ if alone && users && view.layout() == Layout::Blocks => {
                !draft.answers_in(before) || draft.answers_in(message)
            }
            _ => true,
        };
        if refused {
            let side = if users { "user" } else { "assistant" };
            let text = format!("two {side} messages in a row");
            notes.add(at, message.span, text, Fix::safe(Strategy::Merge));
        }
    }
}
