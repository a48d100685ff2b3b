//! Reads a provider's error text and says which rule it is about.
//!
//! Error texts reach people in every wrapping: raw, inside a JSON envelope, as a Python `repr`, wrapped by a terminal,
//! through a log. So the text is squeezed to its bare letters and digits first, and then compared
//! with an ordered table of fragments. Nothing here guesses from a status code alone: a text that no
//! row knows has no explanation.

mod text;
mod table;
mod advice;
mod quoted;
#[cfg(test)]
mod tests;

use table::{WordingGroup, WordingMeaning};
use text::NormalizedText;

/// What an error text says, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorExplanation<'a> {
    /// The rule, as the number in its code: 101 is `FW101`.
    pub code: u16,
    /// Whose wording it is. Compatible servers copy the wording of the server they imitate.
    pub provider: &'static str,
    /// What happened and the command to run, in English.
    pub advice: &'static str,
    /// The same in Chinese.
    pub advice_zh: &'static str,
    /// The ids that the text names, each once, in the order they are found.
    pub ids: Vec<&'a str>,
    /// The message or item that the text points at, counted from 0.
    pub message_index: Option<usize>,
    /// Other rules that lead to the same text.
    pub other_codes: &'static [u16],
}

/// Finds the rule behind an error text of any provider, in any quoting.
///
/// `None` means that the text is not about the shape of a history, or not one we know.
pub fn explain(text: &str) -> Option<ErrorExplanation<'_>> {
    let squeezed = NormalizedText::new(text);
    let (group, provider) = find_group(&squeezed)?;
    let WordingMeaning::Rule { code, also, advice } = group.meaning else { return None };
    let message_index = quoted::message_index(text, &squeezed);
    let (code, also) = narrow_code(code, also, message_index);
    Some(ErrorExplanation {
        code,
        provider,
        advice: advice.en,
        advice_zh: advice.zh,
        ids: quoted::quoted_ids(text, &squeezed),
        message_index,
        other_codes: also,
    })
}

/// The first group of the table with a wording that the text holds, and whose wording it is.
fn find_group(squeezed: &NormalizedText) -> Option<(&'static WordingGroup, &'static str)> {
    let mut buffer = String::new();
    table::GROUPS.iter().copied().flatten().find_map(|group| {
        let mut texts = group.wordings.iter();
        let (provider, _) =
            texts.find(|(_, fragments)| squeezed.contains_all(fragments, &mut buffer))?;
        Some((group, *provider))
    })
}

/// Anthropic says the same about an id used twice in a turn and one used again later. A second turn that calls stands
/// at message 3 at the earliest, so before that it can only be the former.
fn narrow_code(
    code: u16,
    also: &'static [u16],
    message_index: Option<usize>,
) -> (u16, &'static [u16]) {
    match (code, message_index) {
        (202, Some(0..=2)) => (201, &[]),
        (code, _) => (code, also),
    }
}
