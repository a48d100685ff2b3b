//! Rejects headers with which other gateways let a client choose the upstream. Here only the
//! configuration does. Such a header is an error and not ignored, because the client relies on
//! it.

use crate::ApiError;
use http::HeaderMap;

use crate::error;

/// Endings of such names, without dashes.
const ENDINGS: [&str; 12] = [
    "apibase",
    "apibaseurl",
    "baseurl",
    "basepath",
    "customhost",
    "targeturl",
    "targethost",
    "upstream",
    "upstreamurl",
    "upstreamhost",
    "originalurl",
    "rewriteurl",
];

/// # Errors
/// If a header would choose an upstream.
pub(crate) fn reject_upstream_headers(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.keys().find(|name| names_upstream(name.as_str())) {
        Some(name) => Err(error::upstream_header(name.as_str())),
        None => Ok(()),
    }
}

/// Checks the last byte first: almost no other header ends like these.
fn names_upstream(name: &str) -> bool {
    let last = name.as_bytes().last();
    if !matches!(last, Some(b'e' | b'l' | b'h' | b't' | b'm')) {
        return false;
    }
    let mut letters = [0; 64];
    let mut length = 0;
    for byte in name.bytes().filter(|byte| !b"-_".contains(byte)) {
        match letters.get_mut(length) {
            Some(letter) => *letter = byte,
            // No such name is this long.
            None => return false,
        }
        length += 1;
    }
    let letters = letters.get(..length).unwrap_or_default();
    ENDINGS.iter().any(|ending| letters.ends_with(ending.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_would_choose_an_upstream_are_known() {
        for name in [
            "x-portkey-custom-host",
            "x-custom-host",
            "x-litellm-api-base",
            "x-base-url",
            "x_base_url",
            "api-base",
            "x-openai-base-url",
            "helicone-openai-api-base",
            "helicone-target-url",
            "x-upstream-url",
            "x-original-url",
            "x-rewrite-url",
        ] {
            assert!(names_upstream(name), "{name}");
        }
        for name in [
            "host",
            "accept",
            "content-type",
            "content-length",
            "user-agent",
            "anthropic-version",
            "anthropic-beta",
            "x-stainless-runtime",
            "x-stainless-retry-count",
            "x-session-id",
            "referer",
            "x-forwarded-host",
        ] {
            assert!(!names_upstream(name), "{name}");
        }
    }
}
