//! A rewritten session file: pieces of the old one, and new text.

use std::{io, ops::Range};

use foxwedge_core::Span;

use foxwedge_json::replace_surrogates;

/// A rewritten session file. Nothing is copied until it is written.
#[derive(Clone, Debug)]
pub struct RewrittenFile<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) source: &'a str,
    pub(super) pieces: Vec<FilePiece>,
}

/// A piece of a rewritten file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FilePiece {
    /// Original bytes of the file.
    Raw(Range<usize>),
    /// Text of the file as it was read.
    Read(Span),
    /// The same inside one string, with lone surrogates replaced.
    Whole(Span),
    /// New text.
    Text(String),
    /// The whole file, after several rounds.
    Bytes(Vec<u8>),
}

impl<'a> RewrittenFile<'a> {
    /// A file without changes.
    pub fn unchanged(bytes: &'a [u8]) -> RewrittenFile<'a> {
        RewrittenFile { bytes, source: "", pieces: vec![FilePiece::Raw(0..bytes.len())] }
    }

    /// The content in order, piece by piece.
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

    /// Writes the file to `out`.
    ///
    /// # Errors
    /// Fails with any error of the writer.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.pieces().try_for_each(|piece| out.write_all(piece))
    }
}
