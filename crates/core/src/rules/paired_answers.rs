//! Findings about an answer and its call.

use crate::{
    check::{Findings, RuleContext, display_id},
    draft::PartKind,
    pairing::{PairedAnswer, call_at},
    report::{FindingLocation, Fix},
};

/// Reports a problem of an answer that matches a call.
pub(super) fn report_answer(
    context: &RuleContext<'_, '_>,
    findings: &mut Findings<'_, '_, '_>,
    paired: &PairedAnswer,
    call: usize,
    what: &str,
    fix: Fix,
) {
    let part = &context.draft.parts[paired.part()];
    let PartKind::Answer(answer) = &part.kind else { return };
    let call = context.pairing.calls[call];
    let text = format!("result {} {what}", display_id(answer.id.as_deref()));
    let finding = findings.add(paired.message(), part.span, text, fix);
    finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    finding.tool = call_at(context.draft, call.part())
        .and_then(|call| call.name.as_deref().map(str::to_owned));
    finding.partner = Some(FindingLocation {
        message: call.message(),
        span: context.draft.parts[call.part()].span,
    });
}
