//! The engine, as the laws call it.

use std::collections::BTreeSet;

use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{Encoded, Outcome, decode_reply, encode_reply},
    convert::{self, Answered},
    stream::{Converter, Ending, Finished, Options, StreamError, collect, write_stream},
};

/// What came of a stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Streamed {
    /// The bytes.
    pub out: Vec<u8>,
    /// How it ended.
    pub end: Result<Finished, StreamError>,
}

/// Tells answers without ids apart; the same for both forms.
const SEED: &str = "the seed";

/// Options of streams, as the laws use them.
pub(super) fn options() -> Options {
    Options { seed: SEED.to_owned(), ..Options::default() }
}

/// Converts a stream that comes in these chunks.
pub fn streamed<'c>(from: Wire, to: Wire, chunks: impl IntoIterator<Item = &'c [u8]>) -> Streamed {
    let mut converter = Converter::new(from, to, options());
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
pub fn converted(from: Wire, to: Wire, body: &str) -> Result<Answered, String> {
    let options = convert::Options { seed: SEED.to_owned(), ..convert::Options::default() };
    convert::response(body, from, to, &options).map_err(|error| error.to_string())
}

/// Puts a stream together and writes it as a body.
///
/// # Errors
/// If the engine cannot read it, or says that it is not whole.
pub(super) fn collected(from: Wire, to: Wire, bytes: &[u8]) -> Result<Encoded, String> {
    let collection = collect(from, bytes).map_err(|error| error.to_string())?;
    match collection.ending {
        Ending::Whole => Ok(encode_reply(&Outcome::Reply(collection.reply), to, SEED)),
        ending => Err(format!("it ends as {ending:?}")),
    }
}

/// Writes a whole body as a stream.
///
/// # Errors
/// If the engine cannot read it.
pub(super) fn told(from: Wire, to: Wire, body: &str) -> Result<Streamed, String> {
    let told = decode_reply(body, from).map_err(|error| error.to_string())?;
    let (out, finished) = write_stream(&told.outcome, to, options());
    Ok(Streamed { out, end: Ok(finished) })
}

/// The names of what was left out of a stream.
pub(super) fn skipped(finished: &Finished) -> BTreeSet<&'static str> {
    finished.skipped.iter().map(|skipped| skipped.what.name()).collect()
}

/// The names of what a body lost.
pub(super) fn lost(answered: &Answered) -> BTreeSet<&'static str> {
    answered.losses.iter().map(|loss| loss.what.name()).collect()
}
