//! A repaired session file: pieces of the old one, and a few records of our own.

use std::{io, ops::Range};

use foxwedge_core::Span;

use crate::splice::replace_surrogates;

/// A repaired session file. Nothing is copied until it is written.
#[derive(Clone, Debug)]
pub struct RewrittenFile<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) source: &'a str,
    pub(super) pieces: Vec<FilePiece>,
}

/// A piece of a repaired file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FilePiece {
    /// Bytes of the file as they were.
    Raw(Range<usize>),
    /// Bytes of the file as they were read.
    Read(Span),
    /// The same inside one string, in which half characters are replaced.
    Whole(Span),
    /// Words of our own.
    Text(String),
    /// Everything, made in several steps.
    Bytes(Vec<u8>),
}

impl<'a> RewrittenFile<'a> {
    /// The file, untouched.
    pub fn unchanged(bytes: &'a [u8]) -> RewrittenFile<'a> {
        RewrittenFile { bytes, source: "", pieces: vec![FilePiece::Raw(0..bytes.len())] }
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().flat_map(|piece| {
            let (whole, halves) = match piece {
                FilePiece::Raw(range) => (self.bytes.get(range.clone()).unwrap_or_default(), ""),
                FilePiece::Read(span) => (span.of(self.source).as_bytes(), ""),
                FilePiece::Whole(span) => (&[][..], span.of(self.source)),
                FilePiece::Text(text) => (text.as_bytes(), ""),
                FilePiece::Bytes(bytes) => (bytes.as_slice(), ""),
            };
            std::iter::once(whole).chain(replace_surrogates(halves, true).map(str::as_bytes))
        })
    }

    /// Writes it out.
    ///
    /// # Errors
    /// Whatever the writer reports.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.pieces().try_for_each(|piece| out.write_all(piece))
    }
}
