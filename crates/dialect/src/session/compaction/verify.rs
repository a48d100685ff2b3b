//! Reads a compacted file and compares: the agent has to see what the compaction left, no more and
//! no less.

use super::{CompactedFile, CompactionError, SessionAgent};
use crate::{
    model::{ContentPart, ModelMessage, ModelPart, ModelRole, decode, decode_message},
    outline::OutlineOptions,
    session::{RewrittenFile, read, readable_text},
};

/// Whether a file tells what a compaction left. Where one message ends and the next begins is up to
/// the agent, as long as the speaker is the same.
pub(super) fn verify(
    agent: SessionAgent,
    rewritten: &RewrittenFile<'_>,
    condensed: &CompactedFile<'_>,
) -> Result<(), CompactionError> {
    let mut bytes = Vec::new();
    let unheard = |_| CompactionError::NotVisible(0);
    // Memory takes everything.
    rewritten.write_to(&mut bytes).map_err(|_| CompactionError::NotVisible(0))?;
    let text = readable_text(&bytes).map_err(unheard)?;
    let session = read(&text, agent, OutlineOptions::default()).map_err(unheard)?;
    let history = session.history();
    let history = decode(&history, agent.wire()).map_err(unheard)?.messages;
    let mut left = Vec::with_capacity(condensed.messages.len());
    for (at, shown) in condensed.messages.iter().enumerate() {
        let said = decode_message(shown.json, agent.wire());
        left.push(said.map_err(|_| CompactionError::Unreadable(at))?);
    }
    let (told, left) = (ordered_parts(&history), ordered_parts(&left));
    let last = condensed.messages.len().saturating_sub(1);
    let mut told = told.into_iter();
    for (role, at, bit) in left {
        let alike = |(other, _, told)| same_speaker(other, role) && same_content(told, bit);
        if !told.next().is_some_and(alike) {
            return Err(CompactionError::NotVisible(at));
        }
    }
    if told.next().is_some() { Err(CompactionError::NotVisible(last)) } else { Ok(()) }
}

/// Everything that is said, with its speaker and the place of its message. White space is nothing, and
/// reasoning with nothing else neither: agents leave that out. What a user says in a row is told in
/// one order: answers first, as they belong directly behind their calls.
fn ordered_parts<'h>(
    history: &'h [ModelMessage<'h>],
) -> Vec<(ModelRole, usize, &'h ContentPart<'h>)> {
    let speaks = |said: &&ModelMessage<'_>| {
        let mut bits = said.parts.iter().map(ModelPart::content);
        bits.any(|bit| !is_blank(bit) && !matches!(bit, ContentPart::Reasoning(_)))
    };
    let said = history.iter().enumerate().filter(|(_, said)| speaks(said));
    let mut all: Vec<(ModelRole, usize, &ContentPart<'_>)> = said
        .flat_map(|(at, said)| said.parts.iter().map(move |part| (said.role, at, part.content())))
        .filter(|(_, _, bit)| !is_blank(bit))
        .collect();
    for run in all.chunk_by_mut(|one, two| one.0 == two.0) {
        run.sort_by_key(|(role, _, bit)| {
            *role == ModelRole::User && !matches!(bit, ContentPart::ToolResult(_))
        });
    }
    all
}

fn is_blank(bit: &ContentPart<'_>) -> bool {
    matches!(bit, ContentPart::Text(text) if text.trim().is_empty())
}

fn same_speaker(one: ModelRole, two: ModelRole) -> bool {
    let instructs = |role| matches!(role, ModelRole::System | ModelRole::Developer);
    one == two || instructs(one) && instructs(two)
}

/// Whether two parts say the same, however they are spelled.
fn same_content(one: &ContentPart<'_>, two: &ContentPart<'_>) -> bool {
    match (one, two) {
        (ContentPart::ToolResult(one), ContentPart::ToolResult(two)) => {
            let alike = |(one, two): (&ModelPart<'_>, &ModelPart<'_>)| {
                same_content(one.content(), two.content())
            };
            one.id == two.id
                && one.error == two.error
                && one.parts.len() == two.parts.len()
                && one.parts.iter().zip(&two.parts).all(alike)
        }
        (one, two) => one == two,
    }
}
