//! Repeats a repair until the file is stable.
//!
//! In a file with several defects, one repair may uncover another defect: after links are joined or
//! lines are moved, a branch that was cut off or a second record with the same id becomes visible.
//! The result is read and repaired again until nothing changes.

use foxwedge_core::{CheckOptions, EditCount, Repair};

use super::{
    ParsedSession, read, readable_text,
    rewritten_file::{FilePiece, RewrittenFile},
};

/// More rounds than any file is known to need.
const MAX_ROUNDS: usize = 6;

/// In a file whose links contradict each other, keeping as many of them as possible may not lead to
/// a stable file. From this round on, all records are linked in their order.
const STRAIGHTENING_ROUND: usize = 2;

/// Repairs the defects that a repair uncovered.
pub(super) fn repair_until_stable(
    first_read: &ParsedSession<'_>,
    options: &CheckOptions,
    first: &mut Repair<'_>,
    rewritten: &mut RewrittenFile<'_>,
) {
    // Cleaned lines uncover nothing.
    let is_plain = |edit: &EditCount| matches!(edit.code, 802 | 803);
    if first.edits.counts().iter().all(is_plain) {
        return;
    }
    let mut bytes = Vec::with_capacity(first_read.log.bytes.len());
    if rewritten.write_to(&mut bytes).is_err() {
        return;
    }
    // `bytes` now holds the content of the pieces: free them.
    rewritten.pieces = Vec::new();
    for round in 0..MAX_ROUNDS {
        let Ok(text) = readable_text(&bytes) else { break };
        let outline_options = foxwedge_formats::outline_options(options.profile);
        let Ok(mut session) = read(&text, first_read.agent, outline_options) else { break };
        session.spare_same_as(first_read);
        let mut again = session.repair_draft(options);
        if again.is_untouched() {
            // The first round may have been about some rules only.
            if first_read.agent.is_in_database() {
                first.after = again.after;
            }
            break;
        }
        again.load_touched_parts(session.draft());
        let mut next = Vec::with_capacity(bytes.len());
        let straightens = round >= STRAIGHTENING_ROUND;
        if session.rewrite(&again, straightens).write_to(&mut next).is_err() {
            break;
        }
        if next == bytes {
            if straightens {
                break;
            }
            continue;
        }
        first.later_losses.add(&again.losses(session.draft()));
        let last = first.edits.last().map_or(0, |edit| edit.message);
        let mut edits = again.edits;
        // Messages are counted as in the original file.
        edits.iter_mut().for_each(|edit| edit.message = edit.message.min(last));
        first.edits.append(edits);
        first.after = again.after;
        bytes = next;
    }
    *rewritten = RewrittenFile { bytes: &[], source: "", pieces: vec![FilePiece::Bytes(bytes)] };
}
