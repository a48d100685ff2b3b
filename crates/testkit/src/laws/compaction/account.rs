//! Whether a compaction tells what it did.

use foxwedge_dialect::compact::{CompactedText, MessageOutcome as Told};

use crate::{Became, common, count};

/// Holds the account of a compaction against what became of the messages; `before` is sound.
///
/// # Errors
/// What is told and is not so.
pub fn account(
    dialect: &str,
    before: &str,
    compacted: &CompactedText<'_>,
    became: &[Became],
) -> Result<(), String> {
    let account = &compacted.account;
    let sizes = [(&account.before, before), (&account.after, &*compacted.text)];
    for (told, document) in sizes {
        let counted = count(dialect, document);
        if (told.messages, told.calls) != counted {
            return Err(format!("messages and calls are {counted:?}, told are {told:?}"));
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
    let told: Vec<Told> = account.messages.iter().map(|(_, told)| *told).collect();
    let so = |(told, became): (&Told, &Became)| match (told, became) {
        (Told::Unchanged, Became::Same(_)) | (Told::Changed, Became::Changed(_)) => true,
        (Told::Removed | Told::Summarized, Became::Gone) | (_, Became::Hollow) => true,
        (Told::Unchanged | Told::Changed | Told::Removed | Told::Summarized, _) => false,
    };
    if told.len() != became.len() || !told.iter().zip(became).all(so) {
        let wrong: Vec<_> =
            told.iter().zip(became).enumerate().filter(|(_, it)| !so(*it)).collect();
        return Err(format!("(message, (told, became)): {wrong:?}"));
    }
    let gone: Vec<usize> = (0..became.len()).filter(|at| became[*at] == Became::Gone).collect();
    let mut given_up: Vec<usize> = account.removed_ranges().into_iter().flatten().collect();
    given_up.retain(|at| became.get(*at) != Some(&Became::Hollow));
    if gone != given_up {
        return Err(format!("{gone:?} are gone, told are {given_up:?}"));
    }
    let summaries = account.stages.iter().filter(|stage| stage.summary.is_some()).count();
    if told.contains(&Told::Summarized) && summaries == 0 {
        return Err("something was condensed, and nobody wrote a summary".to_owned());
    }
    let same = common(dialect, before, &compacted.text);
    let Some(prefix) = account.prefix else {
        let told = "nothing is told about the cache".to_owned();
        return if compacted.is_changed() { Err(told) } else { Ok(()) };
    };
    let ahead = account.messages.iter().take(prefix.message).map(|(tokens, _)| tokens);
    let tokens = account.before.surroundings + ahead.sum::<u64>();
    // Where instructions or tools changed, no cache is of use.
    let nothing = (prefix.message, prefix.tokens) == (0, 0);
    if !nothing && (prefix.message > same || prefix.tokens != tokens) {
        return Err(format!("{same} messages are the same, with {tokens} tokens: {prefix:?}"));
    }
    Ok(())
}
