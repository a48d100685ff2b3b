#![doc = include_str!("empty_message.md")]

use super::prelude::*;
use super::silence;
use crate::draft::{Content, Kind, Marks, Message, Part, Role, Text, Wire};
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 301,
    name: "empty-message",
    summary: "a message that says nothing",
    explain: include_str!("empty_message.md"),
    applies: &[
        (OpenaiChat, Sure),
        (Anthropic, Sure),
        (Gemini, Sure),
        (Bedrock, Likely),
        (Mistral, Sure),
        (Deepseek, Sure),
        (OpenaiResponses, Sure),
        (Strict, Sure),
    ],
    layouts: &[Chat, Blocks, Items],
    needs: Facts::HOLLOW_MESSAGE.or(Facts::HOLLOW_TEXT),
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let last = view.draft.messages.len().saturating_sub(1);
    let kept = silence::kept(view);
    for (at, message, parts) in view.messages() {
        if !is_empty(view, message, parts) {
            continue;
        }
        // The last reply may be empty; its field has to be there.
        let there = matches!(message.content, Content::Text | Content::List);
        let final_assistant = at == last && message.role.is_assistant();
        // Claude Code sends instructions without words: what they change stands in fields beside.
        let bare_system = message.role.is_system() && message.content == Content::List;
        if (final_assistant && there || bare_system)
            && view.profile() == Profile::Anthropic
            && view.layout() == Layout::Blocks
        {
            continue;
        }
        // What stands in fields nobody knows is not thrown away unasked.
        let fix = if kept == Some(at) {
            Fix::bold(Strategy::Recode)
        } else if message.marks.has(Marks::UNKNOWN_BODY) {
            Fix::bold(Strategy::Drop)
        } else {
            Fix::safe(Strategy::Drop)
        };
        notes.add(at, message.span, "the message says nothing".to_owned(), fix);
    }
}

/// Whether the profile's provider sees nothing in a message.
pub(super) fn is_empty(view: &View<'_, '_>, message: &Message, parts: &[Part<'_>]) -> bool {
    let profile = view.profile();
    let strict = profile == Profile::Strict;
    let hollow = |part: &Part<'_>| matches!(part.kind, Kind::Text(Text::Empty | Text::Blank));
    match view.layout() {
        Layout::Items => {
            let asked = matches!(profile, Profile::OpenaiResponses | Profile::Strict);
            let message_item = !matches!(message.role, Role::Answer | Role::Neutral);
            let nothing = matches!(message.content, Content::Absent | Content::Null);
            asked && message_item && nothing && parts.is_empty()
        }
        Layout::Chat => {
            let (assistant, system) = (message.role.is_assistant(), message.role.is_system());
            let speaker = message.role.is_user() || assistant || system;
            if message.marks.has(Marks::OTHER_BODY) || !speaker {
                return false;
            }
            if parts.iter().any(|part| matches!(part.kind, Kind::Call(_))) {
                return false;
            }
            let asked = match profile {
                Profile::OpenaiChat | Profile::Strict => true,
                Profile::Mistral => {
                    assistant || matches!(message.content, Content::Absent | Content::Null)
                }
                Profile::Deepseek => assistant && message.content != Content::List,
                _ => return false,
            };
            let body = || parts.iter().filter(|part| !matches!(part.kind, Kind::Reasoning(_)));
            let nothing = match message.content {
                Content::Absent | Content::Null | Content::Other => true,
                Content::List => body().next().is_none(),
                Content::Text => strict && !system && body().all(hollow),
            };
            asked && nothing
        }
        Layout::Blocks => {
            if message.role == Role::Neutral {
                return false;
            }
            match view.draft.wire {
                Wire::Gemini => {
                    matches!(profile, Profile::Gemini | Profile::Strict) && parts.is_empty()
                }
                _ => {
                    matches!(profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict)
                        && (parts.is_empty()
                            || message.content == Content::Text && parts.iter().all(hollow))
                }
            }
        }
    }
}
