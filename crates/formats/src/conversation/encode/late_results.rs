//! Late results: they came after messages of others, and are written directly after their calls.

use crate::conversation::{ContentPart, ModelHistory, PartIndex};

/// The loss of the place of a late result.
pub(crate) const LATE_RESULT: &str =
    "a late result is moved to its call, before messages that came first";

/// The results of a turn that came after messages of others, where `end` is the first message after
/// the turn.
pub(crate) fn late_results(
    history: &ModelHistory<'_>,
    results: &[PartIndex],
    end: usize,
) -> Vec<PartIndex> {
    let last = results.iter().map(|at| at.message).max().unwrap_or(end);
    let between = history.messages.get(end..last).unwrap_or_default();
    let said = between.iter().position(|message| {
        message.parts.iter().any(|part| match part.content() {
            ContentPart::Text(_) | ContentPart::Media(_) | ContentPart::ToolCall(_) => true,
            ContentPart::Reasoning(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => {
                false
            }
        })
    });
    let Some(said) = said.map(|said| end + said) else { return Vec::new() };
    results.iter().copied().filter(|at| at.message > said).collect()
}
