#![doc = include_str!("role_order.md")]

use super::prelude::*;
use crate::draft::Format;
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::{Profile, requires_answers_alone},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 402,
    name: "role-order",
    summary: "two neighbouring messages of one side",
    explain: include_str!("role_order.md"),
    applies: &[(Gemini, Documented), (Bedrock, Documented), (Strict, Documented)],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::SAME_SIDE_NEIGHBORS,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let draft = view.draft;
    let alone = requires_answers_alone(view.profile(), draft);
    let groups = &view.pairing.turns;
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
            Profile::Gemini => {
                draft.format == Format::Gemini && assistants && draft.has_calls(message)
            }
            _ if alone && users && view.layout() == MessageLayout::Blocks => {
                !draft.has_answers(before) || draft.has_answers(message)
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
