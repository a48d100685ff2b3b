#![doc = include_str!("role_order.md")]

use super::{prelude::*, unknown_role::is_foreign};
use crate::draft::{Format, Role};
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::{Profile, requires_answers_alone},
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 402,
    name: "role-order",
    summary: "two messages of the same role in a row",
    explain: page!("role_order.md"),
    applies: &[(Gemini, Documented), (Bedrock, Documented), (Strict, Documented)],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::SAME_SIDE_NEIGHBORS,
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let draft = context.draft;
    let alone = requires_answers_alone(context.profile(), draft);
    let turns = &context.pairing.turns;
    let in_turn = |at: usize| {
        let turn = turns.partition_point(|turn| turn.messages().end <= at);
        turns.get(turn).is_some_and(|turn| turn.messages().start < at)
    };
    for at in 1..draft.messages.len() {
        let (before, message) = (&draft.messages[at - 1], &draft.messages[at]);
        let users = before.role.is_user() && message.role.is_user();
        let assistants = before.role.is_assistant() && message.role.is_assistant();
        let gemini = context.profile() == Profile::Gemini;
        let in_turn = assistants && in_turn(at);
        if !users && !assistants || in_turn && !gemini {
            continue;
        }
        let refused = match context.profile() {
            // It accepts calls of one turn in several contents, but nothing behind or between them.
            Profile::Gemini => {
                let calls = draft.has_calls(message);
                let accepted = if in_turn { calls && draft.has_calls(before) } else { !calls };
                draft.format == Format::Gemini && assistants && !accepted
            }
            _ if alone && users && context.layout() == MessageLayout::Blocks => {
                !draft.has_answers(before) || draft.has_answers(message)
            }
            _ => true,
        };
        if refused {
            let side = if users { "user" } else { "assistant" };
            let text = format!("two {side} messages in a row");
            // A message whose role is unknown and stays so takes in no other.
            let stays = before.role == Role::Unknown && context.pairing.is_in_unknown_turn(at - 1);
            let is_foreign = [before, message].into_iter().any(|it| is_foreign(draft, it));
            let fix = match (stays, is_foreign) {
                (true, _) => Fix::NONE,
                (false, true) => Fix::requires_unsafe(Strategy::Merge),
                (false, false) => Fix::safe(Strategy::Merge),
            };
            findings.add(at, message.span, text, fix);
        }
    }
}
