//! Why a model does not reply: what a provider said about it, in a word and in its own words.

use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{Failure, Outcome, Trouble, decode_reply},
    text,
};
use http::StatusCode;

use super::ModelError;
use crate::{
    config::{Key, Upstream},
    http::{HttpError, Kind, Stage},
    upstream::Patience,
};

/// The most bytes of a provider's words that are passed on.
const WORDS: usize = 2 << 10;

/// The model cannot be reached.
pub(super) fn unreachable(error: &HttpError) -> ModelError {
    let passing = match error.kind {
        Kind::Late | Kind::Closed | Kind::Failed => error.stage != Stage::Tls,
        Kind::Malformed | Kind::TooLarge | Kind::Forbidden | Kind::Redirect => false,
    };
    // The system's own words tell most: refused, no such host.
    let source = std::error::Error::source(error).map(|source| format!(" ({source})"));
    let message = format!("the model cannot be reached: {error}{}", source.unwrap_or_default());
    ModelError { code: "upstream_unreachable", message, passing }
}

/// The provider answers with an error.
pub(super) fn refused(
    status: StatusCode,
    body: &[u8],
    wire: Wire,
    upstream: &Upstream,
) -> ModelError {
    let words = said(body, wire);
    let code = match status.as_u16() {
        _ if is_overflow(&words) => "overflow",
        // More bytes than the provider reads at all: a shorter history helps.
        413 => "overflow",
        401 | 403 => "unauthorized",
        400 | 422 if is_too_many_tools(&words) => "too_many_tools",
        _ => "refused",
    };
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    let message = without_secrets(format!("the provider answers {status}{words}"), upstream);
    ModelError { code, message, passing: code == "refused" && Patience::is_passing(status) }
}

/// The provider fails in the middle of its reply.
pub(super) fn failed(failure: &Failure<'_>, upstream: &Upstream) -> ModelError {
    let code = match failure.kind {
        _ if is_overflow(&failure.message) => "overflow",
        _ if failure.code.as_deref().is_some_and(is_overflow) => "overflow",
        Trouble::TooLarge => "overflow",
        Trouble::Credentials | Trouble::Permission => "unauthorized",
        Trouble::Request | Trouble::NotFound => "refused",
        Trouble::RateLimit | Trouble::Overloaded | Trouble::Timeout | Trouble::Server => "cut",
    };
    let words = match (failure.message.trim(), &failure.code) {
        ("", Some(code)) => cut_to(code, WORDS),
        ("", None) => "it does not say why".to_owned(),
        (words, _) => cut_to(words, WORDS),
    };
    let message = without_secrets(format!("the provider broke its reply off: {words}"), upstream);
    ModelError { code, message, passing: code == "cut" }
}

/// Whether a provider in such trouble may reply if it is asked again soon.
pub(super) fn is_passing(failure: &Failure<'_>) -> bool {
    match failure.kind {
        Trouble::RateLimit | Trouble::Overloaded | Trouble::Timeout | Trouble::Server => true,
        Trouble::Request
        | Trouble::Credentials
        | Trouble::Permission
        | Trouble::NotFound
        | Trouble::TooLarge => false,
    }
}

/// The reply is not whole, or none at all.
pub(super) fn cut(message: impl Into<String>) -> ModelError {
    ModelError { code: "cut", message: message.into(), passing: true }
}

/// What came instead of a reply, without repeating all of it.
pub(super) fn nonsense(body: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(body);
    match text.trim_start() {
        "" => cut("the provider replied with nothing"),
        text if text.starts_with('<') => cut("the provider replied with a web page"),
        text => cut(format!("what the provider replied is no reply: {}", cut_to(text, 200))),
    }
}

/// What an error says: the provider's own words, or all there is.
pub(super) fn said(body: &[u8], wire: Wire) -> String {
    if let Ok(source) = text(body)
        && let Ok(told) = decode_reply(source, wire)
        && let Outcome::Failure(failure) = told.outcome
        && !failure.message.trim().is_empty()
    {
        let words = cut_to(failure.message.trim(), WORDS);
        // The name of the trouble is often clearer than the words.
        return match failure.code.filter(|code| is_overflow(code) && !is_overflow(&words)) {
            Some(code) => format!("{words} ({code})"),
            None => words,
        };
    }
    let text = String::from_utf8_lossy(body);
    match text.trim() {
        text if text.starts_with('<') => "a web page".to_owned(),
        text => cut_to(text, WORDS),
    }
}

/// Whether an error says that there is no room for the history.
fn is_overflow(words: &str) -> bool {
    const SAID: [&str; 17] = [
        // OpenAI and those who speak like it.
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "reduce the length of the messages",
        "maximum prompt length",
        "too large for model with",
        "exceeds the context",
        "exceeds the model's context",
        "available context size",
        "exceed_context_size",
        // Anthropic and Bedrock.
        "prompt is too long",
        "exceed context limit",
        "input is too long",
        "request_too_large",
        // Google.
        "exceeds the maximum number of tokens",
        "input token count",
        "token count exceeds",
    ];
    let words = cut_to(words, WORDS).to_ascii_lowercase();
    SAID.iter().any(|said| words.contains(said))
}

