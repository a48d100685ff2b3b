//! Writes messages whose content is a list of blocks.

use foxwedge_core::{
    ContentShape, Draft, DraftAnswer, Message, PartKind, PartPatch, PartSource, RepairedMessage,
    RepairedPart, Role, Span,
};

use super::quoted_content::{ElementQuoting, QuotedContent};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, field_value, quote, unescape};

/// How a format with block content writes its messages.
pub struct BlockSpliceFormat {
    /// The key of the block list.
    pub parts: &'static str,
    /// The name of the model's role.
    pub assistant: &'static str,
    /// The JSON before and after the string of a text block.
    pub text: (&'static str, &'static str),
    /// The field changes of a patched tool call or tool result.
    pub changes: fn(&str, Span, &PartPatch<'_>, &PartKind<'_>) -> FieldChanges<'static>,
    /// Writes a new tool result with this text.
    pub answer: fn(&DraftAnswer<'_>, &str) -> String,
    /// The field that a new answer repeats from its call.
    pub repeated: Option<&'static str>,
    /// Media that a tool result holds beside its content.
    pub extra_media: fn(&str, Span) -> Vec<Span>,
    /// How to quote an element of a tool result's content in a user message.
    pub element: fn(&str, Span) -> ElementQuoting,
}

/// A message to write.
pub struct BlockMessage<'p, 'a> {
    /// Its role.
    pub role: Role,
    /// Its parts.
    pub pieces: &'p [RepairedPart<'a>],
    /// The shape of its content field.
    pub content: ContentShape,
    /// The role differs from the original.
    pub role_changed: bool,
}

impl<'p, 'a> BlockMessage<'p, 'a> {
    /// The content of a repaired message.
    pub fn of(message: &'p RepairedMessage<'a>) -> BlockMessage<'p, 'a> {
        BlockMessage {
            role: message.role,
            pieces: &message.parts,
            content: message.content(),
            role_changed: message.has_new_role(),
        }
    }
}

/// Writes one message. Keeps the other fields of the original, if there is one.
pub fn write(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    message: &BlockMessage<'_, '_>,
    format: &BlockSpliceFormat,
) {
    let list = |out: &mut SpliceWriter<'_>| write_parts(out, draft, origin, message, format);
    let role = match message.role {
        Role::Assistant => format.assistant,
        Role::System | Role::Developer => "system",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    };
    match origin {
        Some(original) => {
            let mut changes: FieldChanges<'_> =
                vec![(format.parts, FieldChange::WriteWith(Box::new(list)))];
            if message.role_changed {
                changes.push(("role", FieldChange::Text(quote(role))));
            }
            write_patched(out, original.span, changes);
        }
        None => {
            out.text(&format!("{{\"role\":{},\"{}\":", quote(role), format.parts));
            list(out);
            out.text("}");
        }
    }
}

/// Writes the list of blocks of a message.
pub fn write_parts(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    message: &BlockMessage<'_, '_>,
    format: &BlockSpliceFormat,
) {
    if let [repaired] = message.pieces
        && message.content == ContentShape::Text
        && *repaired.source() == PartSource::Input
        && repaired.part.span.of(draft.source).starts_with('"')
    {
        return write_string(out, repaired);
    }
    // Keep the original spacing between blocks, so that a formatted document stays formatted.
    let old = origin.and_then(|original| field_value(draft.source, original.span, format.parts));
    let spans = old.map(|list| array_elements(draft.source, list)).unwrap_or_default();
    let gap = match spans.as_slice() {
        [one, two, ..] => Some(Span { start: one.end, end: two.start }),
        _ => None,
    };
    match (old, spans.first(), message.pieces.is_empty()) {
        (Some(old), Some(first), false) => out.copy(Span { start: old.start, end: first.start }),
        _ => out.text("["),
    }
    for (index, repaired) in message.pieces.iter().enumerate() {
        if index > 0 {
            match gap {
                Some(gap) => out.copy(gap),
                None => out.text(","),
            }
        }
        write_part(out, repaired, format, gap);
    }
    match (old, spans.last(), message.pieces.is_empty()) {
        (Some(old), Some(last), false) => out.copy(Span { start: last.end, end: old.end }),
        _ => out.text("]"),
    }
}

/// Writes a string that is the whole content.
fn write_string(out: &mut SpliceWriter<'_>, repaired: &RepairedPart<'_>) {
    if repaired.patch.trim {
        let trimmed = trimmed(out.source, repaired.part.span);
        out.text(&trimmed);
    } else {
        out.copy(repaired.part.span);
    }
}

/// Writes a new answer, with a field that it repeats from its call.
pub(crate) fn write_answer(
    out: &mut SpliceWriter<'_>,
    json: &str,
    repeated: Option<(&'static str, Span)>,
) {
    let Some((key, value)) = repeated else { return out.text(json) };
    out.text(json.strip_suffix('}').unwrap_or(json));
    out.text(&format!(",\"{key}\":"));
    out.copy(value);
    out.text("}");
}

/// A string value without trailing white space.
fn trimmed(source: &str, string: Span) -> String {
    let raw = super::quoted_content::string_inside(string).of(source);
    quote(unescape(raw).trim_end())
}

fn write_part(
    out: &mut SpliceWriter<'_>,
    repaired: &RepairedPart<'_>,
    format: &BlockSpliceFormat,
    gap: Option<Span>,
) {
    let (before, after) = format.text;
    let span = repaired.part.span;
    match repaired.source() {
        PartSource::Input if span.of(out.source).starts_with('"') => {
            out.text(before);
            write_string(out, repaired);
            out.text(after);
        }
        PartSource::Input if repaired.patch.trim => {
            let text = field_value(out.source, span, "text").map(|text| trimmed(out.source, text));
            let changes = text.map(|text| ("text", FieldChange::Text(text))).into_iter().collect();
            write_patched(out, span, changes);
        }
        PartSource::Input => {
            let changes = (format.changes)(out.source, span, &repaired.patch, &repaired.part.kind);
            if changes.is_empty() { out.copy(span) } else { write_patched(out, span, changes) }
        }
        PartSource::Text(text) => match &repaired.part.kind {
            PartKind::Answer(answer) => {
                let json = (format.answer)(answer, text);
                write_answer(out, &json, format.repeated.zip(repaired.patch.repeated()));
            }
            _ => out.text(&format!("{before}{}{after}", quote(text))),
        },
        PartSource::Quote(quote) | PartSource::Media(quote) => {
            let mut quoted = QuotedContent::new(out.source, quote.content(span), format.element);
            for media in (format.extra_media)(out.source, span) {
                quoted.add_media(out.source, media);
            }
            out.text(&format!("{before}\""));
            quoted.write(out, &quote.heading());
            out.text(&format!("\"{after}"));
            for element in quoted.media {
                match gap {
                    Some(gap) => out.copy(gap),
                    None => out.text(","),
                }
                element.write(out);
            }
        }
    }
}
