//! User messages that a compaction removed or summarized.

use foxwedge_formats::compact::MessageOutcome;

use super::{compaction_result::CompactionResult, full::push_row};
use foxwedge_local::output::{DIM, clean, paint, pluralize};

/// Max user messages listed.
const MAX_NAMED: usize = 8;

/// Adds the removed user messages, then the summarized ones.
pub(super) fn draw(text: &mut String, result: &CompactionResult<'_>) {
    let outcomes =
        [(MessageOutcome::Removed, "removed"), (MessageOutcome::Summarized, "summarized")];
    for (outcome, label) in outcomes {
        let messages = &result.compacted.account.messages;
        if !messages.iter().any(|(_, actual)| *actual == outcome) {
            continue;
        }
        let lost = result.lost_user_messages(outcome);
        if lost.is_empty() {
            push_row(text, label, "no user messages");
            continue;
        }
        let number = pluralize(lost.len(), "user message");
        push_row(text, label, &format!("{number}:"));
        for user_message in lost.iter().take(MAX_NAMED) {
            let at = paint(DIM, format_args!("{:>4}", user_message.message));
            push_row(text, "", &format!("{at} “{}”", clean(user_message.excerpt.trim())));
        }
        if lost.len() > MAX_NAMED {
            push_row(text, "", &format!("     … and {} more", lost.len() - MAX_NAMED));
        }
    }
}
