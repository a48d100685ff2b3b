//! Media in answers, for providers whose answers are text only.

use super::{Patch, Piece, QuotedAnswer, Slot, Source, sources::QuoteReason, work::Work};
use crate::{
    check::frontier,
    draft::{Content, Kind, Part, Role},
    placeholder,
    report::Strategy,
};

/// Moves media out of answers (FW307): behind the whole run of answers, into one user message.
pub(super) fn carry(work: &mut Work<'_, '_>) {
    let language = work.policy().language;
    let pointer = placeholder::media_pointer(language);
    let (draft, pairing) = work.paired();
    let running = frontier(&draft, &pairing, work.policy().tail);
    let live = running.clone().any(|call| pairing.calls[call].answer().is_none());
    // Nothing may be said behind a turn whose calls are still running.
    let end =
        pairing.groups.last().filter(|_| live).map_or(usize::MAX, |group| group.messages().end);
    let mut at = 0;
    while at < work.slots.len().min(end) {
        let run = work.slots[at..].iter().take_while(|slot| slot.role == Role::Answer).count();
        let mut carried = Vec::new();
        for index in at..at + run {
            let slot = work.open(index);
            for piece in &mut slot.pieces {
                let Kind::Answer(answer) = &piece.part.kind else { continue };
                if !answer.media || piece.source != Source::Kept {
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
                    Piece {
                        part: Part { span: piece.part.span, kind: Kind::Media },
                        source: Source::Media(media),
                        patch: Patch::default(),
                    },
                ));
                slot.touched = true;
            }
        }
        let moved = !carried.is_empty();
        let mut pieces = Vec::new();
        for (index, piece) in carried {
            let ids = work.slots[index].ids();
            let note = "media is moved to a user message behind the answers".to_owned();
            work.note(307, Strategy::Reorder, index, ids, note);
            pieces.push(piece);
        }
        if moved {
            work.slots.insert(at + run, Slot::new(Role::User, Content::List, pieces));
        }
        at += run.max(1);
    }
}
