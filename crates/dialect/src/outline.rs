//! What the readers of all wire formats share.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, DraftBuilder, MessageFlags, Role, Span, TextShape,
};

use crate::{
    envelope::RequestEnvelope,
    json::{JsonScanner, JsonShape, ScanResult, StringSpan, is_blank},
};

/// How closely to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutlineOptions {
    /// Look into argument strings: are they JSON objects?
    pub arguments: bool,
}

/// One message reader at work.
pub(crate) struct OutlineReader<'a> {
    pub(crate) source: &'a str,
    pub(crate) builder: DraftBuilder<'a>,
    pub(crate) options: OutlineOptions,
    /// What stands around the messages.
    pub(crate) envelope: RequestEnvelope<'a>,
    /// The message that is being read holds the provider's own summary.
    pub(crate) compaction: bool,
    /// Parts that wait until the message's role is known.
    pub(crate) pending_parts: Vec<foxwedge_core::Part<'a>>,
}

/// Refuses a second field of the same name: which one counts would depend on the reader.
#[derive(Default)]
pub(crate) struct UniqueFields(u32);

impl UniqueFields {
    #[inline]
    pub(crate) fn check(&mut self, scan: &JsonScanner<'_>, bit: u32, key: &[u8]) -> ScanResult<()> {
        if self.0 & (1 << bit) != 0 {
            let key = String::from_utf8_lossy(key);
            return scan.fail(format!("the field `{key}` stands there twice"));
        }
        self.0 |= 1 << bit;
        Ok(())
    }

    /// Refuses a second field of a name that is in a list of at most 32.
    #[inline]
    pub(crate) fn check_known(
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

/// A string value; other values are skipped and count as none.
pub(crate) fn read_string(scan: &mut JsonScanner<'_>) -> ScanResult<Option<StringSpan>> {
    match scan.shape()? {
        JsonShape::String => scan.string().map(Some),
        _ => scan.skip().map(|_| None),
    }
}

/// A string value that says something.
pub(crate) fn read_non_empty<'a>(
    scan: &mut JsonScanner<'a>,
    source: &'a str,
) -> ScanResult<Option<Cow<'a, str>>> {
    Ok(read_string(scan)?.and_then(|text| text.non_empty_text(source)))
}

/// A string that has to be one.
pub(crate) fn require_string(scan: &mut JsonScanner<'_>, key: &[u8]) -> ScanResult<StringSpan> {
    match scan.shape()? {
        JsonShape::String => scan.string(),
        _ => scan.fail(format!("`{}` is not a string", String::from_utf8_lossy(key))),
    }
}

/// The text of a block. `null` is absence.
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

/// Passes a field that is `null`: as if it were not there.
pub(crate) fn skip_null(scan: &mut JsonScanner<'_>) -> ScanResult<bool> {
    let null = scan.shape()? == JsonShape::Null;
    if null {
        scan.skip()?;
    }
    Ok(null)
}

/// How much a string says.
#[inline]
pub(crate) fn text_fullness(source: &str, text: StringSpan) -> TextShape {
    let raw = text.span.of(source).as_bytes();
    let (Some(&first), Some(&last)) = (raw.first(), raw.last()) else { return TextShape::Empty };
    let odd = |byte: u8| byte <= b' ' || byte == b'\\' || byte >= 0x80;
    if odd(first) && is_blank(text.span.of(source)) {
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
    // A backslash starts an escape only if an even number of them stands before it.
    [short, long].into_iter().flatten().any(|at| {
        let before = raw[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        raw[at] == b'\\' && before % 2 == 0
    })
}

/// Arguments that the format wants as a string.
pub(crate) fn read_string_arguments(
    scan: &mut JsonScanner<'_>,
    source: &str,
    want: OutlineOptions,
) -> ScanResult<ArgumentsShape> {
    Ok(match scan.shape()? {
        JsonShape::String => {
            let text = scan.string()?;
            if want.arguments && !is_json_object(&text.text(source)) {
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

/// Arguments that the format wants as an object.
pub(crate) fn read_object_arguments(scan: &mut JsonScanner<'_>) -> ScanResult<ArgumentsShape> {
    let shape = scan.shape()?;
    scan.skip()?;
    Ok(match shape {
        JsonShape::Object => ArgumentsShape::Valid,
        JsonShape::String => ArgumentsShape::RawString,
        JsonShape::Null => ArgumentsShape::Missing,
        JsonShape::Array | JsonShape::Number | JsonShape::Bool => ArgumentsShape::WrongType,
    })
}

/// The free text of a custom call.
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
pub(crate) fn is_json_object(text: &str) -> bool {
    let mut scan = JsonScanner::new(text);
    scan.shape() == Ok(JsonShape::Object) && scan.skip().and_then(|_| scan.end()).is_ok()
}

/// The content of an answer: a string or a list of blocks.
pub(crate) fn read_output(scan: &mut JsonScanner<'_>) -> ScanResult<(AnswerShape, Span)> {
    let shape = scan.shape()?;
    let span = scan.skip()?;
    // `""` and `[]`, however spaced.
    let inside = match shape {
        JsonShape::Null => return Ok((AnswerShape::Null, span)),
        JsonShape::String => span.len() == 2,
        JsonShape::Array => span.len() < 64 && scan.is_blank_inside(span),
        JsonShape::Object | JsonShape::Number | JsonShape::Bool => {
            return Ok((AnswerShape::Malformed, span));
        }
    };
    Ok((if inside { AnswerShape::Empty } else { AnswerShape::Full }, span))
}

/// A role, as the format spells it. A word that another format uses for the model is marked.
pub(crate) fn read_role(
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
            let model = matches!(&*name, "assistant" | "model" | "ai");
            (Role::Unknown, if model { MessageFlags::MODEL } else { MessageFlags::default() })
        }
    })
}

/// Notes a field of a message that no reader knows: unless it is a well-known label, or empty, it
/// may hold what the message says.
pub(crate) fn read_unknown_field(
    scan: &mut JsonScanner<'_>,
    key: &[u8],
    marks: &mut MessageFlags,
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
    let holds = match shape {
        JsonShape::String => span.len() > 2,
        JsonShape::Array | JsonShape::Object => !scan.is_blank_inside(span),
        JsonShape::Number | JsonShape::Bool | JsonShape::Null => false,
    };
    if holds && !LABELS.contains(&key) {
        *marks = marks.with(MessageFlags::UNKNOWN_BODY);
    }
    Ok(())
}
