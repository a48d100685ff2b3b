use super::*;

fn map(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"))
    };
    pairs.iter().map(pair).collect()
}

/// Which of these are returned, in the same format and across formats.
fn coming_back(pairs: &[(&str, &str)]) -> [Vec<String>; 2] {
    [false, true].map(|crosses| {
        let back = response_headers(&map(pairs), crosses);
        back.keys().map(|name| name.as_str().to_owned()).collect()
    })
}

#[test]
fn response_headers_are_returned_or_dropped_by_class() {
    // (the header, under which name it passes in the same format, and across formats)
    let table = [
        ("content-type", "content-type", ""),
        ("retry-after", "retry-after", "retry-after"),
        ("retry-after-ms", "retry-after-ms", "retry-after-ms"),
        ("x-should-retry", "x-should-retry", "x-should-retry"),
        ("x-request-id", "x-upstream-request-id", "x-upstream-request-id"),
        ("request-id", "x-upstream-request-id", "x-upstream-request-id"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-remaining-tokens", ""),
        ("ratelimit-reset", "ratelimit-reset", ""),
        ("anthropic-ratelimit-unified-5h-reset", "anthropic-ratelimit-unified-5h-reset", ""),
        ("openai-processing-ms", "openai-processing-ms", ""),
        ("openai-version", "openai-version", ""),
        ("x-codex-primary-used-percent", "x-codex-primary-used-percent", ""),
        ("x-litellm-response-cost", "x-litellm-response-cost", ""),
        // Headers that redirect a client, browser or proxy, or set access rules.
        ("location", "", ""),
        ("content-location", "", ""),
        ("refresh", "", ""),
        ("link", "", ""),
        ("x-accel-redirect", "", ""),
        ("x-accel-buffering", "", ""),
        ("x-sendfile", "", ""),
        ("x-lighttpd-send-file", "", ""),
        ("x-reproxy-url", "", ""),
        ("content-security-policy", "", ""),
        ("strict-transport-security", "", ""),
        ("access-control-allow-origin", "", ""),
        ("set-cookie", "", ""),
        ("www-authenticate", "", ""),
        ("proxy-authenticate", "", ""),
        ("authentication-info", "", ""),
        ("clear-site-data", "", ""),
        ("alt-svc", "", ""),
        ("service-worker-allowed", "", ""),
        // Headers about the connection, the encoding of the body, or the upstream itself.
        ("connection", "", ""),
        ("keep-alive", "", ""),
        ("transfer-encoding", "", ""),
        ("content-length", "", ""),
        ("content-encoding", "", ""),
        ("trailer", "", ""),
        ("upgrade", "", ""),
        ("server", "", ""),
        ("date", "", ""),
        ("via", "", ""),
        ("cf-ray", "", ""),
        ("x-powered-by", "", ""),
        ("cache-control", "", ""),
        ("etag", "", ""),
        ("vary", "", ""),
        // Headers that only we set.
        ("x-foxwedge-session", "", ""),
        ("x-foxwedge-run", "", ""),
        ("x-foxwedge-replayed", "", ""),
        ("x-nobody-knows", "", ""),
    ];
    for (name, same, across) in table {
        let expected = [same, across].map(|name| match name {
            "" => Vec::new(),
            name => vec![name.to_owned()],
        });
        assert_eq!(coming_back(&[(name, "1")]), expected, "{name}");
        // Any header that the upstream declares as hop-by-hop is dropped.
        let hop = [(name, "1"), ("connection", name)];
        assert_eq!(coming_back(&hop), [Vec::<String>::new(), Vec::new()], "{name}");
    }
}

#[test]
fn no_header_outside_the_list_is_returned() {
    let parts = [
        "x",
        "location",
        "redirect",
        "accel",
        "openai",
        "anthropic",
        "ratelimit",
        "retry",
        "after",
        "request",
        "id",
        "cookie",
        "set",
        "content",
        "type",
        "codex",
        "sendfile",
        "foxwedge",
    ];
    let mut dice = 1_234_567_u64;
    let mut roll = |sides: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        usize::try_from(dice).expect("64 bits") % sides
    };
    for _ in 0..20_000 {
        let words: Vec<&str> = (0..=roll(4)).map(|_| parts[roll(parts.len())]).collect();
        let name = words.join("-");
        for (crosses, back) in [false, true].into_iter().zip(coming_back(&[(&name, "v")])) {
            // Written again, independent of the lists above.
            let passes = match name.as_str() {
                "x-request-id" | "request-id" | "retry-after" => true,
                name => {
                    !crosses
                        && (name == "content-type"
                            || name.starts_with("openai-")
                            || name.starts_with("x-codex-")
                            || name.starts_with("ratelimit-")
                            || name.starts_with("x-ratelimit-")
                            || name.starts_with("anthropic-ratelimit-"))
                }
            };
            assert_eq!(!back.is_empty(), passes, "{name} {crosses}: {back:?}");
        }
    }
}

#[test]
fn client_headers_for_this_hop_are_not_forwarded() {
    let headers = map(&[
        ("connection", "close, X-Hop"),
        ("connection", "x-other,, keep-alive"),
        ("x-hop", "secret"),
        ("x-other", "secret"),
        ("x-stays", "1"),
    ]);
    let hop = hop_by_hop(&headers);
    let goes = |name: &str| is_forwarded(name, false, false) && !hop.iter().any(|hop| hop == name);
    assert_eq!(
        ["x-hop", "x-other", "x-stays", "connection", "keep-alive"].map(goes),
        [false, false, true, false, false]
    );
}

#[test]
fn no_credentials_of_a_client_are_forwarded() {
    let names = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "x-amz-security-token"];
    for name in names {
        assert!(!is_forwarded(name, false, false), "{name}");
    }
}
