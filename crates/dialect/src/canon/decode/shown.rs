//! Media that an earlier conversion put behind the answers comes home into them.
//!
//! Formats whose answers hold no images get them in a message of the user's behind the answers,
//! under a heading that names the call. Read again, such media belongs to its answer.

use std::collections::HashMap;

use foxwedge_core::headed_media;

use crate::canon::{Answer, At, Bit, History, Part, Speaker, encode::BEHIND};

/// Moves media under such headings into the answers they name. Messages keep their places; one that
/// held nothing else is empty then.
pub(super) fn bring_home(history: &mut History<'_>) {
    let mut users = history.messages.iter().filter(|said| said.role == Speaker::User);
    // Hardly any history has such headings.
    if !users.any(|said| said.parts.iter().any(|part| heads(part).is_some())) {
        return;
    }
    let mut answers: HashMap<String, At> = HashMap::new();
    for message in 0..history.messages.len() {
        let Some(said) = history.messages.get_mut(message) else { return };
        if said.role != Speaker::User {
            continue;
        }
        if !said.parts.iter().any(|part| heads(part).is_some()) {
            let own = said.parts.iter().enumerate().filter_map(|(part, one)| {
                let Bit::Answer(answer) = one.bit() else { return None };
                let id = answer.id.as_deref().or(answer.name.as_deref())?;
                Some((id.to_owned(), At { message, part }))
            });
            answers.extend(own);
            continue;
        }
        carry(history, message, &mut answers);
    }
}

/// The id in a heading.
fn heads<'p>(part: &'p Part<'_>) -> Option<&'p str> {
    match part.bit() {
        Bit::Text(text) => headed_media(text),
        _ => None,
    }
}

/// Takes the media of one message to its answers.
fn carry(history: &mut History<'_>, message: usize, answers: &mut HashMap<String, At>) {
    let Some(said) = history.messages.get_mut(message) else { return };
    let mut kept = Vec::with_capacity(said.parts.len());
    let mut taken: Vec<(At, Part<'_>)> = Vec::new();
    let mut home = None;
    for one in std::mem::take(&mut said.parts) {
        if let Bit::Answer(Answer { id: Some(id), .. }) = one.bit() {
            // Where an answer stands in the same message, it stands before its media.
            answers.insert(id.to_string(), At { message, part: kept.len() });
        }
        match (heads(&one).and_then(|id| answers.get(id)), one.bit(), home) {
            (Some(at), _, _) => home = Some(*at),
            (None, Bit::Media(_), Some(at)) => taken.push((at, one)),
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
        let Bit::Answer(answer) = part.bit() else { continue };
        let mut answer = answer.clone();
        // One note stood in for each.
        let note = |part: &Part<'_>| matches!(part.bit(), Bit::Text(text) if **text == *BEHIND);
        match answer.parts.iter().position(note) {
            Some(place) => answer.parts[place] = Part::new(media.into_bit()),
            None => answer.parts.push(Part::new(media.into_bit())),
        }
        *part = Part::new(Bit::Answer(answer));
    }
}
