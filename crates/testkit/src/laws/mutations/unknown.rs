//! Constructs that nobody knows, and the turns that hold them.

use foxwedge_core::{Draft, Format, PartKind, Span, pair_calls};
use serde_json::{Value, json};

use crate::laws::judge::{LawVerdict, breach};

/// Inserts a block (Responses: an item) of an unknown type at a place that `seed` selects.
pub(super) fn insert_unknown(format: Format, document: &str, seed: u64) -> Option<String> {
    let mut document: Value = serde_json::from_str(document).ok()?;
    let (list, block) = match format {
        Format::OpenaiChat => return None,
        Format::OpenaiResponses => ("input", json!({"type": "future_item", "call_id": "call_1"})),
        Format::GeminiInteractions => ("input", json!({"type": "future_step", "id": "call_1"})),
        Format::Anthropic => ("messages", json!({"type": "future_block", "tool_id": "call_1"})),
        Format::Gemini => ("contents", json!({"futurePart": {"id": "call_1"}})),
        Format::Bedrock => ("messages", json!({"futureBlock": {"toolUseId": "call_1"}})),
    };
    let messages = match document.is_array() {
        true => document.as_array_mut(),
        false => document.get_mut(list)?.as_array_mut(),
    }?;
    let seed = usize::try_from(seed).ok()? / 2;
    if matches!(format, Format::OpenaiResponses | Format::GeminiInteractions) {
        messages.insert(seed % (messages.len() + 1), block);
        return Some(document.to_string());
    }
    let count = messages.len();
    let message = messages.get_mut(seed % count.max(1))?;
    let key = if format == Format::Gemini { "parts" } else { "content" };
    let parts = message.get_mut(key)?.as_array_mut()?;
    parts.insert(seed / count % (parts.len() + 1), block);
    Some(document.to_string())
}

/// Whether everything of turns with something unknown is in the repaired text, in its order. Their
/// messages may be joined with others; thinking may have to go because of an edit before it.
///
/// # Errors
/// A part that changed.
pub(super) fn left_as_it_is(draft: &Draft<'_>, fixed: &str) -> LawVerdict {
    let turns = pair_calls(draft).unknown_turns;
    let mut rest = fixed;
    let messages = turns.into_iter().flatten().filter_map(|at| draft.messages.get(at));
    for part in messages.flat_map(|message| draft.parts_of(message)) {
        let lone = |lone: &Span| part.span.start < lone.end && lone.start < part.span.end;
        let bound = matches!(part.kind, PartKind::Reasoning(_));
        if bound || draft.body.surrogates.iter().any(lone) {
            continue;
        }
        let text = part.span.of(draft.source);
        match rest.split_once(text) {
            Some((_, after)) => rest = after,
            None => return breach("unknown", format!("{text} changed\nafter {fixed}")),
        }
    }
    Ok(())
}
