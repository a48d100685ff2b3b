//! Reads the outline of the messages of a trace.

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftBuilder, DraftCall,
    Format, MessageFlags, MessageLayout, Part, PartKind, Role, SignatureState, Span,
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, StringSpan};

use super::OtelHistory;
use crate::{
    ReadError,
    outline::{read_non_empty, read_string, text_fullness},
};

/// The name of the list in errors.
const LIST: &str = "messages";

/// Reads a list of messages into an outline with the layout of a format. Fails above `limit`
/// messages and parts.
///
/// # Errors
/// If the text is not JSON, or a message is not an object with `parts`.
pub fn outline_otel_messages(
    source: &str,
    format: Format,
    limit: usize,
) -> Result<OtelHistory<'_>, ReadError> {
    let mut reader = MessageReader {
        source,
        format,
        builder: DraftBuilder::new(source, format),
        starts: Vec::new(),
        open: None,
        parts: Vec::new(),
        has_compaction: false,
    };
    let mut scan = JsonScanner::new(source);
    scan.remaining_elements = limit;
    let mut place = None;
    read_list(&mut scan, &mut reader, &mut place).map_err(|error| {
        match scan.remaining_elements {
            0 => ReadError::TooMany { most: limit },
            _ => ReadError::from_scan(error, place.map(|index| (LIST, index))),
        }
    })?;
    reader.complete_message();
    Ok(OtelHistory { draft: reader.builder.finish(), starts: reader.starts })
}

fn read_list<'a>(
    scan: &mut JsonScanner<'a>,
    reader: &mut MessageReader<'a>,
    place: &mut Option<usize>,
) -> ScanResult<()> {
    if scan.shape()? != JsonShape::Array {
        return scan.fail("not a list of messages");
    }
    scan.array(|scan, index| {
        *place = Some(index);
        if scan.shape()? != JsonShape::Object {
            return scan.fail("a message is not an object");
        }
        reader.read_message(scan)
    })?;
    *place = None;
    scan.end()
}

/// The state while the messages of a list are read.
struct MessageReader<'a> {
    source: &'a str,
    format: Format,
    builder: DraftBuilder<'a>,
    starts: Vec<u32>,
    /// The message of the draft whose parts are in the builder.
    open: Option<OpenMessage>,
    /// The parts of the current message.
    parts: Vec<Part<'a>>,
    has_compaction: bool,
}

/// A message of the draft. Results may follow in the next message of the list.
struct OpenMessage {
    role: Role,
    span: Span,
    flags: MessageFlags,
    holds_results: bool,
}

impl<'a> MessageReader<'a> {
    fn read_message(&mut self, scan: &mut JsonScanner<'a>) -> ScanResult<()> {
        let source = self.source;
        self.parts.clear();
        self.has_compaction = false;
        let mut role = Role::Unknown;
        let mut has_parts = false;
        let span = scan.object(|scan, key, _| {
            match key {
                b"role" => {
                    let name = read_string(scan)?.map(|name| name.text(source));
                    role = name.map_or(Role::Unknown, |name| known_role(&name));
                }
                b"parts" => {
                    has_parts = true;
                    self.read_parts(scan)?;
                }
                _ => drop(scan.skip()?),
            }
            Ok(())
        })?;
        if !has_parts {
            return scan.fail("a message has no `parts`");
        }
        self.starts.push(span.start);
        self.add_message(role, span);
        Ok(())
    }

    fn read_parts(&mut self, scan: &mut JsonScanner<'a>) -> ScanResult<()> {
        match scan.shape()? {
            JsonShape::Array => {
                scan.array(|scan, _| {
                    let part = self.read_part(scan)?;
                    self.parts.push(part);
                    Ok(())
                })?;
            }
            JsonShape::String => {
                let part = self.read_part(scan)?;
                self.parts.push(part);
            }
            JsonShape::Null => drop(scan.skip()?),
            JsonShape::Object | JsonShape::Number | JsonShape::Bool => {
                return scan.fail("`parts` is not a list");
            }
        }
        Ok(())
    }

