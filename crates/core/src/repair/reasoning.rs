//! Reasoning that is detached, missing, or not signed.

use super::{Patch, Piece, Source, content::places, work::Work};
use crate::{
    draft::{Kind, Layout, Part, Seal, Wire},
    report::Strategy,
    rules::{RuleSet, missing_reasoning::gemini_unsigned},
    span::Span,
};

/// Removes reasoning without its maker's signature (FW503).
pub(super) fn unsigned(work: &mut Work<'_, '_>, _: RuleSet) {
    let mut gone = Vec::new();
    let draft = work.draft();
    for at in places(work, &draft, 503) {
        let slot = work.open(at);
        if slot.keep(|piece| !matches!(piece.part.kind, Kind::Reasoning(Seal::Unsigned))) > 0 {
            if slot.pieces.is_empty() {
                gone.push(at);
            }
            let note = "reasoning without a signature is removed".to_owned();
            work.note(503, Strategy::Drop, at, Vec::new(), note);
        }
    }
    work.remove_slots(&gone);
}

/// Removes detached reasoning (FW501) and puts in what must not be missing (FW502).
pub(super) fn mend(work: &mut Work<'_, '_>, found: RuleSet) {
    if found.has(501) {
        detached(work);
    }
    if found.has(502) {
        missing(work);
    }
}

fn detached(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let mut gone = Vec::new();
    for at in places(work, &draft, 501) {
        if draft.layout() == Layout::Items {
            gone.push(at);
        } else {
            let slot = work.touch(at);
            while slot.pieces.last().is_some_and(Piece::is_reasoning) {
                slot.pieces.pop();
            }
            if slot.pieces.is_empty() {
                gone.push(at);
            }
        }
        let note = "reasoning that nothing follows is removed".to_owned();
        work.note(501, Strategy::Drop, at, Vec::new(), note);
    }
    work.remove_slots(&gone);
}

fn missing(work: &mut Work<'_, '_>) {
    let draft = work.draft();
    let found = places(work, &draft, 502);
    match draft.wire {
        Wire::OpenaiChat => {
            for at in found {
                let slot = work.touch(at);
                slot.pieces.insert(
                    0,
                    Piece {
                        part: Part { span: Span::NOWHERE, kind: Kind::Reasoning(Seal::Plain) },
                        source: Source::Words("".into()),
                        patch: Patch::default(),
                    },
                );
                let note = "an empty `reasoning_content` is put in".to_owned();
                work.note(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Wire::Gemini => {
            for at in gemini_unsigned(&draft) {
                let slot = work.touch(at);
                let first = slot.pieces.iter_mut().find(|piece| piece.is_call());
                if let Some(piece) = first {
                    piece.patch.signature = true;
                    if let Some(call) = piece.part.kind.call_mut() {
                        call.signed = true;
                    }
                }
                let note = "the first call gets the documented bypass signature".to_owned();
                work.note(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Wire::Anthropic => {
            if let Some(&at) = found.first() {
                work.body.thinking_off = true;
                let note = "thinking is switched off for this request".to_owned();
                work.note(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Wire::OpenaiResponses | Wire::Bedrock => {}
    }
}
