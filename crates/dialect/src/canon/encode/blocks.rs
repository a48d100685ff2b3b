//! Formats whose messages are lists of blocks, with the answers on the user's side.

use std::borrow::Cow;

use foxwedge_core::Wire;

use super::{
    Lost, list,
    page::{Page, Piece, Spell, heading, tight},
    turns::{Turn, turns},
};
use crate::{
    canon::{At, Bit, Part, Speaker, ledger::Entry},
    json::quote,
};

/// How such a format spells things.
pub(super) struct Spelling {
    /// The field that holds the blocks.
    pub(super) blocks: &'static str,
    /// The name of the model's role.
    pub(super) model: &'static str,
    /// A lone text may stand as a string.
    pub(super) strings: bool,
    /// A text block.
    pub(super) text: fn(&str) -> String,
    /// Media in a message.
    pub(super) media: Spell,
    /// Media in an answer.
    pub(super) media_inside: Spell,
    /// A call with its arguments, an object.
    pub(super) call: fn(&Entry<'_>, &str) -> String,
    /// An answer; tells whether it failed.
    pub(super) answer: fn(&Entry<'_>, &[Piece<'_>], bool) -> String,
}

/// Writes every turn as a message.
pub(super) fn messages(page: &mut Page<'_, '_>, spelling: &Spelling) -> Vec<String> {
    let turns = turns(page);
    turns.iter().map(|turn| message(page, spelling, turn)).collect()
}

fn message(page: &mut Page<'_, '_>, spelling: &Spelling, turn: &Turn<'_, '_>) -> String {
    if let Some(raw) = turn.whole(page) {
        return tight(raw.json).into_owned();
    }
    let origin = turn.origin(page);
    let role = match turn.role {
        Speaker::Assistant => spelling.model,
        Speaker::User => "user",
        Speaker::System | Speaker::Developer => "system",
    };
    let mut out = format!("{{\"role\":\"{role}\",\"{}\":", spelling.blocks);
    match turn.parts.as_slice() {
        [(at, part)] if spelling.strings && page.spelled(*at, part).is_none() => match part.bit() {
            Bit::Text(text) => out.push_str(&quote(text)),
            _ => out.push_str(&list(&blocks(page, spelling, turn))),
        },
        _ => out.push_str(&list(&blocks(page, spelling, turn))),
    }
    for member in origin.map(|said| said.members(page.wire)).unwrap_or_default() {
        out.push(',');
        out.push_str(&tight(member));
    }
    out.push('}');
    out
}

/// The blocks of a turn: answers first, then what they show, then the rest.
fn blocks(page: &mut Page<'_, '_>, spelling: &Spelling, turn: &Turn<'_, '_>) -> Vec<String> {
    let mut blocks = Vec::with_capacity(turn.parts.len());
    let mut behind = Vec::new();
    let (answers, others): (Vec<_>, Vec<_>) =
        turn.parts.iter().partition(|(_, part)| matches!(part.bit(), Bit::Answer(_)));
    for &(at, part) in answers {
        blocks.extend(block(page, spelling, at, part, &mut behind));
    }
    blocks.append(&mut behind);
    for (at, part) in in_order(page, turn, others) {
        blocks.extend(block(page, spelling, at, part, &mut behind));
    }
    blocks
}

/// Claude wants the calls at the end of a message. What its own format had in another order stays.
fn in_order<'h, 'a>(
    page: &mut Page<'_, '_>,
    turn: &Turn<'h, 'a>,
    parts: Vec<&(At, &'h Part<'a>)>,
) -> Vec<(At, &'h Part<'a>)> {
    let is_call = |(_, part): &(At, &Part<'_>)| matches!(part.bit(), Bit::Call(_));
    let mut parts: Vec<_> = parts.into_iter().copied().collect();
    let free = page.wire == Wire::Gemini || turn.origin(page).is_some();
    if !free && !parts.is_sorted_by_key(is_call) {
        page.lose(turn.parts[0].0.message, Lost::Order, "text behind a call moves before it");
        parts.sort_by_key(is_call);
    }
    parts
}

fn block(
    page: &mut Page<'_, '_>,
    spelling: &Spelling,
    at: At,
    part: &Part<'_>,
    behind: &mut Vec<String>,
) -> Option<String> {
    if let Some(raw) = page.spelled(at, part) {
        return Some(tight(raw.json).into_owned());
    }
    match part.bit() {
        Bit::Text(text) => Some((spelling.text)(text)),
        Bit::Media(media) => Some(
            (spelling.media)(media).unwrap_or_else(|| (spelling.text)(&page.left_out(at, media))),
        ),
        Bit::Call(call) => {
            let object = page.object(at, call);
            Some((spelling.call)(&page.entry(at)?, &object))
        }
        Bit::Answer(answer) => {
            let entry = page.entry(at)?;
            let told = page.tell(at, answer, spelling.media_inside, spelling.media);
            if !told.behind.is_empty() {
                behind.push((spelling.text)(&heading(&entry)));
                behind.extend(told.behind);
            }
            Some((spelling.answer)(&entry, &told.pieces, answer.error))
        }
        // Left out before, unless the format spelled them itself.
        Bit::Reasoning(_) | Bit::Other(_) => None,
    }
}

/// The pieces of an answer as blocks.
pub(super) fn as_blocks(pieces: &[Piece<'_>], text: fn(&str) -> String) -> Vec<String> {
    let block = |piece: &Piece<'_>| match piece {
        Piece::Text(words) => text(words),
        Piece::Block(block) => block.clone(),
    };
    pieces.iter().map(block).collect()
}

/// The one text of an answer that says nothing else.
pub(super) fn lone_text<'p>(pieces: &'p [Piece<'_>]) -> Option<&'p str> {
    match pieces {
        [] => Some(""),
        [Piece::Text(text)] => Some(text),
        _ => None,
    }
}

/// The text of a document, under its name.
pub(super) fn document<'t>(name: Option<&str>, text: &'t str) -> Cow<'t, str> {
    match name {
        Some(name) => Cow::Owned(format!("{name}:\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}
