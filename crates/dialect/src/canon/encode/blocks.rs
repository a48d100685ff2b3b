//! Formats whose messages are lists of blocks, with the answers on the user's side.

use std::borrow::Cow;

use foxwedge_core::{Content, Family, Role, Span, Wire};

use super::{
    Lost,
    outline::Told,
    page::{Page, Piece, Spell, heading},
    pen::{next, tight_into},
    turns::{Turn, turns},
};
use crate::canon::{At, Bit, Part, Reasoning, Source, Speaker, Words, ledger::Entry};

/// How such a format spells things.
pub(super) struct Spelling {
    /// The field that holds the blocks.
    pub(super) blocks: &'static str,
    /// The name of the model's role.
    pub(super) model: &'static str,
    /// A lone text may stand as a string.
    pub(super) strings: bool,
    /// A text block; tells whether it is marked for caching.
    pub(super) text: fn(&mut String, &Words<'_>, bool),
    /// Media in a message.
    pub(super) media: Spell,
    /// Media in an answer.
    pub(super) media_inside: Spell,
    /// Reasoning.
    pub(super) reasoning: fn(&mut String, &Reasoning<'_>),
    /// What stands before and behind the arguments of a call, an object.
    pub(super) call: Around,
    /// An answer; tells where its content lies.
    pub(super) answer: fn(&mut String, &Entry<'_>, &[Piece<'_>], Manner) -> Span,
    /// A mark for caching that is a block of its own.
    pub(super) mark: Option<&'static str>,
}

/// Writes what stands before the arguments of a call, and what behind.
pub(super) type Around =
    (fn(&mut String, &Entry<'_>), fn(&mut String, &crate::canon::Call<'_>, bool));

/// How an answer is meant.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// It failed.
    pub(super) error: bool,
    /// It is marked for caching.
    pub(super) cache: bool,
}

/// Writes every turn as a message.
pub(super) fn messages(page: &mut Page<'_, '_>, spelling: &Spelling, out: &mut String) {
    for turn in turns(page) {
        next(out);
        message(page, spelling, &turn, out);
    }
}

fn message<'h, 'a>(
    page: &mut Page<'h, 'a>,
    spelling: &Spelling,
    turn: &Turn<'h, 'a>,
    out: &mut String,
) {
    let start = out.len();
    if let Some(raw) = turn.whole(page) {
        page.outline.give_up();
        return tight_into(out, raw.json);
    }
    let origin = turn.origin(page);
    let role = match turn.role {
        Speaker::Assistant => spelling.model,
        Speaker::User => "user",
        Speaker::System | Speaker::Developer => "system",
    };
    for piece in ["{\"role\":\"", role, "\",\"", spelling.blocks, "\":"] {
        out.push_str(piece);
    }
    let content = match lone(page, spelling, turn) {
        Some(words) => {
            let start = out.len();
            words.write(out);
            page.outline.text(Span::new(start, out.len()), words);
            Content::Text
        }
        None => {
            out.push('[');
            blocks(page, spelling, turn, out);
            out.push(']');
            Content::List
        }
    };
    for member in origin.map(|said| said.members(page.wire)).unwrap_or_default() {
        page.outline.give_up();
        out.push(',');
        tight_into(out, member);
    }
    out.push('}');
    let role = match turn.role {
        Speaker::Assistant => Role::Assistant,
        Speaker::User => Role::User,
        Speaker::System | Speaker::Developer => Role::System,
    };
    page.outline.message(role, Span::new(start, out.len()), content);
}

/// The text that stands for the whole list.
fn lone<'h>(
    page: &Page<'_, '_>,
    spelling: &Spelling,
    turn: &Turn<'h, '_>,
) -> Option<&'h Words<'h>> {
    let [(at, part)] = turn.parts.as_slice() else { return None };
    let plain = spelling.strings && page.spelled(*at, part).is_none() && part.notes().is_none();
    match part.bit() {
        Bit::Text(words) if plain => Some(words),
        _ => None,
    }
}

/// The blocks of a turn: answers first, then what they show, then the rest.
fn blocks<'h, 'a>(
    page: &mut Page<'h, 'a>,
    spelling: &Spelling,
    turn: &Turn<'h, 'a>,
    out: &mut String,
) {
    let mut behind = Vec::new();
    let is_answer = |part: &Part<'_>| matches!(part.bit(), Bit::Answer(_));
    for &(at, part) in turn.parts.iter().filter(|(_, part)| is_answer(part)) {
        block(page, spelling, at, part, &mut behind, out);
    }
    for shown in behind.drain(..) {
        page.outline.give_up();
        next(out);
        out.push_str(&shown);
    }
    let others = || turn.parts.iter().filter(|(_, part)| !is_answer(part));
    let is_call = |part: &Part<'_>| matches!(part.bit(), Bit::Call(_));
    // Claude wants the calls at the end of a message. What its own format had in another order stays.
    let free = page.wire == Wire::Gemini || turn.origin(page).is_some();
    if free || others().is_sorted_by_key(|(_, part)| is_call(part)) {
        others().for_each(|&(at, part)| block(page, spelling, at, part, &mut behind, out));
        return;
    }
    page.lose(turn.parts[0].0.message, Lost::Order, "text behind a call moves before it");
    for wanted in [false, true] {
        let some = others().filter(|(_, part)| is_call(part) == wanted);
        some.for_each(|&(at, part)| block(page, spelling, at, part, &mut behind, out));
    }
}

