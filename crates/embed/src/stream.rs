//! Streams that are converted piece by piece.

use foxwedge_core::Format;
use foxwedge_formats::{
    model::encode_turn,
    stream::{StreamConverter, StreamEnding, StreamError, StreamOptions, event::ReplyHead},
};

use crate::{
    CallError, CallReply,
    convert::{renamed_json, target_format},
    options::CallOptions,
    report::{ReportObject, loss_json},
};

/// A stream of one format that becomes a stream of another.
pub struct StreamCall {
    converter: StreamConverter,
    to: Format,
}

impl StreamCall {
    /// Begins a stream. Options: `from`, `to`, `model`, `seed` (makes generated ids unique),
    /// `created` (Unix seconds for replies without a time).
    ///
    /// # Errors
    /// If an option is missing or unknown.
    pub fn new(options: &str) -> Result<StreamCall, CallError> {
        let options = CallOptions::read(options, &["from", "to", "model", "seed", "created"])?;
        let Some(from) = options.format("from")? else {
            return Err(CallError::new("invalid-options", "the option `from` is missing"));
        };
        let to = target_format(&options)?;
        let settings = StreamOptions {
            seed: options.text("seed")?.unwrap_or_default().into_owned(),
            model: options.text("model")?.map(|model| model.into_owned()),
            head: ReplyHead { created: options.count("created")?, ..ReplyHead::default() },
            ..StreamOptions::default()
        };
        Ok(StreamCall { converter: StreamConverter::with_collection(from, to, settings), to })
    }

    /// Converts more bytes, and returns what can be sent on.
    ///
    /// # Errors
    /// If the bytes are not a stream of the format. What was converted before that, and the event
    /// that tells the reader of the failure, is returned first; then every call is an error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<u8>, CallError> {
        let mut out = Vec::new();
        match self.converter.push(bytes, &mut out) {
            Err(error) if out.is_empty() => Err(unreadable(error)),
            // The converter keeps its error for the next call.
            Ok(()) | Err(_) => Ok(out),
        }
    }

    /// Ends the stream. The document of the reply is the rest of the output; the report has the
    /// messages that the reply leaves in the history.
    ///
    /// # Errors
    /// If the stream has failed before. If it fails at its end, the output tells of it, and the
    /// report says `failed`.
    pub fn finish(mut self) -> Result<CallReply, CallError> {
        let mut out = Vec::new();
        let ending = match self.converter.finish(&mut out) {
            Ok(ending) => ending,
            Err(error) if out.is_empty() => return Err(unreadable(error)),
            Err(_) => StreamEnding {
                complete: false,
                failed: true,
                skipped: Vec::new(),
                renamed: Vec::new(),
            },
        };
        let losses = ending.skipped.iter().map(|loss| loss_json(loss.kind, &loss.note));
        let report = ReportObject::new()
            .raw("complete", ending.complete)
            .raw("failed", ending.failed)
            .list("losses", losses)
            .list("renamed", ending.renamed.iter().map(renamed_json))
            .raw("messages", self.messages().as_deref().unwrap_or("null"))
            .end();
        Ok(CallReply { report, document: Some(out) })
    }

    /// What the reply leaves in the history, as a JSON list: complete calls only. `None` if it was too
    /// long to be kept.
    fn messages(&mut self) -> Option<String> {
        let collected = self.converter.take_collection().filter(|it| !it.truncated)?;
        let turn = encode_turn(&collected.reply, self.to).unwrap_or_default();
        Some(if turn.starts_with('[') { turn } else { format!("[{turn}]") })
    }
}

fn unreadable(error: StreamError) -> CallError {
    CallError::new("unreadable", error.to_string())
}
