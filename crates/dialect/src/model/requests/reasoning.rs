//! How much to reason: words here, numbers of tokens there.
//!
//! The numbers are ours; providers tell none. Each word has one, and each number the word that is
//! nearest by ratio, so that a word comes back as itself.

use super::field_writer::RequestFieldWriter;
use crate::model::{LossKind, ThinkingSetting};

/// The words, and how many tokens stand for each.
const EFFORT_BUDGETS: [(&str, u64); 6] = [
    ("minimal", 1024),
    ("low", 4096),
    ("medium", 8192),
    ("high", 16384),
    ("xhigh", 32768),
    ("max", 65536),
];

/// How many tokens stand for a word.
pub(super) fn budget_of_effort(word: &str) -> Option<u64> {
    EFFORT_BUDGETS.iter().find(|(known, _)| *known == word).map(|(_, tokens)| *tokens)
}

/// The word for a number of tokens.
pub(super) fn effort_of_budget(budget: u64) -> &'static str {
    let square = u128::from(budget).pow(2);
    let near = EFFORT_BUDGETS.windows(2).find(|pair| square < u128::from(pair[0].1 * pair[1].1));
    near.map_or("max", |pair| pair[0].0)
}

/// The effort for formats that know nothing but words.
pub(super) fn choose_effort<'s>(sheet: &mut RequestFieldWriter<'_, 's, '_>) -> Option<&'s str> {
    let settings = sheet.settings;
    let effort = settings.effort.as_deref();
    match (&settings.thinking, effort) {
        (Some(ThinkingSetting::Off), effort) => {
            effort.into_iter().for_each(|word| record_effort_loss(sheet, word));
            Some("none")
        }
        (Some(ThinkingSetting::Budget(tokens)), Some(word)) => {
            let note =
                format!("a budget of {tokens} tokens for reasoning has no place beside `{word}`");
            sheet.record_loss(LossKind::Setting, note);
            effort
        }
        (Some(ThinkingSetting::Budget(tokens)), None) => {
            let tokens = tokens.parse().ok()?;
            let found = effort_of_budget(tokens);
            if budget_of_effort(found) != Some(tokens) {
                record_budget_rounding(sheet, tokens, found);
            }
            Some(found)
        }
        (Some(ThinkingSetting::Adaptive) | None, effort) => effort,
    }
}

/// Tells that an effort without reasoning cannot be said.
pub(super) fn record_effort_loss(sheet: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    sheet.record_loss(
        LossKind::Setting,
        format!("the effort `{word}` is left out: reasoning is off"),
    );
}

/// Tells that a number is only nearly said.
pub(super) fn record_budget_rounding(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    tokens: u64,
    word: &str,
) {
    let note = format!("a budget of {tokens} tokens for reasoning becomes the effort `{word}`");
    sheet.record_loss(LossKind::Setting, note);
}

/// Tells that a word has become another.
pub(super) fn record_effort_change(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    word: &str,
    other: &str,
) {
    sheet.record_loss(LossKind::Setting, format!("the effort `{word}` becomes `{other}`"));
}

/// Tells that a word is not known.
pub(super) fn record_unknown_effort(sheet: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    sheet
        .record_loss(LossKind::Setting, format!("the effort `{word}` is not known in this format"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back() {
        for (known, tokens) in EFFORT_BUDGETS {
            assert_eq!((budget_of_effort(known), effort_of_budget(tokens)), (Some(tokens), known));
        }
        let table = [(0, "minimal"), (2047, "minimal"), (2048, "low"), (10_000, "medium")];
        for (tokens, expected) in table {
            assert_eq!(effort_of_budget(tokens), expected, "{tokens}");
        }
        assert_eq!(
            (effort_of_budget(31_999), effort_of_budget(u64::MAX), budget_of_effort("odd")),
            ("xhigh", "max", None)
        );
    }
}
