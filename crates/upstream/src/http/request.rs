//! Encodes the head of a request.

use std::io::Write as _;

use bytes::Bytes;
use http::{HeaderName, Method, header};

use crate::{
    NetworkTarget,
    http::{HttpError, HttpErrorKind, HttpRequest, HttpStage, ProxyServer},
};

/// Encodes the head, for the upstream or for a proxy that passes it on. Header values cannot hold a
/// line end; the path and the host are checked.
pub(super) fn encode_head(
    target: &NetworkTarget,
    request: &HttpRequest<'_>,
    proxy: Option<&ProxyServer>,
) -> Result<Bytes, HttpError> {
    if !request.path.starts_with('/') || !request.path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(forbidden("the path is not valid"));
    }
    check_host(target)?;
    let sent = || request.headers.iter().filter(|(name, _)| !is_connection_header(name));
    let length: usize = sent().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let mut head = Vec::with_capacity(length + request.path.len() + target.host.len() + 96);

    head.extend_from_slice(request.method.as_str().as_bytes());
    head.push(b' ');
    if proxy.is_some() {
        head.extend_from_slice(b"http://");
        write_host(&mut head, target, HostPort::UnlessDefault);
    }
    head.extend_from_slice(request.path.as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    write_host(&mut head, target, HostPort::UnlessDefault);
    head.extend_from_slice(b"\r\n");
    write_authorization(&mut head, proxy);
    for (name, value) in sent() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    if !request.body.is_empty() || !matches!(request.method, Method::GET | Method::HEAD) {
        // Writing to memory does not fail.
        let _ = write!(head, "content-length: {}\r\n", request.body.len());
    }
    head.extend_from_slice(b"\r\n");
    Ok(head.into())
}

/// The `host` header of requests to a target.
pub(crate) fn host_header(target: &NetworkTarget) -> String {
    let mut host = Vec::with_capacity(target.host.len() + 6);
    write_host(&mut host, target, HostPort::UnlessDefault);
    String::from_utf8_lossy(&host).into_owned()
}

/// Encodes the request for a tunnel to a target.
pub(super) fn encode_connect(
    target: &NetworkTarget,
    proxy: &ProxyServer,
) -> Result<Bytes, HttpError> {
    check_host(target)?;
    let mut head = b"CONNECT ".to_vec();
    write_host(&mut head, target, HostPort::Always);
    head.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    write_host(&mut head, target, HostPort::Always);
    head.extend_from_slice(b"\r\n");
    write_authorization(&mut head, Some(proxy));
    head.extend_from_slice(b"\r\n");
    Ok(head.into())
}

/// Whether the port is written after the host.
#[derive(PartialEq, Eq)]
enum HostPort {
    Always,
    UnlessDefault,
}

fn check_host(target: &NetworkTarget) -> Result<(), HttpError> {
    let host = without_brackets(&target.host);
    match !host.is_empty() && host.bytes().all(is_host_byte) {
        true => Ok(()),
        false => Err(forbidden("the host is not valid")),
    }
}

fn write_host(head: &mut Vec<u8>, target: &NetworkTarget, port: HostPort) {
    let host = without_brackets(&target.host);
    let address = host.contains(':');
    head.extend_from_slice(if address { b"[" } else { b"" });
    head.extend_from_slice(host.as_bytes());
    head.extend_from_slice(if address { b"]" } else { b"" });
    if port == HostPort::Always || target.port != if target.tls { 443 } else { 80 } {
        let _ = write!(head, ":{}", target.port);
    }
}

fn write_authorization(head: &mut Vec<u8>, proxy: Option<&ProxyServer>) {
    if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.as_ref()) {
        head.extend_from_slice(b"proxy-authorization: ");
        head.extend_from_slice(authorization.reveal().as_bytes());
        head.extend_from_slice(b"\r\n");
    }
}

fn forbidden(detail: &'static str) -> HttpError {
    HttpError::before_send(HttpStage::Send, HttpErrorKind::Forbidden, detail)
}

/// A host without the brackets of an IPv6 address in a URL.
pub(super) fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'%')
}

