//! Adds the relevant parts of messages to a digest.

use foxwedge_core::{
    CallFamily, Draft, DraftCall, Format, Message, MessageFlags, OptionalText, Part, PartKind,
    Role, Span, TextShape,
};

use super::{
    canonical::{TextNormalizer, digest_free_text},
    chain::{DigestChain, TextDigest, TurnSide, combine, digest_text},
};
use crate::model::{self, ContentPart, JsonText, MediaPart, MediaSource, decode};
use foxwedge_json::{JsonScanner, JsonShape, JsonTape, ScanResult};

/// Adds a message of a draft.
pub(super) fn add_message(
    chain: &mut DigestChain,
    normalizer: &mut TextNormalizer,
    draft: &Draft<'_>,
    index: usize,
) {
    let Some(message) = draft.messages.get(index) else { return };
    let Some(side) = message_side(message) else { return };
    if needs_full_read(draft, message) {
        let Ok(tape) = JsonTape::within(draft.source, message.span) else { return };
        let decoded = decode::read_message(tape.root(draft.source), draft.format);
        return add_parts(chain, normalizer, side, &decoded.parts);
    }
    for (at, part) in draft.parts_of(message).iter().enumerate() {
        let other = match &part.kind {
            PartKind::Text(TextShape::Empty | TextShape::Signature | TextShape::Missing) => {
                continue;
            }
            // A refusal has its own block type, but counts as text of the model.
            PartKind::Text(_) | PartKind::Other | PartKind::Unknown
                if side == TurnSide::Model || is_text(&part.kind) =>
            {
                if let Some(raw) = block_text(draft.source, part.span) {
                    let more =
                        chain.is_first_text(side) && more_text_follows(draft, index, at, side);
                    chain.add_text(side, normalizer.normalize_document_text(raw), more);
                }
                continue;
            }
            PartKind::Call(call) => {
                let arguments = digest_arguments_in_place(normalizer, draft, part.span, call)
                    .unwrap_or_else(|| find_arguments(normalizer, draft, part.span, call.family));
                digest_call(call.id.as_deref(), call.name.as_deref(), arguments)
            }
            PartKind::Answer(answer) => {
                let content = match answer.family {
                    CallFamily::Function | CallFamily::Custom => {
                        digest_content(normalizer, draft, answer.content)
                    }
                    _ if string_inside(draft.source, answer.content).is_some() => {
                        digest_content(normalizer, draft, answer.content)
                    }
                    // Screenshots, tool lists and command output count as raw JSON.
                    _ if answer.content == Span::NOWHERE => {
                        let others = digest_unknown(normalizer, part.span.of(draft.source));
                        ResultDigest { others, ..ResultDigest::default() }
                    }
                    _ => {
                        let others = normalizer.digest_json(draft.source, answer.content);
                        ResultDigest { others, ..ResultDigest::default() }
                    }
                };
                chain.add_result(side, digest_result(answer.id.as_deref(), content));
                continue;
            }
            PartKind::Media | PartKind::Other | PartKind::Unknown if side == TurnSide::User => {
                digest_shown(normalizer, draft.source, part.span, draft.format)
            }
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Fallback
            | PartKind::Other
            | PartKind::Unknown
            | PartKind::Reasoning(_)
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_) => continue,
        };
        chain.add_other(side, other);
    }
}

