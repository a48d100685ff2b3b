//! Calls and what became of them, a line each.

use std::collections::HashMap;

use anstyle::Style;
use foxwedge_core::{
    CallPairing, Draft, DraftAnswer, DraftCall, PartKind, ResultMatch, is_placeholder,
};

use crate::{
    cli_output::{DIM, ERROR, GOOD, WARNING, clean, cut},
    preview,
    screen::{StyledLine, fit_columns},
};

/// One call with its answer, or an answer that no call is waiting for.
pub(super) struct TreeCallLine {
    tool: String,
    id: String,
    state: TreeCallState,
    /// How the answer begins.
    answer_preview: String,
}

/// What became of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TreeCallState {
    Answered,
    /// Its answer stands in another message than it should.
    AnsweredElsewhere(usize),
    /// Only a placeholder answers it.
    Placeholder,
    Open,
    /// An answer to a call that has one already.
    DuplicateAnswer,
    /// An answer without a call.
    OrphanAnswer,
}

/// Characters of a tool's name that are drawn.
const TOOL: usize = 32;
/// Characters of an id that are drawn whole.
const ID: usize = 14;

/// The lines of each message, by its index: its calls, and answers that belong to none.
pub(super) fn call_lines(
    draft: &Draft<'_>,
    pairing: &CallPairing,
) -> HashMap<usize, Vec<TreeCallLine>> {
    let mut ties: HashMap<usize, Vec<TreeCallLine>> = HashMap::new();
    for call in &pairing.calls {
        if let Some(tie) =
            call_at(draft, call.part()).map(|made| call_line(draft, pairing, made, call.answer()))
        {
            ties.entry(call.message()).or_default().push(tie);
        }
    }
    for answer in &pairing.answers {
        let state = match answer.result_match() {
            ResultMatch::Duplicate(_) => TreeCallState::DuplicateAnswer,
            ResultMatch::Orphan => TreeCallState::OrphanAnswer,
            ResultMatch::InPlace(_)
            | ResultMatch::Split(_)
            | ResultMatch::Misplaced(_)
            | ResultMatch::Displaced(_)
            | ResultMatch::Early(_) => {
                continue;
            }
        };
        if let Some(given) = answer_at(draft, answer.part()) {
            ties.entry(answer.message()).or_default().push(TreeCallLine {
                tool: name(given.tool()).unwrap_or_default(),
                id: short_id(given.id.as_deref()),
                state,
                answer_preview: answer_text(draft, given),
            });
        }
    }
    ties
}

fn call_line(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    call: &DraftCall<'_>,
    answer: Option<usize>,
) -> TreeCallLine {
    let paired = answer.and_then(|answer| pairing.answers.get(answer));
    let given = paired.and_then(|paired| answer_at(draft, paired.part()));
    let state = call_state(draft, pairing, answer);
    TreeCallLine {
        tool: name(call.name.as_deref()).unwrap_or_else(|| "a tool".to_owned()),
        id: short_id(call.id.as_deref()),
        state,
        answer_preview: given.map_or_else(String::new, |given| answer_text(draft, given)),
    }
}

/// What became of a call with that answer.
pub(crate) fn call_state(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    answer: Option<usize>,
) -> TreeCallState {
    let paired = answer.and_then(|answer| pairing.answers.get(answer));
    let given = paired.and_then(|paired| answer_at(draft, paired.part()));
    match (paired, given) {
        (Some(_), Some(given)) if is_placeholder_answer(draft, given) => TreeCallState::Placeholder,
        (Some(paired), _) => match paired.result_match() {
            ResultMatch::Displaced(_) | ResultMatch::Early(_) | ResultMatch::Misplaced(_) => {
                TreeCallState::AnsweredElsewhere(paired.message())
            }
            ResultMatch::InPlace(_)
            | ResultMatch::Split(_)
            | ResultMatch::Duplicate(_)
            | ResultMatch::Orphan => TreeCallState::Answered,
        },
        (None, _) => TreeCallState::Open,
    }
}

fn call_at<'d, 'a>(draft: &'d Draft<'a>, part: usize) -> Option<&'d DraftCall<'a>> {
    match &draft.parts.get(part)?.kind {
        PartKind::Call(call) => Some(call),
        _ => None,
    }
}

fn answer_at<'d, 'a>(draft: &'d Draft<'a>, part: usize) -> Option<&'d DraftAnswer<'a>> {
    match &draft.parts.get(part)?.kind {
        PartKind::Answer(answer) => Some(answer),
        _ => None,
    }
}

/// Whether an answer is a placeholder, whatever its format wraps it in.
fn is_placeholder_answer(draft: &Draft<'_>, answer: &DraftAnswer<'_>) -> bool {
    let raw = answer.content.of(draft.source);
    is_placeholder(raw) || is_placeholder(&format!("{:?}", answer_text(draft, answer)))
}

fn answer_text(draft: &Draft<'_>, answer: &DraftAnswer<'_>) -> String {
    preview::output(answer.content.of(draft.source), super::MAX_TEXT)
}

fn name(name: Option<&str>) -> Option<String> {
    name.map(|name| clean(&cut(name, TOOL)))
}

/// An id by its beginning and its end, which is where ids differ.
fn short_id(id: Option<&str>) -> String {
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

impl TreeCallLine {
    /// The line below its message.
    pub(super) fn line(&self, margin: &str, last: bool, most: usize) -> StyledLine {
        let (sign, word, style) = match &self.state {
            TreeCallState::Answered => ("✓", "answered".to_owned(), GOOD),
            TreeCallState::AnsweredElsewhere(message) => {
                ("!", format!("answered in {message}"), WARNING)
            }
            TreeCallState::Placeholder => ("○", "placeholder".to_owned(), WARNING),
            TreeCallState::Open => ("✗", "open".to_owned(), ERROR),
            TreeCallState::DuplicateAnswer => ("!", "answered again".to_owned(), WARNING),
            TreeCallState::OrphanAnswer => ("✗", "answer without a call".to_owned(), ERROR),
        };
        let branch = if last { '╰' } else { '├' };
        let names = [self.tool.as_str(), &self.id].into_iter().filter(|name| !name.is_empty());
        StyledLine::new()
            .with(DIM, format!("{margin}{branch} "))
            .with(Style::new(), names.collect::<Vec<_>>().join(" "))
            .with(style, format!("  {sign} {word}"))
            .with(DIM, format!("  {}", fit_columns(&self.answer_preview, most)))
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
            assert_eq!(short_id(id), expected);
        }
    }
}
