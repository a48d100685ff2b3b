use super::{
    binary::{self, BinaryMessageKind},
    *,
};

/// The frames of a stream: name, data and offset of the data.
type Frames = Vec<(Option<String>, String, u64)>;

fn frames<'c>(
    format: Format,
    max_frame: usize,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Frames, Result<(), StreamError>) {
    let mut found = Frames::new();
    let mut framer = StreamFramer::new(format, max_frame);
    let mut each = |frame: StreamFrame<'_>| {
        found.push((frame.name.map(str::to_owned), frame.data.to_owned(), frame.at));
        Ok(())
    };
    let run = || {
        for chunk in chunks {
            framer.push(chunk, &mut each)?;
        }
        framer.finish(&mut each)
    };
    let result = run();
    (found, result)
}

const LARGE: usize = 1 << 20;

/// The frames of a stream in one chunk. Asserts that every other cut gives the same frames.
fn cut_anywhere(
    format: Format,
    max_frame: usize,
    bytes: &[u8],
) -> (Frames, Result<(), StreamError>) {
    let expected = frames(format, max_frame, [bytes]);
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(frames(format, max_frame, [head, tail]), expected, "cut at {at}");
    }
    for size in [1, 2, 3, 5] {
        assert_eq!(frames(format, max_frame, bytes.chunks(size)), expected, "chunks of {size}");
    }
    expected
}

fn frame(name: &str, data: &str, at: u64) -> (Option<String>, String, u64) {
    (Some(name).filter(|name| !name.is_empty()).map(str::to_owned), data.to_owned(), at)
}

#[test]
fn event_streams_are_read_with_every_kind_of_line_end() {
    let table: [(&str, Frames); 17] = [
        ("data: 1\n\ndata: 2\n\n", vec![frame("", "1", 6), frame("", "2", 15)]),
        ("data: 1\r\n\r\ndata: 2\r\n\r\n", vec![frame("", "1", 6), frame("", "2", 17)]),
        ("data: 1\r\rdata: 2\r\r", vec![frame("", "1", 6), frame("", "2", 15)]),
        ("data: 1\r\n\ndata: 2\n\r\n", vec![frame("", "1", 6), frame("", "2", 16)]),
        ("event: ping\ndata: {}\n\n", vec![frame("ping", "{}", 18)]),
        ("data: {}\nevent: ping\n\n", vec![frame("ping", "{}", 6)]),
        ("event:ping\ndata:{}\n\n", vec![frame("ping", "{}", 16)]),
        ("data:  two\n\n", vec![frame("", " two", 6)]),
        ("data: a\ndata: b\ndata\ndata:c\n\n", vec![frame("", "a\nb\n\nc", 6)]),
        (": hello\n\n: more\nid: 7\nretry: 10\ndata: 1\n\n", vec![frame("", "1", 38)]),
        ("event: ping\n\ndata\n\ndata: \n\n", vec![]),
        ("database: 1\n\nevents: 2\ndata: 3\n\n", vec![frame("", "3", 29)]),
        ("\u{feff}data: 1\n\n", vec![frame("", "1", 9)]),
        ("\n\n  \r\ndata: 1\n\n", vec![frame("", "1", 12)]),
        ("data: né 🦊\n\n", vec![frame("", "né 🦊", 6)]),
        // Without the blank line, complete data counts.
        ("data: 1\n\ndata: [DONE]", vec![frame("", "1", 6), frame("", "[DONE]", 15)]),
        ("data: {\"a\":1}\n\ndata: {\"a\":", vec![frame("", "{\"a\":1}", 6)]),
    ];
    for (source, expected) in table {
        let found = cut_anywhere(Format::OpenaiChat, LARGE, source.as_bytes());
        assert_eq!(found, (expected, Ok(())), "{source:?}");
    }
}

