//! Moves media out of answers, for providers whose answers are text only.

use super::{
    PartPatch, PartSource, QuotedAnswer, RepairedMessage, RepairedPart, sources::QuoteReason,
    state::RepairState,
};
use crate::{
    check::running_calls,
    draft::{ContentShape, Part, PartKind, Role},
    placeholder,
    report::Strategy,
};

/// Moves media out of answers (FW307): into one user message after the whole run of answers.
pub(super) fn move_media(state: &mut RepairState<'_, '_>) {
    let language = state.policy().language;
    let pointer = placeholder::media_pointer_text(language);
    let (draft, pairing) = state.draft_with_pairing();
    let running = running_calls(&draft, &pairing, state.policy().tail);
    let has_open = running.clone().any(|call| pairing.calls[call].answer().is_none());
    // Nothing may follow a turn whose calls are still running.
    let end =
        pairing.turns.last().filter(|_| has_open).map_or(usize::MAX, |turn| turn.messages().end);
    let mut at = 0;
    while at < state.messages.len().min(end) {
        let run =
            state.messages[at..].iter().take_while(|message| message.role == Role::Answer).count();
        let mut moved_media = Vec::new();
        for index in at..at + run {
            let message = state.load_message(index);
            let mut touched = false;
            for part in &mut message.parts {
                let PartKind::Answer(answer) = &part.part.kind else { continue };
                if !answer.media || *part.source() != PartSource::Input {
                    continue;
                }
                let reason = QuoteReason::MediaMoved;
                let media = QuotedAnswer::new(answer.clone(), reason, language);
                if let Some(answer) = part.part.kind.answer_mut() {
                    answer.media = false;
                }
                part.patch.set_pointer(pointer);
                moved_media.push((
                    index,
                    RepairedPart {
                        part: Part { span: part.part.span, kind: PartKind::Media },
                        patch: PartPatch::with_source(PartSource::Media(media)),
                    },
                ));
                touched = true;
            }
            if touched {
                message.touch();
            }
        }
        let any_moved = !moved_media.is_empty();
        let mut parts = Vec::new();
        for (index, part) in moved_media {
            let ids = state.messages[index].ids();
            let note = "media is moved to a user message after the results".to_owned();
            state.note_edit(307, Strategy::Reorder, index, ids, note);
            parts.push(part);
        }
        if any_moved {
            state
                .messages
                .insert(at + run, RepairedMessage::new(Role::User, ContentShape::List, parts));
        }
        at += run.max(1);
    }
}
