//! The address of an HTTP server.
//!
//! It comes from the configuration, so it may be on this machine or in a private network. Cloud
//! metadata addresses, which hand out keys, are refused when a connection is opened.

use http::{HeaderName, HeaderValue};

use foxwedge_upstream::{AddressPolicy, NetworkTarget, UrlParts, is_loopback_host, parse_url};

/// A parsed server address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServerAddress {
    pub(super) target: NetworkTarget,
    /// Path and query.
    pub(super) path: String,
    /// Whether requests cross the network without TLS.
    pub(super) unencrypted: bool,
}

/// Parses an address. Errors do not repeat it: it may hold a key.
pub(super) fn parse(text: &str) -> Result<ServerAddress, &'static str> {
    let UrlParts { tls, host, port, user_info, path_and_query: path } =
        parse_url(text).map_err(|(what, _)| what)?;
    if user_info.is_some() {
        return Err("it holds a user or a password; keys go into `headers`");
    }
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("its path holds characters that must be percent-encoded");
    }
    let unencrypted = !tls && !is_loopback_host(&host);
    let (prefix, addresses) = ("".into(), AddressPolicy::Private);
    Ok(ServerAddress {
        target: NetworkTarget { tls, host, port, prefix, addresses, identity: None },
        path,
        unencrypted,
    })
}

/// Parses a configured header.
pub(super) fn parse_header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), &'static str> {
    const RESERVED: [&str; 5] =
        ["accept", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"];
    let name = HeaderName::try_from(name).map_err(|_| "invalid header name")?;
    if RESERVED.contains(&name.as_str()) {
        return Err("this header is set by the protocol");
    }
    let mut value = HeaderValue::try_from(value).map_err(|_| "invalid header value")?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_with_their_query() {
        let table = [
            ("https://mcp.example", Ok("tls mcp.example 443 /")),
            ("https://MCP.example:8/a/b?c=d", Ok("tls mcp.example 8 /a/b?c=d")),
            ("http://127.0.0.1:9/mcp", Ok("127.0.0.1 9 /mcp")),
            ("http://localhost/mcp", Ok("localhost 80 /mcp")),
            ("http://[::1]:9/mcp", Ok("::1 9 /mcp")),
            ("http://mcp.example/", Ok("mcp.example 80 / unencrypted")),
            ("", Err("it is not a valid URL")),
            ("mcp.example", Err("it starts with neither `https://` nor `http://`")),
            ("ftp://mcp.example", Err("it starts with neither `https://` nor `http://`")),
            ("https://me:canary@a", Err("it holds a user or a password; keys go into `headers`")),
            ("https://a:0/", Err("its port is not valid")),
            ("https://a:99999/", Err("its port is not valid")),
            ("https://a/#b", Err("it has a fragment (`#…`)")),
            ("https://*.a/", Err("its host is neither a name nor an address")),
            ("https://a b/", Err("it is not a valid URL")),
        ];
        for (text, expected) in table {
            let found = parse(text).map(|ServerAddress { target, path, unencrypted }| {
                let tls = if target.tls { "tls " } else { "" };
                let mark = if unencrypted { " unencrypted" } else { "" };
                format!("{tls}{} {} {path}{mark}", target.host, target.port)
            });
            assert_eq!(found.as_deref().map_err(|error| *error), expected, "{text}");
        }
    }
}
