//! Decompresses replies while they are read. They are requested without compression, but some
//! proxies compress them all the same.

use std::{
    io::{self, Write},
    task::{Context, Poll},
};

use bytes::Bytes;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};

use crate::http::{HttpError, HttpErrorKind, HttpResponse, HttpStage, IncomingBody, LocalBody};

/// How many bytes are decompressed at once. A thousand times as many may come out of them, so the
/// reader of the body can stop at its limit.
const PIECE: usize = 1 << 10;

/// Decompresses the body of a reply, if it is compressed with gzip or deflate. Any other encoding
/// stays in the headers.
pub(super) fn decompress_reply(mut reply: HttpResponse) -> HttpResponse {
    let decoder = match content_encoding(&reply.headers).as_deref() {
        Some("gzip" | "x-gzip") => ReplyDecoder::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
        Some("deflate") => ReplyDecoder::Deflate,
        Some(_) | None => return reply,
    };
    reply.headers.remove(header::CONTENT_ENCODING);
    let body =
        DecompressedBody { incoming: reply.body, unread: Bytes::new(), decoder, ended: false };
    HttpResponse { body: IncomingBody::from_local(body), ..reply }
}

/// The encodings of a body, in lower case; `None` if it has none.
pub fn content_encoding(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(header::CONTENT_ENCODING).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let names = names.map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase());
    let names: Vec<String> = names.filter(|name| !name.is_empty() && name != "identity").collect();
    (!names.is_empty()).then(|| names.join(", "))
}

struct DecompressedBody {
    incoming: IncomingBody,
    /// Compressed bytes that have arrived.
    unread: Bytes,
    decoder: ReplyDecoder,
    /// Whether the end or an error was returned.
    ended: bool,
}

enum ReplyDecoder {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    /// Before the first byte, which tells the two forms apart.
    Deflate,
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
    RawDeflate(Box<DeflateDecoder<Vec<u8>>>),
}

impl LocalBody for DecompressedBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        while !self.ended {
            let decoded = if self.unread.is_empty() {
                match self.incoming.poll_next(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(bytes))) => {
                        self.unread = bytes;
                        continue;
                    }
                    Poll::Ready(Some(Err(error))) => {
                        self.ended = true;
                        return Poll::Ready(Some(Err(error)));
                    }
                    Poll::Ready(None) => {
                        self.ended = true;
                        self.decoder.finish()
                    }
                }
            } else {
                let piece = self.unread.split_to(PIECE.min(self.unread.len()));
                self.decoder.decode(&piece)
            };
            match decoded {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(bytes.into()))),
                Err(_) => {
                    self.ended = true;
                    let detail = "it cannot be decompressed";
                    let (stage, kind) = (HttpStage::Body, HttpErrorKind::Malformed);
                    return Poll::Ready(Some(Err(HttpError::after_send(stage, kind, detail))));
                }
            }
        }
        Poll::Ready(None)
    }
}