/// Whether an error says that a request offers too many tools. What is said about the calls in a
/// history, or about one name or text, is something else.
fn is_too_many_tools(words: &str) -> bool {
    const ABOUT: [&str; 4] =
        ["tools", "functions", "function declarations", "function_declarations"];
    const SAID: [&str; 10] = [
        "too many",
        "array too long",
        "at most",
        "more than",
        "maximum number",
        "maximum of",
        "max of",
        "limit of",
        "exceed",
        "up to",
    ];
    const ELSE: [&str; 6] = ["tool_calls", "messages", "token", "character", "string", "name"];
    let words = cut_to(words, WORDS).to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|said| words.contains(said));
    has(&ABOUT) && has(&SAID) && !has(&ELSE)
}

/// No key of ours is repeated, whoever does it.
fn without_secrets(message: String, upstream: &Upstream) -> String {
    let mut message = message;
    if let Key::Ours(secret) = &upstream.key
        && !secret.is_empty()
    {
        message = message.replace(secret.reveal(), "[secret]");
    }
    for (_, value) in &upstream.headers {
        match value.to_str() {
            Ok(value) if value.len() >= 8 => message = message.replace(value, "[secret]"),
            Ok(_) | Err(_) => {}
        }
    }
    message
}

/// A text of so many bytes at most.
pub(super) fn cut_to(text: &str, most: usize) -> String {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    if head.len() < text.len() { format!("{head}…") } else { head.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Secret, config::single};

    fn upstream() -> Upstream {
        let key = Key::Ours(Secret::new("sk-canary"));
        single("test", Wire::OpenaiChat, None, key).expect("an upstream")
    }

    #[test]
    fn an_error_is_named_and_keeps_the_providers_words() {
        let openai = |message: &str, code: &str| {
            serde_json::json!({"error": {"message": message, "type": "invalid_request_error",
                "param": null, "code": code}})
            .to_string()
        };
        let claude = |message: &str| {
            serde_json::json!({"type": "error",
                "error": {"type": "invalid_request_error", "message": message}})
            .to_string()
        };
        let google = |message: &str| {
            serde_json::json!({"error": {"code": 400, "message": message,
                "status": "INVALID_ARGUMENT"}})
            .to_string()
        };
        let table = [
            (400, Wire::OpenaiChat, openai("No.", "context_length_exceeded"), "overflow", false),
            (
                400,
                Wire::OpenaiChat,
                openai("This model's maximum context length is 65536 tokens.", "x"),
                "overflow",
                false,
            ),
            (
                400,
                Wire::Anthropic,
                claude("prompt is too long: 210000 tokens > 200000 maximum"),
                "overflow",
                false,
            ),
            (413, Wire::Anthropic, String::new(), "overflow", false),
            (
                400,
                Wire::Gemini,
                google(
                    "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                ),
                "overflow",
                false,
            ),
            (401, Wire::OpenaiChat, openai("Bad key sk-canary.", "x"), "unauthorized", false),
            (403, Wire::Gemini, google("No."), "unauthorized", false),
            (400, Wire::OpenaiChat, openai("Bad temperature.", "x"), "refused", false),
            (404, Wire::OpenaiChat, openai("No such model.", "x"), "refused", false),
            (
                400,
                Wire::OpenaiChat,
                openai(
                    "Invalid 'tools': array too long. Expected an array with maximum length 128, \
                     but got an array with length 129 instead.",
                    "array_above_max_length",
                ),
                "too_many_tools",
                false,
            ),
            (
                400,
                Wire::OpenaiChat,
                openai(
                    "Invalid 'messages[1].tool_calls': array too long. Expected an array with \
                     maximum length 128, but got an array with length 129 instead.",
                    "array_above_max_length",
                ),
                "refused",
                false,
            ),
            (
                400,
                Wire::Anthropic,
                claude("tools: List should have at most 64 items after validation, not 65"),
                "too_many_tools",
                false,
            ),
            (
                400,
                Wire::Anthropic,
                claude("tools.0.custom.name: String should have at most 128 characters"),
                "refused",
                false,
            ),
            (
                400,
                Wire::Gemini,
                google("The number of function declarations exceeds the limit of 512."),
                "too_many_tools",
                false,
            ),
            (429, Wire::OpenaiChat, openai("Slow down.", "x"), "refused", true),
            (502, Wire::OpenaiChat, "<html>canary".to_owned(), "refused", true),
            (500, Wire::OpenaiChat, String::new(), "refused", true),
        ];
        for (status, wire, body, code, passing) in table {
            let status = StatusCode::from_u16(status).expect("a status");
            let error = refused(status, body.as_bytes(), wire, &upstream());
            assert_eq!((error.code, error.passing), (code, passing), "{status} {body}");
            assert!(!error.message.contains("canary"), "{error}");
            assert!(error.message.starts_with("the provider answers"), "{error}");
        }
        let bad = openai("Bad temperature.", "x");
        let error = refused(StatusCode::BAD_REQUEST, bad.as_bytes(), Wire::OpenaiChat, &upstream());
        assert_eq!(error.message, "the provider answers 400 Bad Request: Bad temperature.");
    }

    #[test]
    fn words_are_cut_between_characters() {
        let long = "ä".repeat(3_000);
        let error =
            refused(StatusCode::BAD_REQUEST, long.as_bytes(), Wire::OpenaiChat, &upstream());
        assert!(error.message.len() < WORDS + 100 && error.message.ends_with("ä…"), "{error}");
        assert_eq!(nonsense(b" ").message, "the provider replied with nothing");
        assert_eq!(nonsense(b"\xff<").code, "cut");
    }
}
