//! From messages to what counts of them.

use foxwedge_core::{
    CallFamily, Draft, DraftCall, Format, Message, MessageFlags, OptionalText, Part, PartKind,
    Role, Span, TextShape,
};

use super::{
    canonical::{TextNormalizer, digest_free_text},
    chain::{DigestChain, TextDigest, TurnSide, combine, digest_text},
};
use crate::{
    json::{JsonScanner, JsonShape, JsonTape, ScanResult},
    model::{self, ContentPart, JsonText, MediaPart, MediaSource, decode},
};

/// Adds a message of a draft.
pub(super) fn add_message(
    chain: &mut DigestChain,
    speller: &mut TextNormalizer,
    draft: &Draft<'_>,
    index: usize,
) {
    let Some(message) = draft.messages.get(index) else { return };
    let Some(side) = message_side(message) else { return };
    if needs_full_read(draft, message) {
        let Ok(tape) = JsonTape::within(draft.source, message.span) else { return };
        let said = decode::read_message(tape.root(draft.source), draft.format);
        return add_parts(chain, speller, side, &said.parts);
    }
    for (at, part) in draft.parts_of(message).iter().enumerate() {
        let other = match &part.kind {
            PartKind::Text(TextShape::Empty | TextShape::Signature | TextShape::Missing) => {
                continue;
            }
            // A refusal has a block of its own, and is what the model says.
            PartKind::Text(_) | PartKind::Other
                if side == TurnSide::Model || is_text(&part.kind) =>
            {
                if let Some(raw) = block_text(draft.source, part.span) {
                    let more =
                        chain.is_first_text(side) && more_text_follows(draft, index, at, side);
                    chain.add_text(side, speller.normalize_document_text(raw), more);
                }
                continue;
            }
            PartKind::Call(call) => {
                let arguments = digest_arguments_in_place(speller, draft, part.span, call)
                    .unwrap_or_else(|| find_arguments(speller, draft, part.span, call.family));
                digest_call(call.id.as_deref(), call.name.as_deref(), arguments)
            }
            PartKind::Answer(answer) => {
                let said = match answer.family {
                    CallFamily::Function | CallFamily::Custom => {
                        digest_content(speller, draft, answer.content)
                    }
                    _ if string_inside(draft.source, answer.content).is_some() => {
                        digest_content(speller, draft, answer.content)
                    }
                    // Screenshots, lists of tools, what commands printed: as they stand there.
                    _ if answer.content == Span::NOWHERE => {
                        let others = digest_unknown(speller, part.span.of(draft.source));
                        ResultDigest { others, ..ResultDigest::default() }
                    }
                    _ => {
                        let others = speller.digest_json(draft.source, answer.content);
                        ResultDigest { others, ..ResultDigest::default() }
                    }
                };
                chain.add_result(side, digest_result(answer.id.as_deref(), said));
                continue;
            }
            PartKind::Media | PartKind::Other if side == TurnSide::User => {
                digest_shown(speller, draft.source, part.span, draft.format)
            }
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Other
            | PartKind::Reasoning(_)
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_) => continue,
        };
        chain.add_other(side, other);
    }
}

