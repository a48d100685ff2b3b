//! Reads a compacted file and compares: the agent has to see what the compaction left, no more and
//! no less.

use super::{Agent, Condensed, NotCompacted};
use crate::{
    canon::{Bit, Part, Said, Speaker, decode, decode_message},
    outline::Want,
    session::{Rewritten, read, text},
};

/// Whether a file tells what a compaction left. Where one message ends and the next begins is up to
/// the agent, as long as the speaker is the same.
pub(super) fn verify(
    agent: Agent,
    rewritten: &Rewritten<'_>,
    condensed: &Condensed<'_>,
) -> Result<(), NotCompacted> {
    let mut bytes = Vec::new();
    let unheard = |_| NotCompacted::Unheard(0);
    // Memory takes everything.
    rewritten.write_to(&mut bytes).map_err(|_| NotCompacted::Unheard(0))?;
    let text = text(&bytes).map_err(unheard)?;
    let session = read(&text, agent, Want::default()).map_err(unheard)?;
    let history = session.history();
    let history = decode(&history, agent.wire()).map_err(unheard)?.messages;
    let mut left = Vec::with_capacity(condensed.messages.len());
    for (at, shown) in condensed.messages.iter().enumerate() {
        let said = decode_message(shown.json, agent.wire());
        left.push(said.map_err(|_| NotCompacted::Unreadable(at))?);
    }
    let (told, left) = (line_up(&history), line_up(&left));
    let last = condensed.messages.len().saturating_sub(1);
    let mut told = told.into_iter();
    for (role, at, bit) in left {
        let alike = |(other, _, told)| speaks_alike(other, role) && same(told, bit);
        if !told.next().is_some_and(alike) {
            return Err(NotCompacted::Unheard(at));
        }
    }
    if told.next().is_some() { Err(NotCompacted::Unheard(last)) } else { Ok(()) }
}

/// Everything that is said, with its speaker and the place of its message. White space is nothing, and
/// reasoning with nothing else neither: agents leave that out. What a user says in a row is told in
/// one order: answers first, as they belong directly behind their calls.
fn line_up<'h>(history: &'h [Said<'h>]) -> Vec<(Speaker, usize, &'h Bit<'h>)> {
    let speaks = |said: &&Said<'_>| {
        let mut bits = said.parts.iter().map(Part::bit);
        bits.any(|bit| !is_blank(bit) && !matches!(bit, Bit::Reasoning(_)))
    };
    let said = history.iter().enumerate().filter(|(_, said)| speaks(said));
    let mut all: Vec<(Speaker, usize, &Bit<'_>)> = said
        .flat_map(|(at, said)| said.parts.iter().map(move |part| (said.role, at, part.bit())))
        .filter(|(_, _, bit)| !is_blank(bit))
        .collect();
    for run in all.chunk_by_mut(|one, two| one.0 == two.0) {
        run.sort_by_key(|(role, _, bit)| *role == Speaker::User && !matches!(bit, Bit::Answer(_)));
    }
    all
}

fn is_blank(bit: &Bit<'_>) -> bool {
    matches!(bit, Bit::Text(text) if text.trim().is_empty())
}

fn speaks_alike(one: Speaker, two: Speaker) -> bool {
    let instructs = |role| matches!(role, Speaker::System | Speaker::Developer);
    one == two || instructs(one) && instructs(two)
}

/// Whether two parts say the same, however they are spelled.
fn same(one: &Bit<'_>, two: &Bit<'_>) -> bool {
    match (one, two) {
        (Bit::Answer(one), Bit::Answer(two)) => {
            let alike = |(one, two): (&Part<'_>, &Part<'_>)| same(one.bit(), two.bit());
            one.id == two.id
                && one.error == two.error
                && one.parts.len() == two.parts.len()
                && one.parts.iter().zip(&two.parts).all(alike)
        }
        (one, two) => one == two,
    }
}
