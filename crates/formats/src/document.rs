//! Finds the message list in a document and reads the fields around it.

use foxwedge_core::{DraftBuilder, Format, Span};

use crate::{
    OutlinedDocument, anthropic, bedrock,
    envelope::{LIST_BIT, RequestEnvelope},
    gemini, openai_chat, openai_responses,
    outline::{OutlineOptions, OutlineReader, UniqueFields},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanError, ScanResult, field_text};

/// Position of the message list in a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentFrame {
    /// The whole document.
    pub document: Span,
    /// The list with its brackets. `None` if a string replaces it.
    pub list: Option<Span>,
    /// The document is an object around the list.
    pub object: bool,
}

/// The key of the message list in a request.
pub(crate) fn list_key(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
        Format::OpenaiResponses => "input",
        Format::Gemini => "contents",
    }
}

/// Reads the outline of a document in one pass. Fails above `limit` messages and parts.
pub(crate) fn outline_document<'a>(
    source: &'a str,
    format: Format,
    options: OutlineOptions,
    limit: usize,
) -> Result<OutlinedDocument<'a>, DocumentError> {
    let mut reader = OutlineReader {
        source,
        builder: DraftBuilder::new(source, format),
        options,
        envelope: RequestEnvelope::default(),
        compaction: false,
        pending_parts: Vec::new(),
    };
    let mut scan = JsonScanner::new(source);
    scan.remaining_elements = limit;
    let mut place = None;
    let frame = read_document(&mut scan, &mut reader, format, &mut place).map_err(|error| {
        let place = place.map(|index| (list_key(format), index));
        DocumentError {
            error,
            place,
            exceeded_limit: (scan.remaining_elements == 0).then_some(limit),
        }
    })?;
    reader.builder.body_mut().surrogates = scan.lone_surrogates;
    Ok(OutlinedDocument {
        draft: reader.builder.finish(),
        frame,
        envelope: reader.envelope,
        plain: !scan.has_rewritable_escapes,
    })
}

/// Why a document could not be read, and in which message.
pub(crate) struct DocumentError {
    pub(crate) error: ScanError,
    pub(crate) place: Option<(&'static str, usize)>,
    /// The limit of messages and parts, if the document exceeds it.
    pub(crate) exceeded_limit: Option<usize>,
}

fn read_document<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    format: Format,
    place: &mut Option<usize>,
) -> ScanResult<DocumentFrame> {
    match scan.shape()? {
        JsonShape::Array => {
            let list = read_list(scan, reader, format, place)?;
            scan.end()?;
            Ok(DocumentFrame { document: list, list: Some(list), object: false })
        }
        JsonShape::Object => {
            let frame = read_request(scan, reader, format, place)?;
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
        }
    })?;
    *place = None;
    Ok(span)
}

fn read_request<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    format: Format,
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
                JsonShape::String if format == Format::OpenaiResponses => {
                    reader.envelope.input = Some(scan.skip()?);
                    None
                }
                _ => return scan.fail(format!("`{}` is not a list", list_key(format))),
            });
            return Ok(());
        }
        has_other_fields = true;
        read_surrounding_field(scan, reader, format, &mut unique, key)
    })?;
    let Some(list) = found else {
        return Err(ScanError::new(0, format!("the document has no `{}`", list_key(format))));
    };
    let body = reader.builder.body_mut();
    body.model = reader.envelope.model_name(reader.source);
    body.stateful |= reader.envelope.is_stateful();
    body.unstored = reader.envelope.store == Some(false);
    // A string replaces the only user message: there is nothing to pair.
    body.wrapped = list.is_some();
    body.request = has_other_fields && list.is_some();
    Ok(DocumentFrame { document, list, object: true })
}

/// Reads a field beside the list into the envelope and the draft body.
fn read_surrounding_field<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    format: Format,
    unique: &mut UniqueFields,
    key: &[u8],
) -> ScanResult<()> {
    let start = scan.position();
    let shape = scan.shape()?;
    reader.envelope.read_field(scan, format, unique, key)?;
    let value = Span::new(start, scan.position());
    let body = reader.builder.body_mut();
    match key {
        // Any value but `null` refers to state on the server.
        b"previous_response_id" => body.stateful |= shape != JsonShape::Null,
        b"thinking" => {
            body.thinking = field_text(reader.source, value, "type").as_deref() == Some("enabled");
        }
        b"toolConfig" => body.tools = shape != JsonShape::Null,
        _ => {}
    }
    Ok(())
}
