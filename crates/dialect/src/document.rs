//! Finds the list of messages in a document and what stands around it.

use foxwedge_core::{DraftBuilder, Format, Span};

use crate::{
    OutlinedDocument, anthropic, bedrock,
    envelope::{LIST_BIT, RequestEnvelope},
    gemini,
    json::{JsonScanner, JsonShape, ScanError, ScanResult, field_text},
    openai_chat, openai_responses,
    outline::{OutlineOptions, OutlineReader, UniqueFields},
};

/// Where the list of messages lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocumentFrame {
    /// The whole document.
    pub document: Span,
    /// The list with its brackets; `None` where a string stands in for it.
    pub list: Option<Span>,
    /// The document is an object around the list.
    pub object: bool,
}

/// The name of the list in a request.
pub(crate) fn list_key(wire: Format) -> &'static str {
    match wire {
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
        Format::OpenaiResponses => "input",
        Format::Gemini => "contents",
    }
}

/// Outlines a document in one pass.
pub(crate) fn outline_document<'a>(
    source: &'a str,
    wire: Format,
    want: OutlineOptions,
    most: usize,
) -> Result<OutlinedDocument<'a>, DocumentError> {
    let mut reader = OutlineReader {
        source,
        builder: DraftBuilder::new(source, wire),
        options: want,
        envelope: RequestEnvelope::default(),
        compaction: false,
        pending_parts: Vec::new(),
    };
    let mut scan = JsonScanner::new(source);
    scan.remaining_elements = most;
    let mut place = None;
    let frame = read_document(&mut scan, &mut reader, wire, &mut place).map_err(|trouble| {
        let place = place.map(|index| (list_key(wire), index));
        DocumentError {
            error: trouble,
            place,
            exceeded_limit: (scan.remaining_elements == 0).then_some(most),
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

/// What could not be read, and in which message.
pub(crate) struct DocumentError {
    pub(crate) error: ScanError,
    pub(crate) place: Option<(&'static str, usize)>,
    /// So many messages and parts were looked at, and there are more.
    pub(crate) exceeded_limit: Option<usize>,
}

fn read_document<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    wire: Format,
    place: &mut Option<usize>,
) -> ScanResult<DocumentFrame> {
    match scan.shape()? {
        JsonShape::Array => {
            let list = read_list(scan, reader, wire, place)?;
            scan.end()?;
            Ok(DocumentFrame { document: list, list: Some(list), object: false })
        }
        JsonShape::Object => {
            let frame = read_request(scan, reader, wire, place)?;
            scan.end()?;
            Ok(frame)
        }
        _ => scan.fail("neither a list of messages nor a request"),
    }
}

fn read_list<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    wire: Format,
    place: &mut Option<usize>,
) -> ScanResult<Span> {
    let span = scan.array(|scan, index| {
        *place = Some(index);
        if scan.shape()? != JsonShape::Object {
            return scan.fail("a message is not an object");
        }
        match wire {
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
    wire: Format,
    place: &mut Option<usize>,
) -> ScanResult<DocumentFrame> {
    let mut once = UniqueFields::default();
    let mut found = None;
    let mut others = false;
    let document = scan.object(|scan, key, _| {
        if key == list_key(wire).as_bytes() {
            once.check(scan, LIST_BIT, key)?;
            found = Some(match scan.shape()? {
                JsonShape::Array => Some(read_list(scan, reader, wire, place)?),
                JsonShape::String if wire == Format::OpenaiResponses => {
                    reader.envelope.input = Some(scan.skip()?);
                    None
                }
                _ => return scan.fail(format!("`{}` is not a list", list_key(wire))),
            });
            return Ok(());
        }
        others = true;
        read_surrounding_field(scan, reader, wire, &mut once, key)
    })?;
    let Some(list) = found else {
        return Err(ScanError::new(0, format!("the document has no `{}`", list_key(wire))));
    };
    let body = reader.builder.body_mut();
    body.model = reader.envelope.model_name(reader.source);
    body.stateful |= reader.envelope.is_stateful();
    body.unstored = reader.envelope.store == Some(false);
    // A string stands in for the one user message; there is nothing to pair.
    body.wrapped = list.is_some();
    body.request = others && list.is_some();
    Ok(DocumentFrame { document, list, object: true })
}

/// A field beside the list: what it says about the conversation, and about the request.
fn read_surrounding_field<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut OutlineReader<'a>,
    wire: Format,
    once: &mut UniqueFields,
    key: &[u8],
) -> ScanResult<()> {
    let start = scan.position();
    let shape = scan.shape()?;
    reader.envelope.read_field(scan, wire, once, key)?;
    let value = Span::new(start, scan.position());
    let body = reader.builder.body_mut();
    match key {
        // Whatever it is, it names something that lies on the server.
        b"previous_response_id" => body.stateful |= shape != JsonShape::Null,
        b"thinking" => {
            body.thinking = field_text(reader.source, value, "type").as_deref() == Some("enabled");
        }
        b"toolConfig" => body.tools = shape != JsonShape::Null,
        _ => {}
    }
    Ok(())
}
