//! Reads a compacted file back and compares: the agent must load exactly the messages that the
//! compaction left.

use super::{CompactedFile, CompactionError, SessionAgent};
use crate::{RewrittenFile, read, readable_text};
use foxwedge_formats::{
    OutlineOptions,
    model::{ContentPart, ModelMessage, ModelPart, ModelRole, decode, decode_message},
};

/// Verifies that a file contains what a compaction left. Message boundaries may differ as long as
/// the role is the same.
pub(super) fn verify(
    agent: SessionAgent,
    rewritten: &RewrittenFile<'_>,
    compacted: &CompactedFile<'_>,
) -> Result<(), CompactionError> {
    let mut bytes = Vec::new();
    let not_visible = |_| CompactionError::NotVisible(0);
    // Writing to memory cannot fail.
    rewritten.write_to(&mut bytes).map_err(|_| CompactionError::NotVisible(0))?;
    let text = readable_text(&bytes).map_err(not_visible)?;
    let session = read(&text, agent, OutlineOptions::default()).map_err(not_visible)?;
    let history = session.history();
    let history = decode(&history, agent.wire()).map_err(not_visible)?.messages;
    let mut expected = Vec::with_capacity(compacted.messages.len());
    for (at, message) in compacted.messages.iter().enumerate() {
        let decoded = decode_message(message.json, agent.wire());
        expected.push(decoded.map_err(|_| CompactionError::Unreadable(at))?);
    }
    let (actual, expected) = (ordered_parts(&history), ordered_parts(&expected));
    let last = compacted.messages.len().saturating_sub(1);
    let mut actual = actual.into_iter();
    for (role, at, part) in expected {
        let alike = |(other, _, actual)| same_speaker(other, role) && same_content(actual, part);
        if !actual.next().is_some_and(alike) {
            return Err(CompactionError::NotVisible(at));
        }
    }
    if actual.next().is_some() { Err(CompactionError::NotVisible(last)) } else { Ok(()) }
}

/// All parts with their role and the index of their message. Skips white space, and messages of
/// nothing but reasoning: agents leave those out. Within consecutive user messages, tool results
/// come first, since they belong directly after their calls.
fn ordered_parts<'h>(
    history: &'h [ModelMessage<'h>],
) -> Vec<(ModelRole, usize, &'h ContentPart<'h>)> {
    let has_content = |message: &&ModelMessage<'_>| {
        let mut parts = message.parts.iter().map(ModelPart::content);
        parts.any(|part| !is_blank(part) && !matches!(part, ContentPart::Reasoning(_)))
    };
    let messages = history.iter().enumerate().filter(|(_, message)| has_content(message));
    let mut all: Vec<(ModelRole, usize, &ContentPart<'_>)> = messages
        .flat_map(|(at, message)| {
            message.parts.iter().map(move |part| (message.role, at, part.content()))
        })
        .filter(|(_, _, part)| !is_blank(part))
        .collect();
    for run in all.chunk_by_mut(|one, two| one.0 == two.0) {
        run.sort_by_key(|(role, _, part)| {
            *role == ModelRole::User && !matches!(part, ContentPart::ToolResult(_))
        });
    }
    all
}

fn is_blank(part: &ContentPart<'_>) -> bool {
    matches!(part, ContentPart::Text(text) if text.trim().is_empty())
}

fn same_speaker(one: ModelRole, two: ModelRole) -> bool {
    let instructs = |role| matches!(role, ModelRole::System | ModelRole::Developer);
    one == two || instructs(one) && instructs(two)
}

/// Whether two parts have the same content, however they are encoded.
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
