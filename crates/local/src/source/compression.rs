//! Compressed targets: Codex compresses old sessions with Zstandard.

use std::{borrow::Cow, io::Read};

use anyhow::{Context, bail};
use ruzstd::{
    decoding::{
        FrameDecoder, StreamingDecoder,
        errors::{FrameDecoderError, ReadFrameHeaderError},
    },
    encoding::{CompressionLevel, compress_to_vec},
};

use crate::output::HelpfulError;

/// Compression of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileCompression {
    /// Not compressed.
    Plain,
    /// Compressed with Zstandard.
    Zstandard,
}

/// The first bytes of a Zstandard file.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Largest decompressed size: positions have 32 bits.
const MAX_DECOMPRESSED: u64 = u32::MAX as u64;

impl FileCompression {
    /// The compression of some content, from its first bytes.
    pub fn of(content: &[u8]) -> FileCompression {
        if content.starts_with(&MAGIC) {
            FileCompression::Zstandard
        } else {
            FileCompression::Plain
        }
    }

    /// Compresses text.
    pub fn compress(self, text: Vec<u8>) -> Vec<u8> {
        match self {
            FileCompression::Plain => text,
            FileCompression::Zstandard => {
                compress_to_vec(text.as_slice(), CompressionLevel::Fastest)
            }
        }
    }
}

/// Decompresses content. Plain content is not copied.
pub fn decompress(content: &[u8]) -> anyhow::Result<Cow<'_, [u8]>> {
    match FileCompression::of(content) {
        FileCompression::Plain => Ok(Cow::Borrowed(content)),
        FileCompression::Zstandard => decompress_frames(content, MAX_DECOMPRESSED).map(Cow::Owned),
    }
}

/// Decompresses content up to a size limit.
pub fn decompress_within(content: &[u8], max_bytes: u64) -> anyhow::Result<Cow<'_, [u8]>> {
    match FileCompression::of(content) {
        FileCompression::Plain => Ok(Cow::Borrowed(content)),
        FileCompression::Zstandard => decompress_frames(content, max_bytes).map(Cow::Owned),
    }
}

fn decompress_frames(mut content: &[u8], max_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    while !content.is_empty() {
        match StreamingDecoder::new(&mut content) {
            Ok(decoder) => decompress_frame(decoder, &mut text, max_bytes)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => content = content.get(length as usize..).unwrap_or_default(),
            Err(error) => return Err(error).with_context(damaged_error),
        }
    }
    Ok(text)
}

fn decompress_frame(
    mut decoder: StreamingDecoder<&mut &[u8], FrameDecoder>,
    text: &mut Vec<u8>,
    max_bytes: u64,
) -> anyhow::Result<()> {
    let room = max_bytes.saturating_sub(text.len() as u64);
    let read = decoder.by_ref().take(room + 1).read_to_end(text).with_context(damaged_error)?;
    if read as u64 > room {
        bail!("the decompressed content is larger than {max_bytes} bytes");
    }
    let decoder = decoder.decoder;
    if let Some(expected) = decoder.get_checksum_from_data()
        && decoder.get_calculated_checksum() != Some(expected)
    {
        return Err(damaged_error()).context("its checksum does not match");
    }
    Ok(())
}

fn damaged_error() -> HelpfulError {
    HelpfulError::new("the compressed data is damaged")
        .help("nothing was changed; `zstd -t FILE` checks it")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    fn compressed(text: &str) -> Vec<u8> {
        FileCompression::Zstandard.compress(text.as_bytes().to_vec())
    }

    #[test]
    fn compressed_text_is_decompressed() {
        let long = "a session, line by line\n".repeat(40_000);
        let exact = "x".repeat(128 * 1024);
        for text in ["", "{}\n", long.as_str(), exact.as_str()] {
            let content = compressed(text);
            assert_eq!(FileCompression::of(&content), FileCompression::Zstandard);
            assert_eq!(decompress(&content).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn several_frames_are_one_text() {
        // A skippable frame is between them.
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let content = [compressed("one\n"), skipped.to_vec(), compressed("two\n")].concat();
        assert_eq!(decompress(&content).unwrap(), b"one\ntwo\n".as_slice());
    }

    #[test]
    fn damaged_data_is_an_error() {
        let content = compressed(&"some words and others\n".repeat(500));
        for end in 4..content.len() {
            assert!(decompress(&content[..end]).is_err(), "cut at {end}");
        }
        let mut wrong = content.clone();
        *wrong.last_mut().unwrap() ^= 1;
        let error = decompress(&wrong).unwrap_err();
        assert!(format!("{error:#}").contains("checksum"), "{error:#}");
    }

    #[test]
    fn content_above_the_size_limit_is_an_error() {
        let content = compressed(&"0".repeat(1 << 20));
        assert!(decompress_frames(&content, 1 << 20).is_ok());
        let error = decompress_frames(&content, (1 << 20) - 1).unwrap_err();
        assert!(error.to_string().contains("larger than"), "{error}");
    }
}
