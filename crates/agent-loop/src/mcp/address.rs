//! Where a server is asked over HTTP.
//!
//! A person named it, so it may live on this machine or in a private network; the addresses where
//! machines hand out their own keys are refused when it is connected to.

use http::{HeaderName, HeaderValue, Uri};

use foxwedge_upstream::{AddressPolicy, NetworkTarget};

/// An address that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServerAddress {
    pub(super) target: NetworkTarget,
    /// The path and the query.
    pub(super) path: String,
    /// Whether everything is readable on its way over the open network.
    pub(super) unencrypted: bool,
}

/// Reads an address. What is wrong is said without repeating it: it may hold a key.
pub(super) fn parse(text: &str) -> Result<ServerAddress, &'static str> {
    if text.contains('#') {
        return Err("it has a part behind `#`");
    }
    let uri: Uri = text.trim().parse().map_err(|_| "this is no address")?;
    let tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        Some(_) | None => return Err("it begins with neither `https://` nor `http://`"),
    };
    let authority = uri.authority().ok_or("it names no host")?;
    if authority.as_str().contains('@') {
        return Err("it holds a user or a password; keys go into `headers`");
    }
    let host = authority.host().to_ascii_lowercase();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
    if host.is_empty() || host.len() > 253 || !host.bytes().all(in_name) {
        return Err("its host is neither a name nor an address");
    }
    let port = match (authority.port_u16(), authority.as_str() == authority.host()) {
        (None, true) if tls => 443,
        (None, true) => 80,
        (Some(0), _) | (None, false) => return Err("its port does not fit"),
        (Some(port), _) => port,
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("its path holds signs that have to be written as `%…`");
    }
    let target = NetworkTarget {
        tls,
        host: host.into(),
        port,
        prefix: "".into(),
        addresses: AddressPolicy::Private,
    };
    let near = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    Ok(ServerAddress { target, path: path.to_owned(), unencrypted: !tls && !near })
}

/// Reads a header.
pub(super) fn parse_header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), &'static str> {
    const OURS: [&str; 5] =
        ["accept", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"];
    let name = HeaderName::try_from(name).map_err(|_| "this is no name of a header")?;
    if OURS.contains(&name.as_str()) {
        return Err("this header is set by the protocol");
    }
    let mut value = HeaderValue::try_from(value).map_err(|_| "this is no value of a header")?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_its_query() {
        let table = [
            ("https://mcp.example", Ok("tls mcp.example 443 /")),
            ("https://MCP.example:8/a/b?c=d", Ok("tls mcp.example 8 /a/b?c=d")),
            ("http://127.0.0.1:9/mcp", Ok("127.0.0.1 9 /mcp")),
            ("http://localhost/mcp", Ok("localhost 80 /mcp")),
            ("http://[::1]:9/mcp", Ok("::1 9 /mcp")),
            ("http://mcp.example/", Ok("mcp.example 80 / bare")),
            ("", Err("this is no address")),
            ("mcp.example", Err("it begins with neither `https://` nor `http://`")),
            ("ftp://mcp.example", Err("it begins with neither `https://` nor `http://`")),
            ("https://me:canary@a", Err("it holds a user or a password; keys go into `headers`")),
            ("https://a:0/", Err("its port does not fit")),
            ("https://a:99999/", Err("its port does not fit")),
            ("https://a/#b", Err("it has a part behind `#`")),
            ("https://*.a/", Err("its host is neither a name nor an address")),
            ("https://a b/", Err("this is no address")),
        ];
        for (text, expected) in table {
            let found = parse(text).map(|ServerAddress { target, path, unencrypted: bare }| {
                let tls = if target.tls { "tls " } else { "" };
                let bare = if bare { " bare" } else { "" };
                format!("{tls}{} {} {path}{bare}", target.host, target.port)
            });
            assert_eq!(found.as_deref().map_err(|error| *error), expected, "{text}");
        }
    }
}
