#![doc = include_str!("empty_text.md")]

use super::prelude::*;
use super::silence;
use crate::draft::{Content, Kind, Text, Wire};
use crate::{
    check::{Notes, View},
    draft::Facts,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 308,
    name: "empty-text",
    summary: "an empty text block",
    explain: include_str!("empty_text.md"),
    applies: &[
        (OpenaiChat, Sure),
        (Anthropic, Sure),
        (Gemini, Likely),
        (Bedrock, Sure),
        (Mistral, Likely),
        (Deepseek, Likely),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks],
    needs: Facts::HOLLOW_TEXT,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let kept = silence::kept(view);
    // Gemini was seen to take empty texts; Vertex refuses some of them.
    let unsure = view.profile() == Profile::Gemini;
    for (at, message, parts) in view.messages() {
        if message.content != Content::List {
            continue;
        }
        for part in parts {
            if is_refused(view.profile(), view.draft.wire, &part.kind) {
                let fix = if kept == Some(at) {
                    Fix::bold(Strategy::Recode)
                } else if unsure {
                    Fix::bold(Strategy::Drop)
                } else {
                    Fix::safe(Strategy::Drop)
                };
                notes.add(at, part.span, "a text block is empty".to_owned(), fix);
            }
        }
    }
}

/// Whether the profile's provider takes offence at an empty block of text.
pub(crate) fn is_refused(profile: Profile, wire: Wire, kind: &Kind<'_>) -> bool {
    let Kind::Text(text) = kind else { return false };
    let chat = wire == Wire::OpenaiChat;
    match (text, profile) {
        (Text::Full | Text::Trailing | Text::Signature, _) => false,
        (_, Profile::Strict) => true,
        (Text::Missing, Profile::OpenaiChat | Profile::Mistral | Profile::Deepseek) => chat,
        (Text::Empty | Text::Missing, Profile::Gemini) => !chat,
        (_, Profile::Anthropic | Profile::Bedrock) => !chat,
        _ => false,
    }
}