/// Adds the parts of one side.
pub(super) fn add_parts(
    chain: &mut DigestChain,
    normalizer: &mut TextNormalizer,
    side: TurnSide,
    parts: &[model::ModelPart<'_>],
) {
    for part in parts {
        let other = match part.content() {
            ContentPart::Text(text) => {
                chain.add_text(side, normalized_text(normalizer, text), true);
                continue;
            }
            ContentPart::ToolCall(call) => {
                let arguments = match call.is_free_text() {
                    true => digest_free_text(normalized_text(normalizer, &call.arguments)),
                    false => normalizer.digest_arguments(&call.arguments),
                };
                digest_call(call.id.as_deref(), Some(&call.name), arguments)
            }
            ContentPart::ToolResult(result) => {
                let mut digest = ResultDigest::default();
                result.parts.iter().for_each(|part| digest.add(normalizer, part.content()));
                chain.add_result(side, digest_result(result.id.as_deref(), digest));
                continue;
            }
            ContentPart::Media(media) if side == TurnSide::User => digest_media(media),
            ContentPart::Unknown(other) if side == TurnSide::User => {
                digest_unknown(normalizer, &other.json)
            }
            ContentPart::Media(_) | ContentPart::Unknown(_) | ContentPart::Reasoning(_) => continue,
        };
        chain.add_other(side, other);
    }
}

/// Types of values.
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

fn digest_result(id: Option<&str>, content: ResultDigest) -> u128 {
    combine([ANSWER, digest_text(id.unwrap_or_default()), content.text.value(), content.others])
}

fn digest_media(media: &MediaPart<'_>) -> u128 {
    let (MediaSource::Data(source)
    | MediaSource::Text(source)
    | MediaSource::Url(source)
    | MediaSource::Stored { id: source, .. }) = &media.source;
    combine([MEDIA, digest_text(source)])
}

/// The value of unknown content. Cache markers do not count.
fn digest_unknown(normalizer: &mut TextNormalizer, json: &str) -> u128 {
    combine([
        UNKNOWN,
        normalizer.digest_json_without(json, Span::new(0, json.len()), "cache_control"),
    ])
}

/// Digest of the content of a tool result.
#[derive(Default)]
struct ResultDigest {
    text: TextDigest,
    others: u128,
}

impl ResultDigest {
    fn add(&mut self, normalizer: &mut TextNormalizer, content: &ContentPart<'_>) {
        let other = match content {
            ContentPart::Text(text) => {
                let text = normalized_text(normalizer, text);
                if !text.is_empty() {
                    self.text.add(text, true);
                }
                return;
            }
            ContentPart::Media(media) => digest_media(media),
            ContentPart::Unknown(other) => digest_unknown(normalizer, &other.json),
            ContentPart::Reasoning(_) | ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => {
                return;
            }
        };
        self.others = combine([self.others, other]);
    }
}

/// The side of a message; `None` for instructions.
fn message_side(message: &Message) -> Option<TurnSide> {
    match message.role {
        Role::Assistant => Some(TurnSide::Model),
        Role::Unknown if message.flags.has(MessageFlags::MODEL) => Some(TurnSide::Model),
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => Some(TurnSide::User),
        Role::System | Role::Developer => None,
    }
}

/// Whether a message must be decoded in full: formats that clients do not use here, legacy forms,
/// references, built-in tools of a format.
fn needs_full_read(draft: &Draft<'_>, message: &Message) -> bool {
    let built_in = |part: &Part<'_>| match &part.kind {
        PartKind::Call(call) => !matches!(call.family, CallFamily::Function | CallFamily::Custom),
        _ => false,
    };
    match draft.format {
        Format::Gemini | Format::Bedrock | Format::GeminiInteractions => true,
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

/// Whether more texts may follow in the turn after this part of this message. The model's last turn
/// may continue in the reply.
fn more_text_follows(draft: &Draft<'_>, index: usize, at: usize, side_of_turn: TurnSide) -> bool {
    let may_be_text = |part: &Part<'_>| match part.kind {
        PartKind::Text(_) => true,
        PartKind::Other | PartKind::Unknown => side_of_turn == TurnSide::Model,
        _ => false,
    };
    for (distance, message) in draft.messages.iter().skip(index).enumerate() {
        let parts = draft.parts_of(message);
        let Some(side) = message_side(message) else { continue };
        if side != side_of_turn {
            // A message with only reasoning does not end the turn.
            let is_reasoning = |part: &Part<'_>| matches!(part.kind, PartKind::Reasoning(_));
            if parts.iter().all(is_reasoning) {
                continue;
            }
            return false;
        }
        let skipped = if distance == 0 { at + 1 } else { 0 };
        let unknown = distance > 0 && needs_full_read(draft, message);
        if unknown || parts.iter().skip(skipped).any(may_be_text) {
            return true;
        }
    }
    side_of_turn == TurnSide::Model
}

/// The text of a part, either a string or a block that holds one, escaped and without quotes.
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

/// The inside of a scanned string.
fn string_inside(source: &str, span: Span) -> Option<&str> {
    span.of(source).strip_prefix('"')?.strip_suffix('"')
}

/// The value of the arguments of a call, if they are at their usual position in their usual
/// encoding. This avoids a search. The usual position is after the name, or with sorted keys after
/// the id or at the start.
fn digest_arguments_in_place(
    normalizer: &mut TextNormalizer,
    draft: &Draft<'_>,
    span: Span,
    call: &DraftCall<'_>,
) -> Option<u128> {
    let place = |text: &OptionalText<'_>| {
        let OptionalText::Borrowed(text) = text else { return None };
        // The text borrows from the document, so its address gives its position there.
        let start = (text.as_ptr() as usize).checked_sub(draft.source.as_ptr() as usize)?;
        (start >= span.start as usize).then_some((start, start + text.len()))
    };
    let (name_start, name_end) = place(&call.name)?;
    let rest = |end: usize| draft.source.get(end..span.end as usize)?.strip_prefix("\",");
    match (draft.format, call.family) {
        (Format::OpenaiChat | Format::OpenaiResponses, CallFamily::Function) => {
            if let Some(value) =
                rest(name_end).and_then(|rest| value_after_key("\"arguments\":", rest))
            {
                return normalizer.digest_fast(value);
            }
            let call = span.of(draft.source);
            let inner = call.strip_prefix("{\"function\":").unwrap_or(call);
            let quoted = inner.strip_prefix("{\"arguments\":\"")?;
            let (value, end) = normalizer.digest_quoted_fast(quoted)?;
            // Only if the name follows directly do they certainly belong to this call.
            let name_onward = quoted.get(end..)?.strip_prefix("\",\"name\":\"")?;
            (span.end as usize - name_onward.len() == name_start).then_some(value)
        }
        (Format::Anthropic, _) => {
            let after = |end: usize| rest(end).and_then(|rest| value_after_key("\"input\":", rest));
            let input = after(name_end).or_else(|| after(place(&call.id)?.1))?;
            normalizer.digest_fast(input)
        }
        _ => None,
    }
}