    fn read_part(&mut self, scan: &mut JsonScanner<'a>) -> ScanResult<Part<'a>> {
        match scan.shape()? {
            JsonShape::Object => self.read_part_object(scan),
            // Some instrumentations write a text without its part.
            JsonShape::String => {
                let text = scan.string()?;
                Ok(text_part(self.source, text))
            }
            _ => Ok(Part { span: scan.skip()?, kind: PartKind::Unknown }),
        }
    }

    fn read_part_object(&mut self, scan: &mut JsonScanner<'a>) -> ScanResult<Part<'a>> {
        let source = self.source;
        let (mut kind, mut id, mut name, mut text) = (None, None, None, None);
        let mut response = (AnswerShape::Missing, Span::NOWHERE);
        let span = scan.object(|scan, key, _| {
            match key {
                b"type" => kind = read_string(scan)?.map(|kind| kind.text(source)),
                b"id" => id = read_non_empty(scan, source)?,
                b"name" => name = read_non_empty(scan, source)?,
                b"content" => text = read_string(scan)?,
                // `result` is the name in earlier versions of the schema.
                b"response" | b"result" => response = read_response(scan)?,
                _ => drop(scan.skip()?),
            }
            Ok(())
        })?;
        // The schema allows a call without an id. Where the provider requires ids, the
        // instrumentation left it out, and it is not known which result belongs to the call.
        let is_complete = id.is_some() || self.format == Format::Gemini;
        let kind = match kind.as_deref() {
            Some("text") => match text {
                Some(text) => return Ok(text_part(source, text)),
                None => PartKind::Other,
            },
            Some("tool_call" | "tool_call_response") if !is_complete => PartKind::Unknown,
            Some("tool_call") => PartKind::call(DraftCall {
                id: id.into(),
                name: name.into(),
                family: CallFamily::Function,
                arguments: ArgumentsShape::Valid,
                signed: false,
                typed: true,
            }),
            Some("tool_call_response") => PartKind::answer(DraftAnswer {
                id: id.into(),
                name: name.map(Box::new),
                family: CallFamily::Function,
                output: response.0,
                content: response.1,
                media: false,
                foreign: false,
            }),
            Some("reasoning" | "thinking") => PartKind::Reasoning(SignatureState::Plain),
            Some("server_tool_call") => PartKind::ServerCall(id.map(Box::new)),
            Some("server_tool_call_response") => PartKind::ServerAnswer(id.map(Box::new)),
            Some("blob" | "file" | "file_data" | "uri" | "image" | "audio" | "video") => {
                PartKind::Media
            }
            Some("compaction") => {
                self.has_compaction = true;
                PartKind::Other
            }
            Some(_) | None => PartKind::Unknown,
        };
        Ok(Part { span, kind })
    }

    /// Adds the message whose parts were read. Results in consecutive messages become one message:
    /// how an instrumentation spreads them says nothing about the request.
    fn add_message(&mut self, role: Role, span: Span) {
        let has_results = self.parts.iter().any(|part| matches!(part.kind, PartKind::Answer(_)));
        let holds_results = !role.is_assistant() && (has_results || role == Role::Answer);
        let flags = match self.has_compaction {
            true => MessageFlags::COMPACTION,
            false => MessageFlags::default(),
        };
        match &mut self.open {
            Some(open) if open.holds_results && holds_results => {
                open.span = Span::new(open.span.start as usize, span.end as usize);
                open.flags = open.flags.with(flags);
            }
            _ => {
                self.complete_message();
                let role = match (holds_results, self.format.layout()) {
                    (true, MessageLayout::Blocks) => Role::User,
                    (true, MessageLayout::Chat | MessageLayout::Items) => Role::Answer,
                    (false, _) => role,
                };
                self.open = Some(OpenMessage { role, span, flags, holds_results });
            }
        }
        // A result that is only a text names no call, so it is not known which call it answers.
        let is_nameless = role == Role::Answer && !has_results;
        for part in self.parts.drain(..) {
            let kind = if is_nameless { PartKind::Unknown } else { part.kind };
            self.builder.push_part(part.span, kind);
        }
    }

    fn complete_message(&mut self) {
        if let Some(open) = self.open.take() {
            self.builder.push_message(open.role, open.span, ContentShape::List, open.flags);
        }
    }
}

fn known_role(name: &str) -> Role {
    match name {
        "user" | "human" => Role::User,
        "assistant" | "model" | "ai" => Role::Assistant,
        "system" => Role::System,
        "developer" => Role::Developer,
        "tool" | "function" => Role::Answer,
        _ => Role::Unknown,
    }
}

/// A text. Its span is that of the string, so that a preview shows the text.
fn text_part<'a>(source: &str, text: StringSpan) -> Part<'a> {
    let inside = text.span;
    let span = Span::new((inside.start as usize).saturating_sub(1), inside.end as usize + 1);
    Part { span, kind: PartKind::Text(text_fullness(source, text)) }
}

/// Reads the content of a result. Every value is a content.
fn read_response(scan: &mut JsonScanner<'_>) -> ScanResult<(AnswerShape, Span)> {
    let shape = scan.shape()?;
    let span = scan.skip()?;
    let shape = match shape {
        JsonShape::Null => AnswerShape::Null,
        JsonShape::String if span.len() == 2 => AnswerShape::Empty,
        JsonShape::Array if scan.is_blank_inside(span) => AnswerShape::Empty,
        JsonShape::String
        | JsonShape::Array
        | JsonShape::Object
        | JsonShape::Number
        | JsonShape::Bool => AnswerShape::Full,
    };
    Ok((shape, span))
}