/// Adds what one side says and does.
pub(super) fn add_parts(
    chain: &mut DigestChain,
    speller: &mut TextNormalizer,
    side: TurnSide,
    parts: &[model::ModelPart<'_>],
) {
    for part in parts {
        let other = match part.content() {
            ContentPart::Text(words) => {
                chain.add_text(side, normalized_text(speller, words), true);
                continue;
            }
            ContentPart::ToolCall(call) => {
                let arguments = match call.is_free_text() {
                    true => digest_free_text(normalized_text(speller, &call.arguments)),
                    false => speller.digest_arguments(&call.arguments),
                };
                digest_call(call.id.as_deref(), Some(&call.name), arguments)
            }
            ContentPart::ToolResult(answer) => {
                let mut said = ResultDigest::default();
                answer.parts.iter().for_each(|part| said.add(speller, part.content()));
                chain.add_result(side, digest_result(answer.id.as_deref(), said));
                continue;
            }
            ContentPart::Media(media) if side == TurnSide::User => digest_media(media),
            ContentPart::Unknown(other) if side == TurnSide::User => {
                digest_unknown(speller, &other.json)
            }
            ContentPart::Media(_) | ContentPart::Unknown(_) | ContentPart::Reasoning(_) => continue,
        };
        chain.add_other(side, other);
    }
}

/// What something is.
const CALL: u128 = 11;
const ANSWER: u128 = 12;
const MEDIA: u128 = 13;
const UNKNOWN: u128 = 14;

fn digest_call(id: Option<&str>, name: Option<&str>, arguments: u128) -> u128 {
    combine([
        CALL,
        digest_text(id.unwrap_or_default()),
        digest_text(name.unwrap_or_default()),
        arguments,
    ])
}

fn digest_result(id: Option<&str>, said: ResultDigest) -> u128 {
    combine([ANSWER, digest_text(id.unwrap_or_default()), said.text.value(), said.others])
}

fn digest_media(media: &MediaPart<'_>) -> u128 {
    let (MediaSource::Data(found)
    | MediaSource::Text(found)
    | MediaSource::Url(found)
    | MediaSource::Stored { id: found, .. }) = &media.source;
    combine([MEDIA, digest_text(found)])
}

/// Something that nobody knows. Marks for caches come and go.
fn digest_unknown(speller: &mut TextNormalizer, json: &str) -> u128 {
    combine([UNKNOWN, speller.digest_json_without(json, Span::new(0, json.len()), "cache_control")])
}

/// What an answer says and shows.
#[derive(Default)]
struct ResultDigest {
    text: TextDigest,
    others: u128,
}

impl ResultDigest {
    fn add(&mut self, speller: &mut TextNormalizer, bit: &ContentPart<'_>) {
        let other = match bit {
            ContentPart::Text(words) => {
                let words = normalized_text(speller, words);
                if !words.is_empty() {
                    self.text.add(words, true);
                }
                return;
            }
            ContentPart::Media(media) => digest_media(media),
            ContentPart::Unknown(other) => digest_unknown(speller, &other.json),
            ContentPart::Reasoning(_) | ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
                return;
            }
        };
        self.others = combine([self.others, other]);
    }
}

/// Whose message it is; nobody's, if it holds instructions.
fn message_side(message: &Message) -> Option<TurnSide> {
    match message.role {
        Role::Assistant => Some(TurnSide::Model),
        Role::Unknown if message.flags.has(MessageFlags::MODEL) => Some(TurnSide::Model),
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => Some(TurnSide::User),
        Role::System | Role::Developer => None,
    }
}

/// Whether a message is one of those that are read in full: formats that no client speaks here,
/// older forms, references, tools that a format builds in.
fn needs_full_read(draft: &Draft<'_>, message: &Message) -> bool {
    let built_in = |part: &Part<'_>| match &part.kind {
        PartKind::Call(call) => !matches!(call.family, CallFamily::Function | CallFamily::Custom),
        _ => false,
    };
    match draft.format {
        Format::Gemini | Format::Bedrock => true,
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic => {
            message.flags.has(MessageFlags::OTHER_BODY)
                || message.role == Role::Neutral
                || draft.format == Format::OpenaiResponses
                    && draft.parts_of(message).iter().any(built_in)
        }
    }
}

fn is_text(kind: &PartKind<'_>) -> bool {
    matches!(kind, PartKind::Text(_))
}

