//! How many tokens everything takes: one pass over the bytes, which takes the words of each part
//! and leaves out what a model never sees (ids, signatures, cache marks).

use foxwedge_core::{
    Draft, Kind, Marks, Span,
    compact::{Counter, Weights},
};

use crate::{
    document::{Frame, list_key},
    json::{Scan, Scanner, Shape, fields, unescape_into},
};

/// What a message costs beside what it says: its role, its brackets.
const FRAME: u32 = 4;
/// What a call or an answer costs beside what it says: its id, its brackets.
pub(super) const ENVELOPE: u32 = 8;

/// Weighs a document: the messages, and what stands around them.
pub fn weigh(draft: &Draft<'_>, frame: Frame, counter: &mut dyn Counter) -> Weights {
    let exact = counter.is_exact();
    let mut scale = Scale { source: draft.source, counter, words: String::new() };
    let mut weights = Weights::new(around(draft, frame, &mut scale), exact);
    for message in &draft.messages {
        let parts = draft.parts_of(message);
        let mut tokens = FRAME;
        for part in parts {
            let weight = scale.part(&part.kind, part.span);
            weights.part(weight.all, weight.media);
            tokens = tokens.saturating_add(weight.all);
        }
        // Some things that are said are no parts: refusals, sound, calls of an older kind.
        if parts.is_empty() || message.marks.has(Marks::OTHER_BODY) {
            let whole = scale.value(message.span).all;
            tokens = tokens.max(whole.saturating_add(FRAME));
        }
        weights.message(tokens);
    }
    weights
}

/// What one part weighs, and how much of that is media.
#[derive(Clone, Copy, Default)]
struct Weight {
    all: u32,
    media: u32,
}

impl Weight {
    fn add(&mut self, other: Weight) {
        self.all = self.all.saturating_add(other.all);
        self.media = self.media.saturating_add(other.media);
    }
}

struct Scale<'s, 'c> {
    source: &'s str,
    counter: &'c mut dyn Counter,
    /// Text without its escapes, used again and again.
    words: String,
}

impl Scale<'_, '_> {
    fn part(&mut self, kind: &Kind<'_>, span: Span) -> Weight {
        let mut weight = self.value(span);
        match kind {
            Kind::Call(_) | Kind::Answer(_) => weight.all = weight.all.saturating_add(ENVELOPE),
            Kind::Text(_)
            | Kind::Media
            | Kind::Reasoning(_)
            | Kind::ServerCall(_)
            | Kind::ServerAnswer(_)
            | Kind::Other => {}
        }
        weight
    }

    fn value(&mut self, span: Span) -> Weight {
        let mut weight = Weight::default();
        let mut scan = Scanner::within(self.source, span);
        // The text was read before, so there is nothing to report.
        let _ = self.walk(&mut scan, &mut weight);
        weight
    }

    /// Adds the words of a value.
    fn walk(&mut self, scan: &mut Scanner<'_>, weight: &mut Weight) -> Scan<()> {
        match scan.shape()? {
            Shape::String => {
                let string = scan.string()?;
                weight.all = weight.all.saturating_add(self.text(string.span, string.escaped));
            }
            Shape::Object => drop(scan.object(|scan, key, _| self.field(scan, key, weight))?),
            Shape::Array => drop(scan.array(|scan, _| self.walk(scan, weight))?),
            Shape::Number | Shape::Bool => {
                scan.skip()?;
                weight.all = weight.all.saturating_add(1);
            }
            Shape::Null => drop(scan.skip()?),
        }
        Ok(())
    }

    /// Adds a field of a message or of one of its parts.
    fn field(&mut self, scan: &mut Scanner<'_>, key: &[u8], weight: &mut Weight) -> Scan<()> {
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
            (b"encrypted_content" | b"redactedContent", Shape::String) => {
                let bytes = scan.string()?.span.len() / 6;
                let tokens = u32::try_from(bytes).unwrap_or(u32::MAX);
                weight.all = weight.all.saturating_add(tokens);
            }
            (
                b"data" | b"url" | b"image_url" | b"bytes" | b"file_data" | b"fileUri"
                | b"file_uri" | b"file_id" | b"uri",
                Shape::String,
            ) => {
                let string = scan.string()?;
                let tokens = self.counter.media(data(string.span.of(self.source)));
                weight.add(Weight { all: tokens, media: tokens });
            }
            // The model reads these as JSON, brackets and all.
            (
                b"arguments" | b"input" | b"args" | b"response" | b"json",
                Shape::Object | Shape::Array,
            ) => {
                let raw = scan.skip()?;
                weight.all = weight.all.saturating_add(self.counter.text(raw.of(self.source)));
            }
            _ => self.walk(scan, weight)?,
        }
        Ok(())
    }

    /// Tokens of the inside of a string.
    fn text(&mut self, inside: Span, escaped: bool) -> u32 {
        let raw = inside.of(self.source);
        if !escaped {
            return self.counter.text(raw);
        }
        self.words.clear();
        unescape_into(&mut self.words, raw);
        self.counter.text(&self.words)
    }
}

/// What stands behind the comma of a data address.
fn data(address: &str) -> &str {
    match address.strip_prefix("data:").and_then(|rest| rest.split_once(',')) {
        Some((_, data)) => data,
        None => address,
    }
}

/// Tokens of instructions and tools that stand beside the list.
fn around(draft: &Draft<'_>, frame: Frame, scale: &mut Scale<'_, '_>) -> u64 {
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
    for field in fields(draft.source, frame.document) {
        let input = field.key == list_key(draft.wire) && frame.list.is_none();
        let schema = matches!(&*field.key, "tools" | "toolConfig" | "tool_config" | "functions");
        if schema {
            // Schemas are read as JSON.
            tokens += u64::from(scale.counter.text(field.value.of(draft.source)));
        } else if TOLD.contains(&&*field.key) || input {
            tokens += u64::from(scale.value(field.value).all);
        }
    }
    tokens
}
