//! Checks that the account of a compaction matches what it did.

use foxwedge_formats::compact::{CompactedText, MessageOutcome};

use crate::{MessageSurvival, common, count};

/// Compares the account of a compaction with what happened to each message. `before` is valid.
///
/// # Errors
/// The first entry of the account that is wrong.
pub fn account(
    format: &str,
    before: &str,
    compacted: &CompactedText<'_>,
    became: &[MessageSurvival],
) -> Result<(), String> {
    let account = &compacted.account;
    let sizes = [(&account.before, before), (&account.after, &*compacted.text)];
    for (stated, document) in sizes {
        let counted = count(format, document);
        if (stated.messages, stated.calls) != counted {
            return Err(format!("messages and calls are {counted:?}, told are {stated:?}"));
        }
    }
    let tokens = account.before.surroundings
        + account.messages.iter().map(|(tokens, _)| tokens).sum::<u64>();
    if tokens != account.before.tokens {
        return Err(format!("messages of {tokens} tokens, told are {}", account.before.tokens));
    }
    if compacted.is_changed() != (compacted.text != before) {
        return Err("it is not told whether something changed".to_owned());
    }
    let stated: Vec<MessageOutcome> = account.messages.iter().map(|(_, stated)| *stated).collect();
    let agrees = |(stated, became): (&MessageOutcome, &MessageSurvival)| match (stated, became) {
        (MessageOutcome::Unchanged, MessageSurvival::Same(_))
        | (MessageOutcome::Changed, MessageSurvival::Changed(_)) => true,
        (MessageOutcome::Removed | MessageOutcome::Summarized, MessageSurvival::Gone)
        | (_, MessageSurvival::Hollow) => true,
        (
            MessageOutcome::Unchanged
            | MessageOutcome::Changed
            | MessageOutcome::Removed
            | MessageOutcome::Summarized,
            _,
        ) => false,
    };
    if stated.len() != became.len() || !stated.iter().zip(became).all(agrees) {
        let wrong: Vec<_> =
            stated.iter().zip(became).enumerate().filter(|(_, it)| !agrees(*it)).collect();
        return Err(format!("(message, (told, became)): {wrong:?}"));
    }
    let removed: Vec<usize> =
        (0..became.len()).filter(|at| became[*at] == MessageSurvival::Gone).collect();
    let mut stated_removed: Vec<usize> = account.removed_ranges().into_iter().flatten().collect();
    stated_removed.retain(|at| became.get(*at) != Some(&MessageSurvival::Hollow));
    if removed != stated_removed {
        return Err(format!("{removed:?} are gone, told are {stated_removed:?}"));
    }
    let summaries = account.stages.iter().filter(|stage| stage.summary.is_some()).count();
    if stated.contains(&MessageOutcome::Summarized) && summaries == 0 {
        return Err("something was condensed, and nobody wrote a summary".to_owned());
    }
    let same = common(format, before, &compacted.text);
    let Some(prefix) = account.prefix else {
        let stated = "nothing is told about the cache".to_owned();
        return if compacted.is_changed() { Err(stated) } else { Ok(()) };
    };
    let ahead = account.messages.iter().take(prefix.message).map(|(tokens, _)| tokens);
    let tokens = account.before.surroundings + ahead.sum::<u64>();
    // If the instructions or the tools changed, no cached prefix can be reused.
    let nothing = (prefix.message, prefix.tokens) == (0, 0);
    if !nothing && (prefix.message > same || prefix.tokens != tokens) {
        return Err(format!("{same} messages are the same, with {tokens} tokens: {prefix:?}"));
    }
    Ok(())
}
