//! Repairs that uncover something: files in which several things are wrong at once.
//!
//! Whoever joins links or moves lines may find that the file now says something new: a branch that
//! was cut off, a second record under an id. The result is read again and repaired until it stays
//! as it is.

use foxwedge_core::{CheckOptions, EditCount, Repair, Strategy, repair};

use super::{
    ParsedSession, read, readable_text,
    rewritten_file::{FilePiece, RewrittenFile},
};

/// More rounds than any file needs.
const MAX_ROUNDS: usize = 6;

/// Repairs what a repair uncovered.
pub(super) fn repair_until_stable(
    first_read: &ParsedSession<'_>,
    question: &CheckOptions,
    first: &mut Repair<'_>,
    rewritten: &mut RewrittenFile<'_>,
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
    for _ in 0..MAX_ROUNDS {
        let Ok(text) = readable_text(&bytes) else { break };
        let want = crate::outline_options(question.profile);
        let Ok(mut session) = read(&text, first_read.agent, want) else { break };
        session.spare_same_as(first_read);
        let mut again = repair(session.draft(), question);
        if again.is_untouched() {
            break;
        }
        again.load_touched_parts(session.draft());
        let mut next = Vec::with_capacity(bytes.len());
        if session.rewrite(&again).write_to(&mut next).is_err() || next == bytes {
            break;
        }
        first.later_losses.add(&again.losses(session.draft()));
        let last = first.edits.last().map_or(0, |edit| edit.message);
        let mut edits = again.edits;
        // Messages are counted in the file as it was.
        edits.iter_mut().for_each(|edit| edit.message = edit.message.min(last));
        first.edits.append(edits);
        first.after = again.after;
        bytes = next;
    }
    *rewritten = RewrittenFile { bytes: &[], source: "", pieces: vec![FilePiece::Bytes(bytes)] };
}