#[test]
fn objects_are_read_from_a_list_and_from_lines() {
    let table: [(&str, Frames); 7] = [
        (
            "[{\"a\":1}\n,\r\n{\"b\":[{}]}]\n",
            vec![frame("", "{\"a\":1}", 1), frame("", "{\"b\":[{}]}", 12)],
        ),
        ("[]", vec![]),
        (" [{\"a\":\"}]\\\"{\"}", vec![frame("", "{\"a\":\"}]\\\"{\"}", 2)]),
        (
            "{\"a\":1}\n{\"b\":\"é🦊\"}\n",
            vec![frame("", "{\"a\":1}", 0), frame("", "{\"b\":\"é🦊\"}", 8)],
        ),
        ("{\n  \"error\": {}\n}\n", vec![frame("", "{\n  \"error\": {}\n}", 0)]),
        // An object that was cut off inside a string ends with its line. Its reader rejects it.
        ("{\"a\":\"x\n{\"b\":2}", vec![frame("", "{\"a\":\"x\n", 0), frame("", "{\"b\":2}", 8)]),
        ("[{\"a\":1},{\"b\":", vec![frame("", "{\"a\":1}", 1)]),
    ];
    for (source, expected) in table {
        let found = cut_anywhere(Format::Gemini, LARGE, source.as_bytes());
        assert_eq!(found, (expected, Ok(())), "{source:?}");
    }
    for (source, at) in [("[1]", 1), ("[{}] x", 5), ("{}\nx", 3), ("{},{}", 2), ("[{}}", 3)] {
        let (_, result) = cut_anywhere(Format::Gemini, LARGE, source.as_bytes());
        let found = matches!(result, Err(StreamError::Malformed { at: found, .. }) if found == at);
        assert!(found, "{source}: {result:?}");
    }
}

fn message(kind: BinaryMessageKind<'_>, payload: &str) -> Vec<u8> {
    let mut out = Vec::new();
    binary::write(&mut out, kind, payload.as_bytes());
    out
}

#[test]
fn binary_messages_are_read_as_they_are_written() {
    let mut bytes = message(BinaryMessageKind::Event("messageStart"), "{\"role\":\"assistant\"}");
    let first = bytes.len() as u64;
    bytes.extend(message(
        BinaryMessageKind::Exception("throttlingException"),
        "{\"message\":\"é\"}",
    ));
    let (found, result) = cut_anywhere(Format::Bedrock, LARGE, &bytes);
    assert_eq!(result, Ok(()));
    assert_eq!(found[0], frame("messageStart", "{\"role\":\"assistant\"}", first - 24));
    assert_eq!(found[1].0.as_deref(), Some("throttlingException"));
    assert_eq!(found[1].1, "{\"message\":\"é\"}");
    // An incomplete message at the end is ignored.
    let (found, result) = frames(Format::Bedrock, LARGE, [&bytes[..bytes.len() - 1]]);
    assert_eq!((found.len(), result), (1, Ok(())));
}

