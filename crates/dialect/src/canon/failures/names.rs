//! The names that formats have for trouble.

use foxwedge_core::Wire;

use crate::canon::Trouble;

/// Whether a format has the name in the place where the kind is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// Yes.
    Own,
    /// Beside it, or in the words of a single vendor.
    Beside,
}

/// Names and what they mean. The first of a kind is the one that is written.
pub(super) type Row = (&'static str, Trouble, Name);

pub(super) fn table(wire: Wire) -> &'static [Row] {
    match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => &OPENAI,
        Wire::Anthropic => &ANTHROPIC,
        Wire::Gemini => &GEMINI,
        Wire::Bedrock => &BEDROCK,
    }
}

const OPENAI: [Row; 37] = [
    ("invalid_request_error", Trouble::Request, Name::Own),
    ("authentication_error", Trouble::Credentials, Name::Own),
    ("permission_error", Trouble::Permission, Name::Own),
    ("not_found_error", Trouble::NotFound, Name::Own),
    ("request_too_large", Trouble::TooLarge, Name::Own),
    ("rate_limit_error", Trouble::RateLimit, Name::Own),
    ("overloaded_error", Trouble::Overloaded, Name::Own),
    ("timeout_error", Trouble::Timeout, Name::Own),
    ("server_error", Trouble::Server, Name::Own),
    ("insufficient_quota", Trouble::RateLimit, Name::Own),
    ("tokens", Trouble::RateLimit, Name::Own),
    ("requests", Trouble::RateLimit, Name::Own),
    ("api_error", Trouble::Server, Name::Beside),
    ("internal_error", Trouble::Server, Name::Beside),
    ("internal_server_error", Trouble::Server, Name::Beside),
    ("service_unavailable", Trouble::Overloaded, Name::Beside),
    ("service_unavailable_error", Trouble::Overloaded, Name::Beside),
    ("slow_down", Trouble::Overloaded, Name::Beside),
    ("timeout", Trouble::Timeout, Name::Beside),
    ("vector_store_timeout", Trouble::Timeout, Name::Beside),
    ("rate_limit_exceeded", Trouble::RateLimit, Name::Beside),
    ("model_not_found", Trouble::NotFound, Name::Beside),
    ("invalid_api_key", Trouble::Credentials, Name::Beside),
    ("insufficient_permissions", Trouble::Permission, Name::Beside),
    ("unsupported_country_region_territory", Trouble::Permission, Name::Beside),
    ("billing_not_active", Trouble::Permission, Name::Beside),
    ("billing_hard_limit_reached", Trouble::Permission, Name::Beside),
    ("context_length_exceeded", Trouble::Request, Name::Beside),
    ("string_above_max_length", Trouble::Request, Name::Beside),
    ("unsupported_parameter", Trouble::Request, Name::Beside),
    ("unsupported_value", Trouble::Request, Name::Beside),
    ("invalid_value", Trouble::Request, Name::Beside),
    ("missing_required_parameter", Trouble::Request, Name::Beside),
    ("invalid_prompt", Trouble::Request, Name::Beside),
    ("invalid_image", Trouble::Request, Name::Beside),
    ("content_filter", Trouble::Request, Name::Beside),
    ("content_policy_violation", Trouble::Request, Name::Beside),
];

const ANTHROPIC: [Row; 10] = [
    ("invalid_request_error", Trouble::Request, Name::Own),
    ("authentication_error", Trouble::Credentials, Name::Own),
    ("permission_error", Trouble::Permission, Name::Own),
    ("not_found_error", Trouble::NotFound, Name::Own),
    ("request_too_large", Trouble::TooLarge, Name::Own),
    ("rate_limit_error", Trouble::RateLimit, Name::Own),
    ("overloaded_error", Trouble::Overloaded, Name::Own),
    ("timeout_error", Trouble::Timeout, Name::Own),
    ("api_error", Trouble::Server, Name::Own),
    ("billing_error", Trouble::Permission, Name::Own),
];

const GEMINI: [Row; 17] = [
    ("INVALID_ARGUMENT", Trouble::Request, Name::Own),
    ("UNAUTHENTICATED", Trouble::Credentials, Name::Own),
    ("PERMISSION_DENIED", Trouble::Permission, Name::Own),
    ("NOT_FOUND", Trouble::NotFound, Name::Own),
    // The one that is written for it: a request that is too large is a wrong one.
    ("INVALID_ARGUMENT", Trouble::TooLarge, Name::Own),
    ("RESOURCE_EXHAUSTED", Trouble::RateLimit, Name::Own),
    ("UNAVAILABLE", Trouble::Overloaded, Name::Own),
    ("DEADLINE_EXCEEDED", Trouble::Timeout, Name::Own),
    ("INTERNAL", Trouble::Server, Name::Own),
    ("FAILED_PRECONDITION", Trouble::Request, Name::Own),
    ("OUT_OF_RANGE", Trouble::Request, Name::Own),
    ("ALREADY_EXISTS", Trouble::Request, Name::Own),
    ("UNIMPLEMENTED", Trouble::Request, Name::Own),
    ("ABORTED", Trouble::Server, Name::Own),
    ("UNKNOWN", Trouble::Server, Name::Own),
    ("DATA_LOSS", Trouble::Server, Name::Own),
    ("API_KEY_INVALID", Trouble::Credentials, Name::Beside),
];

const BEDROCK: [Row; 19] = [
    ("ValidationException", Trouble::Request, Name::Own),
    ("UnrecognizedClientException", Trouble::Credentials, Name::Own),
    ("AccessDeniedException", Trouble::Permission, Name::Own),
    ("ResourceNotFoundException", Trouble::NotFound, Name::Own),
    ("ValidationException", Trouble::TooLarge, Name::Own),
    ("ThrottlingException", Trouble::RateLimit, Name::Own),
    ("ServiceUnavailableException", Trouble::Overloaded, Name::Own),
    ("ModelTimeoutException", Trouble::Timeout, Name::Own),
    ("InternalServerException", Trouble::Server, Name::Own),
    ("ServiceQuotaExceededException", Trouble::RateLimit, Name::Own),
    ("ModelNotReadyException", Trouble::Overloaded, Name::Own),
    ("ModelErrorException", Trouble::Server, Name::Own),
    ("ModelStreamErrorException", Trouble::Server, Name::Own),
    ("ConflictException", Trouble::Request, Name::Own),
    ("ExpiredTokenException", Trouble::Credentials, Name::Own),
    ("InvalidSignatureException", Trouble::Credentials, Name::Own),
    ("MissingAuthenticationTokenException", Trouble::Credentials, Name::Own),
    ("IncompleteSignatureException", Trouble::Credentials, Name::Own),
    ("RequestEntityTooLargeException", Trouble::TooLarge, Name::Own),
];
