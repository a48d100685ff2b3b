//! Finds the list of messages in a document and what stands around it.

use foxwedge_core::{Builder, Span, Wire};

use crate::{
    Reading, anthropic, bedrock,
    envelope::{Envelope, LIST},
    gemini,
    json::{Scan, Scanner, Shape, Trouble, says},
    openai_chat, openai_responses,
    outline::{Once, Reader, Want},
};

/// Where the list of messages lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The whole document.
    pub document: Span,
    /// The list with its brackets; `None` where a string stands in for it.
    pub list: Option<Span>,
    /// The document is an object around the list.
    pub object: bool,
}

/// The name of the list in a request.
pub(crate) fn list_key(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenaiChat | Wire::Anthropic | Wire::Bedrock => "messages",
        Wire::OpenaiResponses => "input",
        Wire::Gemini => "contents",
    }
}

/// Outlines a document in one pass.
pub(crate) fn outline<'a>(
    source: &'a str,
    wire: Wire,
    want: Want,
    most: usize,
) -> Result<Reading<'a>, Unread> {
    let mut reader = Reader {
        source,
        builder: Builder::new(source, wire),
        want,
        envelope: Envelope::default(),
        compaction: false,
        waiting: Vec::new(),
    };
    let mut scan = Scanner::new(source);
    scan.room = most;
    let mut place = None;
    let frame = read(&mut scan, &mut reader, wire, &mut place).map_err(|trouble| {
        let place = place.map(|index| (list_key(wire), index));
        Unread { trouble, place, full: (scan.room == 0).then_some(most) }
    })?;
    reader.builder.body().surrogates = scan.lone;
    Ok(Reading {
        draft: reader.builder.finish(),
        frame,
        envelope: reader.envelope,
        plain: !scan.respelled,
    })
}

/// What could not be read, and in which message.
pub(crate) struct Unread {
    pub(crate) trouble: Trouble,
    pub(crate) place: Option<(&'static str, usize)>,
    /// So many messages and parts were looked at, and there are more.
    pub(crate) full: Option<usize>,
}

fn read<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    wire: Wire,
    place: &mut Option<usize>,
) -> Scan<Frame> {
    match scan.shape()? {
        Shape::Array => {
            let list = list(scan, reader, wire, place)?;
            scan.end()?;
            Ok(Frame { document: list, list: Some(list), object: false })
        }
        Shape::Object => {
            let frame = request(scan, reader, wire, place)?;
            scan.end()?;
            Ok(frame)
        }
        _ => scan.trouble("neither a list of messages nor a request"),
    }
}

fn list<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    wire: Wire,
    place: &mut Option<usize>,
) -> Scan<Span> {
    let span = scan.array(|scan, index| {
        *place = Some(index);
        if scan.shape()? != Shape::Object {
            return scan.trouble("a message is not an object");
        }
        match wire {
            Wire::OpenaiChat => openai_chat::message(scan, reader),
            Wire::OpenaiResponses => openai_responses::item(scan, reader),
            Wire::Anthropic => anthropic::message(scan, reader),
            Wire::Gemini => gemini::message(scan, reader),
            Wire::Bedrock => bedrock::message(scan, reader),
        }
    })?;
    *place = None;
    Ok(span)
}

fn request<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    wire: Wire,
    place: &mut Option<usize>,
) -> Scan<Frame> {
    let mut once = Once::default();
    let mut found = None;
    let mut others = false;
    let document = scan.object(|scan, key, _| {
        if key == list_key(wire).as_bytes() {
            once.field(scan, LIST, key)?;
            found = Some(match scan.shape()? {
                Shape::Array => Some(list(scan, reader, wire, place)?),
                Shape::String if wire == Wire::OpenaiResponses => {
                    reader.envelope.input = Some(scan.skip()?);
                    None
                }
                _ => return scan.trouble(format!("`{}` is not a list", list_key(wire))),
            });
            return Ok(());
        }
        others = true;
        around(scan, reader, wire, &mut once, key)
    })?;
    let Some(list) = found else {
        return Err(Trouble::new(0, format!("the document has no `{}`", list_key(wire))));
    };
    let body = reader.builder.body();
    body.model = reader.envelope.model_name(reader.source);
    body.stateful |= reader.envelope.is_stateful();
    body.unstored = reader.envelope.store == Some(false);
    // A string stands in for the one user message; there is nothing to pair.
    body.wrapped = list.is_some();
    body.request = others && list.is_some();
    Ok(Frame { document, list, object: true })
}

/// A field beside the list: what it says about the conversation, and about the request.
fn around<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    wire: Wire,
    once: &mut Once,
    key: &[u8],
) -> Scan<()> {
    let start = scan.position();
    let shape = scan.shape()?;
    reader.envelope.field(scan, wire, once, key)?;
    let value = Span::new(start, scan.position());
    let body = reader.builder.body();
    match key {
        // Whatever it is, it names something that lies on the server.
        b"previous_response_id" => body.stateful |= shape != Shape::Null,
        b"thinking" => {
            body.thinking = says(reader.source, value, "type").as_deref() == Some("enabled");
        }
        b"toolConfig" => body.tools = shape != Shape::Null,
        _ => {}
    }
    Ok(())
}