/// Whether more texts may follow in the turn: behind this part of this message. The model's last
/// turn may go on in the reply.
fn more_text_follows(draft: &Draft<'_>, index: usize, at: usize, mine: TurnSide) -> bool {
    let may_say = |part: &Part<'_>| match part.kind {
        PartKind::Text(_) => true,
        PartKind::Other => mine == TurnSide::Model,
        _ => false,
    };
    for (distance, message) in draft.messages.iter().skip(index).enumerate() {
        let parts = draft.parts_of(message);
        let Some(side) = message_side(message) else { continue };
        if side != mine {
            // Where it only thinks, the turn goes on behind it.
            let thinks = |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(_));
            if parts.iter().all(thinks) {
                continue;
            }
            return false;
        }
        let skipped = if distance == 0 { at + 1 } else { 0 };
        let rare = distance > 0 && needs_full_read(draft, message);
        if rare || parts.iter().skip(skipped).any(may_say) {
            return true;
        }
    }
    mine == TurnSide::Model
}

/// The text of a part: a string, or a block with one. As it is spelled, without its quotes.
fn block_text(source: &str, span: Span) -> Option<&str> {
    if let Some(inside) = string_inside(source, span) {
        return Some(inside);
    }
    let mut found = None;
    let read = JsonScanner::within(source, span).object(|scan, key, _| {
        match (key, scan.shape()?) {
            (b"text" | b"refusal", JsonShape::String) => found = Some(scan.string()?.span),
            _ => drop(scan.skip()?),
        }
        Ok(())
    });
    read.ok().and(found).map(|span| span.of(source))
}

/// The inside of a string that was scanned before.
fn string_inside(source: &str, span: Span) -> Option<&str> {
    span.of(source).strip_prefix('"')?.strip_suffix('"')
}

/// The value of the arguments of a call, if they stand where they usually do, in their usual
/// spelling: then nobody has to look for them. That is behind the name; or, where keys are sorted,
/// behind the id or at the beginning.
fn digest_arguments_in_place(
    speller: &mut TextNormalizer,
    draft: &Draft<'_>,
    span: Span,
    call: &DraftCall<'_>,
) -> Option<u128> {
    let place = |word: &OptionalText<'_>| {
        let OptionalText::Borrowed(word) = word else { return None };
        // A word borrows from the document, so its address says where it stands there.
        let start = (word.as_ptr() as usize).checked_sub(draft.source.as_ptr() as usize)?;
        (start >= span.start as usize).then_some((start, start + word.len()))
    };
    let (name_start, name_end) = place(&call.name)?;
    let rest = |end: usize| draft.source.get(end..span.end as usize)?.strip_prefix("\",");
    match (draft.format, call.family) {
        (Format::OpenaiChat | Format::OpenaiResponses, CallFamily::Function) => {
            if let Some(value) =
                rest(name_end).and_then(|rest| value_after_key("\"arguments\":", rest))
            {
                return speller.digest_fast(value);
            }
            let call = span.of(draft.source);
            let inner = call.strip_prefix("{\"function\":").unwrap_or(call);
            let quoted = inner.strip_prefix("{\"arguments\":\"")?;
            let (value, end) = speller.digest_quoted_fast(quoted)?;
            // Only where the name stands right behind are they surely those of this call.
            let behind = quoted.get(end..)?.strip_prefix("\",\"name\":\"")?;
            (span.end as usize - behind.len() == name_start).then_some(value)
        }
        (Format::Anthropic, _) => {
            let after = |end: usize| rest(end).and_then(|rest| value_after_key("\"input\":", rest));
            let input = after(name_end).or_else(|| after(place(&call.id)?.1))?;
            speller.digest_fast(input)
        }
        _ => None,
    }
}

/// The text of the value under that key, if it is the next one.
fn value_after_key<'s>(key: &str, rest: &'s str) -> Option<&'s str> {
    Some(rest.trim_ascii_start().strip_prefix(key)?.trim_ascii_start())
}

