//! Provider errors in every format.
//!
//! The kind of error decides what is written. The provider's own error name is kept if the target
//! format uses that name for the same kind, and always where names are not restricted.

mod error_names;

use std::borrow::Cow;

use foxwedge_core::{Format, is_context_overflow};

use super::{
    JsonText, OpenaiErrorFields, ProviderError, ProviderErrorCode, ProviderErrorKind,
    decode::read_text,
};
pub(crate) use error_names::CONTEXT_OVERFLOW;
use error_names::{ErrorNameRow, ErrorNameUse, name_table};
use foxwedge_json::{JsonObject, JsonValue, escape_into};

/// Reads an error object: the value of `error` where a format has that field.
pub(crate) fn read<'a>(format: Format, error: &JsonObject<'_, 'a>) -> ProviderError<'a> {
    let names: &[&str] = match format {
        Format::OpenaiChat | Format::OpenaiResponses => &["code", "type"],
        Format::Anthropic => &["type"],
        Format::Gemini => &["status"],
        Format::GeminiInteractions => &["status", "code"],
        Format::Bedrock => &["__type", "code"],
    };
    let names = || names.iter().filter_map(|key| bare_name(error.get(key)?));
    // Google reports an invalid API key as an invalid request; the details hold the reason.
    let reasons =
        || error.list("details").filter_map(|detail| detail.object()?.non_empty_text("reason"));
    let kind = reasons()
        .chain(names())
        .find_map(|name| error_kind(format, &name))
        .or_else(|| kind_of_status(error.count("code")?))
        .unwrap_or(ProviderErrorKind::Server);
    let name = names().next().or_else(|| Some(error.get("code")?.number()?.into()));
    let code = name.map(JsonText::from).map(|name| match format {
        Format::OpenaiChat | Format::OpenaiResponses => {
            ProviderErrorCode::of_openai(name, OpenaiErrorFields::read(error))
        }
        Format::Anthropic | Format::Gemini | Format::GeminiInteractions | Format::Bedrock => {
            name.into()
        }
    });
    recognize_overflow(ProviderError {
        kind,
        message: read_text(error.get_any(&["message", "Message"])).unwrap_or_default(),
        code,
    })
}

/// Most providers say only in the message that the conversation exceeds the context window.
pub(crate) fn recognize_overflow(error: ProviderError<'_>) -> ProviderError<'_> {
    let kind = match error.kind {
        ProviderErrorKind::InvalidRequest
        | ProviderErrorKind::TooLarge
        | ProviderErrorKind::Server
            if is_context_overflow(beginning(&error.message)) =>
        {
            ProviderErrorKind::ContextOverflow
        }
        kind => kind,
    };
    ProviderError { kind, ..error }
}

/// The part of a message in which a reason is looked for.
fn beginning(message: &str) -> &str {
    const MAX_BYTES: usize = 2 << 10;
    let mut end = MAX_BYTES.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.get(..end).unwrap_or_default()
}

/// Reads an error object whose name is given elsewhere.
pub(crate) fn read_named<'a>(
    format: Format,
    code: JsonText<'a>,
    error: &JsonObject<'_, 'a>,
) -> ProviderError<'a> {
    let parsed = read(format, error);
    recognize_overflow(ProviderError {
        kind: error_kind(format, &code).unwrap_or(parsed.kind),
        code: Some(code.into()),
        ..parsed
    })
}

