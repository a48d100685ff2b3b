//! Code shared by the outline readers of all formats.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, DraftAnswer, DraftBuilder, MessageFlags,
    PartKind, Role, Span, TextShape,
};

use foxwedge_json::{JsonScanner, JsonShape, ScanResult, StringSpan, is_blank};

/// What an outline reader checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutlineOptions {
    /// Check whether argument strings are JSON objects.
    pub arguments: bool,
}

/// State of an outline reader while it reads the messages of a document.
pub struct OutlineReader<'a> {
    /// The document.
    pub source: &'a str,
    /// Collects the outline.
    pub builder: DraftBuilder<'a>,
    /// What to check.
    pub options: OutlineOptions,
    /// The current message holds the provider's own compaction summary.
    pub compaction: bool,
    /// Contents of results that refer to tools: whether the tools are declared is known at the end.
    pub references: Vec<Span>,
    /// Parts of the current message, held until its role is known.
    pub pending_parts: Vec<foxwedge_core::Part<'a>>,
}

/// Rejects duplicate fields: readers disagree on which one counts.
#[derive(Default)]
pub struct UniqueFields(u32);

impl UniqueFields {
    /// Rejects a duplicate of the field with this bit number (0 to 31).
    #[inline]
    pub fn check(&mut self, scan: &JsonScanner<'_>, bit: u32, key: &[u8]) -> ScanResult<()> {
        if self.0 & (1 << bit) != 0 {
            let key = String::from_utf8_lossy(key);
            return scan.fail(format!("duplicate field `{key}`"));
        }
        self.0 |= 1 << bit;
        Ok(())
    }

    /// Rejects a duplicate of a field in `known`, a list of at most 32 names. Ignores other fields.
    #[inline]
    pub fn check_known(
        &mut self,
        scan: &JsonScanner<'_>,
        known: &[&[u8]],
        key: &[u8],
    ) -> ScanResult<()> {
        match known.iter().position(|known| *known == key) {
            Some(at) => self.check(scan, u32::try_from(at).unwrap_or(0), key),
            None => Ok(()),
        }
    }
}

/// Reads a string value. Skips any other value and returns `None`.
pub fn read_string(scan: &mut JsonScanner<'_>) -> ScanResult<Option<StringSpan>> {
    match scan.shape()? {
        JsonShape::String => scan.string().map(Some),
        _ => scan.skip().map(|_| None),
    }
}

/// Reads a string value. Returns `None` for an empty string or any other value.
pub fn read_non_empty<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Option<Cow<'a, str>>> {
    Ok(read_string(scan)?.and_then(|text| text.non_empty_text(source)))
}

/// Reads a string value. Fails on any other value.
pub fn require_string(scan: &mut JsonScanner<'_>, key: &[u8]) -> ScanResult<StringSpan> {
    match scan.shape()? {
        JsonShape::String => scan.string(),
        _ => scan.fail(format!("`{}` is not a string", String::from_utf8_lossy(key))),
    }
}

/// Reads the text of a block. `null` counts as absent.
pub(crate) fn read_text(
    scan: &mut JsonScanner<'_>,
    source: &str,
    key: &[u8],
) -> ScanResult<Option<TextShape>> {
    if skip_null(scan)? {
        return Ok(None);
    }
    Ok(Some(text_fullness(source, require_string(scan, key)?)))
}

/// Skips a `null` value. Returns whether there was one.
pub(crate) fn skip_null(scan: &mut JsonScanner<'_>) -> ScanResult<bool> {
    let null = scan.shape()? == JsonShape::Null;
    if null {
        scan.skip()?;
    }
    Ok(null)
}

