//! Unpacks a body. A small one may claim to be endless, so it is unpacked piece by piece, and one
//! that turns out large is measured to its end before memory is set aside for it.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use foxwedge_engine::Fault;
use http::{HeaderMap, header};
use ruzstd::decoding::StreamingDecoder;

use crate::error;

/// How a body is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packed {
    Gzip,
    Deflate,
    Zstd,
}

impl Packed {
    /// # Errors
    /// If it is packed in a way that we do not know, or more than once.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Packed>, Fault> {
        let mut found = None;
        for value in headers.get_all(header::CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| unknown())?;
            for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                let packed = match name.to_ascii_lowercase().as_str() {
                    "identity" => continue,
                    "gzip" | "x-gzip" => Packed::Gzip,
                    "deflate" => Packed::Deflate,
                    "zstd" => Packed::Zstd,
                    _ => return Err(unknown()),
                };
                if found.replace(packed).is_some() {
                    return Err(unknown());
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
pub(super) async fn unpack(packed: Packed, bytes: &[u8], most: usize) -> Result<Bytes, Fault> {
    let mut all = Vec::new();
    let whole = read(packed, bytes, most, &mut |piece, before| {
        if before + piece.len() <= SMALL {
            all.extend_from_slice(piece);
        } else {
            all = Vec::new();
        }
    })
    .await?;
    if whole > SMALL {
        all.reserve_exact(whole);
        read(packed, bytes, whole, &mut |piece, _| all.extend_from_slice(piece)).await?;
    }
    Ok(all.into())
}

/// Reads to the end, and says how many bytes there were.
async fn read(
    packed: Packed,
    bytes: &[u8],
    most: usize,
    each: &mut (dyn FnMut(&[u8], usize) + Send),
) -> Result<usize, Fault> {
    let mut reader = reader(packed, bytes).map_err(|_| torn())?;
    let mut piece = vec![0; PIECE];
    let mut total = 0;
    loop {
        let number = match reader.read(&mut piece) {
            Ok(0) => return Ok(total),
            Ok(number) => number,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(torn()),
        };
        if total + number > most {
            return Err(error::too_large(most));
        }
        each(piece.get(..number).unwrap_or_default(), total);
        total += number;
        tokio::task::yield_now().await;
    }
}

fn reader(packed: Packed, bytes: &[u8]) -> io::Result<Box<dyn Read + Send + '_>> {
    Ok(match packed {
        Packed::Gzip => Box::new(MultiGzDecoder::new(bytes)),
        // The name means the form with a header; some send it without.
        Packed::Deflate if bytes.first().is_some_and(|first| first & 0x0f == 8) => {
            Box::new(ZlibDecoder::new(bytes))
        }
        Packed::Deflate => Box::new(DeflateDecoder::new(bytes)),
        Packed::Zstd => Box::new(
            StreamingDecoder::new_with_max_window_size(bytes, WINDOW).map_err(io::Error::other)?,
        ),
    })
}

fn unknown() -> Fault {
    error::unsupported("`content-encoding` has to be gzip, deflate, zstd or nothing")
}

fn torn() -> Fault {
    error::bad_request("the packed body cannot be unpacked")
}
