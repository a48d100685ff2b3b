//! How a run ends in AG-UI.

use super::{Voice, event, timed};
use crate::{
    AskKind, Outcome,
    encode::{
        AgUi,
        json::{Object, array},
        tracker::{Over, Tool},
        words,
    },
};

/// The last event. A run that went wrong is an error; any other is finished, and how is said by
/// `outcome` where the reader knows the word, and by `metadata` always.
pub(super) fn event_of(voice: &Voice, over: &Over<'_>) -> String {
    let usage = over.ended.usage.as_ref().map(|usage| {
        let counted = Object::new().maybe("model", voice.model.as_deref());
        array([words::usage(counted, usage).end()])
    });
    let with_usage = |object: Object| match &usage {
        Some(usage) => object.written("usage", usage),
        None => object,
    };
    let metadata = Object::new()
        .text("outcome", over.outcome.name())
        .maybe("finishedReason", finished_reason(over.outcome))
        .object("summary", words::summary(over.summary));
    match over.outcome {
        Outcome::Failed | Outcome::Interrupted => with_usage(
            timed(event("RUN_ERROR"), over.at)
                .text("message", words::trouble(over))
                .text("code", words::trouble_code(over)),
        )
        .object("metadata", metadata)
        .end(),
        Outcome::Completed
        | Outcome::Stopped
        | Outcome::NoText
        | Outcome::MaxTurns
        | Outcome::Refused
        | Outcome::Replaced => {
            let finished = timed(event("RUN_FINISHED"), over.at)
                .text("threadId", &voice.thread)
                .text("runId", &voice.run);
            let finished = match outcome(voice.version, over) {
                Some(outcome) => finished.object("outcome", outcome),
                None => finished,
            };
            let finished = match &over.ended.text {
                Some(text) => finished.object("result", Object::new().text("text", text)),
                None => finished,
            };
            with_usage(finished).object("metadata", metadata).end()
        }
    }
}

/// What a reader without our words is told. Running out of turns is no success, and AG-UI has no
/// word for it.
fn outcome(version: AgUi, over: &Over<'_>) -> Option<Object> {
    if !over.waiting.is_empty() {
        let interrupts = over.waiting.iter().flat_map(|tool| interrupts(tool));
        return Some(Object::new().text("type", "interrupt").list("interrupts", interrupts));
    }
    match (over.outcome, version) {
        (Outcome::Completed | Outcome::NoText | Outcome::Refused, AgUi::V0 | AgUi::V1) => {
            Some(Object::new().text("type", "success"))
        }
        (Outcome::Stopped | Outcome::Replaced, AgUi::V1) => {
            Some(Object::new().text("type", "cancelled"))
        }
        (Outcome::Stopped | Outcome::Replaced, AgUi::V0)
        | (Outcome::MaxTurns | Outcome::Failed | Outcome::Interrupted, AgUi::V0 | AgUi::V1) => None,
    }
}

fn finished_reason(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Stopped | Outcome::Replaced => Some("cancelled"),
        Outcome::NoText | Outcome::MaxTurns | Outcome::Refused => Some(outcome.name()),
        Outcome::Completed | Outcome::Failed | Outcome::Interrupted => None,
    }
}

fn interrupts(tool: &Tool) -> impl Iterator<Item = String> {
    tool.requests.iter().map(|request| {
        let reason = match request.kind {
            AskKind::Approval => "tool_call",
            AskKind::Question => "input_required",
        };
        let metadata = match &request.choices {
            Some(choices) => Object::new().json("choices", choices),
            None => Object::new(),
        };
        Object::new()
            .text("id", &request.id)
            .text("reason", reason)
            .maybe("message", request.prompt.as_deref())
            .text("toolCallId", &tool.id)
            .filled("metadata", metadata)
            .end()
    })
}
