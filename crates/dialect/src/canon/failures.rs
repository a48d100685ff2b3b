//! What a provider says instead of an answer, in the form of every format.
//!
//! The kind of the trouble decides what is written. The provider's own name for it is kept where
//! the format uses that name for the same trouble, and always where names are free.

mod names;

use std::borrow::Cow;

use foxwedge_core::Wire;

use super::{Failure, Trouble, Words, decode::words};
use crate::json::{Object, Value, escape_into};
use names::{Name, Row, table};

/// Reads the object that names the trouble: the value under `error` where a format has that.
pub(crate) fn read<'a>(wire: Wire, error: &Object<'_, 'a>) -> Failure<'a> {
    let names: &[&str] = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => &["code", "type"],
        Wire::Anthropic => &["type"],
        Wire::Gemini => &["status"],
        Wire::Bedrock => &["__type", "code"],
    };
    let names = || names.iter().filter_map(|key| name(error.get(key)?));
    // Google reports a wrong key as a wrong request, and says so further inside.
    let reasons = || error.list("details").filter_map(|detail| detail.object()?.word("reason"));
    let kind = reasons()
        .chain(names())
        .find_map(|name| kind(wire, &name))
        .or_else(|| by_status(error.count("code")?))
        .unwrap_or(Trouble::Server);
    Failure {
        kind,
        message: words(error.any(&["message", "Message"])).unwrap_or_default(),
        code: names().next().or_else(|| Some(error.get("code")?.number()?.into())).map(Words::from),
    }
}

/// Reads an object that describes a trouble whose name stands elsewhere.
pub(crate) fn named<'a>(wire: Wire, code: Words<'a>, error: &Object<'_, 'a>) -> Failure<'a> {
    let told = read(wire, error);
    Failure { kind: kind(wire, &code).unwrap_or(told.kind), code: Some(code), ..told }
}

/// Adds a format's whole body of a failed request.
pub(crate) fn write(wire: Wire, failure: &Failure<'_>, out: &mut String) {
    let name = spelled(wire, failure);
    let (head, tail) = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => ("{\"error\":{\"message\":\"", "}}"),
        Wire::Anthropic => ("{\"type\":\"error\",\"error\":{\"message\":\"", "\"}}"),
        Wire::Gemini => ("{\"error\":{\"message\":\"", "}}"),
        Wire::Bedrock => ("{\"message\":\"", "\"}"),
    };
    out.push_str(head);
    failure.message.write_inside(out);
    out.push_str("\",\"");
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => {
            out.push_str("type\":\"");
            out.push_str(name);
            out.push_str("\",\"param\":null,\"code\":");
            match &failure.code {
                Some(code) if **code != *name => code.write(out),
                _ => out.push_str("null"),
            }
        }
        Wire::Anthropic => {
            out.push_str("type\":\"");
            out.push_str(name);
        }
        Wire::Gemini => {
            out.push_str("code\":");
            escape_into(out, &status(wire, failure.kind).to_string());
            out.push_str(",\"status\":\"");
            out.push_str(name);
            out.push('"');
        }
        Wire::Bedrock => {
            out.push_str("__type\":\"");
            out.push_str(name);
        }
    }
    out.push_str(tail);
}

/// A format's name for the trouble.
pub(crate) fn spelled(wire: Wire, failure: &Failure<'_>) -> &'static str {
    let table = table(wire);
    let own = |code: &Words<'_>| {
        let same = |row: &&Row| **code == *row.0 && row.1 == failure.kind && row.2 == Name::Own;
        table.iter().find(same).map(|row| row.0)
    };
    let first = || table.iter().find(|row| row.1 == failure.kind).map(|row| row.0);
    failure.code.as_ref().and_then(own).or_else(first).unwrap_or_default()
}

/// What kind of trouble a format's name is.
pub(crate) fn kind(wire: Wire, name: &str) -> Option<Trouble> {
    let same = |row: &&Row| match wire {
        // Streams begin the same names with a small letter.
        Wire::Bedrock => row.0.eq_ignore_ascii_case(name),
        _ => row.0 == name,
    };
    table(wire).iter().find(same).map(|row| row.1)
}

/// The HTTP status that goes with the trouble.
pub(crate) fn status(wire: Wire, kind: Trouble) -> u16 {
    match kind {
        Trouble::Request => 400,
        // Google and Amazon have no status of their own for that.
        Trouble::TooLarge if matches!(wire, Wire::Gemini | Wire::Bedrock) => 400,
        Trouble::Credentials if wire == Wire::Bedrock => 403,
        Trouble::Credentials => 401,
        Trouble::Permission => 403,
        Trouble::NotFound => 404,
        Trouble::TooLarge => 413,
        Trouble::RateLimit => 429,
        Trouble::Overloaded if wire == Wire::Anthropic => 529,
        Trouble::Overloaded => 503,
        Trouble::Timeout if wire == Wire::Bedrock => 408,
        Trouble::Timeout => 504,
        Trouble::Server => 500,
    }
}

/// Whether the provider's name for the trouble says more than the format's.
pub(crate) fn loses(wire: Wire, failure: &Failure<'_>) -> bool {
    let plain = |code: &Words<'_>| {
        WIRES.iter().any(|wire| kind(*wire, code) == Some(failure.kind))
            || code.parse::<u16>().is_ok()
    };
    let free = matches!(wire, Wire::OpenaiChat | Wire::OpenaiResponses);
    !free && failure.code.as_ref().is_some_and(|code| !plain(code))
}

/// A name without the namespace and the address that Amazon puts around it.
fn name<'a>(value: Value<'_, 'a>) -> Option<Cow<'a, str>> {
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

fn by_status(status: u64) -> Option<Trouble> {
    Some(match status {
        401 => Trouble::Credentials,
        402 | 403 => Trouble::Permission,
        404 => Trouble::NotFound,
        408 | 504 => Trouble::Timeout,
        413 => Trouble::TooLarge,
        429 => Trouble::RateLimit,
        503 | 529 => Trouble::Overloaded,
        400..500 => Trouble::Request,
        500..600 => Trouble::Server,
        _ => return None,
    })
}

const WIRES: [Wire; 5] =
    [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini, Wire::Bedrock];

#[cfg(test)]
mod tests;
