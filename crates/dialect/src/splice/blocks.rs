//! Writes messages whose content is a list of blocks.

use foxwedge_core::{
    ContentShape, Draft, DraftAnswer, Message, PartKind, PartPatch, PartSource, RepairedMessage,
    RepairedPart, Role, Span,
};

use super::{
    FieldChanges, SpliceWriter,
    patch::{FieldChange, write_patched},
    quoted_content::{ElementQuoting, QuotedContent},
};
use crate::json::{array_elements, field_value, quote, unescape};

/// How a format of this layout spells things.
pub(crate) struct BlockSpliceFormat {
    /// The field that holds the blocks.
    pub(crate) parts: &'static str,
    /// The name of the model's role.
    pub(crate) assistant: &'static str,
    /// What stands before and behind the string of a text block.
    pub(crate) text: (&'static str, &'static str),
    /// The changes inside a call or an answer.
    pub(crate) changes: fn(&str, Span, &PartPatch, &PartKind<'_>) -> FieldChanges<'static>,
    /// A new answer.
    pub(crate) answer: fn(&DraftAnswer<'_>, &str) -> String,
    /// Media that an answer holds beside its content.
    pub(crate) extra_media: fn(&str, Span) -> Vec<Span>,
    /// How an element of an answer's content is carried over into a user message.
    pub(crate) element: fn(&str, Span) -> ElementQuoting,
}

/// What a message shall say.
pub(crate) struct BlockMessage<'p, 'a> {
    pub(crate) role: Role,
    pub(crate) pieces: &'p [RepairedPart<'a>],
    /// What its content field holds.
    pub(crate) content: ContentShape,
    /// Its role has to be written anew.
    pub(crate) role_changed: bool,
}

impl<'p, 'a> BlockMessage<'p, 'a> {
    pub(crate) fn of(slot: &'p RepairedMessage<'a>) -> BlockMessage<'p, 'a> {
        BlockMessage {
            role: slot.role,
            pieces: &slot.parts,
            content: slot.content,
            role_changed: slot.role_changed,
        }
    }
}

/// Writes one message, on the envelope of the original where there is one.
pub(crate) fn write(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    slot: &BlockMessage<'_, '_>,
    spelling: &BlockSpliceFormat,
) {
    let list = |out: &mut SpliceWriter<'_>| write_parts(out, draft, origin, slot, spelling);
    let role = match slot.role {
        Role::Assistant => spelling.assistant,
        Role::System | Role::Developer => "system",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    };
    match origin {
        Some(message) => {
            let mut changes: FieldChanges<'_> =
                vec![(spelling.parts, FieldChange::WriteWith(Box::new(list)))];
            if slot.role_changed {
                changes.push(("role", FieldChange::Text(quote(role))));
            }
            write_patched(out, message.span, changes);
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
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    slot: &BlockMessage<'_, '_>,
    spelling: &BlockSpliceFormat,
) {
    if let [piece] = slot.pieces
        && slot.content == ContentShape::Text
        && piece.source == PartSource::Input
        && piece.part.span.of(draft.source).starts_with('"')
    {
        return write_string(out, piece);
    }
    // Keep the original's spacing between blocks, so that a pretty document stays pretty.
    let old = origin.and_then(|message| field_value(draft.source, message.span, spelling.parts));
    let spans = old.map(|list| array_elements(draft.source, list)).unwrap_or_default();
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
fn write_string(out: &mut SpliceWriter<'_>, piece: &RepairedPart<'_>) {
    if piece.patch.trim {
        let trimmed = trimmed(out.source, piece.part.span);
        out.text(&trimmed);
    } else {
        out.copy(piece.part.span);
    }
}

/// A string value without the white space at its end.
fn trimmed(source: &str, string: Span) -> String {
    let raw = super::quoted_content::string_inside(string).of(source);
    quote(unescape(raw).trim_end())
}

fn write_piece(
    out: &mut SpliceWriter<'_>,
    piece: &RepairedPart<'_>,
    spelling: &BlockSpliceFormat,
    gap: Option<Span>,
) {
    let (before, behind) = spelling.text;
    let span = piece.part.span;
    match &piece.source {
        PartSource::Input if span.of(out.source).starts_with('"') => {
            out.text(before);
            write_string(out, piece);
            out.text(behind);
        }
        PartSource::Input if piece.patch.trim => {
            let text = field_value(out.source, span, "text").map(|text| trimmed(out.source, text));
            let changes = text.map(|text| ("text", FieldChange::Text(text))).into_iter().collect();
            write_patched(out, span, changes);
        }
        PartSource::Input => {
            let changes = (spelling.changes)(out.source, span, &piece.patch, &piece.part.kind);
            if changes.is_empty() { out.copy(span) } else { write_patched(out, span, changes) }
        }
        PartSource::Text(words) => match &piece.part.kind {
            PartKind::Answer(answer) => out.text(&(spelling.answer)(answer, words)),
            _ => out.text(&format!("{before}{}{behind}", quote(words))),
        },
        PartSource::Quote(quote) | PartSource::Media(quote) => {
            let mut quoted = QuotedContent::new(out.source, quote.content(span), spelling.element);
            for one in (spelling.extra_media)(out.source, span) {
                quoted.add_media(out.source, one);
            }
            out.text(&format!("{before}\""));
            quoted.write(out, &quote.heading());
            out.text(&format!("\"{behind}"));
            for whole in quoted.verbatim {
                match gap {
                    Some(gap) => out.copy(gap),
                    None => out.text(","),
                }
                out.copy(whole);
            }
        }
    }
}
