//! What the readers of all wire formats share.

use std::borrow::Cow;

use foxwedge_core::{Arguments, Builder, Marks, Output, Role, Span, Text};

use crate::{
    envelope::Envelope,
    json::{Scan, Scanner, Shape, Str, is_blank},
};

/// How closely to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Want {
    /// Look into argument strings: are they JSON objects?
    pub arguments: bool,
}

/// One message reader at work.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a str,
    pub(crate) builder: Builder<'a>,
    pub(crate) want: Want,
    /// What stands around the messages.
    pub(crate) envelope: Envelope<'a>,
    /// The message that is being read holds the provider's own summary.
    pub(crate) compaction: bool,
    /// Parts that wait until the message's role is known.
    pub(crate) waiting: Vec<foxwedge_core::Part<'a>>,
}

/// Refuses a second field of the same name: which one counts would depend on the reader.
#[derive(Default)]
pub(crate) struct Once(u32);

impl Once {
    #[inline]
    pub(crate) fn field(&mut self, scan: &Scanner<'_>, bit: u32, key: &[u8]) -> Scan<()> {
        if self.0 & (1 << bit) != 0 {
            let key = String::from_utf8_lossy(key);
            return scan.trouble(format!("the field `{key}` stands there twice"));
        }
        self.0 |= 1 << bit;
        Ok(())
    }

    /// Refuses a second field of a name that is in a list of at most 32.
    #[inline]
    pub(crate) fn one_of(&mut self, scan: &Scanner<'_>, known: &[&[u8]], key: &[u8]) -> Scan<()> {
        match known.iter().position(|known| *known == key) {
            Some(at) => self.field(scan, u32::try_from(at).unwrap_or(0), key),
            None => Ok(()),
        }
    }
}

/// A string value; other values are skipped and count as none.
pub(crate) fn string(scan: &mut Scanner<'_>) -> Scan<Option<Str>> {
    match scan.shape()? {
        Shape::String => scan.string().map(Some),
        _ => scan.skip().map(|_| None),
    }
}

/// A string value that says something.
pub(crate) fn word<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Option<Cow<'a, str>>> {
    Ok(string(scan)?.and_then(|text| text.some(source)))
}

/// A string that has to be one.
pub(crate) fn text(scan: &mut Scanner<'_>, key: &[u8]) -> Scan<Str> {
    match scan.shape()? {
        Shape::String => scan.string(),
        _ => scan.trouble(format!("`{}` is not a string", String::from_utf8_lossy(key))),
    }
}

/// The text of a block. `null` is absence.
pub(crate) fn words(scan: &mut Scanner<'_>, source: &str, key: &[u8]) -> Scan<Option<Text>> {
    if is_null(scan)? {
        return Ok(None);
    }
    Ok(Some(fullness(source, text(scan, key)?)))
}

/// Passes a field that is `null`: as if it were not there.
pub(crate) fn is_null(scan: &mut Scanner<'_>) -> Scan<bool> {
    let null = scan.shape()? == Shape::Null;
    if null {
        scan.skip()?;
    }
    Ok(null)
}

/// How much a string says.
#[inline]
pub(crate) fn fullness(source: &str, text: Str) -> Text {
    let raw = text.span.of(source).as_bytes();
    let (Some(&first), Some(&last)) = (raw.first(), raw.last()) else { return Text::Empty };
    let odd = |byte: u8| byte <= b' ' || byte == b'\\' || byte >= 0x80;
    if odd(first) && is_blank(text.span.of(source)) {
        return Text::Blank;
    }
    let escaped_end = text.escaped && ends_in_space_escape(raw);
    if last <= b' ' || escaped_end || last >= 0x80 && ends_in_wide_space(text.span.of(source)) {
        return Text::Trailing;
    }
    Text::Full
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
pub(crate) fn string_arguments(
    scan: &mut Scanner<'_>,
    source: &str,
    want: Want,
) -> Scan<Arguments> {
    Ok(match scan.shape()? {
        Shape::String => {
            let text = scan.string()?;
            if want.arguments && !is_object(&text.text(source)) {
                Arguments::Broken
            } else {
                Arguments::Good
            }
        }
        Shape::Object => scan.skip().map(|_| Arguments::RawObject)?,
        Shape::Null => scan.skip().map(|_| Arguments::Missing)?,
        Shape::Array | Shape::Number | Shape::Bool => scan.skip().map(|_| Arguments::WrongType)?,
    })
}

/// Arguments that the format wants as an object.
pub(crate) fn object_arguments(scan: &mut Scanner<'_>) -> Scan<Arguments> {
    let shape = scan.shape()?;
    scan.skip()?;
    Ok(match shape {
        Shape::Object => Arguments::Good,
        Shape::String => Arguments::RawString,
        Shape::Null => Arguments::Missing,
        Shape::Array | Shape::Number | Shape::Bool => Arguments::WrongType,
    })
}

/// The free text of a custom call.
pub(crate) fn free_text(scan: &mut Scanner<'_>) -> Scan<Arguments> {
    let shape = scan.shape()?;
    scan.skip()?;
    Ok(match shape {
        Shape::String => Arguments::Good,
        Shape::Null => Arguments::NoInput,
        Shape::Object | Shape::Array | Shape::Number | Shape::Bool => Arguments::OddInput,
    })
}

/// Whether a text is a JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    let mut scan = Scanner::new(text);
    scan.shape() == Ok(Shape::Object) && scan.skip().and_then(|_| scan.end()).is_ok()
}

/// The content of an answer: a string or a list of blocks.
pub(crate) fn output(scan: &mut Scanner<'_>) -> Scan<(Output, Span)> {
    let shape = scan.shape()?;
    let span = scan.skip()?;
    // `""` and `[]`, however spaced.
    let inside = match shape {
        Shape::Null => return Ok((Output::Null, span)),
        Shape::String => span.len() == 2,
        Shape::Array => span.len() < 64 && scan.blank_inside(span),
        Shape::Object | Shape::Number | Shape::Bool => return Ok((Output::Odd, span)),
    };
    Ok((if inside { Output::Empty } else { Output::Full }, span))
}

/// A role, as the format spells it. A word that another format uses for the model is marked.
pub(crate) fn role(
    scan: &mut Scanner<'_>,
    source: &str,
    known: impl Fn(&str) -> Option<Role>,
) -> Scan<(Role, Marks)> {
    let Some(text) = string(scan)? else { return Ok((Role::Unknown, Marks::default())) };
    let name = text.text(source);
    Ok(match known(&name) {
        Some(role) => (role, Marks::default()),
        None => {
            let model = matches!(&*name, "assistant" | "model" | "ai");
            (Role::Unknown, if model { Marks::MODEL } else { Marks::default() })
        }
    })
}

/// Notes a field of a message that no reader knows: unless it is a well-known label, or empty, it
/// may hold what the message says.
pub(crate) fn unknown(scan: &mut Scanner<'_>, key: &[u8], marks: &mut Marks) -> Scan<()> {
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
        Shape::String => span.len() > 2,
        Shape::Array | Shape::Object => !scan.blank_inside(span),
        Shape::Number | Shape::Bool | Shape::Null => false,
    };
    if holds && !LABELS.contains(&key) {
        *marks = marks.with(Marks::UNKNOWN_BODY);
    }
    Ok(())
}
