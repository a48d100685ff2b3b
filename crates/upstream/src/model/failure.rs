//! Maps transport and provider errors to [`ModelError`].

use foxwedge_core::{Format, is_context_overflow, is_rate_limit};
use foxwedge_formats::{
    model::{ModelResponse, ProviderError, ProviderErrorKind, decode_reply},
    text,
};
use http::StatusCode;

use super::ModelError;
use crate::{
    UpstreamConfig,
    http::{HttpError, HttpErrorKind, HttpStage},
    send::RetryPolicy,
};

/// Maximum bytes of a provider's error text that are passed on.
const MAX_ERROR_TEXT: usize = 2 << 10;

/// The model cannot be reached.
pub(super) fn unreachable_error(error: &HttpError) -> ModelError {
    let retryable = match error.kind {
        HttpErrorKind::Timeout | HttpErrorKind::Closed | HttpErrorKind::Failed => {
            error.stage != HttpStage::Tls
        }
        HttpErrorKind::Malformed
        | HttpErrorKind::TooLarge
        | HttpErrorKind::Forbidden
        | HttpErrorKind::Redirect => false,
    };
    // The error of the system is the most precise: refused, no such host.
    let source = std::error::Error::source(error).map(|source| format!(" ({source})"));
    let message = format!("the model cannot be reached: {error}{}", source.unwrap_or_default());
    ModelError { code: "upstream_unreachable", message, retryable }
}

/// The provider returned an error status.
pub(super) fn refusal_error(
    status: StatusCode,
    body: &[u8],
    format: Format,
    upstream: &UpstreamConfig,
) -> ModelError {
    let text = error_text(body, format);
    let code = match status.as_u16() {
        _ if is_overflow(&text) => "overflow",
        // More tokens than the account may send in a minute.
        413 if is_rate_limit(&text) => "refused",
        // More bytes than the provider reads at all: a shorter history helps.
        413 => "overflow",
        401 | 403 => "unauthorized",
        400 | 422 if is_too_many_tools(&text) => "too_many_tools",
        _ => "refused",
    };
    let retryable = code == "refused" && (RetryPolicy::is_retryable(status) || status == 413);
    let text = if text.is_empty() { String::new() } else { format!(": {text}") };
    let message = upstream.redact_secrets(format!("the provider answers {status}{text}"));
    ModelError { code, message, retryable }
}

/// The provider failed in the middle of its reply.
pub(super) fn stream_error(failure: &ProviderError<'_>, upstream: &UpstreamConfig) -> ModelError {
    let code = match failure.kind {
        _ if is_overflow(&failure.message) => "overflow",
        ProviderErrorKind::ContextOverflow => "overflow",
        _ if failure.code.as_deref().is_some_and(is_overflow) => "overflow",
        ProviderErrorKind::TooLarge if is_rate_limit(&failure.message) => "cut",
        ProviderErrorKind::TooLarge => "overflow",
        ProviderErrorKind::Authentication | ProviderErrorKind::Permission => "unauthorized",
        ProviderErrorKind::InvalidRequest | ProviderErrorKind::NotFound => "refused",
        ProviderErrorKind::RateLimit
        | ProviderErrorKind::Overloaded
        | ProviderErrorKind::Timeout
        | ProviderErrorKind::Server => "cut",
    };
    let text = match (failure.message.trim(), &failure.code) {
        ("", Some(code)) => truncate_text(code, MAX_ERROR_TEXT),
        ("", None) => "it does not say why".to_owned(),
        (text, _) => truncate_text(text, MAX_ERROR_TEXT),
    };
    let message = upstream.redact_secrets(format!("the provider broke its reply off: {text}"));
    ModelError { code, message, retryable: code == "cut" }
}

/// Whether a retry may succeed soon.
pub(super) fn is_retryable(failure: &ProviderError<'_>) -> bool {
    match failure.kind {
        ProviderErrorKind::RateLimit
        | ProviderErrorKind::Overloaded
        | ProviderErrorKind::Timeout
        | ProviderErrorKind::Server => true,
        ProviderErrorKind::InvalidRequest
        | ProviderErrorKind::ContextOverflow
        | ProviderErrorKind::Authentication
        | ProviderErrorKind::Permission
        | ProviderErrorKind::NotFound
        | ProviderErrorKind::TooLarge => false,
    }
}

/// The reply is incomplete or missing.
pub(super) fn cut_off_error(message: impl Into<String>) -> ModelError {
    ModelError { code: "cut", message: message.into(), retryable: true }
}

/// The body is not a reply; quotes only its beginning.
pub(super) fn unreadable_reply_error(body: &[u8]) -> ModelError {
    let text = String::from_utf8_lossy(body);
    match text.trim_start() {
        "" => cut_off_error("the provider replied with nothing"),
        text if text.starts_with('<') => cut_off_error("the provider replied with a web page"),
        text => cut_off_error(format!(
            "what the provider replied is no reply: {}",
            truncate_text(text, 200)
        )),
    }
}