/// The shape of a text: empty, blank, with trailing white space, or full.
#[inline]
pub fn text_fullness(source: &str, text: StringSpan) -> TextShape {
    let raw = text.span.of(source).as_bytes();
    let (Some(&first), Some(&last)) = (raw.first(), raw.last()) else { return TextShape::Empty };
    let may_be_blank = |byte: u8| byte <= b' ' || byte == b'\\' || byte >= 0x80;
    if may_be_blank(first) && is_blank(text.span.of(source)) {
        return TextShape::Blank;
    }
    let escaped_end = text.escaped && ends_in_space_escape(raw);
    if last <= b' ' || escaped_end || last >= 0x80 && ends_in_wide_space(text.span.of(source)) {
        return TextShape::Trailing;
    }
    TextShape::Full
}

fn ends_in_wide_space(raw: &str) -> bool {
    raw.chars().next_back().is_some_and(char::is_whitespace)
}

fn ends_in_space_escape(raw: &[u8]) -> bool {
    let short =
        raw.len().checked_sub(2).filter(|&at| matches!(raw[at + 1], b'n' | b'r' | b't' | b'f'));
    let long = raw.len().checked_sub(6).filter(|&at| {
        let digits = std::str::from_utf8(&raw[at + 2..]).unwrap_or("");
        let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        raw[at + 1] == b'u' && code.is_some_and(char::is_whitespace)
    });
    // A backslash starts an escape only after an even number of backslashes.
    [short, long].into_iter().flatten().any(|at| {
        let before = raw[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        raw[at] == b'\\' && before % 2 == 0
    })
}

/// Reads arguments that the format encodes as a string.
pub(crate) fn read_string_arguments(
    scan: &mut JsonScanner<'_>,
    source: &str,
    options: OutlineOptions,
) -> ScanResult<ArgumentsShape> {
    Ok(match scan.shape()? {
        JsonShape::String => {
            let text = scan.string()?;
            if options.arguments && !is_json_object(&text.text(source)) {
                ArgumentsShape::Broken
            } else {
                ArgumentsShape::Valid
            }
        }
        JsonShape::Object => scan.skip().map(|_| ArgumentsShape::RawObject)?,
        JsonShape::Null => scan.skip().map(|_| ArgumentsShape::Missing)?,
        JsonShape::Array | JsonShape::Number | JsonShape::Bool => {
            scan.skip().map(|_| ArgumentsShape::WrongType)?
        }
    })
}

/// Reads arguments that the format encodes as an object.
pub fn read_object_arguments(scan: &mut JsonScanner<'_>) -> ScanResult<ArgumentsShape> {
    let shape = scan.shape()?;
    scan.skip()?;
    Ok(match shape {
        JsonShape::Object => ArgumentsShape::Valid,
        JsonShape::String => ArgumentsShape::RawString,
        JsonShape::Null => ArgumentsShape::Missing,
        JsonShape::Array | JsonShape::Number | JsonShape::Bool => ArgumentsShape::WrongType,
    })
}

/// Reads the free-text input of a custom tool call.
pub(crate) fn read_free_text(scan: &mut JsonScanner<'_>) -> ScanResult<ArgumentsShape> {
    let shape = scan.shape()?;
    scan.skip()?;
    Ok(match shape {
        JsonShape::String => ArgumentsShape::Valid,
        JsonShape::Null => ArgumentsShape::NoInput,
        JsonShape::Object | JsonShape::Array | JsonShape::Number | JsonShape::Bool => {
            ArgumentsShape::MalformedInput
        }
    })
}

/// Whether a text is a JSON object.
pub fn is_json_object(text: &str) -> bool {
    let mut scan = JsonScanner::new(text);
    scan.shape() == Ok(JsonShape::Object) && scan.skip().and_then(|_| scan.end()).is_ok()
}

/// Reads the content of a tool result: a string or a list of blocks.
pub(crate) fn read_output(scan: &mut JsonScanner<'_>) -> ScanResult<(AnswerShape, Span)> {
    let shape = scan.shape()?;
    if shape == JsonShape::Array {
        return read_output_list(scan);
    }
    let span = scan.skip()?;
    let output = match shape {
        JsonShape::Null => AnswerShape::Null,
        JsonShape::String if span.len() == 2 => AnswerShape::Empty,
        JsonShape::String => AnswerShape::Full,
        _ => AnswerShape::Malformed,
    };
    Ok((output, span))
}

/// A tool result that is written as in another format. Its content is converted whatever it is, so
/// only its absence is a defect.
pub(crate) fn foreign_answer<'a>(id: Cow<'a, str>, source: &'a str, content: Span) -> PartKind<'a> {
    let (output, _) = read_output(&mut JsonScanner::within(source, content))
        .unwrap_or((AnswerShape::Missing, content));
    let output = match output {
        AnswerShape::Malformed => AnswerShape::Full,
        output => output,
    };
    PartKind::answer(DraftAnswer {
        id: Some(id).into(),
        name: None,
        family: CallFamily::Function,
        output,
        content,
        media: false,
        foreign: true,
    })
}

/// Adds a message that is such a result as a whole.
pub(crate) fn push_foreign_answer<'a>(
    reader: &mut OutlineReader<'a>,
    span: Span,
    id: Cow<'a, str>,
    content: Span,
) {
    reader.builder.push_part(span, foreign_answer(id, reader.source, content));
    let flags = MessageFlags::default();
    reader.builder.push_message(Role::Answer, span, ContentShape::Absent, flags);
}

