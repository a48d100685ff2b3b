//! How a run ends in the AI SDK.

use super::{FrameSink, chunk, metadata};
use crate::{
    Outcome,
    encode::{common_fields, json::JsonObjectWriter, tracker::RunEnding},
};

/// Writes the last chunk, and before it the metadata that it cannot carry. Clients stop reading
/// after `error`.
pub(super) fn write_end(ending: &RunEnding<'_>, leaves_calls: bool, sink: &mut FrameSink<'_>) {
    let fields = JsonObjectWriter::new()
        .text("outcome", ending.outcome.name())
        .object("summary", common_fields::summary_object(ending.summary));
    let fields = match &ending.ended.usage {
        Some(usage) => {
            fields.object("usage", common_fields::add_usage(JsonObjectWriter::new(), usage))
        }
        None => fields,
    };
    let fields = match ending.at {
        Some(at) => fields.number("endedAt", at),
        None => fields,
    };
    let message_metadata = metadata(fields);
    let finish = |reason: &str, message_metadata: JsonObjectWriter| {
        chunk("finish")
            .text("finishReason", reason)
            .object("messageMetadata", message_metadata)
            .finish()
    };
    let send_metadata = |message_metadata: JsonObjectWriter, sink: &mut FrameSink<'_>| {
        sink.push_frame(
            chunk("message-metadata").object("messageMetadata", message_metadata).finish(),
        );
    };
    match ending.outcome {
        Outcome::Completed | Outcome::NoText if ending.is_cut && ending.waiting.is_empty() => {
            sink.push_frame(finish("length", message_metadata));
        }
        Outcome::Completed | Outcome::NoText if leaves_calls || !ending.waiting.is_empty() => {
            sink.push_frame(finish("tool-calls", message_metadata));
        }
        Outcome::Completed => sink.push_frame(finish("stop", message_metadata)),
        Outcome::NoText | Outcome::MaxTurns => sink.push_frame(finish("other", message_metadata)),
        Outcome::Refused => sink.push_frame(finish("content-filter", message_metadata)),
        Outcome::Stopped | Outcome::Replaced => {
            send_metadata(message_metadata, sink);
            sink.push_frame(chunk("abort").text("reason", ending.outcome.name()).finish());
        }
        Outcome::Failed | Outcome::Interrupted => {
            send_metadata(message_metadata, sink);
            sink.push_frame(
                chunk("error").text("errorText", common_fields::problem_message(ending)).finish(),
            );
        }
    }
}
