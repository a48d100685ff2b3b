//! Reasoning that is detached, missing, or not signed.

use super::{PartPatch, PartSource, RepairedPart, content::messages_with, state::RepairState};
use crate::{
    draft::{Format, MessageLayout, Part, PartKind, SignatureState},
    report::Strategy,
    rules::{RuleSet, missing_reasoning::gemini_unsigned},
    span::Span,
};

/// Removes reasoning without its maker's signature (FW503).
pub(super) fn remove_unsigned(work: &mut RepairState<'_, '_>, _: RuleSet) {
    let mut gone = Vec::new();
    let draft = work.draft();
    for at in messages_with(work, &draft, 503) {
        let slot = work.load_message(at);
        if slot.retain_parts(|piece| {
            !matches!(piece.part.kind, PartKind::Reasoning(SignatureState::Unsigned))
        }) > 0
        {
            if slot.parts.is_empty() {
                gone.push(at);
            }
            let note = "reasoning without a signature is removed".to_owned();
            work.note_edit(503, Strategy::Drop, at, Vec::new(), note);
        }
    }
    work.remove_messages(&gone);
}

/// Removes detached reasoning (FW501) and puts in what must not be missing (FW502).
pub(super) fn fix_reasoning(work: &mut RepairState<'_, '_>, found: RuleSet) {
    if found.has(501) {
        remove_detached(work);
    }
    if found.has(502) {
        insert_missing(work);
    }
}

fn remove_detached(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let mut gone = Vec::new();
    for at in messages_with(work, &draft, 501) {
        if draft.layout() == MessageLayout::Items {
            gone.push(at);
        } else {
            let slot = work.edit_message(at);
            while slot.parts.last().is_some_and(RepairedPart::is_reasoning) {
                slot.parts.pop();
            }
            if slot.parts.is_empty() {
                gone.push(at);
            }
        }
        let note = "reasoning that nothing follows is removed".to_owned();
        work.note_edit(501, Strategy::Drop, at, Vec::new(), note);
    }
    work.remove_messages(&gone);
}

fn insert_missing(work: &mut RepairState<'_, '_>) {
    let draft = work.draft();
    let found = messages_with(work, &draft, 502);
    match draft.format {
        Format::OpenaiChat => {
            for at in found {
                let slot = work.edit_message(at);
                slot.parts.insert(
                    0,
                    RepairedPart {
                        part: Part {
                            span: Span::NOWHERE,
                            kind: PartKind::Reasoning(SignatureState::Plain),
                        },
                        source: PartSource::Text("".into()),
                        patch: PartPatch::default(),
                    },
                );
                let note = "an empty `reasoning_content` is put in".to_owned();
                work.note_edit(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Format::Gemini => {
            for at in gemini_unsigned(&draft) {
                let slot = work.edit_message(at);
                let first = slot.parts.iter_mut().find(|piece| piece.is_call());
                if let Some(piece) = first {
                    piece.patch.signature = true;
                    if let Some(call) = piece.part.kind.call_mut() {
                        call.signed = true;
                    }
                }
                let note = "the first call gets the documented bypass signature".to_owned();
                work.note_edit(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Format::Anthropic => {
            if let Some(&at) = found.first() {
                work.body.thinking_off = true;
                let note = "thinking is switched off for this request".to_owned();
                work.note_edit(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Format::OpenaiResponses | Format::Bedrock => {}
    }
}
