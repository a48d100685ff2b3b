//! How many tokens everything takes: one pass over the bytes, which takes the words of each part
//! and leaves out what a model never sees (ids, signatures, cache marks).

use foxwedge_core::{
    Draft, MessageFlags, PartKind, Span,
    compact::{TokenCounter, TokenWeights},
};

use crate::{
    document::{DocumentFrame, list_key},
    json::{JsonScanner, JsonShape, ScanResult, object_fields, unescape_into},
};

/// What a message costs beside what it says: its role, its brackets.
const FRAME: u32 = 4;
/// What a call or an answer costs beside what it says: its id, its brackets.
pub(super) const ENVELOPE: u32 = 8;

/// Weighs a document: the messages, and what stands around them.
pub fn weigh(
    draft: &Draft<'_>,
    frame: DocumentFrame,
    counter: &mut dyn TokenCounter,
) -> TokenWeights {
    let exact = counter.is_exact();
    let mut scale = TokenWeigher { source: draft.source, counter, words: String::new() };
    let mut weights = TokenWeights::new(weigh_surroundings(draft, frame, &mut scale), exact);
    for message in &draft.messages {
        let parts = draft.parts_of(message);
        let mut tokens = FRAME;
        for part in parts {
            let weight = scale.weigh_part(&part.kind, part.span);
            weights.push_part(weight.total, weight.media);
            tokens = tokens.saturating_add(weight.total);
        }
        // Some things that are said are no parts: refusals, sound, calls of an older kind.
        if parts.is_empty() || message.flags.has(MessageFlags::OTHER_BODY) {
            let whole = scale.weigh_value(message.span).total;
            tokens = tokens.max(whole.saturating_add(FRAME));
        }
        weights.push_message(tokens);
    }
    weights
}

/// What one part weighs, and how much of that is media.
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
    /// Text without its escapes, used again and again.
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
            | PartKind::Other => {}
        }
        weight
    }

    fn weigh_value(&mut self, span: Span) -> PartWeight {
        let mut weight = PartWeight::default();
        let mut scan = JsonScanner::within(self.source, span);
        // The text was read before, so there is nothing to report.
        let _ = self.add_value(&mut scan, &mut weight);
        weight
    }

    /// Adds the words of a value.
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
            // What only the protocol needs.
            (
                b"type" | b"id" | b"role" | b"call_id" | b"tool_call_id" | b"tool_use_id"
                | b"toolUseId" | b"signature" | b"thoughtSignature" | b"thought_signature"
                | b"cache_control" | b"cachePoint" | b"status" | b"media_type" | b"mimeType"
                | b"mime_type" | b"format" | b"detail" | b"is_error" | b"thought" | b"caller",
                _,
            ) => drop(scan.skip()?),
            // Reasoning that cannot be read: base64 of something like text.
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
            // The model reads these as JSON, brackets and all.
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

    /// Tokens of the inside of a string.
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

/// What stands behind the comma of a data address.
fn data_payload(address: &str) -> &str {
    match address.strip_prefix("data:").and_then(|rest| rest.split_once(',')) {
        Some((_, data)) => data,
        None => address,
    }
}

/// Tokens of instructions and tools that stand beside the list.
fn weigh_surroundings(
    draft: &Draft<'_>,
    frame: DocumentFrame,
    scale: &mut TokenWeigher<'_, '_>,
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
            // Schemas are read as JSON.
            tokens += u64::from(scale.counter.count_text(field.value.of(draft.source)));
        } else if TOLD.contains(&&*field.key) || input {
            tokens += u64::from(scale.weigh_value(field.value).total);
        }
    }
    tokens
}
