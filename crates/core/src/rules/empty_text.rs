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
    explain: page!("empty_text.md"),
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

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let required = required_messages::required_empty_message(context);
    // Gemini accepted empty texts in tests; Vertex refuses some of them.
    let may_accept = context.profile() == Profile::Gemini;
    for (at, message, parts) in context.messages() {
        if message.content != ContentShape::List {
            continue;
        }
        for part in parts {
            if is_refused(context.profile(), context.draft.format, &part.kind) {
                let fix = if required == Some(at) {
                    Fix::requires_unsafe(Strategy::Recode)
                } else if may_accept {
                    Fix::requires_unsafe(Strategy::Drop)
                } else {
                    Fix::safe(Strategy::Drop)
                };
                findings.add(at, part.span, "a text block is empty".to_owned(), fix);
            }
        }
    }
}

/// Whether the profile's provider refuses an empty text block.
pub(crate) fn is_refused(profile: Profile, format: Format, kind: &PartKind<'_>) -> bool {
    let PartKind::Text(text) = kind else { return false };
    let chat = format == Format::OpenaiChat;
    match (text, profile) {
        (TextShape::Full | TextShape::Trailing | TextShape::Signature, _) => false,
        (_, Profile::Strict) => true,
        (TextShape::Missing, Profile::OpenaiChat | Profile::Mistral | Profile::Deepseek) => chat,
        (TextShape::Empty | TextShape::Missing, Profile::Gemini) => !chat,
        (_, Profile::Anthropic | Profile::Bedrock) => !chat,
        _ => false,
    }
}
