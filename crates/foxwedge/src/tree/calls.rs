//! Calls and what became of them, a line each.

use std::collections::HashMap;

use anstyle::Style;
use foxwedge_core::{Answer, Call, Draft, Fate, Kind, Pairing, is_placeholder};

use crate::{
    preview,
    say::{DIM, ERROR, GOOD, WARNING, clean, cut},
    screen::{Line, fit},
};

/// One call with its answer, or an answer that no call is waiting for.
pub(super) struct Tie {
    tool: String,
    id: String,
    state: State,
    /// How the answer begins.
    said: String,
}

/// What became of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Answered,
    /// Its answer stands in another message than it should.
    Elsewhere(usize),
    /// Only a placeholder answers it.
    Placeholder,
    Open,
    /// An answer to a call that has one already.
    Again,
    /// An answer without a call.
    Orphan,
}

/// Characters of a tool's name that are drawn.
const TOOL: usize = 32;
/// Characters of an id that are drawn whole.
const ID: usize = 14;

/// The lines of each message, by its index: its calls, and answers that belong to none.
pub(super) fn ties(draft: &Draft<'_>, pairing: &Pairing) -> HashMap<usize, Vec<Tie>> {
    let mut ties: HashMap<usize, Vec<Tie>> = HashMap::new();
    for call in &pairing.calls {
        if let Some(tie) =
            call_at(draft, call.part()).map(|made| tie(draft, pairing, made, call.answer()))
        {
            ties.entry(call.message()).or_default().push(tie);
        }
    }
    for answer in &pairing.answers {
        let state = match answer.fate() {
            Fate::Duplicate(_) => State::Again,
            Fate::Orphan => State::Orphan,
            Fate::Home(_)
            | Fate::Split(_)
            | Fate::Misplaced(_)
            | Fate::Apart(_)
            | Fate::Early(_) => {
                continue;
            }
        };
        if let Some(given) = answer_at(draft, answer.part()) {
            ties.entry(answer.message()).or_default().push(Tie {
                tool: name(given.tool()).unwrap_or_default(),
                id: short(given.id.as_deref()),
                state,
                said: words(draft, given),
            });
        }
    }
    ties
}

fn tie(draft: &Draft<'_>, pairing: &Pairing, call: &Call<'_>, answer: Option<usize>) -> Tie {
    let paired = answer.and_then(|answer| pairing.answers.get(answer));
    let given = paired.and_then(|paired| answer_at(draft, paired.part()));
    let state = state(draft, pairing, answer);
    Tie {
        tool: name(call.name.as_deref()).unwrap_or_else(|| "a tool".to_owned()),
        id: short(call.id.as_deref()),
        state,
        said: given.map_or_else(String::new, |given| words(draft, given)),
    }
}

/// What became of a call with that answer.
pub(crate) fn state(draft: &Draft<'_>, pairing: &Pairing, answer: Option<usize>) -> State {
    let paired = answer.and_then(|answer| pairing.answers.get(answer));
    let given = paired.and_then(|paired| answer_at(draft, paired.part()));
    match (paired, given) {
        (Some(_), Some(given)) if is_invented(draft, given) => State::Placeholder,
        (Some(paired), _) => match paired.fate() {
            Fate::Apart(_) | Fate::Early(_) | Fate::Misplaced(_) => {
                State::Elsewhere(paired.message())
            }
            Fate::Home(_) | Fate::Split(_) | Fate::Duplicate(_) | Fate::Orphan => State::Answered,
        },
        (None, _) => State::Open,
    }
}

fn call_at<'d, 'a>(draft: &'d Draft<'a>, part: usize) -> Option<&'d Call<'a>> {
    match &draft.parts.get(part)?.kind {
        Kind::Call(call) => Some(call),
        _ => None,
    }
}

fn answer_at<'d, 'a>(draft: &'d Draft<'a>, part: usize) -> Option<&'d Answer<'a>> {
    match &draft.parts.get(part)?.kind {
        Kind::Answer(answer) => Some(answer),
        _ => None,
    }
}

/// Whether an answer is a placeholder, whatever its format wraps it in.
fn is_invented(draft: &Draft<'_>, answer: &Answer<'_>) -> bool {
    let raw = answer.content.of(draft.source);
    is_placeholder(raw) || is_placeholder(&format!("{:?}", words(draft, answer)))
}

fn words(draft: &Draft<'_>, answer: &Answer<'_>) -> String {
    preview::output(answer.content.of(draft.source), super::WORDS)
}

fn name(name: Option<&str>) -> Option<String> {
    name.map(|name| clean(&cut(name, TOOL)))
}

/// An id by its beginning and its end, which is where ids differ.
fn short(id: Option<&str>) -> String {
    let Some(id) = id else { return "(no id)".to_owned() };
    let letters: Vec<char> = id.chars().take(4096).collect();
    if letters.len() <= ID {
        return clean(id);
    }
    let head: String = match id.split_once('_') {
        Some((head, _)) if head.len() < 8 => format!("{head}_"),
        _ => letters.iter().take(4).collect(),
    };
    let tail: String = letters.iter().skip(letters.len() - 4).collect();
    clean(&format!("{head}…{tail}"))
}

impl Tie {
    /// The line below its message.
    pub(super) fn line(&self, margin: &str, last: bool, most: usize) -> Line {
        let (sign, word, style) = match &self.state {
            State::Answered => ("✓", "answered".to_owned(), GOOD),
            State::Elsewhere(message) => ("!", format!("answered in {message}"), WARNING),
            State::Placeholder => ("○", "placeholder".to_owned(), WARNING),
            State::Open => ("✗", "open".to_owned(), ERROR),
            State::Again => ("!", "answered again".to_owned(), WARNING),
            State::Orphan => ("✗", "answer without a call".to_owned(), ERROR),
        };
        let branch = if last { '╰' } else { '├' };
        let names = [self.tool.as_str(), &self.id].into_iter().filter(|name| !name.is_empty());
        Line::new()
            .with(DIM, format!("{margin}{branch} "))
            .with(Style::new(), names.collect::<Vec<_>>().join(" "))
            .with(style, format!("  {sign} {word}"))
            .with(DIM, format!("  {}", fit(&self.said, most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_the_end_that_tells_them_apart() {
        let table = [
            (Some("toolu_01AbCdEfGhIjKlMnOpQr3f2a"), "toolu_…3f2a"),
            (Some("call_1"), "call_1"),
            (Some("0123456789abcdef"), "0123…cdef"),
            (Some("中中中中中中中中中中中中中中中中"), "中中中中…中中中中"),
            (None, "(no id)"),
        ];
        for (id, expected) in table {
            assert_eq!(short(id), expected);
        }
    }
}
