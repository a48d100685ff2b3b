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
        match result.parts.iter().position(note) {
            Some(place) => result.parts[place] = ModelPart::new(media.into_content()),
            None => result.parts.push(ModelPart::new(media.into_content())),
        }
        *part = ModelPart::new(ContentPart::ToolResult(result));
    }
}