fn block<'h, 'a>(
    page: &mut Page<'h, 'a>,
    spelling: &Spelling,
    at: At,
    part: &'h Part<'a>,
    behind: &mut Vec<String>,
    out: &mut String,
) {
    let mark = part.notes().and_then(|notes| notes.cache);
    next(out);
    let start = out.len();
    if let Some(raw) = page.spelled(at, part) {
        page.outline.give_up();
        tight_into(out, raw.json);
        if let (Some(mark), Some(_)) = (mark, spelling.mark) {
            out.push(',');
            tight_into(out, mark);
        }
        return;
    }
    match part.bit() {
        Bit::Text(text) => {
            (spelling.text)(out, text, mark.is_some());
            page.outline.text(Span::new(start, out.len()), text);
        }
        Bit::Media(media) => match (spelling.media)(&page.named(at, media)) {
            Some(block) => {
                out.push_str(&block);
                if let (Some(_), Wire::Anthropic) = (mark, page.wire) {
                    out.pop();
                    out.push_str(super::anthropic::CACHE);
                    out.push('}');
                }
                match media.source {
                    // Told as text by some.
                    Source::Text(_) => page.outline.give_up(),
                    _ => page.outline.media(Span::new(start, out.len())),
                }
            }
            None => {
                page.outline.give_up();
                (spelling.text)(out, &page.left_out(at, media).into(), mark.is_some());
            }
        },
        Bit::Call(call) => {
            let Some(entry) = page.entry(at) else { return };
            (spelling.call.0)(out, &entry);
            page.object(out, at, call);
            (spelling.call.1)(out, call, mark.is_some());
            let signed = page.wire == Wire::Gemini
                && call.signature.as_ref().is_some_and(|signature| !signature.is_empty());
            let span = Span::new(start, out.len());
            page.outline.call(span, &entry, Family::Function, signed);
        }
        Bit::Answer(answer) => {
            let Some(entry) = page.entry(at) else { return };
            let told = page.tell(at, answer, spelling.media_inside, spelling.media);
            if !told.behind.is_empty() {
                let mut head = String::new();
                (spelling.text)(&mut head, &heading(&entry).into(), false);
                behind.push(head);
                behind.extend(told.behind);
            }
            let manner = Manner { error: answer.error, cache: mark.is_some() };
            let content = (spelling.answer)(out, &entry, &told.pieces, manner);
            let empty = matches!(content.of(out), "\"\"" | "[]");
            let named = page.wire == Wire::Gemini;
            let told = Told { content, empty, named, family: Family::Function };
            page.outline.answer(Span::new(start, out.len()), &entry, told);
        }
        Bit::Reasoning(reasoning) => {
            page.outline.give_up();
            (spelling.reasoning)(out, reasoning);
        }
        // Left out before, unless the format spelled them itself.
        Bit::Other(_) => {}
    }
    if let (Some(_), Some(block)) = (mark, spelling.mark) {
        out.push(',');
        let start = out.len();
        out.push_str(block);
        page.outline.other(Span::new(start, out.len()));
    }
}

/// The pieces of an answer as blocks.
pub(super) fn as_blocks(
    out: &mut String,
    pieces: &[Piece<'_>],
    text: impl Fn(&mut String, &Words<'_>),
) {
    out.push('[');
    for piece in pieces {
        next(out);
        match piece {
            Piece::Text(words) => text(out, words),
            Piece::Ours(words) => text(out, words),
            Piece::Block(block) => out.push_str(block),
        }
    }
    out.push(']');
}

/// Adds the one text of an answer that says nothing else, or all its blocks.
pub(super) fn text_or_blocks(
    out: &mut String,
    pieces: &[Piece<'_>],
    text: impl Fn(&mut String, &Words<'_>),
) {
    match pieces {
        [] => out.push_str("\"\""),
        [piece] => match piece.words() {
            Some(words) => words.write(out),
            None => as_blocks(out, pieces, text),
        },
        _ => as_blocks(out, pieces, text),
    }
}

/// The text of a document, under its name.
pub(super) fn document<'t>(name: Option<&str>, text: &'t str) -> Cow<'t, str> {
    match name {
        Some(name) => Cow::Owned(format!("{name}:\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}
