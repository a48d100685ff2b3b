//! The headers that a page of another origin may read.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Their names: those of the gateway, and those of the upstream that the reply has.
pub(crate) fn names_of(headers: &HeaderMap) -> HeaderValue {
    const NAMES: &str = "x-request-id, request-id, x-upstream-request-id, x-foxwedge-findings, \
                         x-foxwedge-action, x-foxwedge-session, x-foxwedge-run, x-foxwedge-match, \
                         x-foxwedge-compacted, x-foxwedge-losses, x-foxwedge-fallback, \
                         x-foxwedge-replayed, x-foxwedge-ignored-results, x-should-retry, \
                         retry-after, retry-after-ms, accept-encoding, allow";
    /// Limits, times and costs, whose names each provider chooses.
    const PREFIXES: [&str; 7] = [
        "x-ratelimit-",
        "ratelimit-",
        "anthropic-ratelimit-",
        "openai-",
        "x-codex-",
        "x-groq-",
        "x-litellm-",
    ];
    let mut names = NAMES.to_owned();
    for name in headers.keys().map(HeaderName::as_str) {
        if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            names.extend([", ", name]);
        }
    }
    HeaderValue::try_from(names).unwrap_or(HeaderValue::from_static(NAMES))
}
