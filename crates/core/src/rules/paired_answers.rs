//! Findings about an answer and its call.

use crate::{
    check::{Findings, RuleContext, display_id},
    draft::PartKind,
    pairing::{PairedAnswer, call_at},
    report::{FindingLocation, Fix},
};

/// Notes that an answer, matched with a call, is wrong in some way.
pub(super) fn report_answer(
    view: &RuleContext<'_, '_>,
    notes: &mut Findings<'_, '_, '_>,
    paired: &PairedAnswer,
    call: usize,
    what: &str,
    fix: Fix,
) {
    let part = &view.draft.parts[paired.part()];
    let PartKind::Answer(answer) = &part.kind else { return };
    let call = view.pairing.calls[call];
    let text = format!("answer {} {what}", display_id(answer.id.as_deref()));
    let finding = notes.add(paired.message(), part.span, text, fix);
    finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    finding.tool =
        call_at(view.draft, call.part()).and_then(|call| call.name.as_deref().map(str::to_owned));
    finding.partner =
        Some(FindingLocation { message: call.message(), span: view.draft.parts[call.part()].span });
}
