//! Counts the tokens of a document: one pass over the bytes that takes the text of each part and
//! skips what a model never sees (ids, signatures, cache markers).

use foxwedge_core::{
    Draft, MessageFlags, PartKind, Span,
    compact::{TokenCounter, TokenWeights},
};

use crate::{document::DocumentFrame, envelope::list_key};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, object_fields, unescape_into};

/// Tokens of a message besides its content: role and brackets.
const FRAME: u32 = 4;
/// Tokens of a call or a result besides its content: id and brackets.
pub(super) const ENVELOPE: u32 = 8;

/// Counts the tokens of a document: of the messages, and of everything around them.
pub fn weigh(
    draft: &Draft<'_>,
    frame: DocumentFrame,
    counter: &mut dyn TokenCounter,
) -> TokenWeights {
    let exact = counter.is_exact();
    let mut weigher = TokenWeigher { source: draft.source, counter, words: String::new() };
    let mut weights = TokenWeights::new(weigh_surroundings(draft, frame, &mut weigher), exact);
    for message in &draft.messages {
        let parts = draft.parts_of(message);
        let mut tokens = FRAME;
        for part in parts {
            let weight = weigher.weigh_part(&part.kind, part.span);
            weights.push_part(weight.total, weight.media);
            tokens = tokens.saturating_add(weight.total);
        }
        // Some content has no parts: refusals, audio, legacy function calls.
        if parts.is_empty() || message.flags.has(MessageFlags::OTHER_BODY) {
            let whole = weigher.weigh_value(message.span).total;
            tokens = tokens.max(whole.saturating_add(FRAME));
        }
        weights.push_message(tokens);
    }
    weights
}

/// Tokens of one part, and how many of them are media.
#[derive(Clone, Copy, Default)]
struct PartWeight {
    total: u32,
    media: u32,
}

impl PartWeight {
    fn add(&mut self, other: PartWeight) {
        self.total = self.total.saturating_add(other.total);
        self.media = self.media.saturating_add(other.media);
    }
}

struct TokenWeigher<'s, 'c> {
    source: &'s str,
    counter: &'c mut dyn TokenCounter,
    /// Unescaped text; the buffer is reused.
    words: String,
}

impl TokenWeigher<'_, '_> {
    fn weigh_part(&mut self, kind: &PartKind<'_>, span: Span) -> PartWeight {
        let mut weight = self.weigh_value(span);
        match kind {
            PartKind::Call(_) | PartKind::Answer(_) => {
                weight.total = weight.total.saturating_add(ENVELOPE)
            }
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Reasoning(_)
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_)
            | PartKind::Fallback
            | PartKind::Other
            | PartKind::Unknown => {}
        }
        weight
    }

    fn weigh_value(&mut self, span: Span) -> PartWeight {
        let mut weight = PartWeight::default();
        let mut scan = JsonScanner::within(self.source, span);
        // The text was parsed before, so this cannot fail.
        let _ = self.add_value(&mut scan, &mut weight);
        weight
    }

    /// Adds the text of a value.
    fn add_value(&mut self, scan: &mut JsonScanner<'_>, weight: &mut PartWeight) -> ScanResult<()> {
        match scan.shape()? {
            JsonShape::String => {
                let string = scan.string()?;
                weight.total =
                    weight.total.saturating_add(self.count_text(string.span, string.escaped));
            }
            JsonShape::Object => {
                scan.object(|scan, key, _| self.add_field(scan, key, weight))?;
            }
            JsonShape::Array => drop(scan.array(|scan, _| self.add_value(scan, weight))?),
            JsonShape::Number | JsonShape::Bool => {
                scan.skip()?;
                weight.total = weight.total.saturating_add(1);
            }
            JsonShape::Null => drop(scan.skip()?),
        }
        Ok(())
    }

    /// Adds a field of a message or of one of its parts.
    fn add_field(
        &mut self,
        scan: &mut JsonScanner<'_>,
        key: &[u8],
        weight: &mut PartWeight,
    ) -> ScanResult<()> {
        match (key, scan.shape()?) {
            // Fields that only the protocol needs.
            (
                b"type" | b"id" | b"role" | b"call_id" | b"tool_call_id" | b"tool_use_id"
                | b"toolUseId" | b"signature" | b"thoughtSignature" | b"thought_signature"
                | b"cache_control" | b"cachePoint" | b"status" | b"media_type" | b"mimeType"
                | b"mime_type" | b"format" | b"detail" | b"is_error" | b"thought" | b"caller",
                _,
            ) => drop(scan.skip()?),
            // Encrypted reasoning: base64 of text.
            (b"encrypted_content" | b"redactedContent", JsonShape::String) => {
                let bytes = scan.string()?.span.len() / 6;
                let tokens = u32::try_from(bytes).unwrap_or(u32::MAX);
                weight.total = weight.total.saturating_add(tokens);
            }
            (
                b"data" | b"url" | b"image_url" | b"bytes" | b"file_data" | b"fileUri"
                | b"file_uri" | b"file_id" | b"uri",
                JsonShape::String,
            ) => {
                let string = scan.string()?;
                let tokens = self.counter.count_media(data_payload(string.span.of(self.source)));
                weight.add(PartWeight { total: tokens, media: tokens });
            }
            // The model reads these as JSON, including the brackets.
            (
                b"arguments" | b"input" | b"args" | b"response" | b"json",
                JsonShape::Object | JsonShape::Array,
            ) => {
                let raw = scan.skip()?;
                weight.total =
                    weight.total.saturating_add(self.counter.count_text(raw.of(self.source)));
            }
            _ => self.add_value(scan, weight)?,
        }
        Ok(())
    }

    /// Counts the tokens of the inside of a string.
    fn count_text(&mut self, inside: Span, escaped: bool) -> u32 {
        let raw = inside.of(self.source);
        if !escaped {
            return self.counter.count_text(raw);
        }
        self.words.clear();
        unescape_into(&mut self.words, raw);
        self.counter.count_text(&self.words)
    }
}

/// The part of a data URL after the comma.
fn data_payload(url: &str) -> &str {
    match url.strip_prefix("data:").and_then(|rest| rest.split_once(',')) {
        Some((_, data)) => data,
        None => url,
    }
}

/// Counts the tokens of instructions and tools outside the list.
fn weigh_surroundings(
    draft: &Draft<'_>,
    frame: DocumentFrame,
    weigher: &mut TokenWeigher<'_, '_>,
) -> u64 {
    if !frame.object {
        return 0;
    }
    const TOLD: [&str; 11] = [
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "tools",
        "toolConfig",
        "tool_config",
        "functions",
        "response_format",
        "output_config",
        "prompt",
    ];
    let mut tokens = 0;
    for field in object_fields(draft.source, frame.document) {
        let input = field.key == list_key(draft.format) && frame.list.is_none();
        let schema = matches!(&*field.key, "tools" | "toolConfig" | "tool_config" | "functions");
        if schema {
            // The model reads schemas as JSON.
            tokens += u64::from(weigher.counter.count_text(field.value.of(draft.source)));
        } else if TOLD.contains(&&*field.key) || input {
            tokens += u64::from(weigher.weigh_value(field.value).total);
        }
    }
    tokens
}
