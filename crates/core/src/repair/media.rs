//! Media in answers, for providers whose answers are text only.

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

/// Moves media out of answers (FW307): behind the whole run of answers, into one user message.
pub(super) fn move_media(work: &mut RepairState<'_, '_>) {
    let language = work.policy().language;
    let pointer = placeholder::media_pointer_text(language);
    let (draft, pairing) = work.draft_with_pairing();
    let running = running_calls(&draft, &pairing, work.policy().tail);
    let live = running.clone().any(|call| pairing.calls[call].answer().is_none());
    // Nothing may be said behind a turn whose calls are still running.
    let end =
        pairing.turns.last().filter(|_| live).map_or(usize::MAX, |group| group.messages().end);
    let mut at = 0;
    while at < work.messages.len().min(end) {
        let run = work.messages[at..].iter().take_while(|slot| slot.role == Role::Answer).count();
        let mut carried = Vec::new();
        for index in at..at + run {
            let slot = work.load_message(index);
            for piece in &mut slot.parts {
                let PartKind::Answer(answer) = &piece.part.kind else { continue };
                if !answer.media || piece.source != PartSource::Input {
                    continue;
                }
                let why = QuoteReason::MediaMoved;
                let media = QuotedAnswer::new(answer.clone(), why, language);
                if let Some(answer) = piece.part.kind.answer_mut() {
                    answer.media = false;
                }
                piece.patch.set_pointer(pointer);
                carried.push((
                    index,
                    RepairedPart {
                        part: Part { span: piece.part.span, kind: PartKind::Media },
                        source: PartSource::Media(media),
                        patch: PartPatch::default(),
                    },
                ));
                slot.touched = true;
            }
        }
        let moved = !carried.is_empty();
        let mut pieces = Vec::new();
        for (index, piece) in carried {
            let ids = work.messages[index].ids();
            let note = "media is moved to a user message behind the answers".to_owned();
            work.note_edit(307, Strategy::Reorder, index, ids, note);
            pieces.push(piece);
        }
        if moved {
            work.messages
                .insert(at + run, RepairedMessage::new(Role::User, ContentShape::List, pieces));
        }
        at += run.max(1);
    }
}
