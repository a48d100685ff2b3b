//! Compressed targets: Codex packs old sessions with Zstandard.

use std::{borrow::Cow, io::Read};

use anyhow::{Context, bail};
use ruzstd::{
    decoding::{
        FrameDecoder, StreamingDecoder,
        errors::{FrameDecoderError, ReadFrameHeaderError},
    },
    encoding::{CompressionLevel, compress_to_vec},
};

use crate::say::Trouble;

/// How content is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packing {
    Plain,
    Zstandard,
}

/// The first bytes of a packed file.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The most that is unpacked: positions are four bytes wide.
const MOST: u64 = u32::MAX as u64;

impl Packing {
    /// How this content is kept, by its first bytes.
    pub(crate) fn of(content: &[u8]) -> Packing {
        if content.starts_with(&MAGIC) { Packing::Zstandard } else { Packing::Plain }
    }

    /// Packs text the way the content was packed that it replaces.
    pub(crate) fn pack(self, text: Vec<u8>) -> Vec<u8> {
        match self {
            Packing::Plain => text,
            Packing::Zstandard => compress_to_vec(text.as_slice(), CompressionLevel::Fastest),
        }
    }
}

/// The text in some content; nothing is copied unless it is packed.
pub(crate) fn unpacked(content: &[u8]) -> anyhow::Result<Cow<'_, [u8]>> {
    match Packing::of(content) {
        Packing::Plain => Ok(Cow::Borrowed(content)),
        Packing::Zstandard => unpack(content, MOST).map(Cow::Owned),
    }
}

/// The same, but no more than so many bytes of it.
pub(crate) fn unpacked_within(content: &[u8], most: u64) -> anyhow::Result<Cow<'_, [u8]>> {
    match Packing::of(content) {
        Packing::Plain => Ok(Cow::Borrowed(content)),
        Packing::Zstandard => unpack(content, most).map(Cow::Owned),
    }
}

/// Unpacks all frames.
fn unpack(mut content: &[u8], most: u64) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    while !content.is_empty() {
        match StreamingDecoder::new(&mut content) {
            Ok(decoder) => frame(decoder, &mut text, most)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => content = content.get(length as usize..).unwrap_or_default(),
            Err(error) => return Err(error).with_context(damaged),
        }
    }
    Ok(text)
}

/// Unpacks one frame.
fn frame(
    mut decoder: StreamingDecoder<&mut &[u8], FrameDecoder>,
    text: &mut Vec<u8>,
    most: u64,
) -> anyhow::Result<()> {
    let room = most.saturating_sub(text.len() as u64);
    let read = decoder.by_ref().take(room + 1).read_to_end(text).with_context(damaged)?;
    if read as u64 > room {
        bail!("unpacked, it is larger than the four gigabytes we read");
    }
    let decoder = decoder.decoder;
    if let Some(promised) = decoder.get_checksum_from_data()
        && decoder.get_calculated_checksum() != Some(promised)
    {
        return Err(damaged()).context("its checksum is wrong");
    }
    Ok(())
}

fn damaged() -> Trouble {
    Trouble::new("the compressed data is damaged")
        .help("nothing was changed; `zstd -t FILE` says the same about it")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        Packing::Zstandard.pack(text.as_bytes().to_vec())
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let long = "a session, line by line\n".repeat(40_000);
        let exact = "x".repeat(128 * 1024);
        for text in ["", "{}\n", long.as_str(), exact.as_str()] {
            let content = packed(text);
            assert_eq!(Packing::of(&content), Packing::Zstandard);
            assert_eq!(unpacked(&content).unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn several_frames_are_one_text() {
        // A frame to be skipped stands between them.
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
        let content = [packed("one\n"), skipped.to_vec(), packed("two\n")].concat();
        assert_eq!(unpacked(&content).unwrap(), b"one\ntwo\n".as_slice());
    }

    #[test]
    fn damage_is_an_error_wherever_it_is() {
        let content = packed(&"some words and others\n".repeat(500));
        for end in 4..content.len() {
            assert!(unpacked(&content[..end]).is_err(), "cut at {end}");
        }
        let mut wrong = content.clone();
        *wrong.last_mut().unwrap() ^= 1;
        let error = unpacked(&wrong).unwrap_err();
        assert!(format!("{error:#}").contains("checksum"), "{error:#}");
    }

    #[test]
    fn a_bomb_is_refused() {
        let content = packed(&"0".repeat(1 << 20));
        assert!(unpack(&content, 1 << 20).is_ok());
        let error = unpack(&content, (1 << 20) - 1).unwrap_err();
        assert!(error.to_string().contains("larger than"), "{error}");
    }
}
