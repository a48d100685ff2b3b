//! Writes messages whose content is a list of blocks.

use foxwedge_core::{
    Answer, Content, Draft, Kind, Message, Patch, Piece, Role, Slot, Source, Span,
};

use super::{
    Changes, Writer,
    patch::{Change, patch},
    quoted::{Element, Quoted},
};
use crate::json::{elements, field, quote, unescape};

/// How a format of this layout spells things.
pub(crate) struct Spelling {
    /// The field that holds the blocks.
    pub(crate) parts: &'static str,
    /// The name of the model's role.
    pub(crate) assistant: &'static str,
    /// What stands before and behind the string of a text block.
    pub(crate) text: (&'static str, &'static str),
    /// The changes inside a call or an answer.
    pub(crate) changes: fn(&str, Span, &Patch, &Kind<'_>) -> Changes<'static>,
    /// A new answer.
    pub(crate) answer: fn(&Answer<'_>, &str) -> String,
    /// Media that an answer holds beside its content.
    pub(crate) beside: fn(&str, Span) -> Vec<Span>,
    /// How an element of an answer's content is carried over into a user message.
    pub(crate) element: fn(&str, Span) -> Element,
}

/// What a message shall say.
pub(crate) struct Spoken<'p, 'a> {
    pub(crate) role: Role,
    pub(crate) pieces: &'p [Piece<'a>],
    /// What its content field holds.
    pub(crate) content: Content,
    /// Its role has to be written anew.
    pub(crate) recast: bool,
}

impl<'p, 'a> Spoken<'p, 'a> {
    pub(crate) fn of(slot: &'p Slot<'a>) -> Spoken<'p, 'a> {
        Spoken { role: slot.role, pieces: &slot.pieces, content: slot.content, recast: slot.recast }
    }
}

/// Writes one message, on the envelope of the original where there is one.
pub(crate) fn write(
    out: &mut Writer<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    slot: &Spoken<'_, '_>,
    spelling: &Spelling,
) {
    let list = |out: &mut Writer<'_>| write_parts(out, draft, origin, slot, spelling);
    let role = match slot.role {
        Role::Assistant => spelling.assistant,
        Role::System | Role::Developer => "system",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    };
    match origin {
        Some(message) => {
            let mut changes: Changes<'_> = vec![(spelling.parts, Change::Written(Box::new(list)))];
            if slot.recast {
                changes.push(("role", Change::Text(quote(role))));
            }
            patch(out, message.span, changes);
        }
        None => {
            out.text(&format!("{{\"role\":{},\"{}\":", quote(role), spelling.parts));
            list(out);
            out.text("}");
        }
    }
}

/// Writes the list of blocks of a message.
pub(crate) fn write_parts(
    out: &mut Writer<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    slot: &Spoken<'_, '_>,
    spelling: &Spelling,
) {
    if let [piece] = slot.pieces
        && slot.content == Content::Text
        && piece.source == Source::Kept
        && piece.part.span.of(draft.source).starts_with('"')
    {
        return write_string(out, piece);
    }
    // Keep the original's spacing between blocks, so that a pretty document stays pretty.
    let old = origin.and_then(|message| field(draft.source, message.span, spelling.parts));
    let spans = old.map(|list| elements(draft.source, list)).unwrap_or_default();
    let gap = match spans.as_slice() {
        [one, two, ..] => Some(Span { start: one.end, end: two.start }),
        _ => None,
    };
    match (old, spans.first(), slot.pieces.is_empty()) {
        (Some(old), Some(first), false) => out.copy(Span { start: old.start, end: first.start }),
        _ => out.text("["),
    }
    for (index, piece) in slot.pieces.iter().enumerate() {
        if index > 0 {
            match gap {
                Some(gap) => out.copy(gap),
                None => out.text(","),
            }
        }
        write_piece(out, piece, spelling, gap);
    }
    match (old, spans.last(), slot.pieces.is_empty()) {
        (Some(old), Some(last), false) => out.copy(Span { start: last.end, end: old.end }),
        _ => out.text("]"),
    }
}

/// A string that stands for the whole content.
fn write_string(out: &mut Writer<'_>, piece: &Piece<'_>) {
    if piece.patch.trim {
        let trimmed = trimmed(out.source, piece.part.span);
        out.text(&trimmed);
    } else {
        out.copy(piece.part.span);
    }
}

/// A string value without the white space at its end.
fn trimmed(source: &str, string: Span) -> String {
    let raw = super::quoted::inside(string).of(source);
    quote(unescape(raw).trim_end())
}

fn write_piece(out: &mut Writer<'_>, piece: &Piece<'_>, spelling: &Spelling, gap: Option<Span>) {
    let (before, behind) = spelling.text;
    let span = piece.part.span;
    match &piece.source {
        Source::Kept if span.of(out.source).starts_with('"') => {
            out.text(before);
            write_string(out, piece);
            out.text(behind);
        }
        Source::Kept if piece.patch.trim => {
            let text = field(out.source, span, "text").map(|text| trimmed(out.source, text));
            let changes = text.map(|text| ("text", Change::Text(text))).into_iter().collect();
            patch(out, span, changes);
        }
        Source::Kept => {
            let changes = (spelling.changes)(out.source, span, &piece.patch, &piece.part.kind);
            if changes.is_empty() { out.copy(span) } else { patch(out, span, changes) }
        }
        Source::Words(words) => match &piece.part.kind {
            Kind::Answer(answer) => out.text(&(spelling.answer)(answer, words)),
            _ => out.text(&format!("{before}{}{behind}", quote(words))),
        },
        Source::Quote(quote) | Source::Media(quote) => {
            let mut quoted = Quoted::new(out.source, quote.content(span), spelling.element);
            for one in (spelling.beside)(out.source, span) {
                quoted.show(out.source, one);
            }
            out.text(&format!("{before}\""));
            quoted.write(out, &quote.heading());
            out.text(&format!("\"{behind}"));
            for whole in quoted.whole {
                match gap {
                    Some(gap) => out.copy(gap),
                    None => out.text(","),
                }
                out.copy(whole);
            }
        }
    }
}
