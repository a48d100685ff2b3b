#![doc = include_str!("empty_text.md")]

use super::prelude::*;
use crate::draft::{Content, Kind, Text};
use crate::{
    check::{Notes, View},
    draft::{Facts, Layout},
    profile::Profile,
    report::{Fix, Strategy},
};

pub(super) const RULE: Rule = Rule {
    code: 308,
    name: "empty-text",
    summary: "an empty text block",
    explain: include_str!("empty_text.md"),
    applies: &[(Anthropic, Sure), (Gemini, Likely), (Bedrock, Sure), (Strict, Sure)],
    layouts: &[Chat, Blocks],
    needs: Facts::HOLLOW_TEXT,
    check,
};

fn check(view: &View<'_, '_>, notes: &mut Notes<'_, '_, '_>) {
    let profile = view.profile();
    for (at, message, parts) in view.messages() {
        if message.content != Content::List
            || view.layout() == Layout::Chat && profile != Profile::Strict
        {
            continue;
        }
        for part in parts {
            let refused = match part.kind {
                Kind::Text(Text::Empty) => true,
                Kind::Text(Text::Blank) => matches!(profile, Profile::Bedrock | Profile::Strict),
                _ => false,
            };
            if refused {
                notes.add(
                    at,
                    part.span,
                    "a text block is empty".to_owned(),
                    Fix::safe(Strategy::Drop),
                );
            }
        }
    }
}
