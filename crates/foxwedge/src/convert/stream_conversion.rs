//! Converts streams chunk by chunk, without buffering.

use std::io::{self, Write};

use foxwedge_formats::stream::{StreamConverter, StreamEnding, StreamError};

use super::ConversionInput;

/// Why a stream could not be converted.
pub(crate) enum StreamConversionError {
    /// The input cannot be read.
    Read(io::Error),
    /// The input violates its format.
    Stream(StreamError),
    /// The output cannot be written.
    Write(io::Error),
}

impl From<io::Error> for StreamConversionError {
    fn from(error: io::Error) -> StreamConversionError {
        StreamConversionError::Read(error)
    }
}

/// Converts a stream as it arrives. The output for a chunk is written before the next one is read.
pub(crate) fn convert_stream(
    input: &mut ConversionInput,
    converter: &mut StreamConverter,
    out: &mut dyn Write,
) -> Result<StreamEnding, StreamConversionError> {
    let mut output = Vec::new();
    let mut write = |output: &mut Vec<u8>| {
        let written = out.write_all(output).and_then(|()| out.flush());
        output.clear();
        written.map_err(StreamConversionError::Write)
    };
    input.for_each_piece(|chunk| {
        let pushed = converter.push(chunk, &mut output);
        // Output before an error is still valid.
        write(&mut output)?;
        pushed.map_err(StreamConversionError::Stream)
    })?;
    let finished = converter.finish(&mut output);
    write(&mut output)?;
    finished.map_err(StreamConversionError::Stream)
}
