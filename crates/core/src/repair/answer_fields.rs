//! Repairs fields of answers that have to agree with their calls: type and tool name.

use super::state::RepairState;
use crate::{
    check::display_id,
    draft::{AnswerShape, CallFamily, Format, PartKind},
    pairing::call_at,
    report::Strategy,
};

/// Gives results the type that belongs to their calls.
pub(super) fn fix_types(state: &mut RepairState<'_, '_>) {
    let (draft, pairing) = state.draft_with_pairing();
    for answer in &pairing.answers {
        let Some(call) = answer.result_match().call() else { continue };
        let call = call_at(&draft, pairing.calls[call].part());
        let PartKind::Answer(outline) = &draft.parts[answer.part()].kind else { continue };
        let Some(call) = call.filter(|call| outline.family.confused_with().contains(&call.family))
        else {
            continue;
        };
        let index = answer.part() - draft.messages[answer.message()].first as usize;
        let Some(part) = state.edit_message(answer.message()).parts.get_mut(index) else {
            continue;
        };
        let Some(outline) = part.part.kind.answer_mut() else { continue };
        outline.family = call.family;
        if !matches!(call.family, CallFamily::Function | CallFamily::Custom) {
            outline.output = AnswerShape::Full;
        }
        part.patch.typed = true;
        let ids = outline.id.as_deref().map(str::to_owned).into_iter().collect();
        let note = "the result gets the type that belongs to its call".to_owned();
        state.note_edit(109, Strategy::Recode, answer.message(), ids, note);
    }
}

/// Gives results the tool names of their calls.
pub(super) fn fix_names(state: &mut RepairState<'_, '_>) {
    let (draft, pairing) = state.draft_with_pairing();
    for answer in &pairing.answers {
        let Some(call) = answer.result_match().call() else { continue };
        let name = call_at(&draft, pairing.calls[call].part()).and_then(|call| call.name.to_cow());
        let Some(name) = name else { continue };
        let index = answer.part() - draft.messages[answer.message()].first as usize;
        let PartKind::Answer(outline) = &draft.parts[answer.part()].kind else { continue };
        let unnamed = draft.format == Format::GeminiInteractions && outline.name.is_none();
        if unnamed || outline.tool() == Some(&*name) {
            continue;
        }
        let Some(part) = state.edit_message(answer.message()).parts.get_mut(index) else {
            continue;
        };
        let Some(outline) = part.part.kind.answer_mut() else { continue };
        let ids = outline.id.as_deref().map(str::to_owned).into_iter().collect();
        let note = format!("the result gets the name of its call, {}", display_id(Some(&*name)));
        outline.name = Some(Box::new(name));
        part.patch.name = true;
        state.note_edit(107, Strategy::Rename, answer.message(), ids, note);
    }
}
