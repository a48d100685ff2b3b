use std::{
    collections::VecDeque,
    io::Write as _,
    task::{Context, Waker},
};

use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use http::{HeaderName, HeaderValue};
use http_body::{Frame, SizeHint};

use super::*;

/// A body in chunks; `None` is a chunk that never arrives.
struct ChunkedBody {
    chunks: VecDeque<Option<&'static [u8]>>,
    length: Option<u64>,
}

impl Body for ChunkedBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match self.chunks.front() {
            None => Poll::Ready(None),
            Some(None) => Poll::Pending,
            Some(Some(chunk)) => {
                let frame = Frame::data(Bytes::from_static(chunk));
                self.chunks.pop_front();
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

fn limits(request_body: usize, decompressed_body: usize) -> GatewayLimits {
    GatewayLimits { request_body, decompressed_body, ..GatewayLimits::default() }
}

fn read(
    headers: &[(&'static str, &str)],
    bytes: Vec<u8>,
    limits: GatewayLimits,
) -> Result<Bytes, u16> {
    let headers = headers
        .iter()
        .map(|(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
        })
        .collect();
    let length = Some(bytes.len() as u64);
    let chunks = VecDeque::from([Some(&*bytes.leak())]);
    run(async move {
        read_body(&headers, ChunkedBody { chunks, length }, &limits, Duration::from_secs(1))
            .await
            .map_err(|error| error.kind.status().as_u16())
    })
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("into memory");
    encoder.finish().expect("into memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("into memory");
    encoder.finish().expect("into memory")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("into memory");
    encoder.finish().expect("into memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn a_body_is_decompressed_in_every_encoding() {
    for size in [0, 5, 100_000, (4 << 20) + 1] {
        let text: Vec<u8> = b"hello ".iter().copied().cycle().take(size).collect();
        for (name, packed) in [
            ("gzip", gzip(&text)),
            ("x-gzip", gzip(&text)),
            ("GZIP", gzip(&text)),
            ("identity, gzip", gzip(&text)),
            ("deflate", zlib(&text)),
            ("deflate", deflate(&text)),
            ("zstd", zstd(&text)),
            ("identity", text.clone()),
            ("", text.clone()),
        ] {
            let read = read(&[("content-encoding", name)], packed, limits(8 << 20, 8 << 20));
            assert_eq!(read.as_deref(), Ok(&*text), "{name} {size}");
        }
    }
}

#[test]
fn every_listed_encoding_is_supported() {
    for name in error::BODY_ENCODINGS.split(", ") {
        let read = read(&[("content-encoding", name)], vec![0xff; 9], limits(100, 100));
        assert_eq!(read, Err(400), "{name}");
    }
}

#[test]
fn a_body_that_cannot_be_decompressed_is_refused() {
    let good = gzip(b"hello");
    for (name, bytes, expected) in [
        ("br", good.clone(), 415),
        ("gzip, gzip", good.clone(), 415),
        ("gzip", b"hello".to_vec(), 400),
        ("gzip", good[..good.len() - 3].to_vec(), 400),
        ("gzip", [&good[..], b"more"].concat(), 400),
        ("zstd", good.clone(), 400),
        ("zstd", Vec::new(), 400),
        ("deflate", vec![0xff; 9], 400),
    ] {
        let read = read(&[("content-encoding", name)], bytes, limits(100, 100));
        assert_eq!(read, Err(expected), "{name}");
    }
    for kind in ["multipart/form-data; boundary=x", "Application/X-WWW-Form-urlencoded"] {
        assert_eq!(read(&[("content-type", kind)], b"{}".to_vec(), limits(100, 100)), Err(415));
    }
    for kind in ["application/json", "text/plain", "", "application/vnd.api+json; charset=utf-8"] {
        let read = read(&[("content-type", kind)], b"{}".to_vec(), limits(100, 100));
        assert_eq!(read.as_deref(), Ok(&b"{}"[..]));
    }
}

#[test]
fn a_bomb_is_refused_before_it_takes_memory() {
    let zeros = vec![0; 9 << 20];
    for (name, bomb) in [("gzip", gzip(&zeros)), ("deflate", zlib(&zeros)), ("zstd", zstd(&zeros))]
    {
        assert!(bomb.len() < 1 << 20);
        let read = read(&[("content-encoding", name)], bomb, limits(1 << 20, 8 << 20));
        assert_eq!(read, Err(413), "{name}");
    }
}

#[test]
fn a_body_that_is_or_becomes_too_large_is_refused() {
    let collect = |length, chunks: &[&'static [u8]]| {
        let chunks = chunks.iter().map(|chunk| Some(*chunk)).collect();
        run(collect(ChunkedBody { chunks, length }, 4, Duration::from_secs(1)))
            .map_err(|error| error.kind.status().as_u16())
    };
    // The length is known in advance: nothing is read.
    assert_eq!(collect(Some(5), &[]), Err(413));
    assert_eq!(collect(None, &[b"ab", b"cde"]), Err(413));
    assert_eq!(collect(None, &[b"ab", b"cd"]).as_deref(), Ok(&b"abcd"[..]));
    assert_eq!(collect(Some(4), &[b"abcd"]).as_deref(), Ok(&b"abcd"[..]));
    assert_eq!(collect(None, &[]).as_deref(), Ok(&b""[..]));
}

#[test]
fn a_stalled_body_times_out() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let result = runtime.expect("a runtime").block_on(async {
        let chunks = VecDeque::from([Some(&b"ab"[..]), None]);
        collect(ChunkedBody { chunks, length: Some(4) }, 4, Duration::ZERO).await
    });
    assert_eq!(result.map_err(|error| error.code), Err("body_too_slow"));
}

#[test]
fn a_single_chunk_is_not_copied() {
    let chunk: &'static [u8] = b"whole";
    let mut context = Context::from_waker(Waker::noop());
    let mut future = std::pin::pin!(collect(
        ChunkedBody { chunks: VecDeque::from([Some(chunk)]), length: Some(5) },
        10,
        Duration::from_secs(1),
    ));
    let Poll::Ready(Ok(bytes)) = future.as_mut().poll(&mut context) else {
        panic!("everything was there");
    };
    assert_eq!(bytes.as_ptr(), chunk.as_ptr());
}
