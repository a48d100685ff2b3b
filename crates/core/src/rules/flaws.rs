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
        let text = flaw.text.as_deref();
        let what = text.map_or_else(|| notes.summary().to_owned(), |text| text.what.clone());
        let finding = notes.add(flaw.message as usize, flaw.span, what, flaw.fix);
        finding.severity = flaw.severity;
        finding.ids = text.map_or_else(Vec::new, |text| text.ids.clone());
    }
}
