//! How a run ends in the AI SDK.

use super::{Sink, chunk, metadata};
use crate::{
    Outcome,
    encode::{json::Object, tracker::Over, words},
};

/// The last chunk, and before it what it cannot carry itself. After `error` readers read no more.
pub(super) fn tell(over: &Over<'_>, sink: &mut Sink<'_>) {
    let about = Object::new()
        .text("outcome", over.outcome.name())
        .object("summary", words::summary(over.summary));
    let about = match &over.ended.usage {
        Some(usage) => about.object("usage", words::usage(Object::new(), usage)),
        None => about,
    };
    let about = match over.at {
        Some(at) => about.number("endedAt", at),
        None => about,
    };
    let about = metadata(about);
    let finish = |reason: &str, about: Object| {
        chunk("finish").text("finishReason", reason).object("messageMetadata", about).end()
    };
    let before = |about: Object, sink: &mut Sink<'_>| {
        sink.frame(chunk("message-metadata").object("messageMetadata", about).end());
    };
    match over.outcome {
        Outcome::Completed | Outcome::NoText if !over.waiting.is_empty() => {
            sink.frame(finish("tool-calls", about));
        }
        Outcome::Completed => sink.frame(finish("stop", about)),
        Outcome::NoText | Outcome::MaxTurns => sink.frame(finish("other", about)),
        Outcome::Refused => sink.frame(finish("content-filter", about)),
        Outcome::Stopped | Outcome::Replaced => {
            before(about, sink);
            sink.frame(chunk("abort").text("reason", over.outcome.name()).end());
        }
        Outcome::Failed | Outcome::Interrupted => {
            before(about, sink);
            sink.frame(chunk("error").text("errorText", words::trouble(over)).end());
        }
    }
}
