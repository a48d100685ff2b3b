//! A history as it is read: turns, and every answer beside its call.

use foxwedge_core::is_placeholder;
use foxwedge_dialect::canon::{
    Answer, At, Bit, Call, History, Media, Other, Pairs, Reasoning, Source, Speaker,
};

/// What one side said before the other spoke. The steps of a tool loop are one turn.
pub(super) struct Scene<'h, 'a> {
    pub(super) role: Speaker,
    pub(super) acts: Vec<Act<'h, 'a>>,
}

/// One thing that was said or done.
pub(super) enum Act<'h, 'a> {
    Text(&'h str),
    Media(&'h Media<'a>),
    Reasoning(&'h Reasoning<'a>),
    Call(&'h Call<'a>, Option<&'h Answer<'a>>),
    /// An answer whose call is not in the history.
    Stray(&'h Answer<'a>),
    Other(&'h Other<'a>),
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    Answered,
    Failed,
    /// The answer stands in for one that was lost.
    Placeholder,
    Open,
}

impl Status {
    pub(super) fn word(self) -> &'static str {
        match self {
            Status::Answered => "answered",
            Status::Failed => "failed",
            Status::Placeholder => "placeholder",
            Status::Open => "no answer",
        }
    }
}

/// How a call with that answer ended.
pub(super) fn status(answer: Option<&Answer<'_>>) -> Status {
    let Some(answer) = answer else { return Status::Open };
    let stands_in = match answer.parts.as_slice() {
        [part] => match part.bit() {
            Bit::Text(text) => serde_json::to_string(&**text).is_ok_and(|raw| is_placeholder(&raw)),
            _ => false,
        },
        _ => false,
    };
    match (stands_in, answer.error) {
        (true, _) => Status::Placeholder,
        (false, true) => Status::Failed,
        (false, false) => Status::Answered,
    }
}

/// What role means to a reader.
pub(super) fn speaker(role: Speaker) -> &'static str {
    match role {
        Speaker::System => "System",
        Speaker::Developer => "Developer",
        Speaker::User => "User",
        Speaker::Assistant => "Assistant",
    }
}

/// A history in turns. What says nothing is left out.
pub(super) fn scenes<'h, 'a>(history: &'h History<'a>) -> Vec<Scene<'h, 'a>> {
    let pairs = Pairs::of(history);
    let at = |at: At| history.messages.get(at.message)?.parts.get(at.part);
    let mut scenes: Vec<Scene<'h, 'a>> = Vec::new();
    for (message, said) in history.messages.iter().enumerate() {
        let mut acts = Vec::new();
        for (part, one) in said.parts.iter().enumerate() {
            let partner = pairs.partner(At { message, part });
            acts.extend(match one.bit() {
                Bit::Text(text) if text.trim().is_empty() => None,
                Bit::Text(text) => Some(Act::Text(text)),
                Bit::Media(media) => Some(Act::Media(media)),
                Bit::Reasoning(reasoning) => Some(Act::Reasoning(reasoning)),
                Bit::Call(call) => {
                    let answer = partner.and_then(at).and_then(|part| match part.bit() {
                        Bit::Answer(answer) => Some(answer),
                        _ => None,
                    });
                    Some(Act::Call(call, answer))
                }
                Bit::Answer(_) if partner.is_some() => None,
                Bit::Answer(answer) => Some(Act::Stray(answer)),
                Bit::Other(other) => Some(Act::Other(other)),
            });
        }
        if acts.is_empty() {
            continue;
        }
        match scenes.last_mut() {
            Some(scene) if scene.role == Speaker::Assistant && said.role == scene.role => {
                scene.acts.append(&mut acts);
            }
            _ => scenes.push(Scene { role: said.role, acts }),
        }
    }
    scenes
}

/// What is said of media that is not shown: what it is, and how large.
pub(super) fn described(media: &Media<'_>) -> String {
    let mut words = vec![media.kind.name().to_owned()];
    words.extend(media.media_type.as_deref().map(str::to_owned));
    words.extend(media.name.as_deref().map(|name| format!("“{name}”")));
    words.push(match &media.source {
        Source::Data(data) => bytes(decoded_length(data)),
        Source::Text(text) => bytes(text.len()),
        Source::Url(url) => format!("at {url}"),
        Source::Stored { id, .. } => format!("stored by the provider as {id}"),
    });
    words.join(", ")
}

/// How many bytes a base64 text stands for.
fn decoded_length(data: &str) -> usize {
    data.trim_end_matches('=').len() * 3 / 4
}

/// A number of bytes, as people say it.
pub(super) fn bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
