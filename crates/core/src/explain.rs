//! Maps a provider's error text to the rule it is about.
//!
//! Error texts arrive in many wrappings: raw, inside a JSON envelope, as a Python `repr`, wrapped
//! by a terminal, through a log. So the text is first reduced to its letters and digits, and then
//! compared with an ordered table of fragments. A status code alone is never enough: a text that
//! matches no row has no explanation.

mod text;
mod table;
mod advice;
mod quoted;
#[cfg(test)]
mod tests;

use table::{WordingGroup, WordingMeaning};
use text::NormalizedText;

/// The meaning of an error text, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorExplanation<'a> {
    /// The rule, as the number in its code: 101 is `FW101`.
    pub code: u16,
    /// The provider that uses the wording. Compatible servers copy the wording of the server they
    /// imitate.
    pub provider: &'static str,
    /// What happened and the command to run, in English.
    pub advice: &'static str,
    /// The same in Chinese.
    pub advice_zh: &'static str,
    /// The ids in the text, each once, in the order they are found.
    pub ids: Vec<&'a str>,
    /// The message or item that the text refers to, counted from 0.
    pub message_index: Option<usize>,
    /// Other rules that cause the same text.
    pub other_codes: &'static [u16],
}

/// Finds the rule behind an error text of any provider, in any quoting.
///
/// `None` means that the text is not about the structure of a history, or is unknown.
pub fn explain(text: &str) -> Option<ErrorExplanation<'_>> {
    let normalized = NormalizedText::new(text);
    let (group, provider) = find_group(&normalized)?;
    let WordingMeaning::Rule { code, also: other_codes, advice } = group.meaning else {
        return None;
    };
    let message_index = quoted::message_index(text, &normalized);
    let (code, other_codes) = narrow_code(code, other_codes, message_index);
    Some(ErrorExplanation {
        code,
        provider,
        advice: advice.en,
        advice_zh: advice.zh,
        ids: quoted::quoted_ids(text, &normalized),
        message_index,
        other_codes,
    })
}

/// What to do about an error that names no rule: the history is valid, and something beside it has
/// to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherError {
    /// The provider that uses the wording.
    pub provider: &'static str,
    /// What happened and what to change, in English.
    pub advice: &'static str,
    /// The same in Chinese.
    pub advice_zh: &'static str,
}

/// Recognizes an error text that no broken history causes: a container that is not named, a thread
/// that was continued elsewhere, a conversation that is too long.
pub fn explain_other(text: &str) -> Option<OtherError> {
    let (group, provider) = find_group(&NormalizedText::new(text))?;
    match group.meaning {
        WordingMeaning::Other { advice } => {
            Some(OtherError { provider, advice: advice.en, advice_zh: advice.zh })
        }
        WordingMeaning::Rule { .. } | WordingMeaning::UnrelatedError => None,
    }
}

/// Whether an error text says that the conversation exceeds the model's context window, so that a
/// shorter one helps.
pub fn is_context_overflow(text: &str) -> bool {
    let Some(error) = explain_other(text) else { return false };
    error.advice == advice::CONTEXT_OVERFLOW.en
        || error.advice == advice::REPLY_LIMIT.en
            && !NormalizedText::new(text).is_reply_larger_than_messages()
}

/// Whether an error text says that the account reached a limit in time, not the model its limit.
pub fn is_rate_limit(text: &str) -> bool {
    explain_other(text).is_some_and(|error| error.advice == advice::RATE_LIMIT.en)
}

/// The first group of the table with a wording that the text contains, and its provider.
fn find_group(normalized: &NormalizedText) -> Option<(&'static WordingGroup, &'static str)> {
    let mut buffer = String::new();
    table::GROUPS.iter().copied().flatten().find_map(|group| {
        let mut texts = group.wordings.iter();
        let (provider, _) =
            texts.find(|(_, fragments)| normalized.contains_all(fragments, &mut buffer))?;
        Some((group, *provider))
    })
}

/// Anthropic uses the same text for an id used twice in a turn and for one reused later. A second
/// turn with calls is at message 3 at the earliest, so before that it can only be the former.
fn narrow_code(
    code: u16,
    other_codes: &'static [u16],
    message_index: Option<usize>,
) -> (u16, &'static [u16]) {
    match (code, message_index) {
        (202, Some(0..=2)) => (201, &[]),
        (code, _) => (code, other_codes),
    }
}
