//! Reads a history again for details that its outline does not hold: what each call was about.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
};

use foxwedge_core::{
    CallPairing, Draft,
    compact::{CallClue, HistoryClues},
};

use super::tool_hints;
use crate::model::{ContentPart, ModelMessage, ToolResultPart, decode_message};

/// Reads what each call was about.
pub fn read_clues(draft: &Draft<'_>, pairing: &CallPairing) -> HistoryClues {
    let mut clues = HistoryClues {
        calls: vec![CallClue::default(); pairing.calls.len()],
        ..HistoryClues::default()
    };
    let mut calls = pairing.calls.iter().enumerate().peekable();
    let mut answers = pairing.answers.iter().peekable();
    for (at, message) in draft.messages.iter().enumerate() {
        let Ok(decoded) = decode_message(message.span.of(draft.source), draft.format) else {
            continue;
        };
        let mut decoded_calls = decoded.parts.iter().filter_map(|part| match part.content() {
            ContentPart::ToolCall(call) => Some(call),
            _ => None,
        });
        while let Some((index, _)) = calls.next_if(|(_, call)| call.message() <= at) {
            if let (Some(call), Some(clue)) = (decoded_calls.next(), clues.calls.get_mut(index)) {
                clue.call_digest = nonzero_hash(&(&*call.name, &*call.arguments));
                clue.file_digest = tool_hints::file_argument(&call.arguments)
                    .map_or(0, |file| nonzero_hash(&*file));
                clue.effect = tool_hints::tool_effect(&call.name);
            }
        }
        let mut decoded_results = tool_results(&decoded);
        while let Some(answer) = answers.next_if(|answer| answer.message() <= at) {
            let failed = decoded_results.next().is_some_and(tool_hints::is_failed);
            if let Some(clue) =
                answer.result_match().call().and_then(|call| clues.calls.get_mut(call))
            {
                clue.failed = failed;
            }
        }
        let states_constraint = message.role.is_user()
            && decoded.parts.iter().any(|part| match part.content() {
                ContentPart::Text(text) => tool_hints::states_constraint(text),
                _ => false,
            });
        if states_constraint {
            clues.constraints.push(at);
        }
    }
    clues
}

/// The tool results of a message, in order.
pub(super) fn tool_results<'s, 'a>(
    message: &'s ModelMessage<'a>,
) -> impl Iterator<Item = &'s ToolResultPart<'a>> {
    message.parts.iter().filter_map(|part| match part.content() {
        ContentPart::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// A hash that is never zero, because zero means unknown.
fn nonzero_hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().max(1)
}
