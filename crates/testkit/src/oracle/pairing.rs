//! Rules 101 to 109: every call has its result, at the right position.

use super::items;
use super::matching::{MatchOutcome, MatchedCall, MatchedResult};
use super::reading::{OracleBlockKind, OracleLayout, OracleRole};
use super::{OracleProfile::*, OracleRule, RuleCase};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[
    (101, unanswered_call),
    (102, orphan_answer),
    (103, displaced_answer),
    (104, duplicate_answer),
    (105, split_answers),
    (106, split_turn),
    (107, name_mismatch),
    (108, too_many_calls),
    (109, mistyped_answer),
];

fn unanswered_call(case: &RuleCase<'_>) -> Vec<String> {
    let open_tail = case.tail_pending && only_answers_follow(case);
    let exempt = |group: usize| open_tail && case.matching.is_last(group);
    let stays_open = |call: &MatchedCall<'_>| {
        let (message, block) = call.position;
        let item = case.reading.messages[message].blocks[block].value;
        case.reading.format == TestFormat::Responses && items::may_stay_open(item)
    };
    case.calls(|call| !call.answered && !exempt(call.group) && !stays_open(call))
}

/// Where the results of a turn with open calls begin, if the tail is pending.
pub(super) fn running_turn(case: &RuleCase<'_>) -> Option<usize> {
    let last = case.matching.groups.last()?;
    let running = |group: usize| case.matching.is_last(group);
    let open = case.matching.calls.iter().any(|call| running(call.group) && !call.answered);
    let live = open && case.tail_pending && only_answers_follow(case);
    live.then_some(last.messages.end)
}

fn only_answers_follow(case: &RuleCase<'_>) -> bool {
    let Some(group) = case.matching.groups.last() else { return false };
    let behind = case.reading.messages.iter().skip(group.messages.end);
    behind.filter(|message| message.role != OracleRole::System).all(|message| {
        match case.reading.layout {
            OracleLayout::Chat | OracleLayout::Items => message.role == OracleRole::Answer,
            OracleLayout::Blocks => {
                let answers =
                    message.blocks.iter().all(|block| block.kind == OracleBlockKind::Answer);
                message.role == OracleRole::User && answers && !message.blocks.is_empty()
            }
        }
    })
}

fn orphan_answer(case: &RuleCase<'_>) -> Vec<String> {
    case.answers(|answer| answer.fate == MatchOutcome::Orphan && !case.reading.stateful)
}

fn displaced_answer(case: &RuleCase<'_>) -> Vec<String> {
    case.answers(|answer| {
        let Some(call) = case.matching.call_of(answer) else { return false };
        let before = answer.position < call.position;
        let elsewhere = !at_home(case, answer) && !is_late(case, answer);
        match case.reading.layout {
            OracleLayout::Items => {
                before || (elsewhere && case.under(&[GeminiInteractions, Deepseek, Strict]))
            }
            OracleLayout::Chat | OracleLayout::Blocks => elsewhere && !in_assistant(case, answer),
        }
    })
}

fn duplicate_answer(case: &RuleCase<'_>) -> Vec<String> {
    case.answers(|answer| answer.fate == MatchOutcome::Duplicate)
}

fn split_answers(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Anthropic, Gemini, Bedrock, Strict])
        || case.reading.layout != OracleLayout::Blocks
    {
        return Vec::new();
    }
    case.answers(|answer| is_late(case, answer))
}

fn split_turn(case: &RuleCase<'_>) -> Vec<String> {
    if case.reading.layout == OracleLayout::Items {
        return text_in_turn(case);
    }
    if !case.under(&[Bedrock, Mistral, Deepseek, Strict]) {
        return Vec::new();
    }
    let split = case.matching.groups.iter().filter(|group| group.messages.len() >= 2);
    split.map(|group| format!("[{}]", group.messages.start)).collect()
}

/// Assistant text after a call, with the output of that call after the text.
fn text_in_turn(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Deepseek, Strict]) {
        return Vec::new();
    }
    let items = &case.reading.messages;
    case.answers(|answer| {
        let Some(call) = case.matching.call_of(answer) else { return false };
        let says = |at: usize| {
            let item = &items[at];
            let has_text = match super::reading::field(item.value, "content") {
                Some(serde_json::Value::Array(parts)) => parts.iter().any(|part| {
                    let kind = super::reading::text(part, "type");
                    ["input_text", "output_text", "text"].iter().any(|it| kind == Some(*it))
                }),
                Some(content) => content.is_string(),
                None => false,
            };
            item.role == OracleRole::Assistant && item.has(OracleBlockKind::Text) && has_text
        };
        at_home(case, answer) && (call.position.0 + 1..answer.position.0).any(says)
    })
}

fn name_mismatch(case: &RuleCase<'_>) -> Vec<String> {
    // A step may leave the name out.
    let (profiles, optional) = match case.reading.format {
        TestFormat::Gemini => ([Gemini, Strict], false),
        TestFormat::Interactions => ([GeminiInteractions, Strict], true),
        _ => return Vec::new(),
    };
    case.answers(|answer| match case.matching.call_of(answer) {
        Some(call) if case.under(&profiles) => match answer.name {
            None => !optional,
            name => name != call.name,
        },
        _ => false,
    })
}

/// A search and the local shell may also be answered by the output of a function.
fn mistyped_answer(case: &RuleCase<'_>) -> Vec<String> {
    let judged = case.under(&[OpenaiResponses, Strict]);
    if !judged || case.reading.format != TestFormat::Responses {
        return Vec::new();
    }
    case.answers(|answer| {
        let call = case.matching.call_of(answer);
        let taking = ["tool_search_call", "local_shell_call"];
        call.is_some_and(|call| call.family != answer.family && !taking.contains(&call.family))
    })
}

fn too_many_calls(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[OpenaiChat, Strict]) || case.reading.layout == OracleLayout::Items {
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
        let calls =
            message.blocks.iter().filter(|block| block.kind == OracleBlockKind::Call).count();
        message.role == OracleRole::Assistant && calls > 128
    })
}

fn at_home(case: &RuleCase<'_>, answer: &MatchedResult<'_>) -> bool {
    let call = case.matching.call_of(answer);
    call.is_some_and(|call| case.matching.groups[call.group].home.contains(&answer.position.0))
}

fn is_late(case: &RuleCase<'_>, answer: &MatchedResult<'_>) -> bool {
    let call = case.matching.call_of(answer);
    call.is_some_and(|call| case.matching.groups[call.group].late.contains(&answer.position.0))
}

fn in_assistant(case: &RuleCase<'_>, answer: &MatchedResult<'_>) -> bool {
    case.reading.role(answer.position.0) == Some(OracleRole::Assistant)
}
