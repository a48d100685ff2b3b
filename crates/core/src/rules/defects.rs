//! Findings about the file around a conversation. Its reader saw them; the rules report them.

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    profile::{Profile, RuleEvidence},
};

/// The agent fails before any provider sees the history, so it does not matter which one.
pub(super) const ALL_PROFILES: &[(Profile, RuleEvidence)] = &[
    (OpenaiChat, Documented),
    (OpenaiResponses, Documented),
    (Anthropic, Documented),
    (Gemini, Documented),
    (Bedrock, Documented),
    (Mistral, Documented),
    (Deepseek, Documented),
    (Strict, Documented),
];

/// Reports the flaws of one rule.
pub(super) fn report_defects(
    view: &RuleContext<'_, '_>,
    notes: &mut Findings<'_, '_, '_>,
    code: u16,
) {
    for flaw in view.draft.body.defects.iter().filter(|flaw| flaw.code == code) {
        let text = flaw.text.as_deref();
        let what = text.map_or_else(|| notes.summary().to_owned(), |text| text.problem.clone());
        let finding = notes.add(flaw.message as usize, flaw.span, what, flaw.fix);
        finding.severity = flaw.severity;
        finding.ids = text.map_or_else(Vec::new, |text| text.ids.clone());
    }
}
