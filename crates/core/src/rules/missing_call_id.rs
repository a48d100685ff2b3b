#![doc = include_str!("missing_call_id.md")]

use super::pairs;
use super::prelude::*;
use crate::{
    check::shown,
    draft::{Kind, Wire},
    pair::call_at,
};
use crate::{
    check::{Notes, View},
    draft::Facts,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 204,
    name: "missing-call-id",
    summary: "a call without an id",
    explain: include_str!("missing_call_id.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Sure),
        (Anthropic, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Deepseek, Likely),
        (Strict, Sure),
        (Gemini, Likely),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::ALWAYS,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    if view.draft.wire == Wire::Gemini {
        return; // Ids are optional there.
    }
    for (at, part, call) in view.calls().filter(|(_, _, call)| call.id.is_none()) {
        let text = format!("call to {} has no id", shown(call.name.as_deref()));
        notes.call(at, part, call, text, Fix::safe(Strategy::Rename));
    }
    for paired in &view.pairing.answers {
        let Some(call) = paired.fate().call() else { continue };
        let Kind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        let asked = call_at(view.draft, view.pairing.calls[call].part());
        if answer.id.is_none() && asked.is_some_and(|call| call.id.is_some()) {
            pairs::note(
                view,
                notes,
                paired,
                call,
                "does not say which call it answers",
                Fix::safe(Strategy::Rename),
            );
        }
    }
}
