//! What the user had said and is not there any more.

use foxwedge_formats::compact::MessageOutcome;

use super::{compaction_result::CompactionResult, full::push_row};
use crate::cli_output::{DIM, clean, paint, pluralize};

/// Messages of the user that are named.
const MAX_NAMED: usize = 8;

/// What the user said that is gone, and what a summary stands for.
pub(super) fn draw(text: &mut String, told: &CompactionResult<'_>) {
    let what = [
        (MessageOutcome::Removed, "given up", "gone"),
        (MessageOutcome::Summarized, "condensed", "summarized"),
    ];
    for (became, label, word) in what {
        let messages = &told.compacted.account.messages;
        if !messages.iter().any(|(_, fate)| *fate == became) {
            continue;
        }
        let wishes = told.lost_user_messages(became);
        if wishes.is_empty() {
            push_row(text, label, "nothing that the user said");
            continue;
        }
        let number = pluralize(wishes.len(), "message");
        push_row(text, label, &format!("{number} of the user {word}:"));
        for wish in wishes.iter().take(MAX_NAMED) {
            let at = paint(DIM, format_args!("{:>4}", wish.message));
            push_row(text, "", &format!("{at} “{}”", clean(wish.excerpt.trim())));
        }
        if wishes.len() > MAX_NAMED {
            push_row(text, "", &format!("     … and {} more", wishes.len() - MAX_NAMED));
        }
    }
}
