//! Tool calls and their results, one line each.

use std::collections::HashMap;

use anstyle::Style;
use foxwedge_core::{
    CallPairing, Draft, DraftAnswer, DraftCall, PartKind, ResultMatch, is_placeholder,
};

use crate::{
    language::localize,
    output::{DIM, ERROR, GOOD, WARNING, clean, cut},
    preview,
    screen::{StyledLine, fit_columns},
};

/// A call with its result, or a result without an open call.
pub(super) struct TreeCallLine {
    tool: String,
    id: String,
    state: TreeCallState,
    /// The beginning of the result.
    answer_preview: String,
}

/// State of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeCallState {
    /// It has a result.
    Answered,
    /// Its result is in the wrong message.
    AnsweredElsewhere(usize),
    /// Its result is a placeholder.
    Placeholder,
    /// It has no result yet.
    Open,
    /// A result for a call that already has one.
    DuplicateAnswer,
    /// A result without a call.
    OrphanAnswer,
}

/// Max characters of a tool name.
const TOOL: usize = 32;
/// Max characters of an id that is not shortened.
const ID: usize = 14;

/// The lines of each message by its index: its calls, and results without an open call.
pub(super) fn call_lines(
    draft: &Draft<'_>,
    pairing: &CallPairing,
) -> HashMap<usize, Vec<TreeCallLine>> {
    let mut lines: HashMap<usize, Vec<TreeCallLine>> = HashMap::new();
    for call in &pairing.calls {
        if let Some(line) = call_at(draft, call.part())
            .map(|draft_call| call_line(draft, pairing, draft_call, call.answer()))
        {
            lines.entry(call.message()).or_default().push(line);
        }
    }
    for answer in &pairing.answers {
        if let Some(state) = stray_state(answer.result_match())
            && let Some(draft_answer) = answer_at(draft, answer.part())
        {
            lines.entry(answer.message()).or_default().push(TreeCallLine {
                tool: name(draft_answer.tool()).unwrap_or_default(),
                id: short_id(draft_answer.id.as_deref()),
                state,
                answer_preview: answer_text(draft, draft_answer),
            });
        }
    }
    lines
}

fn call_line(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    call: &DraftCall<'_>,
    answer: Option<usize>,
) -> TreeCallLine {
    let paired = answer.and_then(|answer| pairing.answers.get(answer));
    let draft_answer = paired.and_then(|paired| answer_at(draft, paired.part()));
    let state = call_state(draft, pairing, answer);
    TreeCallLine {
        tool: name(call.name.as_deref()).unwrap_or_else(|| localize("a tool").into_owned()),
        id: short_id(call.id.as_deref()),
        state,
        answer_preview: draft_answer
            .map_or_else(String::new, |draft_answer| answer_text(draft, draft_answer)),
    }
}

/// State of a result that belongs to no open call; `None` if it belongs to one.
pub fn stray_state(result: ResultMatch) -> Option<TreeCallState> {
    match result {
        ResultMatch::Duplicate(_) => Some(TreeCallState::DuplicateAnswer),
        ResultMatch::Orphan => Some(TreeCallState::OrphanAnswer),
        ResultMatch::InPlace(_)
        | ResultMatch::Split(_)
        | ResultMatch::Misplaced(_)
        | ResultMatch::Displaced(_)
        | ResultMatch::Early(_) => None,
    }
}

/// State of a call with the given result.
pub fn call_state(
    draft: &Draft<'_>,
    pairing: &CallPairing,
    answer: Option<usize>,
) -> TreeCallState {
    let paired = answer.and_then(|answer| pairing.answers.get(answer));
    let draft_answer = paired.and_then(|paired| answer_at(draft, paired.part()));
    match (paired, draft_answer) {
        (Some(_), Some(draft_answer)) if is_placeholder_answer(draft, draft_answer) => {
            TreeCallState::Placeholder
        }
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

/// Whether a result is a placeholder, also inside the wrapper of its format.
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

/// Shortens an id to its beginning and its end, where ids differ.
fn short_id(id: Option<&str>) -> String {
    let Some(id) = id else { return localize("(no id)").into_owned() };
    let chars: Vec<char> = id.chars().take(4096).collect();
    if chars.len() <= ID {
        return clean(id);
    }
    let head: String = match id.split_once('_') {
        Some((head, _)) if head.len() < 8 => format!("{head}_"),
        _ => chars.iter().take(4).collect(),
    };
    let tail: String = chars.iter().skip(chars.len() - 4).collect();
    clean(&format!("{head}…{tail}"))
}

impl TreeCallLine {
    /// Draws the line below its message.
    pub(super) fn line(&self, margin: &str, last: bool, max: usize) -> StyledLine {
        let (sign, label, style) = match &self.state {
            TreeCallState::Answered => ("✓", "completed".to_owned(), GOOD),
            TreeCallState::AnsweredElsewhere(message) => {
                ("!", format!("result in {message}"), WARNING)
            }
            TreeCallState::Placeholder => ("○", "placeholder".to_owned(), WARNING),
            TreeCallState::Open => ("✗", "open".to_owned(), ERROR),
            TreeCallState::DuplicateAnswer => ("!", "duplicate result".to_owned(), WARNING),
            TreeCallState::OrphanAnswer => ("✗", "result without a call".to_owned(), ERROR),
        };
        let branch = if last { '╰' } else { '├' };
        let names = [self.tool.as_str(), &self.id].into_iter().filter(|name| !name.is_empty());
        StyledLine::new()
            .with(DIM, format!("{margin}{branch} "))
            .with(Style::new(), names.collect::<Vec<_>>().join(" "))
            .with(style, format!("  {sign} {}", localize(label)))
            .with(DIM, format!("  {}", fit_columns(&self.answer_preview, max)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_keep_their_end() {
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
