//! The engine, as the laws call it.

use std::collections::BTreeSet;

use foxwedge_core::Format;
use foxwedge_dialect::{
    convert::{self, ConvertedResponse},
    model::{EncodedReply, ModelResponse, decode_reply, encode_reply},
    stream::{
        CollectedEnding, StreamConverter, StreamEnding, StreamError, StreamOptions, collect,
        write_stream,
    },
};

/// What came of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Streamed {
    /// The bytes.
    pub out: Vec<u8>,
    /// How it ended.
    pub end: Result<StreamEnding, StreamError>,
}

/// Tells answers without ids apart; the same for both forms.
const SEED: &str = "the seed";

/// Options of streams, as the laws use them.
pub(super) fn options() -> StreamOptions {
    StreamOptions { seed: SEED.to_owned(), ..StreamOptions::default() }
}

/// Converts a stream that comes in these chunks.
pub fn streamed<'c>(
    from: Format,
    to: Format,
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> Streamed {
    let mut converter = StreamConverter::new(from, to, options());
    let mut out = Vec::new();
    for chunk in chunks {
        if let Err(error) = converter.push(chunk, &mut out) {
            return Streamed { out, end: Err(error) };
        }
    }
    let end = converter.finish(&mut out);
    Streamed { out, end }
}

/// Converts a whole body.
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

/// Puts a stream together and writes it as a body.
///
/// # Errors
/// If the engine cannot read it, or says that it is not whole.
pub(super) fn collected(from: Format, to: Format, bytes: &[u8]) -> Result<EncodedReply, String> {
    let collection = collect(from, bytes).map_err(|error| error.to_string())?;
    match collection.ending {
        CollectedEnding::Complete => {
            Ok(encode_reply(&ModelResponse::Reply(collection.reply), to, SEED))
        }
        ending => Err(format!("it ends as {ending:?}")),
    }
}

/// Writes a whole body as a stream.
///
/// # Errors
/// If the engine cannot read it.
pub(super) fn told(from: Format, to: Format, body: &str) -> Result<Streamed, String> {
    let told = decode_reply(body, from).map_err(|error| error.to_string())?;
    let (out, finished) = write_stream(&told.outcome, to, options());
    Ok(Streamed { out, end: Ok(finished) })
}

/// The names of what was left out of a stream.
pub(super) fn skipped(finished: &StreamEnding) -> BTreeSet<&'static str> {
    finished.skipped.iter().map(|skipped| skipped.kind.name()).collect()
}

/// The names of what a body lost.
pub(super) fn lost(answered: &ConvertedResponse) -> BTreeSet<&'static str> {
    answered.losses.iter().map(|loss| loss.kind.name()).collect()
}
