//! From messages to what counts of them.

use foxwedge_core::{
    Call, Draft, Family, Kind, Marks, Message, OptionalText, Part, Role, Span, Text, Wire,
};

use super::{
    canonical::{Speller, free_text},
    chain::{Chain, Joined, Side, mix, text},
};
use crate::{
    canon::{self, Bit, Media, Source, Words, decode},
    json::{Scan, Scanner, Shape, Tape},
};

/// Adds a message of a draft.
pub(super) fn message(chain: &mut Chain, speller: &mut Speller, draft: &Draft<'_>, index: usize) {
    let Some(message) = draft.messages.get(index) else { return };
    let Some(side) = side(message) else { return };
    if is_rare(draft, message) {
        let Ok(tape) = Tape::within(draft.source, message.span) else { return };
        let said = decode::message(tape.root(draft.source), draft.wire);
        return bits(chain, speller, side, &said.parts);
    }
    for (at, part) in draft.parts_of(message).iter().enumerate() {
        let other = match &part.kind {
            Kind::Text(Text::Empty | Text::Signature | Text::Missing) => continue,
            // A refusal has a block of its own, and is what the model says.
            Kind::Text(_) | Kind::Other if side == Side::Model || is_text(&part.kind) => {
                if let Some(raw) = block_text(draft.source, part.span) {
                    let more = chain.is_first(side) && more_follows(draft, index, at, side);
                    chain.text(side, speller.spell_said(raw), more);
                }
                continue;
            }
            Kind::Call(call) => {
                let arguments = in_place(speller, draft, part.span, call)
                    .unwrap_or_else(|| arguments(speller, draft, part.span, call.family));
                called(call.id.as_deref(), call.name.as_deref(), arguments)
            }
            Kind::Answer(answer) => {
                let said = match answer.family {
                    Family::Function | Family::Custom => content(speller, draft, answer.content),
                    _ if inside(draft.source, answer.content).is_some() => {
                        content(speller, draft, answer.content)
                    }
                    // Screenshots, lists of tools, what commands printed: as they stand there.
                    _ if answer.content == Span::NOWHERE => {
                        let others = unknown(speller, part.span.of(draft.source));
                        Said { others, ..Said::default() }
                    }
                    _ => {
                        let others = speller.json(draft.source, answer.content);
                        Said { others, ..Said::default() }
                    }
                };
                chain.answer(side, answered(answer.id.as_deref(), said));
                continue;
            }
            Kind::Media | Kind::Other if side == Side::User => {
                shown(speller, draft.source, part.span, draft.wire)
            }
            Kind::Text(_)
            | Kind::Media
            | Kind::Other
            | Kind::Reasoning(_)
            | Kind::ServerCall(_)
            | Kind::ServerAnswer(_) => continue,
        };
        chain.other(side, other);
    }
}

/// Adds what one side says and does.
pub(super) fn bits(
    chain: &mut Chain,
    speller: &mut Speller,
    side: Side,
    parts: &[canon::Part<'_>],
) {
    for part in parts {
        let other = match part.bit() {
            Bit::Text(words) => {
                chain.text(side, spelled(speller, words), true);
                continue;
            }
            Bit::Call(call) => {
                let arguments = match call.is_free_text() {
                    true => free_text(spelled(speller, &call.arguments)),
                    false => speller.arguments(&call.arguments),
                };
                called(call.id.as_deref(), Some(&call.name), arguments)
            }
            Bit::Answer(answer) => {
                let mut said = Said::default();
                answer.parts.iter().for_each(|part| said.add(speller, part.bit()));
                chain.answer(side, answered(answer.id.as_deref(), said));
                continue;
            }
            Bit::Media(media) if side == Side::User => media_value(media),
            Bit::Other(other) if side == Side::User => unknown(speller, &other.json),
            Bit::Media(_) | Bit::Other(_) | Bit::Reasoning(_) => continue,
        };
        chain.other(side, other);
    }
}

/// What something is.
const CALL: u128 = 11;
const ANSWER: u128 = 12;
const MEDIA: u128 = 13;
const UNKNOWN: u128 = 14;

fn called(id: Option<&str>, name: Option<&str>, arguments: u128) -> u128 {
    mix([CALL, text(id.unwrap_or_default()), text(name.unwrap_or_default()), arguments])
}

fn answered(id: Option<&str>, said: Said) -> u128 {
    mix([ANSWER, text(id.unwrap_or_default()), said.text.value(), said.others])
}

fn media_value(media: &Media<'_>) -> u128 {
    let (Source::Data(found)
    | Source::Text(found)
    | Source::Url(found)
    | Source::Stored { id: found, .. }) = &media.source;
    mix([MEDIA, text(found)])
}

/// Something that nobody knows. Marks for caches come and go.
fn unknown(speller: &mut Speller, json: &str) -> u128 {
    mix([UNKNOWN, speller.json_without(json, Span::new(0, json.len()), "cache_control")])
}

/// What an answer says and shows.
#[derive(Default)]
struct Said {
    text: Joined,
    others: u128,
}

impl Said {
    fn add(&mut self, speller: &mut Speller, bit: &Bit<'_>) {
        let other = match bit {
            Bit::Text(words) => {
                let words = spelled(speller, words);
                if !words.is_empty() {
                    self.text.add(words, true);
                }
                return;
            }
            Bit::Media(media) => media_value(media),
            Bit::Other(other) => unknown(speller, &other.json),
            Bit::Reasoning(_) | Bit::Call(_) | Bit::Answer(_) => return,
        };
        self.others = mix([self.others, other]);
    }
}

/// Whose message it is; nobody's, if it holds instructions.
fn side(message: &Message) -> Option<Side> {
    match message.role {
        Role::Assistant => Some(Side::Model),
        Role::Unknown if message.marks.has(Marks::MODEL) => Some(Side::Model),
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => Some(Side::User),
        Role::System | Role::Developer => None,
    }
}

/// Whether a message is one of those that are read in full: formats that no client speaks here,
/// older forms, references, tools that a format builds in.
fn is_rare(draft: &Draft<'_>, message: &Message) -> bool {
    let built_in = |part: &Part<'_>| match &part.kind {
        Kind::Call(call) => !matches!(call.family, Family::Function | Family::Custom),
        _ => false,
    };
    match draft.wire {
        Wire::Gemini | Wire::Bedrock => true,
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic => {
            message.marks.has(Marks::OTHER_BODY)
                || message.role == Role::Neutral
                || draft.wire == Wire::OpenaiResponses
                    && draft.parts_of(message).iter().any(built_in)
        }
    }
}

