//! Decompresses a body. A small body may expand without end, so it is decompressed in chunks.
//! The size of a large result is measured before memory is reserved for it.

use std::io::{self, Read};

use crate::ApiError;
use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};
use ruzstd::decoding::StreamingDecoder;

use crate::error;

/// The content encoding of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyCompression {
    Gzip,
    Deflate,
    Zstd,
}

impl BodyCompression {
    /// # Errors
    /// If the encoding is unknown, or there is more than one.
    pub(super) fn from_headers(headers: &HeaderMap) -> Result<Option<BodyCompression>, ApiError> {
        let mut found = None;
        for value in headers.get_all(header::CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| unsupported_encoding())?;
            for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let compression = match name.to_ascii_lowercase().as_str() {
                    "identity" => continue,
                    "gzip" | "x-gzip" => BodyCompression::Gzip,
                    "deflate" => BodyCompression::Deflate,
                    "zstd" => BodyCompression::Zstd,
                    _ => return Err(unsupported_encoding()),
                };
                if found.replace(compression).is_some() {
                    return Err(unsupported_encoding());
                }
            }
        }
        Ok(found)
    }
}

/// Chunk size in bytes; other tasks of the thread may run after each chunk.
const PIECE: usize = 64 << 10;

/// Larger results are measured before they are kept.
const SMALL: usize = 4 << 20;

/// Maximum zstd window.
const WINDOW: u64 = 8 << 20;

/// # Errors
/// If the result exceeds the limit or the data is damaged.
pub(super) async fn decompress(
    compression: BodyCompression,
    bytes: &[u8],
    limit: usize,
) -> Result<Bytes, ApiError> {
    let mut all = Vec::new();
    let size = decode_chunks(compression, bytes, limit, &mut |chunk, before| {
        if before + chunk.len() <= SMALL {
            all.extend_from_slice(chunk);
        } else {
            all = Vec::new();
        }
    })
    .await?;
    if size > SMALL {
        all.reserve_exact(size);
        decode_chunks(compression, bytes, size, &mut |chunk, _| all.extend_from_slice(chunk))
            .await?;
    }
    Ok(all.into())
}

/// Decodes to the end and returns the number of bytes.
async fn decode_chunks(
    compression: BodyCompression,
    bytes: &[u8],
    limit: usize,
    each: &mut (dyn FnMut(&[u8], usize) + Send),
) -> Result<usize, ApiError> {
    let mut reader = open_decoder(compression, bytes).map_err(|_| invalid_body())?;
    let mut chunk = vec![0; PIECE];
    let mut total = 0;
    loop {
        let count = match reader.read(&mut chunk) {
            Ok(0) => return Ok(total),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(invalid_body()),
        };
        if total + count > limit {
            return Err(error::too_large(limit));
        }
        each(chunk.get(..count).unwrap_or_default(), total);
        total += count;
        tokio::task::yield_now().await;
    }
}

fn open_decoder(
    compression: BodyCompression,
    bytes: &[u8],
) -> io::Result<Box<dyn Read + Send + '_>> {
    Ok(match compression {
        BodyCompression::Gzip => Box::new(MultiGzDecoder::new(bytes)),
        // `deflate` means zlib data with a header, but some clients send it without.
        BodyCompression::Deflate if bytes.first().is_some_and(|first| first & 0x0f == 8) => {
            Box::new(ZlibDecoder::new(bytes))
        }
        BodyCompression::Deflate => Box::new(DeflateDecoder::new(bytes)),
        BodyCompression::Zstd => Box::new(
            StreamingDecoder::new_with_max_window_size(bytes, WINDOW).map_err(io::Error::other)?,
        ),
    })
}

fn unsupported_encoding() -> ApiError {
    error::unsupported("`content-encoding` must be gzip, deflate, zstd or absent")
        .at(header::CONTENT_ENCODING.as_str())
}

fn invalid_body() -> ApiError {
    error::bad_request("the body cannot be decompressed")
}
