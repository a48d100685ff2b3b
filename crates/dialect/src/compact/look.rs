//! Reads a history once more, for what its outline does not hold: what calls were about.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
};

use foxwedge_core::{
    Draft, Pairing,
    compact::{CallClue, Clues},
};

use super::hints;
use crate::canon::{Answer, Bit, Said, decode_message};

/// What calls were about.
pub fn clues(draft: &Draft<'_>, pairing: &Pairing) -> Clues {
    let mut clues =
        Clues { calls: vec![CallClue::default(); pairing.calls.len()], ..Clues::default() };
    let mut calls = pairing.calls.iter().enumerate().peekable();
    let mut given = pairing.answers.iter().peekable();
    for (at, message) in draft.messages.iter().enumerate() {
        let Ok(said) = decode_message(message.span.of(draft.source), draft.wire) else { continue };
        let mut told = said.parts.iter().filter_map(|part| match part.bit() {
            Bit::Call(call) => Some(call),
            _ => None,
        });
        while let Some((index, _)) = calls.next_if(|(_, call)| call.message() <= at) {
            if let (Some(call), Some(clue)) = (told.next(), clues.calls.get_mut(index)) {
                clue.same = digest(&(&*call.name, &*call.arguments));
                clue.file = hints::file(&call.arguments).map_or(0, |file| digest(&*file));
                clue.effect = hints::effect(&call.name);
            }
        }
        let mut told = answers(&said);
        while let Some(answer) = given.next_if(|answer| answer.message() <= at) {
            let failed = told.next().is_some_and(hints::failed);
            if let Some(clue) = answer.fate().call().and_then(|call| clues.calls.get_mut(call)) {
                clue.failed = failed;
            }
        }
        let wishes = message.role.is_user()
            && said.parts.iter().any(|part| match part.bit() {
                Bit::Text(text) => hints::constrains(text),
                _ => false,
            });
        if wishes {
            clues.constraints.push(at);
        }
    }
    clues
}

/// The answers of a message, in order.
pub(super) fn answers<'s, 'a>(said: &'s Said<'a>) -> impl Iterator<Item = &'s Answer<'a>> {
    said.parts.iter().filter_map(|part| match part.bit() {
        Bit::Answer(answer) => Some(answer),
        _ => None,
    })
}

/// Never zero: that would say that nothing is known.
fn digest(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish().max(1)
}
