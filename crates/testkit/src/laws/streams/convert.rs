//! Calls into the engine, for the laws.

use std::collections::BTreeSet;

use foxwedge_core::Format;
use foxwedge_formats::{
    convert::{self, ConvertedResponse},
    model::{EncodedReply, ModelResponse, decode_reply, encode_reply},
    stream::{
        CollectedEnding, StreamConverter, StreamEnding, StreamError, StreamOptions, collect,
        write_stream,
    },
};

/// The result of converting a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamOutput {
    /// The bytes that were written.
    pub out: Vec<u8>,
    /// How it ended.
    pub end: Result<StreamEnding, StreamError>,
}

/// Seed for ids of responses without ids; the same for bodies and streams.
const SEED: &str = "the seed";

/// The stream options of all laws.
pub(super) fn options() -> StreamOptions {
    StreamOptions { seed: SEED.to_owned(), ..StreamOptions::default() }
}

/// Converts a stream that arrives in these chunks.
pub fn streamed<'c>(
    from: Format,
    to: Format,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> StreamOutput {
    let mut converter = StreamConverter::new(from, to, options());
    let mut out = Vec::new();
    for chunk in chunks {
        if let Err(error) = converter.push(chunk, &mut out) {
            return StreamOutput { out, end: Err(error) };
        }
    }
    let end = converter.finish(&mut out);
    StreamOutput { out, end }
}

/// Converts a body.
///
/// # Errors
/// If the engine cannot read it.
pub fn converted(from: Format, to: Format, body: &str) -> Result<ConvertedResponse, String> {
    let options = convert::ConversionOptions {
        seed: SEED.to_owned(),
        ..convert::ConversionOptions::default()
    };
    convert::response(body, from, to, &options).map_err(|error| error.to_string())
}

/// Collects a stream and writes it as a body.
///
/// # Errors
/// If the engine cannot read it, or it is incomplete.
pub(super) fn collected(from: Format, to: Format, bytes: &[u8]) -> Result<EncodedReply, String> {
    let collection = collect(from, bytes).map_err(|error| error.to_string())?;
    match collection.ending {
        CollectedEnding::Complete => {
            Ok(encode_reply(&ModelResponse::Reply(collection.reply), to, SEED))
        }
        ending => Err(format!("it ends as {ending:?}")),
    }
}

/// Writes a body as a stream.
///
/// # Errors
/// If the engine cannot read it.
pub(super) fn told(from: Format, to: Format, body: &str) -> Result<StreamOutput, String> {
    let decoded = decode_reply(body, from).map_err(|error| error.to_string())?;
    let (out, finished) = write_stream(&decoded.outcome, to, options());
    Ok(StreamOutput { out, end: Ok(finished) })
}

/// Kinds of content that a stream left out.
pub(super) fn skipped(finished: &StreamEnding) -> BTreeSet<&'static str> {
    finished.skipped.iter().map(|skipped| skipped.kind.name()).collect()
}

/// Kinds of content that a body lost.
pub(super) fn lost(response: &ConvertedResponse) -> BTreeSet<&'static str> {
    response.losses.iter().map(|loss| loss.kind.name()).collect()
}
