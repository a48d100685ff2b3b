//! Error names of each format.

use foxwedge_core::Format;

use crate::conversation::ProviderErrorKind;

/// How a format uses an error name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorNameUse {
    /// In the field that gives the kind of error.
    Primary,
    /// In another field, or only by a single vendor.
    Alias,
}

/// Error names and their kinds. The first name of a kind is the one that is written.
pub(crate) type ErrorNameRow = (&'static str, ProviderErrorKind, ErrorNameUse);

pub(crate) fn name_table(format: Format) -> &'static [ErrorNameRow] {
    match format {
        Format::OpenaiChat | Format::OpenaiResponses => &OPENAI,
        Format::Anthropic => &ANTHROPIC,
        Format::Gemini | Format::GeminiInteractions => &GEMINI,
        Format::Bedrock => &BEDROCK,
    }
}

/// OpenAI's code for a conversation that exceeds the context window.
pub(crate) const CONTEXT_OVERFLOW: &str = "context_length_exceeded";

const OPENAI: [ErrorNameRow; 38] = [
    ("invalid_request_error", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("invalid_request_error", ProviderErrorKind::ContextOverflow, ErrorNameUse::Primary),
    ("authentication_error", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    ("permission_error", ProviderErrorKind::Permission, ErrorNameUse::Primary),
    ("not_found_error", ProviderErrorKind::NotFound, ErrorNameUse::Primary),
    ("request_too_large", ProviderErrorKind::TooLarge, ErrorNameUse::Primary),
    ("rate_limit_error", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("overloaded_error", ProviderErrorKind::Overloaded, ErrorNameUse::Primary),
    ("timeout_error", ProviderErrorKind::Timeout, ErrorNameUse::Primary),
    ("server_error", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("insufficient_quota", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("tokens", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("requests", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("api_error", ProviderErrorKind::Server, ErrorNameUse::Alias),
    ("internal_error", ProviderErrorKind::Server, ErrorNameUse::Alias),
    ("internal_server_error", ProviderErrorKind::Server, ErrorNameUse::Alias),
    ("service_unavailable", ProviderErrorKind::Overloaded, ErrorNameUse::Alias),
    ("service_unavailable_error", ProviderErrorKind::Overloaded, ErrorNameUse::Alias),
    ("slow_down", ProviderErrorKind::Overloaded, ErrorNameUse::Alias),
    ("timeout", ProviderErrorKind::Timeout, ErrorNameUse::Alias),
    ("vector_store_timeout", ProviderErrorKind::Timeout, ErrorNameUse::Alias),
    ("rate_limit_exceeded", ProviderErrorKind::RateLimit, ErrorNameUse::Alias),
    ("model_not_found", ProviderErrorKind::NotFound, ErrorNameUse::Alias),
    ("invalid_api_key", ProviderErrorKind::Authentication, ErrorNameUse::Alias),
    ("insufficient_permissions", ProviderErrorKind::Permission, ErrorNameUse::Alias),
    ("unsupported_country_region_territory", ProviderErrorKind::Permission, ErrorNameUse::Alias),
    ("billing_not_active", ProviderErrorKind::Permission, ErrorNameUse::Alias),
    ("billing_hard_limit_reached", ProviderErrorKind::Permission, ErrorNameUse::Alias),
    (CONTEXT_OVERFLOW, ProviderErrorKind::ContextOverflow, ErrorNameUse::Alias),
    ("string_above_max_length", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("unsupported_parameter", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("unsupported_value", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("invalid_value", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("missing_required_parameter", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("invalid_prompt", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("invalid_image", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("content_filter", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
    ("content_policy_violation", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
];

const ANTHROPIC: [ErrorNameRow; 11] = [
    ("invalid_request_error", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("invalid_request_error", ProviderErrorKind::ContextOverflow, ErrorNameUse::Primary),
    ("authentication_error", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    ("permission_error", ProviderErrorKind::Permission, ErrorNameUse::Primary),
    ("not_found_error", ProviderErrorKind::NotFound, ErrorNameUse::Primary),
    ("request_too_large", ProviderErrorKind::TooLarge, ErrorNameUse::Primary),
    ("rate_limit_error", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("overloaded_error", ProviderErrorKind::Overloaded, ErrorNameUse::Primary),
    ("timeout_error", ProviderErrorKind::Timeout, ErrorNameUse::Primary),
    ("api_error", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("billing_error", ProviderErrorKind::Permission, ErrorNameUse::Primary),
];

const GEMINI: [ErrorNameRow; 19] = [
    ("INVALID_ARGUMENT", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("INVALID_ARGUMENT", ProviderErrorKind::ContextOverflow, ErrorNameUse::Primary),
    ("UNAUTHENTICATED", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    ("PERMISSION_DENIED", ProviderErrorKind::Permission, ErrorNameUse::Primary),
    ("NOT_FOUND", ProviderErrorKind::NotFound, ErrorNameUse::Primary),
    // Written for a request that is too large, because Google reports that as an invalid request.
    ("INVALID_ARGUMENT", ProviderErrorKind::TooLarge, ErrorNameUse::Primary),
    ("RESOURCE_EXHAUSTED", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("UNAVAILABLE", ProviderErrorKind::Overloaded, ErrorNameUse::Primary),
    ("DEADLINE_EXCEEDED", ProviderErrorKind::Timeout, ErrorNameUse::Primary),
    ("INTERNAL", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("FAILED_PRECONDITION", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("OUT_OF_RANGE", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("ALREADY_EXISTS", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("UNIMPLEMENTED", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("ABORTED", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("UNKNOWN", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("DATA_LOSS", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("API_KEY_INVALID", ProviderErrorKind::Authentication, ErrorNameUse::Alias),
    // Interactions.
    ("invalid_request", ProviderErrorKind::InvalidRequest, ErrorNameUse::Alias),
];

const BEDROCK: [ErrorNameRow; 20] = [
    ("ValidationException", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("ValidationException", ProviderErrorKind::ContextOverflow, ErrorNameUse::Primary),
    ("UnrecognizedClientException", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    ("AccessDeniedException", ProviderErrorKind::Permission, ErrorNameUse::Primary),
    ("ResourceNotFoundException", ProviderErrorKind::NotFound, ErrorNameUse::Primary),
    ("ValidationException", ProviderErrorKind::TooLarge, ErrorNameUse::Primary),
    ("ThrottlingException", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("ServiceUnavailableException", ProviderErrorKind::Overloaded, ErrorNameUse::Primary),
    ("ModelTimeoutException", ProviderErrorKind::Timeout, ErrorNameUse::Primary),
    ("InternalServerException", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("ServiceQuotaExceededException", ProviderErrorKind::RateLimit, ErrorNameUse::Primary),
    ("ModelNotReadyException", ProviderErrorKind::Overloaded, ErrorNameUse::Primary),
    ("ModelErrorException", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("ModelStreamErrorException", ProviderErrorKind::Server, ErrorNameUse::Primary),
    ("ConflictException", ProviderErrorKind::InvalidRequest, ErrorNameUse::Primary),
    ("ExpiredTokenException", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    ("InvalidSignatureException", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    (
        "MissingAuthenticationTokenException",
        ProviderErrorKind::Authentication,
        ErrorNameUse::Primary,
    ),
    ("IncompleteSignatureException", ProviderErrorKind::Authentication, ErrorNameUse::Primary),
    ("RequestEntityTooLargeException", ProviderErrorKind::TooLarge, ErrorNameUse::Primary),
];
