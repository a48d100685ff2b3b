//! How much to reason: words here, numbers of tokens there.
//!
//! The numbers are ours; providers tell none. Each word has one, and each number the word that is
//! nearest by ratio, so that a word comes back as itself.

use super::sheet::Sheet;
use crate::canon::{Lost, Thinking};

/// The words, and how many tokens stand for each.
const WORDS: [(&str, u64); 6] = [
    ("minimal", 1024),
    ("low", 4096),
    ("medium", 8192),
    ("high", 16384),
    ("xhigh", 32768),
    ("max", 65536),
];

/// How many tokens stand for a word.
pub(super) fn budget(word: &str) -> Option<u64> {
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, tokens)| *tokens)
}

/// The word for a number of tokens.
pub(super) fn word(budget: u64) -> &'static str {
    let square = u128::from(budget).pow(2);
    let near = WORDS.windows(2).find(|pair| square < u128::from(pair[0].1 * pair[1].1));
    near.map_or("max", |pair| pair[0].0)
}

/// The effort for formats that know nothing but words.
pub(super) fn effort<'s>(sheet: &mut Sheet<'_, 's, '_>) -> Option<&'s str> {
    let settings = sheet.settings;
    let effort = settings.effort.as_deref();
    match (&settings.thinking, effort) {
        (Some(Thinking::Off), effort) => {
            effort.into_iter().for_each(|word| off(sheet, word));
            Some("none")
        }
        (Some(Thinking::Budget(tokens)), Some(word)) => {
            let note =
                format!("a budget of {tokens} tokens for reasoning has no place beside `{word}`");
            sheet.lose(Lost::Setting, note);
            effort
        }
        (Some(Thinking::Budget(tokens)), None) => {
            let tokens = tokens.parse().ok()?;
            let found = word(tokens);
            if budget(found) != Some(tokens) {
                becomes_word(sheet, tokens, found);
            }
            Some(found)
        }
        (Some(Thinking::Adaptive) | None, effort) => effort,
    }
}

/// Tells that an effort without reasoning cannot be said.
pub(super) fn off(sheet: &mut Sheet<'_, '_, '_>, word: &str) {
    sheet.lose(Lost::Setting, format!("the effort `{word}` is left out: reasoning is off"));
}

/// Tells that a number is only nearly said.
pub(super) fn becomes_word(sheet: &mut Sheet<'_, '_, '_>, tokens: u64, word: &str) {
    let note = format!("a budget of {tokens} tokens for reasoning becomes the effort `{word}`");
    sheet.lose(Lost::Setting, note);
}

/// Tells that a word has become another.
pub(super) fn becomes(sheet: &mut Sheet<'_, '_, '_>, word: &str, other: &str) {
    sheet.lose(Lost::Setting, format!("the effort `{word}` becomes `{other}`"));
}

/// Tells that a word is not known.
pub(super) fn unknown(sheet: &mut Sheet<'_, '_, '_>, word: &str) {
    sheet.lose(Lost::Setting, format!("the effort `{word}` is not known in this format"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back() {
        for (known, tokens) in WORDS {
            assert_eq!((budget(known), word(tokens)), (Some(tokens), known));
        }
        let table = [(0, "minimal"), (2047, "minimal"), (2048, "low"), (10_000, "medium")];
        for (tokens, expected) in table {
            assert_eq!(word(tokens), expected, "{tokens}");
        }
        assert_eq!((word(31_999), word(u64::MAX), budget("odd")), ("xhigh", "max", None));
    }
}
