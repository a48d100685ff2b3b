//! Rules 101 to 108: every call has its answer, in its place.

use super::matching::{Answer, Fate};
use super::reading::{Kind, Layout, Role};
use super::{Case, Profile::*, Rule};
use crate::dialect::Dialect;

pub(super) const RULES: &[Rule] = &[
    (101, unanswered_call),
    (102, orphan_answer),
    (103, displaced_answer),
    (104, duplicate_answer),
    (105, split_answers),
    (106, split_turn),
    (107, name_mismatch),
    (108, too_many_calls),
];

fn unanswered_call(case: &Case<'_>) -> Vec<String> {
    let open_tail = case.tail_pending && only_answers_follow(case);
    let exempt = |group: usize| open_tail && case.matching.is_last(group);
    case.calls(|call| !call.answered && !exempt(call.group))
}

/// Where the answers of a turn begin that still has open calls, if its tail is pending.
pub(super) fn running_turn(case: &Case<'_>) -> Option<usize> {
    let last = case.matching.groups.last()?;
    let running = |group: usize| case.matching.is_last(group);
    let open = case.matching.calls.iter().any(|call| running(call.group) && !call.answered);
    let live = open && case.tail_pending && only_answers_follow(case);
    live.then_some(last.messages.end)
}

fn only_answers_follow(case: &Case<'_>) -> bool {
    let Some(group) = case.matching.groups.last() else { return false };
    let behind = case.reading.messages.iter().skip(group.messages.end);
    behind.filter(|message| message.role != Role::System).all(|message| match case.reading.layout {
        Layout::Chat | Layout::Items => message.role == Role::Answer,
        Layout::Blocks => {
            let answers = message.blocks.iter().all(|block| block.kind == Kind::Answer);
            message.role == Role::User && answers && !message.blocks.is_empty()
        }
    })
}

fn orphan_answer(case: &Case<'_>) -> Vec<String> {
    case.answers(|answer| answer.fate == Fate::Orphan && !case.reading.stateful)
}

fn displaced_answer(case: &Case<'_>) -> Vec<String> {
    case.answers(|answer| {
        let Some(call) = case.matching.call_of(answer) else { return false };
        let before = answer.position < call.position;
        let elsewhere = !at_home(case, answer) && !is_late(case, answer);
        match case.reading.layout {
            Layout::Items => before || (elsewhere && case.under(&[Deepseek, Strict])),
            Layout::Chat | Layout::Blocks => elsewhere && !in_assistant(case, answer),
        }
    })
}

fn duplicate_answer(case: &Case<'_>) -> Vec<String> {
    case.answers(|answer| answer.fate == Fate::Duplicate)
}

fn split_answers(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Gemini, Bedrock, Strict]) || case.reading.layout != Layout::Blocks {
        return Vec::new();
    }
    case.answers(|answer| is_late(case, answer))
}

fn split_turn(case: &Case<'_>) -> Vec<String> {
    if case.reading.layout == Layout::Items {
        return text_in_turn(case);
    }
    if !case.under(&[Bedrock, Mistral, Deepseek, Strict]) {
        return Vec::new();
    }
    let split = case.matching.groups.iter().filter(|group| group.messages.len() >= 2);
    split.map(|group| format!("[{}]", group.messages.start)).collect()
}

/// A text of the model behind a call, and the output of that call behind the text.
fn text_in_turn(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[Deepseek, Strict]) {
        return Vec::new();
    }
    let items = &case.reading.messages;
    case.answers(|answer| {
        let Some(call) = case.matching.call_of(answer) else { return false };
        let says = |at: usize| {
            let item = &items[at];
            let words = match super::reading::field(item.value, "content") {
                Some(serde_json::Value::Array(parts)) => parts.iter().any(|part| {
                    let kind = super::reading::text(part, "type");
                    ["input_text", "output_text", "text"].iter().any(|it| kind == Some(*it))
                }),
                Some(content) => content.is_string(),
                None => false,
            };
            item.role == Role::Assistant && item.has(Kind::Text) && words
        };
        at_home(case, answer) && (call.position.0 + 1..answer.position.0).any(says)
    })
}

fn name_mismatch(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[Gemini, Strict]) || case.reading.dialect != Dialect::Gemini {
        return Vec::new();
    }
    case.answers(|answer| match case.matching.call_of(answer) {
        Some(call) => answer.name.is_none() || answer.name != call.name,
        None => false,
    })
}

fn too_many_calls(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[OpenaiChat, Strict]) || case.reading.layout == Layout::Items {
        return Vec::new();
    }
    let live = running_turn(case).is_some();
    let first = (0..case.matching.groups.len()).find(|group| case.matching.is_last(*group));
    let first = first.map(|first| case.matching.groups[first].messages.start);
    let last = case.matching.groups.last().map(|group| group.messages.end);
    let running = first.zip(last).filter(|_| live).map(|(first, last)| first..last);
    case.messages(|index| {
        let message = &case.reading.messages[index];
        if running.as_ref().is_some_and(|running| running.contains(&index)) {
            return false;
        }
        let calls = message.blocks.iter().filter(|block| block.kind == Kind::Call).count();
        message.role == Role::Assistant && calls > 128
    })
}

fn at_home(case: &Case<'_>, answer: &Answer<'_>) -> bool {
    let call = case.matching.call_of(answer);
    call.is_some_and(|call| case.matching.groups[call.group].home.contains(&answer.position.0))
}

fn is_late(case: &Case<'_>, answer: &Answer<'_>) -> bool {
    let call = case.matching.call_of(answer);
    call.is_some_and(|call| case.matching.groups[call.group].late.contains(&answer.position.0))
}

fn in_assistant(case: &Case<'_>, answer: &Answer<'_>) -> bool {
    case.reading.role(answer.position.0) == Some(Role::Assistant)
}
