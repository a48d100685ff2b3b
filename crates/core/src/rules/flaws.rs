//! Findings about the file around a conversation. Its reader saw them; the rules report them.

use super::prelude::*;
use crate::{
    check::{Notes, View},
    profile::{Evidence, Profile},
};

/// The agent fails before any provider sees the history, so it does not matter which one.
pub(super) const EVERYONE: &[(Profile, Evidence)] = &[
    (OpenaiChat, Sure),
    (OpenaiResponses, Sure),
    (Anthropic, Sure),
    (Gemini, Sure),
    (Bedrock, Sure),
    (Mistral, Sure),
    (Deepseek, Sure),
    (Strict, Sure),
];

/// Reports the flaws of one rule.
pub(super) fn note(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>, code: u16) {
    for flaw in view.draft.body.flaws.iter().filter(|flaw| flaw.code == code) {
        let finding = notes.add(flaw.message, flaw.span, flaw.what.clone(), flaw.fix);
        finding.severity = flaw.severity;
        finding.ids.clone_from(&flaw.ids);
    }
}
