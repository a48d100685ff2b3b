use super::*;

/// Reads a body that is split at `cuts`: the content, the number of bytes left over, and the end.
fn read(mut decoder: BodyDecoder, body: &[u8], cuts: &[usize]) -> (Vec<u8>, usize, &'static str) {
    let mut content = Vec::new();
    let mut waiting = Vec::new();
    let ends = cuts.iter().copied().chain([body.len()]);
    let mut from = 0;
    for end in ends {
        waiting.extend_from_slice(&body[from..end]);
        from = end;
        loop {
            match decoder.decode(&mut waiting) {
                Ok(found) => {
                    content.extend_from_slice(&waiting[found.start..found.end]);
                    waiting.drain(..found.used);
                    if found.used == 0 || matches!(decoder, BodyDecoder::Ended) {
                        break;
                    }
                }
                Err(error) => return (content, 0, error.detail),
            }
        }
    }
    match decoder {
        BodyDecoder::Ended => (content, waiting.len(), "ended"),
        mut decoder => (content, 0, decoder.close().err().map_or("closed", |error| error.detail)),
    }
}

#[test]
fn a_body_reads_the_same_wherever_it_is_cut() {
    const CUT: &str = "the connection was closed before its end";
    let (line, size) = (NO_LINE_END.detail, NO_LENGTH.detail);
    let chunked = BodyDecoder::CHUNKED;
    let table: &[(BodyDecoder, &str, &str, usize, &str)] = &[
        (BodyDecoder::Length(5), "hello", "hello", 0, "ended"),
        (BodyDecoder::Length(5), "hello more", "hello", 5, "ended"),
        (BodyDecoder::Length(5), "hell", "hell", 0, CUT),
        (BodyDecoder::Length(u64::MAX), "hell", "hell", 0, CUT),
        (BodyDecoder::UntilClose, "hello", "hello", 0, "closed"),
        (BodyDecoder::UntilClose, "", "", 0, "closed"),
        (BodyDecoder::Ended, "hello", "", 5, "ended"),
        (chunked.clone(), "0\r\n\r\n", "", 0, "ended"),
        (chunked.clone(), "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", 0, "ended"),
        (chunked.clone(), "5\r\nhello\r\n0\r\n\r\nHTTP", "hello", 4, "ended"),
        (chunked.clone(), "0005\r\nhello\r\n000\r\n\r\n", "hello", 0, "ended"),
        (
            chunked.clone(),
            "A\r\n0123456789\r\nb\r\nabcdefghijk\r\n0\r\n\r\n",
            "0123456789abcdefghijk",
            0,
            "ended",
        ),
        (chunked.clone(), "2;a=\"b;c\"\r\nhi\r\n0;last\r\n\r\n", "hi", 0, "ended"),
        (chunked.clone(), "2 \t;a\r\nhi\r\n1 \r\n!\r\n0\r\n\r\n", "hi!", 0, "ended"),
        (chunked.clone(), "2\r\nhi\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n", "hi", 0, "ended"),
        (chunked.clone(), "3\r\n\r\n\r\r\n2\r\n0\r\r\n0\r\n\r\n", "\r\n\r0\r", 0, "ended"),
        (chunked.clone(), "", "", 0, CUT),
        (chunked.clone(), "5\r\nhel", "hel", 0, CUT),
        (chunked.clone(), "5\r\nhello\r\n0\r\n", "hello", 0, CUT),
        (chunked.clone(), "5\r\nhello\r\n0\r\n\r", "hello", 0, CUT),
        (chunked.clone(), "5\r\nhello\r\n-1\r\n", "hello", 0, size),
        (chunked.clone(), "\r\nhello", "", 0, size),
        (chunked.clone(), ";a\r\n", "", 0, size),
        (chunked.clone(), " 5\r\nhello", "", 0, size),
        (chunked.clone(), "+5\r\nhello", "", 0, size),
        (chunked.clone(), "0x5\r\nhello", "", 0, size),
        (chunked.clone(), "5 5\r\nhello", "", 0, size),
        (chunked.clone(), "data: {}\n\n", "", 0, size),
        (chunked.clone(), "5\nhello\n0\n\n", "", 0, size),
        (chunked.clone(), "5\rhello", "", 0, line),
        (chunked.clone(), "5;a\nhello", "", 0, line),
        (chunked.clone(), "5\r\nhello0\r\n\r\n", "hello", 0, line),
        (chunked.clone(), "5\r\nhello\r0\r\n\r\n", "hello", 0, line),
        (chunked.clone(), "5\r\nhello\n0\r\n\r\n", "hello", 0, line),
        (chunked.clone(), "2\r\nhi\r\n0\r\nx: 1\n\r\n", "hi", 0, line),
        (chunked.clone(), "2\r\nhi\r\n0\r\n\n", "hi", 0, line),
        (chunked.clone(), "2\r\nhi\r\n0\r\n\rx", "hi", 0, line),
        (chunked.clone(), "ffffffffffffffff\r\nabc", "abc", 0, CUT),
        (chunked.clone(), "10000000000000000\r\nabc", "", 0, "a chunk is too long"),
        (chunked, "2\r\nhi\r\nfffffffffffffffff\r\nabc", "hi", 0, "a chunk is too long"),
    ];
    for (decoder, body, content, left, end) in table {
        let expected = (content.as_bytes().to_vec(), *left, *end);
        let body = body.as_bytes();
        assert_eq!(read(decoder.clone(), body, &[]), expected, "{body:?}");
        let every: Vec<usize> = (0..=body.len()).collect();
        assert_eq!(read(decoder.clone(), body, &every), expected, "{body:?} byte by byte");
        for first in 0..=body.len() {
            for second in first..=body.len() {
                let cuts = [first, second];
                assert_eq!(read(decoder.clone(), body, &cuts), expected, "{body:?} at {cuts:?}");
            }
        }
    }
}

#[test]
fn endless_lines_and_trailers_are_refused() {
    let table = [
        (format!("5;{}", "x".repeat(5_000)), "a chunk's line is too long"),
        (format!("5{}", " ".repeat(5_000)), "a chunk's line is too long"),
        (format!("0\r\n{}", "x".repeat(70_000)), "too many trailers"),
        (format!("0\r\n{}", "a: b\r\n".repeat(20_000)), "too many trailers"),
        (format!("0\r\n{}", "a".repeat(70_000)), "too many trailers"),
        ("0".repeat(100) + "\r\n\r\n", "ended"),
    ];
    for (body, end) in table {
        assert_eq!(read(BodyDecoder::CHUNKED, body.as_bytes(), &[]), (Vec::new(), 0, end));
    }
}

#[test]
fn chunks_of_one_read_are_returned_together() {
    let mut body: Vec<u8> = b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n".to_vec();
    let mut decoder = BodyDecoder::CHUNKED;
    let found = decoder.decode(&mut body).expect("valid");
    assert_eq!(found, DecodedRange { start: 3, end: 14, used: 26 });
    assert_eq!(&body[3..14], b"hello world");
}
