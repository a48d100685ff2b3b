use super::*;

/// Reads a head whose bytes arrive in chunks of this size.
fn read(
    text: &[u8],
    chunk_size: usize,
    max_length: usize,
) -> Result<Option<(ResponseHead, Vec<u8>)>, &'static str> {
    let mut reader = ResponseHeadReader::new(max_length);
    let mut buffer = BytesMut::new();
    let mut chunks = text.chunks(chunk_size);
    while let Some(chunk) = chunks.next() {
        buffer.extend_from_slice(chunk);
        if let Some(head) = reader.read(&mut buffer, &Method::POST).map_err(|error| error.detail)? {
            let rest = chunks.flatten().copied();
            return Ok(Some((head, buffer.iter().copied().chain(rest).collect())));
        }
    }
    Ok(None)
}

/// One line: status, framing and reuse of the connection; or the error.
fn describe(text: &str) -> String {
    let whole = read(text.as_bytes(), usize::MAX, 4096);
    for chunk_size in 1..text.len().min(40) {
        assert_eq!(
            read(text.as_bytes(), chunk_size, 4096),
            whole,
            "{text:?} in chunks of {chunk_size}"
        );
    }
    match whole {
        Ok(Some((head, rest))) => {
            let body = match head.body {
                BodyDecoder::Length(length) => length.to_string(),
                BodyDecoder::Chunked(_) => "chunked".to_owned(),
                BodyDecoder::UntilClose => "until close".to_owned(),
                BodyDecoder::Ended => "none".to_owned(),
                BodyDecoder::Broken(error) => error.detail.to_owned(),
            };
            let rest = String::from_utf8_lossy(&rest);
            format!("{} {body} {:?} {rest:?}", head.status.as_u16(), head.reuse)
        }
        Ok(None) => "incomplete".to_owned(),
        Err(detail) => detail.to_owned(),
    }
}

#[test]
fn framing_is_read_from_the_head() {
    let table = [
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "200 5 Reuse \"hello\""),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 none Reuse \"\""),
        ("HTTP/1.1 200\r\nTransfer-Encoding: Chunked\r\n\r\n0", "200 chunked Reuse \"0\""),
        ("HTTP/1.1 200 OK\r\n\r\nhello", "200 until close Close \"hello\""),
        ("HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\n", "200 5 Close \"\""),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: x, Close\r\n\r\n",
            "200 5 Close \"\"",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\n",
            "200 5 Reuse \"\"",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", "204 none Reuse \"\""),
        ("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", "204 none Close \"\""),
        ("HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n", "204 none Close \"\""),
        ("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", "304 none Reuse \"\""),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://a/\r\ncontent-length: 0\r\n\r\n",
            "302 none Reuse \"\"",
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
            "200 1 Reuse \"x\"",
        ),
        ("HTTP/1.1 200 OK\ncontent-length: 1\n\nx", "200 1 Reuse \"x\""),
        ("HTTP/1.1 200 \u{e4}\r\nx: \u{e4}\r\ncontent-length: 1\r\n\r\n", "200 1 Reuse \"\""),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r", "incomplete"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "incomplete"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "it switches the protocol without a request"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\n", "it has two lengths"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n", "it has two lengths"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\n", "its length is not one"),
        ("HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n", "its length is not one"),
        ("HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\n", "its length is not one"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0x5\r\n\r\n", "its length is not one"),
        ("HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n", "its length is not one"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\n",
            "its length is not one",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
            "it has a length and chunks",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
            "its transfer encoding is not known",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
            "its transfer encoding is not known",
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\n",
            "its transfer encoding is not known",
        ),
        ("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "HTTP/1.0 has no chunks"),
        ("HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\n", "it cannot be read"),
        ("HTTP/1.1 200 OK\r\nx: a\r\n folded\r\n\r\n", "it cannot be read"),
        ("HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n", "it cannot be read"),
        ("HTTP/1.1 2000 OK\r\n\r\n", "it cannot be read"),
        ("HTTP/1.1 099 OK\r\n\r\n", "its status is not one"),
        ("HTTP/2 200\r\n\r\n", "it is not HTTP/1.1"),
        ("\u{15}\u{3}\u{3}\0\u{2}\u{2}P", "it is not HTTP/1.1"),
        ("SSH-2.0-OpenSSH\r\n", "it is not HTTP/1.1"),
    ];
    for (text, expected) in table {
        assert_eq!(describe(text), expected, "{text:?}");
    }
}

#[test]
fn headers_keep_their_order_without_connection_headers() {
    let text = "HTTP/1.1 200 OK\r\nX-One: 1\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\n\
                transfer-encoding: chunked\r\nempty:\r\nx-one:  2 \r\ncontent-type: a/b\r\n\r\n";
    let (head, _) = read(text.as_bytes(), 7, 4096).expect("valid").expect("complete");
    let found: Vec<(&str, &[u8])> =
        head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let expected: Vec<(&str, &[u8])> =
        vec![("x-one", b"1"), ("x-one", b"2"), ("empty", b""), ("content-type", b"a/b")];
    assert_eq!(found, expected);
}

#[test]
fn an_endless_head_is_refused_at_the_limit() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    let lines = format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(1 << 10));
    let ended = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(5_000));
    let early = "HTTP/1.1 102 Processing\r\n\r\n".repeat(10_000);
    for (text, expected) in [
        (long, "it is too long"),
        (lines, "it has too many headers"),
        (ended, "it is too long"),
        (early, "it is too long"),
    ] {
        assert_eq!(read(text.as_bytes(), usize::MAX, 4096), Err(expected));
        let found = read(text.as_bytes(), 100, 4096);
        assert!(matches!(found, Err("it is too long" | "it has too many headers")), "{found:?}");
    }
    let fits = "HTTP/1.1 200 OK\r\n\r\n";
    assert!(read(fits.as_bytes(), 1, fits.len()).is_ok_and(|head| head.is_some()));
    assert_eq!(read(fits.as_bytes(), 1, fits.len() - 1), Err("it is too long"));
}
