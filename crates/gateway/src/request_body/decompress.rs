//! Unpacks a body. A small one may claim to be endless, so it is unpacked piece by piece, and one
//! that turns out large is measured to its end before memory is set aside for it.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use foxwedge_engine::ApiError;
use http::{HeaderMap, header};
use ruzstd::decoding::StreamingDecoder;

use crate::error;

/// How a body is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyCompression {
    Gzip,
    Deflate,
    Zstd,
}

impl BodyCompression {
    /// # Errors
    /// If it is packed in a way that we do not know, or more than once.
    pub(super) fn from_headers(headers: &HeaderMap) -> Result<Option<BodyCompression>, ApiError> {
        let mut found = None;
        for value in headers.get_all(header::CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| unsupported_encoding())?;
            for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let packed = match name.to_ascii_lowercase().as_str() {
                    "identity" => continue,
                    "gzip" | "x-gzip" => BodyCompression::Gzip,
                    "deflate" => BodyCompression::Deflate,
                    "zstd" => BodyCompression::Zstd,
                    _ => return Err(unsupported_encoding()),
                };
                if found.replace(packed).is_some() {
                    return Err(unsupported_encoding());
                }
            }
        }
        Ok(found)
    }
}

/// The other tasks of the thread get their turn after so many bytes.
const PIECE: usize = 64 << 10;

/// More than this is measured before it is kept.
const SMALL: usize = 4 << 20;

/// A larger window is not set aside for anybody.
const WINDOW: u64 = 8 << 20;

/// # Errors
/// If there is more in it than there may be, or it is torn.
pub(super) async fn decompress(
    packed: BodyCompression,
    bytes: &[u8],
    most: usize,
) -> Result<Bytes, ApiError> {
    let mut all = Vec::new();
    let whole = decode_chunks(packed, bytes, most, &mut |piece, before| {
        if before + piece.len() <= SMALL {
            all.extend_from_slice(piece);
        } else {
            all = Vec::new();
        }
    })
    .await?;
    if whole > SMALL {
        all.reserve_exact(whole);
        decode_chunks(packed, bytes, whole, &mut |piece, _| all.extend_from_slice(piece)).await?;
    }
    Ok(all.into())
}

/// Reads to the end, and says how many bytes there were.
async fn decode_chunks(
    packed: BodyCompression,
    bytes: &[u8],
    most: usize,
    each: &mut (dyn FnMut(&[u8], usize) + Send),
) -> Result<usize, ApiError> {
    let mut reader = open_decoder(packed, bytes).map_err(|_| invalid_body())?;
    let mut piece = vec![0; PIECE];
    let mut total = 0;
    loop {
        let number = match reader.read(&mut piece) {
            Ok(0) => return Ok(total),
            Ok(number) => number,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(invalid_body()),
        };
        if total + number > most {
            return Err(error::too_large(most));
        }
        each(piece.get(..number).unwrap_or_default(), total);
        total += number;
        tokio::task::yield_now().await;
    }
}

fn open_decoder(packed: BodyCompression, bytes: &[u8]) -> io::Result<Box<dyn Read + Send + '_>> {
    Ok(match packed {
        BodyCompression::Gzip => Box::new(MultiGzDecoder::new(bytes)),
        // The name means the form with a header; some send it without.
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
    error::unsupported("`content-encoding` has to be gzip, deflate, zstd or nothing")
}

fn invalid_body() -> ApiError {
    error::bad_request("the packed body cannot be unpacked")
}
