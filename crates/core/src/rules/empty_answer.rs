#![doc = include_str!("empty_answer.md")]

use super::prelude::*;
use crate::{
    check::shown,
    draft::{Answer, Family, Kind, Output, Wire},
};
use crate::{
    check::{Notes, View},
    draft::Facts,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 303,
    name: "empty-answer",
    summary: "an answer without content",
    explain: include_str!("empty_answer.md"),
    applies: &[
        (OpenaiChat, Sure),
        (OpenaiResponses, Sure),
        (Bedrock, Sure),
        (Mistral, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::HOLLOW_ANSWER,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    for paired in &view.pairing.answers {
        let Kind::Answer(answer) = &view.draft.parts[paired.part()].kind else { continue };
        if !is_refused(view, answer) {
            continue;
        }
        let text = format!("answer {} has no content", shown(answer.id.as_deref()));
        let span = view.draft.parts[paired.part()].span;
        let finding = notes.add(paired.message(), span, text, Fix::safe(Strategy::Recode));
        finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    }
}

fn is_refused(view: &View<'_, '_>, answer: &Answer<'_>) -> bool {
    let profile = view.profile();
    let strict = profile == Profile::Strict;
    let nothing = matches!(answer.output, Output::Null | Output::Missing);
    let empty = !matches!(answer.output, Output::Full | Output::Odd);
    match view.draft.wire {
        Wire::Gemini => false,
        Wire::OpenaiChat => {
            nothing && matches!(profile, Profile::OpenaiChat | Profile::Mistral) || strict && empty
        }
        Wire::OpenaiResponses => {
            matches!(answer.family, Family::Function | Family::Custom)
                && (nothing && profile == Profile::OpenaiResponses || strict && empty)
        }
        Wire::Anthropic => strict && empty,
        Wire::Bedrock => {
            matches!(profile, Profile::Bedrock | Profile::Strict)
                && (nothing || answer.output == Output::EmptyError)
        }
    }
}
