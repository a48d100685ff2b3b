#![doc = include_str!("duplicate_call_id.md")]

use super::prelude::*;
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};
use std::collections::HashSet;

use crate::{check::shown, pair::call_at};

pub(super) const RULE: Rule = Rule {
    code: 201,
    name: "duplicate-call-id",
    summary: "one id for two calls of a turn",
    explain: include_str!("duplicate_call_id.md"),
    applies: &[
        (OpenaiChat, Likely),
        (OpenaiResponses, Likely),
        (Anthropic, Sure),
        (Bedrock, Likely),
        (Mistral, Sure),
        (Deepseek, Likely),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for group in &view.pairing.groups {
        if group.calls().len() < 2 {
            continue;
        }
        let calls = &view.pairing.calls[group.calls()];
        // Few calls: looking at each pair is cheaper than a table.
        let small = calls.len() <= 8;
        let mut seen = HashSet::new();
        for (index, paired) in calls.iter().enumerate() {
            let Some(call) = call_at(view.draft, paired.part()) else { continue };
            let Some(id) = call.id.as_deref() else { continue };
            let repeated = if small {
                calls[..index].iter().any(|earlier| {
                    call_at(view.draft, earlier.part()).is_some_and(|other| {
                        other.id.as_deref() == Some(id) && other.family == call.family
                    })
                })
            } else {
                !seen.insert((call.family, id))
            };
            if repeated {
                let text = format!("id {} is used twice in one turn", shown(Some(id)));
                notes.call(
                    paired.message(),
                    &view.draft.parts[paired.part()],
                    call,
                    text,
                    Fix::safe(Strategy::Rename),
                );
            }
        }
    }
}