fn is_text(kind: &Kind<'_>) -> bool {
    matches!(kind, Kind::Text(_))
}

/// Whether more texts may follow in the turn: behind this part of this message. The model's last
/// turn may go on in the reply.
fn more_follows(draft: &Draft<'_>, index: usize, at: usize, mine: Side) -> bool {
    let may_say = |part: &Part<'_>| match part.kind {
        Kind::Text(_) => true,
        Kind::Other => mine == Side::Model,
        _ => false,
    };
    for (distance, message) in draft.messages.iter().skip(index).enumerate() {
        let parts = draft.parts_of(message);
        let Some(side) = side(message) else { continue };
        if side != mine {
            // Where it only thinks, the turn goes on behind it.
            let thinks = |part: &Part<'_>| matches!(part.kind, Kind::Reasoning(_));
            if parts.iter().all(thinks) {
                continue;
            }
            return false;
        }
        let skipped = if distance == 0 { at + 1 } else { 0 };
        let rare = distance > 0 && is_rare(draft, message);
        if rare || parts.iter().skip(skipped).any(may_say) {
            return true;
        }
    }
    mine == Side::Model
}

/// The text of a part: a string, or a block with one. As it is spelled, without its quotes.
fn block_text(source: &str, span: Span) -> Option<&str> {
    if let Some(inside) = inside(source, span) {
        return Some(inside);
    }
    let mut found = None;
    let read = Scanner::within(source, span).object(|scan, key, _| {
        match (key, scan.shape()?) {
            (b"text" | b"refusal", Shape::String) => found = Some(scan.string()?.span),
            _ => drop(scan.skip()?),
        }
        Ok(())
    });
    read.ok().and(found).map(|span| span.of(source))
}

/// The inside of a string that was scanned before.
fn inside(source: &str, span: Span) -> Option<&str> {
    span.of(source).strip_prefix('"')?.strip_suffix('"')
}

/// The value of the arguments of a call, if they stand where they usually do, in their usual
/// spelling: then nobody has to look for them. That is behind the name; or, where keys are sorted,
/// behind the id or at the beginning.
fn in_place(speller: &mut Speller, draft: &Draft<'_>, span: Span, call: &Call<'_>) -> Option<u128> {
    let place = |word: &OptionalText<'_>| {
        let OptionalText::Borrowed(word) = word else { return None };
        // A word borrows from the document, so its address says where it stands there.
        let start = (word.as_ptr() as usize).checked_sub(draft.source.as_ptr() as usize)?;
        (start >= span.start as usize).then_some((start, start + word.len()))
    };
    let (name_start, name_end) = place(&call.name)?;
    let rest = |end: usize| draft.source.get(end..span.end as usize)?.strip_prefix("\",");
    match (draft.wire, call.family) {
        (Wire::OpenaiChat | Wire::OpenaiResponses, Family::Function) => {
            if let Some(value) = rest(name_end).and_then(|rest| under("\"arguments\":", rest)) {
                return speller.quickly(value);
            }
            let call = span.of(draft.source);
            let inner = call.strip_prefix("{\"function\":").unwrap_or(call);
            let quoted = inner.strip_prefix("{\"arguments\":\"")?;
            let (value, end) = speller.quoted_quickly(quoted)?;
            // Only where the name stands right behind are they surely those of this call.
            let behind = quoted.get(end..)?.strip_prefix("\",\"name\":\"")?;
            (span.end as usize - behind.len() == name_start).then_some(value)
        }
        (Wire::Anthropic, _) => {
            let after = |end: usize| rest(end).and_then(|rest| under("\"input\":", rest));
            let input = after(name_end).or_else(|| after(place(&call.id)?.1))?;
            speller.quickly(input)
        }
        _ => None,
    }
}

