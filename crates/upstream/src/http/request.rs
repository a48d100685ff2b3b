//! Encodes the head of a request.

use std::io::Write as _;

use bytes::Bytes;
use http::{HeaderName, Method, header};

use crate::{
    NetworkTarget,
    http::{HttpError, HttpErrorKind, HttpRequest, HttpStage},
};

/// Encodes the head. Header values cannot hold a line end; the path and the host are checked.
pub(super) fn encode_head(
    target: &NetworkTarget,
    request: &HttpRequest<'_>,
) -> Result<Bytes, HttpError> {
    let forbidden =
        |detail| HttpError::before_send(HttpStage::Send, HttpErrorKind::Forbidden, detail);
    if !request.path.starts_with('/') || !request.path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(forbidden("the path is not valid"));
    }
    let host = without_brackets(&target.host);
    if host.is_empty() || !host.bytes().all(is_host_byte) {
        return Err(forbidden("the host is not valid"));
    }
    let sent = || request.headers.iter().filter(|(name, _)| !is_connection_header(name));
    let length: usize = sent().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let mut head = Vec::with_capacity(length + request.path.len() + host.len() + 96);

    head.extend_from_slice(request.method.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(request.path.as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\nhost: ");
    let address = host.contains(':');
    head.extend_from_slice(if address { b"[" } else { b"" });
    head.extend_from_slice(host.as_bytes());
    head.extend_from_slice(if address { b"]" } else { b"" });
    // Writing to memory does not fail.
    if target.port != if target.tls { 443 } else { 80 } {
        let _ = write!(head, ":{}", target.port);
    }
    head.extend_from_slice(b"\r\n");
    for (name, value) in sent() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    if !request.body.is_empty() || !matches!(request.method, Method::GET | Method::HEAD) {
        let _ = write!(head, "content-length: {}\r\n", request.body.len());
    }
    head.extend_from_slice(b"\r\n");
    Ok(head.into())
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
        let target = NetworkTarget {
            tls,
            host: host.into(),
            port,
            prefix: "".into(),
            addresses: AddressPolicy::Private,
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
        match encode_head(&target, &HttpRequest { method, path, headers: &headers, body }) {
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
