//! Repairs reasoning that is detached, missing, or not signed.

use super::{PartPatch, PartSource, RepairedPart, content::found_messages, state::RepairState};
use crate::{
    Span,
    draft::{Format, MessageLayout, Part, PartKind, SignatureState},
    report::Strategy,
    rules::RuleSet,
};

/// Removes reasoning without a signature (FW503).
pub(super) fn remove_unsigned(state: &mut RepairState<'_, '_>, _: RuleSet) {
    let mut removed = Vec::new();
    for at in found_messages(state, 503) {
        let message = state.load_message(at);
        if message.retain_parts(|part| {
            !matches!(part.part.kind, PartKind::Reasoning(SignatureState::Unsigned))
        }) > 0
        {
            if message.parts.is_empty() {
                removed.push(at);
            }
            let note = "reasoning without a signature is removed".to_owned();
            state.note_edit(503, Strategy::Drop, at, Vec::new(), note);
        }
    }
    state.remove_messages(&removed);
}

/// Removes detached reasoning (FW501) and inserts required reasoning (FW502).
pub(super) fn fix_reasoning(state: &mut RepairState<'_, '_>, rules: RuleSet) {
    if rules.has(501) {
        remove_detached(state);
    }
    if rules.has(502) {
        insert_missing(state);
    }
}

fn remove_detached(state: &mut RepairState<'_, '_>) {
    let mut removed = Vec::new();
    for at in found_messages(state, 501) {
        if state.input.layout() == MessageLayout::Items {
            removed.push(at);
        } else {
            let message = state.edit_message(at);
            let trailing =
                message.parts.iter().rev().take_while(|part| part.is_reasoning()).count();
            message.parts.update(|parts| parts.truncate(parts.len() - trailing));
            if message.parts.is_empty() {
                removed.push(at);
            }
        }
        let note = "reasoning without the content it led to is removed".to_owned();
        state.note_edit(501, Strategy::Drop, at, Vec::new(), note);
    }
    state.remove_messages(&removed);
}

fn insert_missing(state: &mut RepairState<'_, '_>) {
    let messages = found_messages(state, 502);
    match state.input.format {
        Format::OpenaiChat => {
            for at in messages {
                let message = state.edit_message(at);
                message.parts.insert(
                    0,
                    RepairedPart {
                        part: Part {
                            span: Span::NOWHERE,
                            kind: PartKind::Reasoning(SignatureState::Plain),
                        },
                        patch: PartPatch::with_source(PartSource::Text("".into())),
                    },
                );
                let note = "an empty `reasoning_content` is added".to_owned();
                state.note_edit(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Format::Gemini => {
            for at in messages {
                let message = state.edit_message(at);
                let first = message.parts.iter_mut().find(|part| part.is_call());
                if let Some(part) = first {
                    part.patch.signature = true;
                    if let Some(call) = part.part.kind.call_mut() {
                        call.signed = true;
                    }
                }
                let note = "the first call gets the documented bypass signature".to_owned();
                state.note_edit(502, Strategy::Recode, at, Vec::new(), note);
            }
        }
        Format::Anthropic | Format::Bedrock => {
            if let Some(&at) = messages.first() {
                state.body.thinking_off = true;
                let note = if state.input.body.clears_thinking {
                    "thinking is switched off for this request, with the edit that clears old thinking"
                } else {
                    "thinking is switched off for this request"
                };
                state.note_edit(502, Strategy::Recode, at, Vec::new(), note.to_owned());
            }
        }
        Format::OpenaiResponses | Format::GeminiInteractions => {}
    }
}