/// The text of the value under that key, if it is the next one.
fn under<'s>(key: &str, rest: &'s str) -> Option<&'s str> {
    Some(rest.trim_ascii_start().strip_prefix(key)?.trim_ascii_start())
}

/// The value of the arguments of a call.
fn arguments(speller: &mut Speller, draft: &Draft<'_>, call: Span, family: Family) -> u128 {
    let mut input = Input { speller, free: family == Family::Custom, value: None };
    let scan = &mut Scanner::within(draft.source, call);
    let read = scan.object(|scan, key, _| match (draft.wire, key) {
        (Wire::OpenaiChat, b"function" | b"custom") if scan.shape()? == Shape::Object => {
            input.free = key == b"custom";
            scan.object(|scan, key, _| input.field(scan, key)).map(drop)
        }
        _ => input.field(scan, key),
    });
    let Input { speller, value, .. } = input;
    value.filter(|_| read.is_ok()).unwrap_or_else(|| speller.arguments(""))
}

/// Looks for the arguments of a call.
struct Input<'s> {
    speller: &'s mut Speller,
    /// They are free text.
    free: bool,
    value: Option<u128>,
}

impl Input<'_> {
    fn field(&mut self, scan: &mut Scanner<'_>, key: &[u8]) -> Scan<()> {
        if !matches!(key, b"arguments" | b"input") {
            return scan.skip().map(drop);
        }
        let source = scan.source();
        self.value = match scan.shape()? {
            Shape::String if self.free => {
                let inside = scan.string()?.span.of(source);
                Some(free_text(self.speller.spell_said(inside)))
            }
            Shape::String => {
                let (start, depth) = scan.mark();
                let rest = source.get(start + 1..).unwrap_or_default();
                match self.speller.quoted_quickly(rest) {
                    Some((value, end)) => {
                        scan.reset((start + 1 + end + 1, depth));
                        Some(value)
                    }
                    None => {
                        let inside = scan.string()?.span.of(source);
                        Some(self.speller.quoted(inside))
                    }
                }
            }
            Shape::Null => scan.skip().map(|_| None)?,
            Shape::Object | Shape::Array | Shape::Number | Shape::Bool => {
                let value = scan.skip()?;
                Some(self.speller.json(source, value))
            }
        };
        Ok(())
    }
}

/// What the content of an answer says.
fn content(speller: &mut Speller, draft: &Draft<'_>, span: Span) -> Said {
    let mut said = Said::default();
    let source = draft.source;
    if let Some(inside) = inside(source, span) {
        if !inside.is_empty() {
            said.text.add(speller.spell_said(inside), false);
        }
        return said;
    }
    match Scanner::within(source, span).shape() {
        Ok(Shape::Array) => {
            let Ok(tape) = Tape::within(source, span) else { return said };
            for block in tape.root(source).list() {
                let bit = block.object().and_then(|block| decode::block(&block, draft.wire));
                match bit {
                    Some(bit) => said.add(speller, &bit),
                    None => said.others = mix([said.others, unknown(speller, block.raw())]),
                }
            }
        }
        Ok(Shape::Object | Shape::Number | Shape::Bool) => {
            said.others = speller.json(source, span);
        }
        Ok(Shape::String | Shape::Null) | Err(_) => {}
    }
    said
}

/// Something that the user shows.
fn shown(speller: &mut Speller, source: &str, span: Span, wire: Wire) -> u128 {
    let media = || match Tape::within(source, span).ok()?.root(source).object() {
        Some(block) => match decode::block(&block, wire)? {
            Bit::Media(media) => Some(media_value(&media)),
            _ => None,
        },
        None => None,
    };
    media().unwrap_or_else(|| unknown(speller, span.of(source)))
}

/// A text, spelled plainly.
fn spelled<'s>(speller: &'s mut Speller, words: &'s Words<'_>) -> &'s str {
    match words.escaped() {
        Some(raw) => speller.spell(raw),
        None => speller.plain(words),
    }
}