/// The text of an error: the provider's message, or the whole body.
pub(super) fn error_text(body: &[u8], format: Format) -> String {
    if let Ok(source) = text(body)
        && let Ok(reply) = decode_reply(source, format)
        && let ModelResponse::Error(failure) = reply.outcome
        && !failure.message.trim().is_empty()
    {
        let message = truncate_text(failure.message.trim(), MAX_ERROR_TEXT);
        // The error code is often clearer than the message.
        return match failure.code.filter(|code| is_overflow(code) && !is_overflow(&message)) {
            Some(code) => format!("{message} ({code})"),
            None => message,
        };
    }
    let text = String::from_utf8_lossy(body);
    match text.trim() {
        text if text.starts_with('<') => "a web page".to_owned(),
        text => truncate_text(text, MAX_ERROR_TEXT),
    }
}

/// Whether an error means that the history exceeds the context window.
fn is_overflow(text: &str) -> bool {
    is_context_overflow(&truncate_text(text, MAX_ERROR_TEXT))
}

/// Whether an error means that a request offers too many tools. Errors about the calls in a
/// history, or about one name or text, do not count.
fn is_too_many_tools(text: &str) -> bool {
    const SUBJECTS: [&str; 4] =
        ["tools", "functions", "function declarations", "function_declarations"];
    const PHRASES: [&str; 10] = [
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
    const OTHER_SUBJECTS: [&str; 6] =
        ["tool_calls", "messages", "token", "character", "string", "name"];
    let text = truncate_text(text, MAX_ERROR_TEXT).to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|phrase| text.contains(phrase));
    has(&SUBJECTS) && has(&PHRASES) && !has(&OTHER_SUBJECTS)
}

/// The beginning of a text, at most `max_bytes` bytes.
pub(super) fn truncate_text(text: &str, max_bytes: usize) -> String {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    if head.len() < text.len() { format!("{head}…") } else { head.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretText, UpstreamKey, single_upstream};

    fn upstream() -> UpstreamConfig {
        let key = UpstreamKey::Configured(SecretText::new("sk-canary"));
        single_upstream("test", Format::OpenaiChat, None, key).expect("an upstream")
    }

    #[test]
    fn error_has_a_code_and_keeps_the_provider_message() {
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
            (400, Format::OpenaiChat, openai("No.", "context_length_exceeded"), "overflow", false),
            (
                400,
                Format::OpenaiChat,
                openai("This model's maximum context length is 65536 tokens.", "x"),
                "overflow",
                false,
            ),
            (
                400,
                Format::Anthropic,
                claude("prompt is too long: 210000 tokens > 200000 maximum"),
                "overflow",
                false,
            ),
            (413, Format::Anthropic, String::new(), "overflow", false),
            (
                413,
                Format::OpenaiChat,
                openai("Request too large for m on tokens per minute (TPM): Limit 6, ...", "x"),
                "refused",
                true,
            ),
            (
                400,
                Format::OpenaiChat,
                openai("You requested 9 tokens (1 in the messages, 8 in the completion).", "x"),
                "refused",
                false,
            ),
            (
                400,
                Format::Gemini,
                google(
                    "The input token count (9) exceeds the maximum number of tokens allowed (8).",
                ),
                "overflow",
                false,
            ),
            (401, Format::OpenaiChat, openai("Bad key sk-canary.", "x"), "unauthorized", false),
            (403, Format::Gemini, google("No."), "unauthorized", false),
            (400, Format::OpenaiChat, openai("Bad temperature.", "x"), "refused", false),
            (404, Format::OpenaiChat, openai("No such model.", "x"), "refused", false),
            (
                400,
                Format::OpenaiChat,
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
                Format::OpenaiChat,
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
                Format::Anthropic,
                claude("tools: List should have at most 64 items after validation, not 65"),
                "too_many_tools",
                false,
            ),
            (
                400,
                Format::Anthropic,
                claude("tools.0.custom.name: String should have at most 128 characters"),
                "refused",
                false,
            ),
            (
                400,
                Format::Gemini,
                google("The number of function declarations exceeds the limit of 512."),
                "too_many_tools",
                false,
            ),
            (429, Format::OpenaiChat, openai("Slow down.", "x"), "refused", true),
            (502, Format::OpenaiChat, "<html>canary".to_owned(), "refused", true),
            (500, Format::OpenaiChat, String::new(), "refused", true),
        ];
        for (status, format, body, code, retryable) in table {
            let status = StatusCode::from_u16(status).expect("a status");
            let error = refusal_error(status, body.as_bytes(), format, &upstream());
            assert_eq!((error.code, error.retryable), (code, retryable), "{status} {body}");
            assert!(!error.message.contains("canary"), "{error}");
            assert!(error.message.starts_with("the provider answers"), "{error}");
        }
        let bad = openai("Bad temperature.", "x");
        let error =
            refusal_error(StatusCode::BAD_REQUEST, bad.as_bytes(), Format::OpenaiChat, &upstream());
        assert_eq!(error.message, "the provider answers 400 Bad Request: Bad temperature.");
    }

    #[test]
    fn error_text_is_truncated_between_characters() {
        let long = "ä".repeat(3_000);
        let error = refusal_error(
            StatusCode::BAD_REQUEST,
            long.as_bytes(),
            Format::OpenaiChat,
            &upstream(),
        );
        assert!(
            error.message.len() < MAX_ERROR_TEXT + 100 && error.message.ends_with("ä…"),
            "{error}"
        );
        assert_eq!(unreadable_reply_error(b" ").message, "the provider replied with nothing");
        assert_eq!(unreadable_reply_error(b"\xff<").code, "cut");
    }
}
