//! How a run ends in AG-UI.

use super::{AgUiEncoder, event, with_timestamp};
use crate::{
    ApprovalKind, Outcome,
    encode::{
        AgUiRevision, common_fields,
        json::{JsonObjectWriter, array},
        tracker::{RunEnding, TrackedTool},
    },
};

/// The last event. A run that went wrong is an error; any other is finished, and how is said by
/// `outcome` where the reader knows the word, and by `metadata` always.
pub(super) fn end_event(voice: &AgUiEncoder, over: &RunEnding<'_>) -> String {
    let usage = over.ended.usage.as_ref().map(|usage| {
        let counted = JsonObjectWriter::new().optional_text("model", voice.model.as_deref());
        array([common_fields::add_usage(counted, usage).finish()])
    });
    let with_usage = |object: JsonObjectWriter| match &usage {
        Some(usage) => object.raw("usage", usage),
        None => object,
    };
    let metadata = JsonObjectWriter::new()
        .text("outcome", over.outcome.name())
        .optional_text("finishedReason", finished_reason(over.outcome))
        .object("summary", common_fields::summary_object(over.summary));
    match over.outcome {
        Outcome::Failed | Outcome::Interrupted => with_usage(
            with_timestamp(event("RUN_ERROR"), over.at)
                .text("message", common_fields::problem_message(over))
                .text("code", common_fields::problem_code(over)),
        )
        .object("metadata", metadata)
        .finish(),
        Outcome::Completed
        | Outcome::Stopped
        | Outcome::NoText
        | Outcome::MaxTurns
        | Outcome::Refused
        | Outcome::Replaced => {
            let finished = with_timestamp(event("RUN_FINISHED"), over.at)
                .text("threadId", &voice.thread)
                .text("runId", &voice.run);
            let finished = match outcome_object(voice.version, over) {
                Some(outcome) => finished.object("outcome", outcome),
                None => finished,
            };
            let finished = match &over.ended.text {
                Some(text) => finished.object("result", JsonObjectWriter::new().text("text", text)),
                None => finished,
            };
            with_usage(finished).object("metadata", metadata).finish()
        }
    }
}

/// What a reader without our words is told. Running out of turns is no success, and AG-UI has no
/// word for it.
fn outcome_object(version: AgUiRevision, over: &RunEnding<'_>) -> Option<JsonObjectWriter> {
    if !over.waiting.is_empty() {
        let interrupts = over.waiting.iter().flat_map(|tool| interrupts(tool));
        return Some(
            JsonObjectWriter::new().text("type", "interrupt").list("interrupts", interrupts),
        );
    }
    match (over.outcome, version) {
        (
            Outcome::Completed | Outcome::NoText | Outcome::Refused,
            AgUiRevision::V0 | AgUiRevision::V1,
        ) => Some(JsonObjectWriter::new().text("type", "success")),
        (Outcome::Stopped | Outcome::Replaced, AgUiRevision::V1) => {
            Some(JsonObjectWriter::new().text("type", "cancelled"))
        }
        (Outcome::Stopped | Outcome::Replaced, AgUiRevision::V0)
        | (
            Outcome::MaxTurns | Outcome::Failed | Outcome::Interrupted,
            AgUiRevision::V0 | AgUiRevision::V1,
        ) => None,
    }
}

fn finished_reason(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Stopped | Outcome::Replaced => Some("cancelled"),
        Outcome::NoText | Outcome::MaxTurns | Outcome::Refused => Some(outcome.name()),
        Outcome::Completed | Outcome::Failed | Outcome::Interrupted => None,
    }
}

fn interrupts(tool: &TrackedTool) -> impl Iterator<Item = String> {
    tool.requests.iter().map(|request| {
        let reason = match request.kind {
            ApprovalKind::Approval => "tool_call",
            ApprovalKind::Question => "input_required",
        };
        let metadata = match &request.choices {
            Some(choices) => JsonObjectWriter::new().json("choices", choices),
            None => JsonObjectWriter::new(),
        };
        JsonObjectWriter::new()
            .text("id", &request.id)
            .text("reason", reason)
            .optional_text("message", request.prompt.as_deref())
            .text("toolCallId", &tool.id)
            .non_empty_object("metadata", metadata)
            .finish()
    })
}
