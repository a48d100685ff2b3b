//! The size and a checksum of a file's content, to detect changes. The checksum guards against
//! accidents, not against deliberate collisions.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

/// The name of the checksum in manifests.
pub(super) const ALGORITHM: &str = "fnv1a-128";

/// Size and checksum of some content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContentFingerprint {
    /// The length in bytes.
    pub bytes: u64,
    /// The hash, in hexadecimal digits.
    pub hash: String,
}

impl ContentFingerprint {
    /// The fingerprint of a content.
    pub fn of(content: &[u8]) -> ContentFingerprint {
        let mut writer = FingerprintWriter::new(io::sink());
        writer.add(content);
        writer.finish()
    }

    /// Reads a file in chunks.
    pub fn of_file(path: &Path) -> io::Result<ContentFingerprint> {
        ContentFingerprint::of_reader(File::open(path)?)
    }

    /// Reads to the end, in chunks.
    pub fn of_reader(mut file: impl Read) -> io::Result<ContentFingerprint> {
        let mut writer = FingerprintWriter::new(io::sink());
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(writer.finish()),
                Ok(read) => writer.add(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Forwards bytes and computes their fingerprint.
pub(super) struct FingerprintWriter<W> {
    inner: W,
    hash: u128,
    bytes: u64,
}

impl<W> FingerprintWriter<W> {
    pub(super) fn new(inner: W) -> FingerprintWriter<W> {
        FingerprintWriter { inner, hash: 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, bytes: 0 }
    }

    fn add(&mut self, content: &[u8]) {
        for &byte in content {
            self.hash =
                (self.hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        self.bytes += content.len() as u64;
    }

    pub(super) fn finish(self) -> ContentFingerprint {
        ContentFingerprint { bytes: self.bytes, hash: format!("{:032x}", self.hash) }
    }
}

impl<W: Write> Write for FingerprintWriter<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.add(buffer.get(..written).unwrap_or(buffer));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_published_algorithm() {
        let table = [
            ("", "6c62272e07bb014262b821756295c58d"),
            ("a", "d228cb696f1a8caf78912b704e4a8964"),
            ("foobar", "343e1662793c64bf6f0d3597ba446f18"),
        ];
        for (text, expected) in table {
            assert_eq!(ContentFingerprint::of(text.as_bytes()).hash, expected, "{text}");
        }
    }
}
