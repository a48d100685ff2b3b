//! Repairs that uncover something: files in which several things are wrong at once.
//!
//! Whoever joins links or moves lines may find that the file now says something new: a branch that
//! was cut off, a second record under an id. The result is read again and repaired until it stays
//! as it is.

use foxwedge_core::{EditCount, Question, Repair, Strategy, repair};

use super::{
    Session, read,
    rewritten::{Piece, Rewritten},
    text,
};

/// More rounds than any file needs.
const ROUNDS: usize = 6;

/// Repairs what a repair uncovered.
pub(super) fn settle(
    first_read: &Session<'_>,
    question: &Question,
    first: &mut Repair<'_>,
    rewritten: &mut Rewritten<'_>,
) {
    // Placeholders uncover nothing, nor do lines that are only cleaned.
    let plain = |edit: &EditCount| match edit.strategy {
        Strategy::Synthesize => true,
        _ => matches!(edit.code, 802 | 803),
    };
    if first.edits.counts().iter().all(plain) {
        return;
    }
    let mut bytes = Vec::with_capacity(first_read.log.bytes.len());
    if rewritten.write_to(&mut bytes).is_err() {
        return;
    }
    // The text says what its pieces said.
    rewritten.pieces = Vec::new();
    for _ in 0..ROUNDS {
        let Ok(text) = text(&bytes) else { break };
        let want = crate::want(question.profile);
        let Ok(mut session) = read(&text, first_read.agent, want) else { break };
        session.spare_as(first_read);
        let mut again = repair(session.draft(), question);
        if again.is_untouched() {
            break;
        }
        again.open_touched(session.draft());
        let mut next = Vec::with_capacity(bytes.len());
        if session.rewrite(&again).write_to(&mut next).is_err() || next == bytes {
            break;
        }
        first.later.add(&again.losses(session.draft()));
        let last = first.edits.last().map_or(0, |edit| edit.message);
        let mut edits = again.edits;
        // Messages are counted in the file as it was.
        edits.iter_mut().for_each(|edit| edit.message = edit.message.min(last));
        first.edits.append(edits);
        first.after = again.after;
        bytes = next;
    }
    *rewritten = Rewritten { bytes: &[], source: "", pieces: vec![Piece::Bytes(bytes)] };
}
