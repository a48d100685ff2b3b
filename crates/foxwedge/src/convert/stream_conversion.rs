//! Streams: every piece goes on as soon as it came, and none is kept.

use std::io::{self, Write};

use foxwedge_formats::stream::{StreamConverter, StreamEnding, StreamError};

use super::ConversionInput;

/// Why a stream did not go through.
pub(crate) enum StreamConversionError {
    /// The input cannot be read.
    Read(io::Error),
    /// The input is not what its format says.
    Stream(StreamError),
    /// The output cannot be written.
    Write(io::Error),
}

impl From<io::Error> for StreamConversionError {
    fn from(error: io::Error) -> StreamConversionError {
        StreamConversionError::Read(error)
    }
}

/// Converts a stream as it comes. What was made of a piece is out before the next one is read.
pub(crate) fn convert_stream(
    input: &mut ConversionInput,
    converter: &mut StreamConverter,
    out: &mut dyn Write,
) -> Result<StreamEnding, StreamConversionError> {
    let mut made = Vec::new();
    let mut write = |made: &mut Vec<u8>| {
        let written = out.write_all(made).and_then(|()| out.flush());
        made.clear();
        written.map_err(StreamConversionError::Write)
    };
    input.for_each_piece(|piece| {
        let pushed = converter.push(piece, &mut made);
        // What stands before the trouble is as good as ever.
        write(&mut made)?;
        pushed.map_err(StreamConversionError::Stream)
    })?;
    let finished = converter.finish(&mut made);
    write(&mut made)?;
    finished.map_err(StreamConversionError::Stream)
}
