//! Access control. Every route is checked before anything else happens.
//!
//! We treat every web page open on this machine, and every host that can reach the port, as
//! hostile. A page can make a browser send requests here, so `Host` and `Origin` must be ours.
//! The configuration of a token decides what it permits; a client's claims about itself do not
//! count.

mod upstream_headers;
mod host;
mod token;

use crate::{
    ApiError, RequestCaller,
    config::{AccessConfig, TokenScope},
};
use http::{HeaderMap, HeaderValue, header, request::Parts};

use crate::{ConnectionAddresses, error};

pub(crate) use upstream_headers::reject_upstream_headers;

/// An authenticated client.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    /// The caller, for the engine.
    pub(crate) caller: RequestCaller,
    /// What the token permits.
    pub(crate) scope: TokenScope,
}

/// Checks `Host` and `Origin`, independent of the token. Returns the origin if the reply needs
/// CORS headers for it.
///
/// # Errors
/// If the host or the origin is not allowed.
pub(crate) fn check_origin(
    access: &AccessConfig,
    parts: &Parts,
    peer: ConnectionAddresses,
) -> Result<Option<HeaderValue>, ApiError> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(error::bad_request("a request must have exactly one `Host` header"));
    };
    let host = host.to_str().map_err(|_| error::bad_host())?;
    let authority = parts.uri.authority().map(|name| name.as_str());
    if !host::is_allowed(access, host, peer)
        || authority.is_some_and(|name| !host::is_allowed(access, name, peer))
    {
        return Err(error::bad_host());
    }
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => Ok(None),
        (Some(origin), None) => match origin.to_str() {
            Ok(text) if access.origins.iter().any(|one| one == text) => Ok(Some(origin.clone())),
            // Our own pages: same origin, and the host was checked above.
            Ok(text) if text.strip_prefix("http://") == Some(host) => Ok(None),
            Ok(_) | Err(_) => Err(error::bad_origin()),
        },
        (Some(_), Some(_)) => Err(error::bad_origin()),
    }
}

/// Whether a request certainly comes from this machine: over loopback, to a loopback name, and
/// not through a proxy.
pub(crate) fn is_local(headers: &HeaderMap, peer: ConnectionAddresses) -> bool {
    const PROXY_HEADERS: [&str; 5] =
        ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    peer.remote.ip().to_canonical().is_loopback()
        && host.is_some_and(host::is_loopback)
        && !PROXY_HEADERS.iter().any(|name| headers.contains_key(*name))
}

/// Finds the principal of a request. Removes all keys from the headers, so that they cannot leak.
///
/// # Errors
/// If there is no valid token.
pub(crate) fn authenticate(
    access: &AccessConfig,
    headers: &mut HeaderMap,
) -> Result<Principal, ApiError> {
    let keys = token::RequestKeys::take(headers);
    token::find_principal(access, keys).ok_or_else(error::bad_token)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn access() -> AccessConfig {
        AccessConfig {
            tokens: Vec::new(),
            hosts: vec!["gate.example".into()],
            origins: vec!["https://app.example".into()],
        }
    }

    fn check(uri: &str, headers: &[(&'static str, &str)]) -> Result<Option<HeaderValue>, u16> {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let peer = ConnectionAddresses {
            remote: "192.0.2.9:1234".parse().expect("an address"),
            local: "192.0.2.1:4177".parse().expect("an address"),
        };
        check_origin(&access(), &parts, peer).map_err(|error| error.kind.status().as_u16())
    }

    #[test]
    fn only_host_names_of_this_server_are_allowed() {
        for (host, expected) in [
            ("localhost", Ok(None)),
            ("localhost:4177", Ok(None)),
            ("LOCALHOST.:1", Ok(None)),
            ("127.0.0.1:4177", Ok(None)),
            ("127.8.8.8", Ok(None)),
            ("[::1]:4177", Ok(None)),
            ("192.0.2.1:4177", Ok(None)),
            ("Gate.Example", Ok(None)),
            ("gate.example:443", Ok(None)),
            ("192.0.2.2", Err(403)),
            ("evil.example", Err(403)),
            ("localhost.evil.example", Err(403)),
            ("127.0.0.1.evil.example", Err(403)),
            ("gate.example.evil", Err(403)),
            ("evil@localhost", Err(403)),
            ("localhost:4177:1", Err(403)),
            ("localhost:x", Err(403)),
            ("[::1", Err(403)),
            ("", Err(403)),
        ] {
            assert_eq!(check("/", &[("host", host)]), expected, "{host}");
        }
        assert_eq!(check("/", &[]), Err(400));
        assert_eq!(check("/", &[("host", "localhost"), ("host", "localhost")]), Err(400));
        assert_eq!(check("http://localhost/", &[("host", "localhost")]), Ok(None));
        assert_eq!(check("http://evil.example/", &[("host", "localhost")]), Err(403));
    }

    #[test]
    fn only_listed_origins_and_our_own_are_allowed() {
        for (origin, expected) in [
            ("https://app.example", Ok(Some(HeaderValue::from_static("https://app.example")))),
            ("http://localhost:4177", Ok(None)),
            // Another server on this machine is a different origin.
            ("http://localhost:3000", Err(403)),
            ("http://localhost", Err(403)),
            ("https://localhost:4177", Err(403)),
            ("https://app.example:444", Err(403)),
            ("https://app.example.evil", Err(403)),
            ("http://app.example", Err(403)),
            ("null", Err(403)),
            ("", Err(403)),
        ] {
            let headers = [("host", "localhost:4177"), ("origin", origin)];
            assert_eq!(check("/", &headers), expected, "{origin}");
        }
        let twice = [
            ("host", "localhost"),
            ("origin", "https://app.example"),
            ("origin", "https://app.example"),
        ];
        assert_eq!(check("/", &twice), Err(403));
    }
}
