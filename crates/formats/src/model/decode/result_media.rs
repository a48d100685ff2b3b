//! Moves media that an earlier conversion put after the tool results back into them.
//!
//! Formats whose tool results cannot hold images get them in a user message after the results,
//! under a heading that names the call. When such a message is read, the media belongs to its
//! result.

use std::collections::HashMap;

use foxwedge_core::media_heading_id;

use crate::conversation::{
    ContentPart, ModelHistory, ModelPart, ModelRole, PartIndex, ToolResultPart,
    encode::MEDIA_FOLLOWS,
};

/// Moves media under such headings into the results they name. Messages keep their positions; a
/// message that held nothing else becomes empty.
pub(super) fn restore_result_media(history: &mut ModelHistory<'_>) {
    let mut user_messages =
        history.messages.iter().filter(|message| message.role == ModelRole::User);
    // Few histories have such headings.
    if !user_messages
        .any(|message| message.parts.iter().any(|part| heading_call_id(part).is_some()))
    {
        return;
    }
    let mut results: HashMap<String, PartIndex> = HashMap::new();
    for index in 0..history.messages.len() {
        let Some(message) = history.messages.get_mut(index) else { return };
        if message.role != ModelRole::User {
            continue;
        }
        if !message.parts.iter().any(|part| heading_call_id(part).is_some()) {
            let own = message.parts.iter().enumerate().filter_map(|(part_index, one)| {
                let ContentPart::ToolResult(result) = one.content() else { return None };
                let id = result.id.as_deref().or(result.name.as_deref())?;
                Some((id.to_owned(), PartIndex { message: index, part: part_index }))
            });
            results.extend(own);
            continue;
        }
        move_media(history, index, &mut results);
    }
}

/// The call id in a heading.
fn heading_call_id<'p>(part: &'p ModelPart<'_>) -> Option<&'p str> {
    match part.content() {
        ContentPart::Text(text) => media_heading_id(text),
        _ => None,
    }
}

/// Moves the media of one message to its results.
fn move_media(
    history: &mut ModelHistory<'_>,
    index: usize,
    results: &mut HashMap<String, PartIndex>,
) {
    let Some(message) = history.messages.get_mut(index) else { return };
    let mut kept = Vec::with_capacity(message.parts.len());
    let mut moved: Vec<(PartIndex, ModelPart<'_>)> = Vec::new();
    let mut target = None;
    for candidate in std::mem::take(&mut message.parts) {
        if let ContentPart::ToolResult(ToolResultPart { id: Some(id), .. }) = candidate.content() {
            // A result in the same message comes before its media.
            results.insert(id.to_string(), PartIndex { message: index, part: kept.len() });
        }
        match (
            heading_call_id(&candidate).and_then(|id| results.get(id)),
            candidate.content(),
            target,
        ) {
            (Some(at), _, _) => target = Some(*at),
            (None, ContentPart::Media(_), Some(at)) => moved.push((at, candidate)),
            (None, _, _) => {
                target = None;
                kept.push(candidate);
            }
        }
    }
    message.parts = kept;
    for (at, media) in moved {
        let Some(part) =
            history.messages.get_mut(at.message).and_then(|message| message.parts.get_mut(at.part))
        else {
            continue;
        };
        let ContentPart::ToolResult(result) = part.content() else { continue };
        let mut result = result.clone();
        // Each media part was replaced by one note.
        let note = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::Text(text) if **text == *MEDIA_FOLLOWS);
        let media = ModelPart::new(media.into_content());
        let joined = |part: &ModelPart<'_>| split_note(part).is_some();
        if let Some(place) = result.parts.iter().position(note) {
            result.parts[place] = media;
        } else if let Some(place) = result.parts.iter().position(joined) {
            let texts = result.parts.get(place).and_then(split_note);
            let (before, after) = texts.unwrap_or_default();
            let text = |text: String| {
                (!text.is_empty()).then(|| ModelPart::new(ContentPart::Text(text.into())))
            };
            let parts = text(before).into_iter().chain([media]).chain(text(after));
            result.parts.splice(place..=place, parts.collect::<Vec<_>>());
        } else {
            result.parts.push(media);
        }
        *part = ModelPart::new(ContentPart::ToolResult(result));
    }
}

/// The text before and behind a note that is a line of a text: some formats join the texts of a result.
fn split_note(part: &ModelPart<'_>) -> Option<(String, String)> {
    let ContentPart::Text(text) = part.content() else { return None };
    let text: &str = text;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_end_matches('\n') == MEDIA_FOLLOWS {
            let before = text.get(..start)?;
            let before = before.strip_suffix('\n').unwrap_or(before);
            return Some((before.to_owned(), text.get(end..)?.to_owned()));
        }
        start = end;
    }
    None
}