/// Reads the content of a tool result that is a list: every element must be an object.
fn read_output_list(scan: &mut JsonScanner<'_>) -> ScanResult<(AnswerShape, Span)> {
    let mut output = AnswerShape::Empty;
    let span = scan.array(|scan, _| {
        match scan.shape()? {
            JsonShape::Object if output == AnswerShape::Empty => output = AnswerShape::Full,
            JsonShape::Object => {}
            _ => output = AnswerShape::Malformed,
        }
        scan.skip().map(drop)
    })?;
    Ok((output, span))
}

/// Reads a role. `known` maps the role names of the format. Flags the model's role name of another
/// format.
pub fn read_role(
    scan: &mut JsonScanner<'_>,
    source: &str,
    known: impl Fn(&str) -> Option<Role>,
) -> ScanResult<(Role, MessageFlags)> {
    let Some(text) = read_string(scan)? else {
        return Ok((Role::Unknown, MessageFlags::default()));
    };
    let name = text.text(source);
    Ok(match known(&name) {
        Some(role) => (role, MessageFlags::default()),
        None => {
            let is_model = matches!(&*name, "assistant" | "model" | "ai");
            (Role::Unknown, if is_model { MessageFlags::MODEL } else { MessageFlags::default() })
        }
    })
}

/// Skips a message field that no reader knows. Flags the message if the field may hold content: it
/// is not empty and not a well-known label.
pub fn read_unknown_field(
    scan: &mut JsonScanner<'_>,
    key: &[u8],
    flags: &mut MessageFlags,
) -> ScanResult<()> {
    const LABELS: [&[u8]; 22] = [
        b"name",
        b"id",
        b"type",
        b"status",
        b"annotations",
        b"metadata",
        b"cache_control",
        b"model",
        b"stop_reason",
        b"stop_sequence",
        b"usage",
        b"created_at",
        b"timestamp",
        b"uuid",
        b"index",
        b"finish_reason",
        b"logprobs",
        b"phase",
        b"reasoning",
        b"reasoning_details",
        b"thinking_blocks",
        b"provider_specific_fields",
    ];
    let shape = scan.shape()?;
    let span = scan.skip()?;
    let has_content = match shape {
        JsonShape::String => span.len() > 2,
        JsonShape::Array | JsonShape::Object => !scan.is_blank_inside(span),
        JsonShape::Number | JsonShape::Bool | JsonShape::Null => false,
    };
    if has_content && !LABELS.contains(&key) {
        *flags = flags.with(MessageFlags::UNKNOWN_BODY);
    }
    Ok(())
}
