//! Media that an earlier conversion put behind the answers comes home into them.
//!
//! Formats whose answers hold no images get them in a message of the user's behind the answers,
//! under a heading that names the call. Read again, such media belongs to its answer.

use std::collections::HashMap;

use foxwedge_core::media_heading_id;

use crate::model::{
    ContentPart, ModelHistory, ModelPart, ModelRole, PartIndex, ToolResultPart,
    encode::MEDIA_FOLLOWS,
};

/// Moves media under such headings into the answers they name. Messages keep their places; one that
/// held nothing else is empty then.
pub(super) fn restore_result_media(history: &mut ModelHistory<'_>) {
    let mut users = history.messages.iter().filter(|said| said.role == ModelRole::User);
    // Hardly any history has such headings.
    if !users.any(|said| said.parts.iter().any(|part| heading_call_id(part).is_some())) {
        return;
    }
    let mut answers: HashMap<String, PartIndex> = HashMap::new();
    for message in 0..history.messages.len() {
        let Some(said) = history.messages.get_mut(message) else { return };
        if said.role != ModelRole::User {
            continue;
        }
        if !said.parts.iter().any(|part| heading_call_id(part).is_some()) {
            let own = said.parts.iter().enumerate().filter_map(|(part, one)| {
                let ContentPart::ToolResult(answer) = one.content() else { return None };
                let id = answer.id.as_deref().or(answer.name.as_deref())?;
                Some((id.to_owned(), PartIndex { message, part }))
            });
            answers.extend(own);
            continue;
        }
        move_media(history, message, &mut answers);
    }
}

/// The id in a heading.
fn heading_call_id<'p>(part: &'p ModelPart<'_>) -> Option<&'p str> {
    match part.content() {
        ContentPart::Text(text) => media_heading_id(text),
        _ => None,
    }
}

/// Takes the media of one message to its answers.
fn move_media(
    history: &mut ModelHistory<'_>,
    message: usize,
    answers: &mut HashMap<String, PartIndex>,
) {
    let Some(said) = history.messages.get_mut(message) else { return };
    let mut kept = Vec::with_capacity(said.parts.len());
    let mut taken: Vec<(PartIndex, ModelPart<'_>)> = Vec::new();
    let mut home = None;
    for one in std::mem::take(&mut said.parts) {
        if let ContentPart::ToolResult(ToolResultPart { id: Some(id), .. }) = one.content() {
            // Where an answer stands in the same message, it stands before its media.
            answers.insert(id.to_string(), PartIndex { message, part: kept.len() });
        }
        match (heading_call_id(&one).and_then(|id| answers.get(id)), one.content(), home) {
            (Some(at), _, _) => home = Some(*at),
            (None, ContentPart::Media(_), Some(at)) => taken.push((at, one)),
            (None, _, _) => {
                home = None;
                kept.push(one);
            }
        }
    }
    said.parts = kept;
    for (at, media) in taken {
        let Some(part) =
            history.messages.get_mut(at.message).and_then(|said| said.parts.get_mut(at.part))
        else {
            continue;
        };
        let ContentPart::ToolResult(answer) = part.content() else { continue };
        let mut answer = answer.clone();
        // One note stood in for each.
        let note = |part: &ModelPart<'_>| matches!(part.content(), ContentPart::Text(text) if **text == *MEDIA_FOLLOWS);
        match answer.parts.iter().position(note) {
            Some(place) => answer.parts[place] = ModelPart::new(media.into_content()),
            None => answer.parts.push(ModelPart::new(media.into_content())),
        }
        *part = ModelPart::new(ContentPart::ToolResult(answer));
    }
}