/// The text from the value of that key on, if the key comes next.
fn value_after_key<'s>(key: &str, rest: &'s str) -> Option<&'s str> {
    Some(rest.trim_ascii_start().strip_prefix(key)?.trim_ascii_start())
}

/// The value of the arguments of a call.
fn find_arguments(
    normalizer: &mut TextNormalizer,
    draft: &Draft<'_>,
    call: Span,
    family: CallFamily,
) -> u128 {
    let mut finder =
        ArgumentsFinder { speller: normalizer, free: family == CallFamily::Custom, value: None };
    let scan = &mut JsonScanner::within(draft.source, call);
    let read = scan.object(|scan, key, _| match (draft.format, key) {
        (Format::OpenaiChat, b"function" | b"custom") if scan.shape()? == JsonShape::Object => {
            finder.free = key == b"custom";
            scan.object(|scan, key, _| finder.read_field(scan, key)).map(drop)
        }
        _ => finder.read_field(scan, key),
    });
    let ArgumentsFinder { speller: normalizer, value, .. } = finder;
    value.filter(|_| read.is_ok()).unwrap_or_else(|| normalizer.digest_arguments(""))
}

/// Searches for the arguments of a call.
struct ArgumentsFinder<'s> {
    speller: &'s mut TextNormalizer,
    /// Whether the arguments are free text.
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

/// Digest of the content of a tool result.
fn digest_content(normalizer: &mut TextNormalizer, draft: &Draft<'_>, span: Span) -> ResultDigest {
    let mut digest = ResultDigest::default();
    let source = draft.source;
    if let Some(inside) = string_inside(source, span) {
        if !inside.is_empty() {
            digest.text.add(normalizer.normalize_document_text(inside), false);
        }
        return digest;
    }
    match JsonScanner::within(source, span).shape() {
        Ok(JsonShape::Array) => {
            let Ok(tape) = JsonTape::within(source, span) else { return digest };
            for block in tape.root(source).list() {
                let content =
                    block.object().and_then(|block| decode::read_block(&block, draft.format));
                match content {
                    Some(content) => digest.add(normalizer, &content),
                    None => {
                        digest.others =
                            combine([digest.others, digest_unknown(normalizer, block.raw())])
                    }
                }
            }
        }
        Ok(JsonShape::Object | JsonShape::Number | JsonShape::Bool) => {
            digest.others = normalizer.digest_json(source, span);
        }
        Ok(JsonShape::String | JsonShape::Null) | Err(_) => {}
    }
    digest
}

/// The value of media from the user.
fn digest_shown(normalizer: &mut TextNormalizer, source: &str, span: Span, format: Format) -> u128 {
    let media = || match JsonTape::within(source, span).ok()?.root(source).object() {
        Some(block) => match decode::read_block(&block, format)? {
            ContentPart::Media(media) => Some(digest_media(&media)),
            _ => None,
        },
        None => None,
    };
    media().unwrap_or_else(|| digest_unknown(normalizer, span.of(source)))
}

/// A text in canonical form.
fn normalized_text<'s>(normalizer: &'s mut TextNormalizer, text: &'s JsonText<'_>) -> &'s str {
    match text.escaped_source() {
        Some(raw) => normalizer.normalize(raw),
        None => normalizer.normalize_plain(text),
    }
}
