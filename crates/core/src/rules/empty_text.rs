#![doc = include_str!("empty_text.md")]

use super::prelude::*;
use super::required_messages;
use crate::draft::{ContentShape, Format, PartKind, TextShape};
use crate::{
    check::{Findings, RuleContext},
    draft::DraftFeatures,
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 308,
    name: "empty-text",
    summary: "an empty text block",
    explain: include_str!("empty_text.md"),
    applies: &[
        (OpenaiChat, Documented),
        (Anthropic, Documented),
        (Gemini, Inferred),
        (Bedrock, Documented),
        (Mistral, Inferred),
        (Deepseek, Inferred),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks],
    features: DraftFeatures::EMPTY_TEXT,
    check,
};

fn check(view: &RuleContext<'_, '_>, notes: &mut Findings<'_, '_, '_>) {
    let kept = required_messages::required_empty_message(view);
    // Gemini was seen to take empty texts; Vertex refuses some of them.
    let unsure = view.profile() == Profile::Gemini;
    for (at, message, parts) in view.messages() {
        if message.content != ContentShape::List {
            continue;
        }
        for part in parts {
            if is_refused(view.profile(), view.draft.format, &part.kind) {
                let fix = if kept == Some(at) {
                    Fix::requires_unsafe(Strategy::Recode)
                } else if unsure {
                    Fix::requires_unsafe(Strategy::Drop)
                } else {
                    Fix::safe(Strategy::Drop)
                };
                notes.add(at, part.span, "a text block is empty".to_owned(), fix);
            }
        }
    }
}

/// Whether the profile's provider takes offence at an empty block of text.
pub(crate) fn is_refused(profile: Profile, wire: Format, kind: &PartKind<'_>) -> bool {
    let PartKind::Text(text) = kind else { return false };
    let chat = wire == Format::OpenaiChat;
    match (text, profile) {
        (TextShape::Full | TextShape::Trailing | TextShape::Signature, _) => false,
        (_, Profile::Strict) => true,
        (TextShape::Missing, Profile::OpenaiChat | Profile::Mistral | Profile::Deepseek) => chat,
        (TextShape::Empty | TextShape::Missing, Profile::Gemini) => !chat,
        (_, Profile::Anthropic | Profile::Bedrock) => !chat,
        _ => false,
    }
}
