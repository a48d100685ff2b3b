//! How a run ends in the AI SDK.

use super::{FrameSink, chunk, metadata};
use crate::{
    Outcome,
    encode::{common_fields, json::JsonObjectWriter, tracker::RunEnding},
};

/// The last chunk, and before it what it cannot carry itself. After `error` readers read no more.
pub(super) fn write_end(over: &RunEnding<'_>, sink: &mut FrameSink<'_>) {
    let about = JsonObjectWriter::new()
        .text("outcome", over.outcome.name())
        .object("summary", common_fields::summary_object(over.summary));
    let about = match &over.ended.usage {
        Some(usage) => {
            about.object("usage", common_fields::add_usage(JsonObjectWriter::new(), usage))
        }
        None => about,
    };
    let about = match over.at {
        Some(at) => about.number("endedAt", at),
        None => about,
    };
    let about = metadata(about);
    let finish = |reason: &str, about: JsonObjectWriter| {
        chunk("finish").text("finishReason", reason).object("messageMetadata", about).finish()
    };
    let before = |about: JsonObjectWriter, sink: &mut FrameSink<'_>| {
        sink.push_frame(chunk("message-metadata").object("messageMetadata", about).finish());
    };
    match over.outcome {
        Outcome::Completed | Outcome::NoText if !over.waiting.is_empty() => {
            sink.push_frame(finish("tool-calls", about));
        }
        Outcome::Completed => sink.push_frame(finish("stop", about)),
        Outcome::NoText | Outcome::MaxTurns => sink.push_frame(finish("other", about)),
        Outcome::Refused => sink.push_frame(finish("content-filter", about)),
        Outcome::Stopped | Outcome::Replaced => {
            before(about, sink);
            sink.push_frame(chunk("abort").text("reason", over.outcome.name()).finish());
        }
        Outcome::Failed | Outcome::Interrupted => {
            before(about, sink);
            sink.push_frame(
                chunk("error").text("errorText", common_fields::problem_message(over)).finish(),
            );
        }
    }
}