#[test]
fn binary_message_matches_amazons_format() {
    let bytes = message(BinaryMessageKind::Event("messageStop"), "{}");
    let headers = b"\x0b:event-type\x07\x00\x0bmessageStop\
        \x0d:content-type\x07\x00\x10application/json\
        \x0d:message-type\x07\x00\x05event";
    let total = 12 + headers.len() + 2 + 4;
    assert_eq!(bytes[..8], [0, 0, 0, total as u8, 0, 0, 0, headers.len() as u8]);
    assert_eq!(&bytes[12..total - 4], [&headers[..], b"{}"].concat());
    // The smallest possible message, with the checksum from the format's documentation.
    let smallest = [0, 0, 0, 16, 0, 0, 0, 0, 5, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
    let (found, result) = frames(Format::Bedrock, LARGE, [&smallest[..]]);
    assert_eq!((found, result), (vec![frame("", "{}", 12)], Ok(())));
}

#[test]
fn connection_error_is_read_like_an_exception() {
    let headers = b"\x0d:message-type\x07\x00\x05error\
        \x0b:error-code\x07\x00\x0dInternalError\
        \x0e:error-message\x07\x00\x04\"no\"\
        \x05:flag\x00\x04:num\x04\x00\x00\x00\x01";
    let mut bytes = Vec::new();
    bytes.extend((12 + headers.len() as u32 + 4).to_be_bytes());
    bytes.extend((headers.len() as u32).to_be_bytes());
    bytes.extend(zip_checksum(&bytes).to_be_bytes());
    bytes.extend(headers);
    bytes.extend(zip_checksum(&bytes).to_be_bytes());
    let (found, result) = frames(Format::Bedrock, LARGE, [&bytes[..]]);
    assert_eq!(result, Ok(()));
    assert_eq!(found[0].0.as_deref(), Some("InternalError"));
    assert_eq!(found[0].1, r#"{"message":"\"no\""}"#);
}

/// A second implementation of the checksum, bit by bit.
fn zip_checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

#[test]
fn changed_byte_of_a_binary_message_is_detected() {
    let good = message(BinaryMessageKind::Event("messageStop"), "{\"stopReason\":\"end_turn\"}");
    // The first byte selects the framing, so skip it.
    for at in 1..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        let (found, result) = frames(Format::Bedrock, LARGE, [&bytes[..]]);
        let expected = if at < 12 { 8 } else { good.len() as u64 - 4 };
        let has_offset = matches!(result, Err(StreamError::Malformed { at, .. }) if at == expected);
        assert!(has_offset && found.is_empty(), "byte {at}: {result:?}");
    }
}

#[test]
fn invalid_utf8_is_reported_with_its_offset() {
    let table: [(&[u8], u64); 3] = [
        (b"data: {}\n\ndata: ab\xffc\n\n", 18),
        (b"data: {\ndata: \xff}\n\n", 14),
        (b"{\"a\":\"\xc3\"}", 6),
    ];
    for (bytes, at) in table {
        let (_, result) = cut_anywhere(Format::Anthropic, LARGE, bytes);
        let what = "the bytes are not UTF-8".to_owned();
        assert_eq!(result, Err(StreamError::Malformed { at, what }));
    }
}

#[test]
fn error_in_a_later_data_line_has_the_right_offset() {
    let source = b": x\n\nid: 1\ndata: {\nevent: e\ndata: \"a\": ?\ndata: }\n\n";
    let mut framer = StreamFramer::new(Format::OpenaiChat, LARGE);
    let result = framer.push(source, &mut |frame| {
        let at = frame.at + frame.data.find('?').expect("a question") as u64;
        Err(malformed(at, "?"))
    });
    let at = source.iter().position(|byte| *byte == b'?').expect("a question") as u64;
    assert_eq!(result, Err(malformed(at, "?")));
}

#[test]
fn too_large_frame_is_rejected_for_any_cut() {
    let too_large = |at| Err(StreamError::TooLarge { at, most: 16 });
    let binary = message(BinaryMessageKind::Event("messageStop"), "{}");
    let table = [
        (Format::OpenaiChat, &b"data: 12345678\n\ndata: 1\n\n"[..], 2, Ok(())),
        (Format::OpenaiChat, b"data: 1\n\ndata: 123456789\n\n", 1, too_large(25)),
        (Format::Gemini, b"[{\"a\":1},\n{\"a\":1234567890}]", 1, too_large(24)),
        (Format::Gemini, b"{\"a\":12345678901234567890", 0, too_large(16)),
        (Format::Bedrock, &binary, 0, too_large(16)),
    ];
    for (format, bytes, count, expected) in table {
        let (found, result) = cut_anywhere(format, 16, bytes);
        assert_eq!((found.len(), result), (count, expected));
    }
}

#[test]
fn too_large_frame_is_rejected_before_it_is_buffered() {
    let line = vec![b'x'; 20 << 20];
    let mut framer = StreamFramer::new(Format::OpenaiChat, LARGE);
    let mut each = |_: StreamFrame<'_>| Ok(());
    framer.push(b"data: ", &mut each).expect("a beginning");
    let result = framer.push(&line, &mut each);
    assert_eq!(result, Err(StreamError::TooLarge { at: LARGE as u64, most: LARGE }));
    assert!(framer.partial.capacity() < 64);
}

#[test]
fn complete_frame_is_passed_on_without_a_copy() {
    let bytes = b"data: {\"a\":1}\n\ndata: {\"b\":2}\n\n";
    let mut framer = StreamFramer::new(Format::OpenaiChat, LARGE);
    let range = bytes.as_ptr_range();
    let mut each = |frame: StreamFrame<'_>| {
        assert!(range.contains(&frame.data.as_ptr()));
        Ok(())
    };
    framer.push(bytes, &mut each).expect("frames");
    assert_eq!(framer.partial.capacity(), 0);
}