/// Appends the whole body of an error response.
pub(crate) fn write(format: Format, error: &ProviderError<'_>, out: &mut String) {
    let name = error_name(format, error);
    let (head, tail) = match format {
        Format::OpenaiChat | Format::OpenaiResponses => ("{\"error\":{\"message\":\"", "}}"),
        Format::Anthropic => ("{\"type\":\"error\",\"error\":{\"message\":\"", "\"}}"),
        Format::Gemini | Format::GeminiInteractions => ("{\"error\":{\"message\":\"", "}}"),
        Format::Bedrock => ("{\"message\":\"", "\"}"),
    };
    out.push_str(head);
    if format == Format::Anthropic && error.kind == ProviderErrorKind::ContextOverflow {
        write_overflow_prefix(&error.message, out);
    }
    error.message.write_unquoted(out);
    out.push_str("\",\"");
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => write_openai_fields(name, error, out),
        Format::Anthropic => {
            out.push_str("type\":\"");
            out.push_str(name);
        }
        Format::Gemini | Format::GeminiInteractions => {
            out.push_str("code\":");
            escape_into(out, &http_status(format, error.kind).to_string());
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

/// Appends the type, the parameter and the code of an error. An error of the other format of OpenAI
/// keeps its own, because programs compare them.
fn write_openai_fields(name: &str, error: &ProviderError<'_>, out: &mut String) {
    let fields = error.code.as_ref().and_then(ProviderErrorCode::openai);
    out.push_str("type\":");
    match fields.and_then(|fields| fields.kind.as_deref()) {
        Some(kind) => out.push_str(kind),
        None => JsonText::from(name).write(out),
    }
    out.push_str(",\"param\":");
    out.push_str(fields.and_then(|fields| fields.param.as_deref()).unwrap_or("null"));
    out.push_str(",\"code\":");
    match (&error.code, fields) {
        _ if error.kind == ProviderErrorKind::ContextOverflow => {
            JsonText::from(CONTEXT_OVERFLOW).write(out);
        }
        (_, Some(fields)) => out.push_str(fields.code.as_deref().unwrap_or("null")),
        (Some(code), None) if **code != *name => code.name().write(out),
        (_, None) => out.push_str("null"),
    }
}

/// Clients of Anthropic recognize a conversation that is too long by this beginning.
fn write_overflow_prefix(message: &str, out: &mut String) {
    const PREFIX: &str = "prompt is too long";
    let head = message.get(..PREFIX.len());
    if !head.is_some_and(|head| head.eq_ignore_ascii_case(PREFIX)) {
        out.push_str(PREFIX);
        out.push_str(": ");
    }
}

/// A format's name for the error.
pub(crate) fn error_name(format: Format, error: &ProviderError<'_>) -> &'static str {
    let table = name_table(format);
    let own = |code: &ProviderErrorCode<'_>| {
        let same = |row: &&ErrorNameRow| {
            **code == *row.0 && row.1 == error.kind && row.2 == ErrorNameUse::Primary
        };
        table.iter().find(same).map(|row| row.0)
    };
    let first = || table.iter().find(|row| row.1 == error.kind).map(|row| row.0);
    error.code.as_ref().and_then(own).or_else(first).unwrap_or_default()
}

/// The kind of error for a format's error name.
pub(crate) fn error_kind(format: Format, name: &str) -> Option<ProviderErrorKind> {
    name_table(format).iter().find(|row| is_name(format, row, name)).map(|row| row.1)
}

fn is_name(format: Format, row: &ErrorNameRow, name: &str) -> bool {
    match format {
        // Streams use the same names in lower case.
        Format::Bedrock | Format::GeminiInteractions => row.0.eq_ignore_ascii_case(name),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic | Format::Gemini => {
            row.0 == name
        }
    }
}

/// The HTTP status for the kind of error.
pub(crate) fn http_status(format: Format, kind: ProviderErrorKind) -> u16 {
    match kind {
        ProviderErrorKind::InvalidRequest | ProviderErrorKind::ContextOverflow => 400,
        // Google and Amazon have no separate status for this.
        ProviderErrorKind::TooLarge
            if matches!(format, Format::Gemini | Format::GeminiInteractions | Format::Bedrock) =>
        {
            400
        }
        ProviderErrorKind::Authentication if format == Format::Bedrock => 403,
        ProviderErrorKind::Authentication => 401,
        ProviderErrorKind::Permission => 403,
        ProviderErrorKind::NotFound => 404,
        ProviderErrorKind::TooLarge => 413,
        ProviderErrorKind::RateLimit => 429,
        ProviderErrorKind::Overloaded if format == Format::Anthropic => 529,
        ProviderErrorKind::Overloaded => 503,
        ProviderErrorKind::Timeout if format == Format::Bedrock => 408,
        ProviderErrorKind::Timeout => 504,
        ProviderErrorKind::Server => 500,
    }
}

/// Whether the provider's error name is more specific than the format's.
fn loses_name(format: Format, error: &ProviderError<'_>) -> bool {
    let plain = |code: &ProviderErrorCode<'_>| {
        let is_plain =
            |format, row: &ErrorNameRow| is_name(format, row, code) && row.1 == error.kind;
        Format::ALL
            .into_iter()
            .any(|format| name_table(format).iter().any(|row| is_plain(format, row)))
            || code.parse::<u16>().is_ok()
    };
    let free = matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
    !free && error.code.as_ref().is_some_and(|code| !plain(code))
}

/// What the format's error name loses of the provider's.
pub(crate) fn loss_note(format: Format, error: &ProviderError<'_>) -> Option<String> {
    let code = error.code.as_deref().filter(|_| loses_name(format, error))?;
    let name = error_name(format, error);
    Some(format!("the error `{code}` becomes `{name}` in this format"))
}

/// The name without the namespace and the URL that Amazon adds.
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

#[cfg(test)]
mod tests;
