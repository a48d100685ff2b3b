//! Findings about an answer and its call.

use crate::{
    check::{Notes, View, shown},
    draft::Kind,
    pair::{PairedAnswer, call_at},
    report::{Fix, Place},
};

/// Notes that an answer, matched with a call, is wrong in some way.
pub(super) fn note(
    view: &View<'_, '_>,
    notes: &mut Notes<'_, '_, '_>,
    paired: &PairedAnswer,
    call: usize,
    what: &str,
    fix: Fix,
) {
    let part = &view.draft.parts[paired.part()];
    let Kind::Answer(answer) = &part.kind else { return };
    let call = view.pairing.calls[call];
    let text = format!("answer {} {what}", shown(answer.id.as_deref()));
    let finding = notes.add(paired.message(), part.span, text, fix);
    finding.ids.extend(answer.id.as_deref().map(str::to_owned));
    finding.tool =
        call_at(view.draft, call.part()).and_then(|call| call.name.as_deref().map(str::to_owned));
    finding.partner =
        Some(Place { message: call.message(), span: view.draft.parts[call.part()].span });
}
