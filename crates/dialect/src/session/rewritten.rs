//! A repaired session file: pieces of the old one, and a few records of our own.

use std::{io, ops::Range};

use foxwedge_core::Span;

/// A repaired session file. Nothing is copied until it is written.
#[derive(Clone, Debug)]
pub struct Rewritten<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) source: &'a str,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a repaired file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// Bytes of the file as they were.
    Raw(Range<usize>),
    /// Bytes of the file as they were read.
    Read(Span),
    /// Words of our own.
    Text(String),
    /// Everything, made in several steps.
    Bytes(Vec<u8>),
}

impl<'a> Rewritten<'a> {
    /// The file, untouched.
    pub fn whole(bytes: &'a [u8]) -> Rewritten<'a> {
        Rewritten { bytes, source: "", pieces: vec![Piece::Raw(0..bytes.len())] }
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| match piece {
            Piece::Raw(range) => self.bytes.get(range.clone()).unwrap_or_default(),
            Piece::Read(span) => span.of(self.source).as_bytes(),
            Piece::Text(text) => text.as_bytes(),
            Piece::Bytes(bytes) => bytes,
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