impl ReplyDecoder {
    /// What the next bytes decompress to.
    fn decode(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        if let (ReplyDecoder::Deflate, Some(first)) = (&*self, bytes.first()) {
            // `deflate` means zlib data with a header, but some servers send it without.
            *self = match first & 0x0f == 8 {
                true => ReplyDecoder::Zlib(Box::new(ZlibDecoder::new(Vec::new()))),
                false => ReplyDecoder::RawDeflate(Box::new(DeflateDecoder::new(Vec::new()))),
            };
        }
        match self {
            ReplyDecoder::Gzip(decoder) => {
                write_bytes(&mut **decoder, bytes)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            ReplyDecoder::Zlib(decoder) => {
                write_bytes(&mut **decoder, bytes)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            ReplyDecoder::RawDeflate(decoder) => {
                write_bytes(&mut **decoder, bytes)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            ReplyDecoder::Deflate => Ok(Vec::new()),
        }
    }

    /// The rest, at the end of the body.
    fn finish(&mut self) -> io::Result<Vec<u8>> {
        match self {
            // A body without a byte has no gzip header either.
            ReplyDecoder::Gzip(decoder) if decoder.header().is_none() => Ok(Vec::new()),
            ReplyDecoder::Gzip(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            ReplyDecoder::Zlib(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            ReplyDecoder::RawDeflate(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            ReplyDecoder::Deflate => Ok(Vec::new()),
        }
    }
}

/// Writes bytes to a decoder, up to the end of its data.
fn write_bytes(decoder: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match decoder.write(bytes)? {
            0 => break,
            count => bytes = bytes.get(count..).unwrap_or_default(),
        }
    }
    // An event of a stream is passed on when it arrives.
    decoder.flush()
}

#[cfg(test)]
mod tests {
    use flate2::{
        Compression,
        write::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };
    use http::{HeaderValue, StatusCode};

    use super::*;

    /// The chunks of a body, one by one.
    struct BodyChunks(std::collections::VecDeque<Bytes>);

    impl LocalBody for BodyChunks {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }
    }

    /// A reply with the text, compressed so that each half can be read when it has arrived.
    fn compressed(encoding: &str, halves: [&str; 2]) -> Vec<Vec<u8>> {
        fn chunks(
            mut encoder: impl Write,
            halves: [&str; 2],
            taken: &dyn Fn() -> Vec<u8>,
        ) -> Vec<Vec<u8>> {
            let chunks = halves.map(|half| {
                encoder.write_all(half.as_bytes()).expect("into memory");
                encoder.flush().expect("into memory");
                taken()
            });
            drop(encoder);
            chunks.into_iter().chain([taken()]).collect()
        }
        let memory = SharedMemory::default();
        let taken = || std::mem::take(&mut *memory.0.lock().expect("no panic"));
        let (target, level) = (memory.clone(), Compression::default());
        match encoding {
            "gzip" => chunks(GzEncoder::new(target, level), halves, &taken),
            "zlib" => chunks(ZlibEncoder::new(target, level), halves, &taken),
            _ => chunks(DeflateEncoder::new(target, level), halves, &taken),
        }
    }

    #[derive(Clone, Default)]
    struct SharedMemory(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for SharedMemory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn reply(encoding: &'static str, chunks: Vec<Vec<u8>>) -> HttpResponse {
        let body = BodyChunks(chunks.into_iter().map(Bytes::from).collect());
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        let body = IncomingBody::from_local(body);
        decompress_reply(HttpResponse { status: StatusCode::OK, headers, body })
    }

    #[tokio::test]
    async fn a_compressed_stream_passes_event_by_event() {
        let halves = ["data: one\n\n", "data: two\n\n"];
        for (encoding, form) in
            [("gzip", "gzip"), ("X-GZip", "gzip"), ("deflate", "zlib"), ("Deflate", "raw")]
        {
            let chunks = compressed(form, halves);
            let mut found = reply(encoding, chunks.clone());
            assert!(found.headers.is_empty(), "{encoding}");
            for half in halves {
                let bytes = found.body.next().await.expect("bytes").expect("no error");
                assert_eq!(bytes, half, "{encoding}");
            }
            assert!(found.body.next().await.is_none(), "{encoding}");
            // In single bytes it is the same.
            let bytes = chunks.concat().into_iter().map(|byte| vec![byte]).collect();
            let whole = reply(encoding, bytes).body.read_all(100).await.expect("no error");
            assert_eq!(whole, halves.concat(), "{encoding}");
        }
        let empty = reply("gzip", Vec::new());
        assert_eq!(empty.body.read_all(9).await.expect("no error"), "");
    }

    #[tokio::test]
    async fn a_damaged_and_an_endless_body_are_errors() {
        let whole = compressed("gzip", ["one", "two"]).concat();
        let cut = whole[..whole.len() - 3].to_vec();
        for bytes in [cut, b"\x1f\x8b\x08\x00".to_vec(), b"no gzip, but a longer text".to_vec()] {
            let error = reply("gzip", vec![bytes.clone()]).body.read_all(100).await;
            let found = error.map_err(|error| error.to_string());
            // A header alone holds nothing.
            match bytes.len() {
                4 => assert_eq!(found.expect("nothing"), ""),
                _ => assert!(found.expect_err("damaged").ends_with("cannot be decompressed")),
            }
        }
        let zeros = "\0".repeat(8 << 20);
        for (encoding, form) in [("gzip", "gzip"), ("deflate", "zlib"), ("deflate", "raw")] {
            let bomb = compressed(form, [&zeros, &zeros]);
            assert!(bomb.concat().len() < 64 << 10);
            let error = reply(encoding, bomb).body.read_all(1 << 20).await.expect_err("too long");
            assert_eq!(error.kind, HttpErrorKind::TooLarge, "{form}");
        }
    }

    #[test]
    fn other_encodings_are_kept() {
        for (value, expected) in
            [("br", Some("br")), ("gzip, BR", Some("gzip, br")), ("identity", None), ("", None)]
        {
            let kept = reply(value, Vec::new());
            assert_eq!(content_encoding(&kept.headers).as_deref(), expected, "{value}");
        }
    }
}
