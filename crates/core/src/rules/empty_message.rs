#![doc = include_str!("empty_message.md")]

use super::prelude::*;
use super::required_messages;
use crate::draft::{
    ContentShape, Draft, Format, Message, MessageFlags, Part, PartKind, Role, TextShape,
};
use crate::{
    check::{Findings, RuleContext},
    draft::{DraftFeatures, MessageLayout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 301,
    name: "empty-message",
    summary: "an empty message",
    explain: page!("empty_message.md"),
    applies: &[
        (OpenaiChat, Documented),
        (Anthropic, Documented),
        (Gemini, Documented),
        (Bedrock, Inferred),
        (Mistral, Documented),
        (Deepseek, Documented),
        (OpenaiResponses, Documented),
        (Strict, Documented),
    ],
    layouts: &[Chat, Blocks, Items],
    features: DraftFeatures::EMPTY_CONTENT.union(DraftFeatures::EMPTY_TEXT),
    check,
};

fn check(context: &RuleContext<'_, '_>, findings: &mut Findings<'_, '_, '_>) {
    let last = context.draft.messages.len().saturating_sub(1);
    let required = required_messages::required_empty_message(context);
    for (at, message, _) in context.messages() {
        if !is_empty(context.draft, context.profile(), message) {
            continue;
        }
        // The last reply may be empty, but it must have the field.
        let has_content_field = matches!(message.content, ContentShape::Text | ContentShape::List);
        let final_assistant = at == last && message.role.is_assistant();
        // Claude Code sends instructions without text: their content is in other fields.
        let bare_system = message.role.is_system() && message.content == ContentShape::List;
        if (final_assistant && has_content_field || bare_system)
            && context.profile() == Profile::Anthropic
            && context.layout() == MessageLayout::Blocks
        {
            continue;
        }
        // Content in other or unknown fields is not removed by default.
        let other_fields = message.flags.has(MessageFlags::OTHER_BODY)
            || message.flags.has(MessageFlags::UNKNOWN_BODY);
        let fix = if required == Some(at) {
            Fix::requires_unsafe(Strategy::Recode)
        } else if other_fields {
            Fix::requires_unsafe(Strategy::Drop)
        } else {
            Fix::safe(Strategy::Drop)
        };
        findings.add(at, message.span, "the message is empty".to_owned(), fix);
    }
}

/// Whether the profile's provider treats a message as empty, unless it is the last one.
pub(crate) fn is_empty(draft: &Draft<'_>, profile: Profile, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    let strict = profile == Profile::Strict;
    let blank =
        |part: &Part<'_>| matches!(part.kind, PartKind::Text(TextShape::Empty | TextShape::Blank));
    match draft.layout() {
        MessageLayout::Items => {
            let applies = matches!(profile, Profile::OpenaiResponses | Profile::Strict);
            let message_item = !matches!(message.role, Role::Answer | Role::Neutral);
            let empty = matches!(message.content, ContentShape::Absent | ContentShape::Null);
            applies && message_item && empty && parts.is_empty()
        }
        MessageLayout::Chat => {
            let (assistant, system) = (message.role.is_assistant(), message.role.is_system());
            let speaker = message.role.is_user() || assistant || system;
            // Only the model may answer with a refusal, audio or a function call instead of content.
            let requires_content =
                message.role.is_user() && matches!(profile, Profile::OpenaiChat | Profile::Strict);
            if message.flags.has(MessageFlags::OTHER_BODY) && !requires_content || !speaker {
                return false;
            }
            if parts.iter().any(|part| matches!(part.kind, PartKind::Call(_))) {
                return false;
            }
            let applies = match profile {
                Profile::OpenaiChat | Profile::Strict => true,
                Profile::Mistral => {
                    assistant
                        || matches!(message.content, ContentShape::Absent | ContentShape::Null)
                }
                Profile::Deepseek => assistant && message.content != ContentShape::List,
                _ => return false,
            };
            let body = || parts.iter().filter(|part| !matches!(part.kind, PartKind::Reasoning(_)));
            let empty = match message.content {
                ContentShape::Absent | ContentShape::Null | ContentShape::Other => true,
                ContentShape::List => body().next().is_none(),
                ContentShape::Text => strict && !system && body().all(blank),
            };
            applies && empty
        }
        MessageLayout::Blocks => {
            if message.role == Role::Neutral {
                return false;
            }
            match draft.format {
                Format::Gemini => {
                    matches!(profile, Profile::Gemini | Profile::Strict) && parts.is_empty()
                }
                _ => {
                    matches!(profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict)
                        && (parts.is_empty()
                            || message.content == ContentShape::Text && parts.iter().all(blank))
                }
            }
        }
    }
}
