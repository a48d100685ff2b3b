//! Finds the message list in a document and reads the fields around it.

use foxwedge_core::{DraftBuilder, Format, Span};

use crate::{
    OutlinedDocument, anthropic, bedrock,
    envelope::{LIST_BIT, RequestEnvelope, is_single_input, list_key},
    error::ReadError,
    gemini, gemini_interactions, openai_chat, openai_responses,
    outline::{OutlineOptions, OutlineReader, UniqueFields},
};
use foxwedge_json::{
    JsonScanner, JsonShape, ScanError, ScanResult, array_elements, field_text, field_value,
};

/// Position of the message list in a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentFrame {
    /// The whole document.
    pub document: Span,
    /// The list with its brackets, or the only message if it stands in place of the list. `None` if
    /// a string replaces it, or if what the server stores is the whole input.
    pub list: Option<Span>,
    /// The document is an object around the list.
    pub object: bool,
}

/// Reads the outline of a document in one pass. Fails above `limit` messages and parts.
pub(crate) fn outline_document<'a>(
    source: &'a str,
    format: Format,
    options: OutlineOptions,
    limit: usize,
) -> Result<OutlinedDocument<'a>, ReadError> {
    let mut reader = OutlineReader {
        source,
        builder: DraftBuilder::new(source, format),
        options,
        compaction: false,
        references: Vec::new(),
        pending_parts: Vec::new(),
    };
    let mut scan = JsonScanner::new(source);
    scan.remaining_elements = limit;
    let mut envelope = RequestEnvelope::default();
    let mut place = None;
    let frame = read_document(&mut scan, &mut reader, format, &mut envelope, &mut place).map_err(
        |error| match scan.remaining_elements {
            0 => ReadError::TooMany { most: limit },
            _ => ReadError::from_scan(error, place.map(|index| (list_key(format), index))),
        },
    )?;
    reader.builder.body_mut().surrogates = scan.lone_surrogates;
    if !reader.references.is_empty() {
        anthropic::resolve_references(&mut reader, frame.document);
    }
    Ok(OutlinedDocument {
        draft: reader.builder.finish(),
        frame,
        envelope,
        plain: !scan.has_rewritable_escapes,
    })
}

fn read_document<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    format: Format,
    envelope: &mut RequestEnvelope<'a>,
    place: &mut Option<usize>,
) -> ScanResult<DocumentFrame> {
    match scan.shape()? {
        JsonShape::Array => {
            let list = read_list(scan, reader, format, place)?;
            scan.end()?;
            Ok(DocumentFrame { document: list, list: Some(list), object: false })
        }
        JsonShape::Object => {
            let frame = read_request(scan, reader, format, envelope, place)?;
            scan.end()?;
            Ok(frame)
        }
        _ => scan.fail("neither a list of messages nor a request"),
    }
}

fn read_list<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    format: Format,
    place: &mut Option<usize>,
) -> ScanResult<Span> {
    let span = scan.array(|scan, index| {
        *place = Some(index);
        if scan.shape()? != JsonShape::Object {
            return scan.fail("a message is not an object");
        }
        match format {
            Format::OpenaiChat => openai_chat::read_message(scan, reader),
            Format::OpenaiResponses => openai_responses::read_item(scan, reader),
            Format::Anthropic => anthropic::read_message(scan, reader),
            Format::Gemini => gemini::read_message(scan, reader),
            Format::Bedrock => bedrock::read_message(scan, reader),
            Format::GeminiInteractions => gemini_interactions::read_step(scan, reader),
        }
    })?;
    *place = None;
    Ok(span)
}

/// Reads the content that Google accepts in place of a list of contents.
fn read_only_content<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    place: &mut Option<usize>,
) -> ScanResult<Span> {
    *place = Some(0);
    let start = scan.position();
    gemini::read_message(scan, reader)?;
    *place = None;
    Ok(Span::new(start, scan.position()))
}