/// Headers that belong to one connection, not to the request.
pub(super) fn is_connection_header(name: &HeaderName) -> bool {
    const CONNECTION_HEADERS: [HeaderName; 9] = [
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::TE,
        header::TRAILER,
        header::UPGRADE,
        header::EXPECT,
        header::PROXY_AUTHORIZATION,
    ];
    CONNECTION_HEADERS.contains(name) || matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::AddressPolicy;

    fn written(tls: bool, host: &str, port: u16, method: Method, path: &str, body: &str) -> String {
        written_for(None, tls, host, port, method, path, body)
    }

    fn written_for(
        proxy: Option<&ProxyServer>,
        tls: bool,
        host: &str,
        port: u16,
        method: Method,
        path: &str,
        body: &str,
    ) -> String {
        let target = NetworkTarget {
            tls,
            host: host.into(),
            port,
            prefix: "".into(),
            addresses: AddressPolicy::Private,
            identity: None,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "evil"),
            ("content-length", "7"),
            ("transfer-encoding", "chunked"),
            ("connection", "close, x-api-key"),
            ("keep-alive", "1"),
            ("expect", "100-continue"),
            ("upgrade", "h2c"),
            ("te", "trailers"),
            ("proxy-authorization", "secret"),
            ("x-api-key", "sk"),
        ] {
            headers.insert(name, value.parse().expect("a value"));
        }
        headers.append("x-two", "1".parse().expect("a value"));
        headers.append("x-two", "2".parse().expect("a value"));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let request = HttpRequest { method, path, headers: &headers, body };
        match encode_head(&target, &request, proxy) {
            Ok(head) => String::from_utf8(head.to_vec()).expect("text"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_head_has_host_and_content_length() {
        let table = [
            (
                true,
                "api.example.com",
                443,
                Method::POST,
                "{}",
                "api.example.com",
                "content-length: 2\r\n",
            ),
            (
                true,
                "api.example.com",
                80,
                Method::POST,
                "",
                "api.example.com:80",
                "content-length: 0\r\n",
            ),
            (false, "::1", 80, Method::GET, "", "[::1]", ""),
            (false, "[::1]", 8080, Method::GET, "x", "[::1]:8080", "content-length: 1\r\n"),
        ];
        for (tls, host, port, method, body, expected, length) in table {
            let verb = method.clone();
            let expected = format!(
                "{verb} /v1/a?b=c HTTP/1.1\r\nhost: {expected}\r\nx-api-key: sk\r\nx-two: 1\r\nx-two: 2\r\n{length}\r\n"
            );
            assert_eq!(written(tls, host, port, method, "/v1/a?b=c", body), expected);
        }
    }

    #[test]
    fn a_proxy_reads_the_whole_url_and_its_own_authorization() {
        let proxy = ProxyServer::parse("http://me:pass@proxy:1").expect("a proxy");
        for (host, port, shown) in
            [("a.example", 80, "a.example"), ("::1", 8000, "[::1]:8000"), ("a", 443, "a:443")]
        {
            let found = written_for(Some(&proxy), false, host, port, Method::GET, "/x?y", "");
            let expected = format!(
                "GET http://{shown}/x?y HTTP/1.1\r\nhost: {shown}\r\n\
                 proxy-authorization: Basic bWU6cGFzcw==\r\n\
                 x-api-key: sk\r\nx-two: 1\r\nx-two: 2\r\n\r\n"
            );
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn path_and_host_cannot_inject_headers() {
        let path = "sending the request to the upstream: the path is not valid";
        let host = "sending the request to the upstream: the host is not valid";
        for bad in ["", "v1", "/a b", "/a\r\nx: y", "/a\n", "/ä", "/\u{7f}", "http://a/", "/\0"] {
            assert_eq!(written(true, "a", 443, Method::POST, bad, ""), path, "{bad:?}");
        }
        for bad in ["", "[]", "a b", "a\r\nx: y", "a/b", "user@a", "ä", "a?b", "a#b", "a\\b"] {
            assert_eq!(written(true, bad, 443, Method::POST, "/", ""), host, "{bad:?}");
        }
        for value in ["a\r\nx: y", "a\n", "a\0", "a\r"] {
            assert!(http::HeaderValue::from_str(value).is_err(), "{value:?}");
        }
    }
}