/// The value of the arguments of a call.
fn find_arguments(
    speller: &mut TextNormalizer,
    draft: &Draft<'_>,
    call: Span,
    family: CallFamily,
) -> u128 {
    let mut input = ArgumentsFinder { speller, free: family == CallFamily::Custom, value: None };
    let scan = &mut JsonScanner::within(draft.source, call);
    let read = scan.object(|scan, key, _| match (draft.format, key) {
        (Format::OpenaiChat, b"function" | b"custom") if scan.shape()? == JsonShape::Object => {
            input.free = key == b"custom";
            scan.object(|scan, key, _| input.read_field(scan, key)).map(drop)
        }
        _ => input.read_field(scan, key),
    });
    let ArgumentsFinder { speller, value, .. } = input;
    value.filter(|_| read.is_ok()).unwrap_or_else(|| speller.digest_arguments(""))
}

/// Looks for the arguments of a call.
struct ArgumentsFinder<'s> {
    speller: &'s mut TextNormalizer,
    /// They are free text.
    free: bool,
    value: Option<u128>,
}

impl ArgumentsFinder<'_> {
    fn read_field(&mut self, scan: &mut JsonScanner<'_>, key: &[u8]) -> ScanResult<()> {
        if !matches!(key, b"arguments" | b"input") {
            return scan.skip().map(drop);
        }
        let source = scan.source();
        self.value = match scan.shape()? {
            JsonShape::String if self.free => {
                let inside = scan.string()?.span.of(source);
                Some(digest_free_text(self.speller.normalize_document_text(inside)))
            }
            JsonShape::String => {
                let (start, depth) = scan.checkpoint();
                let rest = source.get(start + 1..).unwrap_or_default();
                match self.speller.digest_quoted_fast(rest) {
                    Some((value, end)) => {
                        scan.reset((start + 1 + end + 1, depth));
                        Some(value)
                    }
                    None => {
                        let inside = scan.string()?.span.of(source);
                        Some(self.speller.digest_quoted(inside))
                    }
                }
            }
            JsonShape::Null => scan.skip().map(|_| None)?,
            JsonShape::Object | JsonShape::Array | JsonShape::Number | JsonShape::Bool => {
                let value = scan.skip()?;
                Some(self.speller.digest_json(source, value))
            }
        };
        Ok(())
    }
}

/// What the content of an answer says.
fn digest_content(speller: &mut TextNormalizer, draft: &Draft<'_>, span: Span) -> ResultDigest {
    let mut said = ResultDigest::default();
    let source = draft.source;
    if let Some(inside) = string_inside(source, span) {
        if !inside.is_empty() {
            said.text.add(speller.normalize_document_text(inside), false);
        }
        return said;
    }
    match JsonScanner::within(source, span).shape() {
        Ok(JsonShape::Array) => {
            let Ok(tape) = JsonTape::within(source, span) else { return said };
            for block in tape.root(source).list() {
                let bit = block.object().and_then(|block| decode::read_block(&block, draft.format));
                match bit {
                    Some(bit) => said.add(speller, &bit),
                    None => {
                        said.others = combine([said.others, digest_unknown(speller, block.raw())])
                    }
                }
            }
        }
        Ok(JsonShape::Object | JsonShape::Number | JsonShape::Bool) => {
            said.others = speller.digest_json(source, span);
        }
        Ok(JsonShape::String | JsonShape::Null) | Err(_) => {}
    }
    said
}

/// Something that the user shows.
fn digest_shown(speller: &mut TextNormalizer, source: &str, span: Span, wire: Format) -> u128 {
    let media = || match JsonTape::within(source, span).ok()?.root(source).object() {
        Some(block) => match decode::read_block(&block, wire)? {
            ContentPart::Media(media) => Some(digest_media(&media)),
            _ => None,
        },
        None => None,
    };
    media().unwrap_or_else(|| digest_unknown(speller, span.of(source)))
}

/// A text, spelled plainly.
fn normalized_text<'s>(speller: &'s mut TextNormalizer, words: &'s JsonText<'_>) -> &'s str {
    match words.escaped_source() {
        Some(raw) => speller.normalize(raw),
        None => speller.normalize_plain(words),
    }
}