fn read_request<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    format: Format,
    envelope: &mut RequestEnvelope<'a>,
    place: &mut Option<usize>,
) -> ScanResult<DocumentFrame> {
    let mut unique = UniqueFields::default();
    let mut found = None;
    let mut has_other_fields = false;
    let document = scan.object(|scan, key, _| {
        if key == list_key(format).as_bytes() {
            unique.check(scan, LIST_BIT, key)?;
            found = Some(match scan.shape()? {
                JsonShape::Array => Some(read_list(scan, reader, format, place)?),
                JsonShape::Object if format == Format::Gemini => {
                    Some(read_only_content(scan, reader, place)?)
                }
                shape if is_single_input(format, shape) => {
                    envelope.input = Some(scan.skip()?);
                    None
                }
                _ => return scan.fail(format!("`{}` is not a list", list_key(format))),
            });
            return Ok(());
        }
        has_other_fields = true;
        let start = scan.position();
        let shape = scan.shape()?;
        envelope.read_field(scan, format, &mut unique, key)?;
        let value = Span::new(start, scan.position());
        outline_field(reader, key, shape, value);
        Ok(())
    })?;
    let list = match found {
        Some(list) => list,
        None if format == Format::OpenaiResponses && envelope.has_stored_input() => None,
        None => {
            return Err(ScanError::new(0, format!("the document has no `{}`", list_key(format))));
        }
    };
    let body = reader.builder.body_mut();
    body.model = envelope.model_name(reader.source);
    body.stateful |= envelope.is_stateful();
    body.unstored = envelope.store == Some(false);
    // A string replaces the only user message: there is nothing to pair.
    body.wrapped = list.is_some();
    body.request = has_other_fields && list.is_some();
    Ok(DocumentFrame { document, list, object: true })
}

/// Notes what a field beside the list says about the draft.
fn outline_field(reader: &mut OutlineReader<'_>, key: &[u8], shape: JsonShape, value: Span) {
    let body = reader.builder.body_mut();
    match key {
        // Any value but `null` refers to state on the server.
        b"previous_response_id" | b"previous_interaction_id" | b"continuation_token" => {
            body.stateful |= shape != JsonShape::Null;
        }
        b"thinking" => body.thinking = enables_thinking(reader.source, value),
        b"context_management" => body.clears_thinking = clears_thinking(reader.source, value),
        // Settings of Claude on Bedrock.
        b"additionalModelRequestFields" => {
            let field = |key| field_value(reader.source, value, key);
            body.thinking =
                field("thinking").is_some_and(|value| enables_thinking(reader.source, value));
            body.clears_thinking = field("context_management")
                .is_some_and(|value| clears_thinking(reader.source, value));
        }
        b"toolConfig" => {
            let declares = shape != JsonShape::Object || declares_tools(reader.source, value);
            body.tools = shape != JsonShape::Null && declares;
        }
        _ => {}
    }
}

fn enables_thinking(source: &str, setting: Span) -> bool {
    field_text(source, setting, "type").as_deref() == Some("enabled")
}

/// Whether an edit of the context removes thinking.
fn clears_thinking(source: &str, context_management: Span) -> bool {
    let edits = field_value(source, context_management, "edits");
    let mut edits = edits.into_iter().flat_map(|edits| array_elements(source, edits));
    edits.any(|edit| is_thinking_edit(source, edit))
}

/// Whether an edit of the context is one that requires thinking.
pub(crate) fn is_thinking_edit(source: &str, edit: Span) -> bool {
    field_text(source, edit, "type").is_some_and(|kind| kind.starts_with("clear_thinking"))
}

/// Whether a tool configuration has a list of tools that is not empty.
fn declares_tools(source: &str, configuration: Span) -> bool {
    let Some(tools) = field_value(source, configuration, "tools") else { return false };
    let inside = tools.of(source).trim_start_matches('[').trim_start();
    !inside.starts_with(']') && inside != "null"
}
