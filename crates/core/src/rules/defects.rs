//! Findings about the file around a conversation. Its parser found the defects; the rules report
//! them.

use super::prelude::*;
use crate::{
    check::{Findings, RuleContext},
    profile::{Profile, RuleEvidence},
};

/// The agent fails before any provider gets the history, so the profile does not matter.
pub(super) const ALL_PROFILES: &[(Profile, RuleEvidence)] = &[
    (OpenaiChat, Documented),
    (OpenaiResponses, Documented),
    (Anthropic, Documented),
    (Gemini, Documented),
    (Bedrock, Documented),
    (GeminiInteractions, Documented),
    (Mistral, Documented),
    (Deepseek, Documented),
    (Strict, Documented),
];

/// Reports the defects of one rule.
pub(super) fn report_defects(
    context: &RuleContext<'_, '_>,
    findings: &mut Findings<'_, '_, '_>,
    code: u16,
) {
    for defect in context.draft.body.defects.iter().filter(|defect| defect.code == code) {
        let text = defect.text.as_deref();
        let problem =
            text.map_or_else(|| findings.summary().to_owned(), |text| text.problem.clone());
        let finding = findings.add(defect.message as usize, defect.span, problem, defect.fix);
        finding.severity = defect.severity;
        finding.ids = text.map_or_else(Vec::new, |text| text.ids.clone());
    }
}
