//! What a provider says instead of an answer, in the form of every format.
//!
//! The kind of the trouble decides what is written. The provider's own name for it is kept where
//! the format uses that name for the same trouble, and always where names are free.

mod error_names;

use std::borrow::Cow;

use foxwedge_core::Format;

use super::{JsonText, ProviderError, ProviderErrorKind, decode::read_text};
use crate::json::{JsonObject, JsonValue, escape_into};
use error_names::{ErrorNameRow, ErrorNameUse, name_table};

/// Reads the object that names the trouble: the value under `error` where a format has that.
pub(crate) fn read<'a>(wire: Format, error: &JsonObject<'_, 'a>) -> ProviderError<'a> {
    let names: &[&str] = match wire {
        Format::OpenaiChat | Format::OpenaiResponses => &["code", "type"],
        Format::Anthropic => &["type"],
        Format::Gemini => &["status"],
        Format::Bedrock => &["__type", "code"],
    };
    let names = || names.iter().filter_map(|key| bare_name(error.get(key)?));
    // Google reports a wrong key as a wrong request, and says so further inside.
    let reasons =
        || error.list("details").filter_map(|detail| detail.object()?.non_empty_text("reason"));
    let kind = reasons()
        .chain(names())
        .find_map(|name| error_kind(wire, &name))
        .or_else(|| kind_of_status(error.count("code")?))
        .unwrap_or(ProviderErrorKind::Server);
    ProviderError {
        kind,
        message: read_text(error.get_any(&["message", "Message"])).unwrap_or_default(),
        code: names()
            .next()
            .or_else(|| Some(error.get("code")?.number()?.into()))
            .map(JsonText::from),
    }
}

/// Reads an object that describes a trouble whose name stands elsewhere.
pub(crate) fn read_named<'a>(
    wire: Format,
    code: JsonText<'a>,
    error: &JsonObject<'_, 'a>,
) -> ProviderError<'a> {
    let told = read(wire, error);
    ProviderError { kind: error_kind(wire, &code).unwrap_or(told.kind), code: Some(code), ..told }
}

/// Adds a format's whole body of a failed request.
pub(crate) fn write(wire: Format, failure: &ProviderError<'_>, out: &mut String) {
    let name = error_name(wire, failure);
    let (head, tail) = match wire {
        Format::OpenaiChat | Format::OpenaiResponses => ("{\"error\":{\"message\":\"", "}}"),
        Format::Anthropic => ("{\"type\":\"error\",\"error\":{\"message\":\"", "\"}}"),
        Format::Gemini => ("{\"error\":{\"message\":\"", "}}"),
        Format::Bedrock => ("{\"message\":\"", "\"}"),
    };
    out.push_str(head);
    failure.message.write_unquoted(out);
    out.push_str("\",\"");
    match wire {
        Format::OpenaiChat | Format::OpenaiResponses => {
            out.push_str("type\":\"");
            out.push_str(name);
            out.push_str("\",\"param\":null,\"code\":");
            match &failure.code {
                Some(code) if **code != *name => code.write(out),
                _ => out.push_str("null"),
            }
        }
        Format::Anthropic => {
            out.push_str("type\":\"");
            out.push_str(name);
        }
        Format::Gemini => {
            out.push_str("code\":");
            escape_into(out, &http_status(wire, failure.kind).to_string());
            out.push_str(",\"status\":\"");
            out.push_str(name);
            out.push('"');
        }
        Format::Bedrock => {
            out.push_str("__type\":\"");
            out.push_str(name);
        }
    }
    out.push_str(tail);
}

/// A format's name for the trouble.
pub(crate) fn error_name(wire: Format, failure: &ProviderError<'_>) -> &'static str {
    let table = name_table(wire);
    let own = |code: &JsonText<'_>| {
        let same = |row: &&ErrorNameRow| {
            **code == *row.0 && row.1 == failure.kind && row.2 == ErrorNameUse::Primary
        };
        table.iter().find(same).map(|row| row.0)
    };
    let first = || table.iter().find(|row| row.1 == failure.kind).map(|row| row.0);
    failure.code.as_ref().and_then(own).or_else(first).unwrap_or_default()
}

/// What kind of trouble a format's name is.
pub(crate) fn error_kind(wire: Format, name: &str) -> Option<ProviderErrorKind> {
    let same = |row: &&ErrorNameRow| match wire {
        // Streams begin the same names with a small letter.
        Format::Bedrock => row.0.eq_ignore_ascii_case(name),
        _ => row.0 == name,
    };
    name_table(wire).iter().find(same).map(|row| row.1)
}

/// The HTTP status that goes with the trouble.
pub(crate) fn http_status(wire: Format, kind: ProviderErrorKind) -> u16 {
    match kind {
        ProviderErrorKind::InvalidRequest => 400,
        // Google and Amazon have no status of their own for that.
        ProviderErrorKind::TooLarge if matches!(wire, Format::Gemini | Format::Bedrock) => 400,
        ProviderErrorKind::Authentication if wire == Format::Bedrock => 403,
        ProviderErrorKind::Authentication => 401,
        ProviderErrorKind::Permission => 403,
        ProviderErrorKind::NotFound => 404,
        ProviderErrorKind::TooLarge => 413,
        ProviderErrorKind::RateLimit => 429,
        ProviderErrorKind::Overloaded if wire == Format::Anthropic => 529,
        ProviderErrorKind::Overloaded => 503,
        ProviderErrorKind::Timeout if wire == Format::Bedrock => 408,
        ProviderErrorKind::Timeout => 504,
        ProviderErrorKind::Server => 500,
    }
}

/// Whether the provider's name for the trouble says more than the format's.
pub(crate) fn loses_name(wire: Format, failure: &ProviderError<'_>) -> bool {
    let plain = |code: &JsonText<'_>| {
        WIRES.iter().any(|wire| error_kind(*wire, code) == Some(failure.kind))
            || code.parse::<u16>().is_ok()
    };
    let free = matches!(wire, Format::OpenaiChat | Format::OpenaiResponses);
    !free && failure.code.as_ref().is_some_and(|code| !plain(code))
}

/// A name without the namespace and the address that Amazon puts around it.
fn bare_name<'a>(value: JsonValue<'_, 'a>) -> Option<Cow<'a, str>> {
    fn bare(name: &str) -> &str {
        let name = name.rsplit('#').next().unwrap_or(name);
        name.split(':').next().unwrap_or(name)
    }
    let name = match value.text()? {
        Cow::Borrowed(name) => Cow::Borrowed(bare(name)),
        Cow::Owned(name) => Cow::Owned(bare(&name).to_owned()),
    };
    Some(name).filter(|name| !name.is_empty())
}

fn kind_of_status(status: u64) -> Option<ProviderErrorKind> {
    Some(match status {
        401 => ProviderErrorKind::Authentication,
        402 | 403 => ProviderErrorKind::Permission,
        404 => ProviderErrorKind::NotFound,
        408 | 504 => ProviderErrorKind::Timeout,
        413 => ProviderErrorKind::TooLarge,
        429 => ProviderErrorKind::RateLimit,
        503 | 529 => ProviderErrorKind::Overloaded,
        400..500 => ProviderErrorKind::InvalidRequest,
        500..600 => ProviderErrorKind::Server,
        _ => return None,
    })
}

const WIRES: [Format; 5] = [
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Anthropic,
    Format::Gemini,
    Format::Bedrock,
];

#[cfg(test)]
mod tests;
