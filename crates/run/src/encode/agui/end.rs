//! How a run ends in AG-UI.

use super::{AgUiEncoder, event, with_timestamp};
use crate::{
    ApprovalKind, Outcome, SharedId,
    encode::{
        AgUiRevision, common_fields,
        json::{JsonObjectWriter, array, quote},
        tracker::{RunEnding, TrackedTool},
    },
};

/// The last event. A failed run ends with an error, any other run is finished. `metadata` always
/// carries the outcome; `outcome` does only where the client supports it. The calls that the run
/// leaves to the application have no result.
pub(super) fn end_event(
    encoder: &AgUiEncoder,
    ending: &RunEnding<'_>,
    pending_calls: &[SharedId],
) -> String {
    let usage = ending.ended.usage.as_ref().map(|usage| {
        let tokens = JsonObjectWriter::new().optional_text("model", encoder.model.as_deref());
        array([common_fields::add_usage(tokens, usage).finish()])
    });
    let with_usage = |object: JsonObjectWriter| match &usage {
        Some(usage) => object.raw("usage", usage),
        None => object,
    };
    let metadata = JsonObjectWriter::new()
        .text("outcome", ending.outcome.name())
        .optional_text("finishedReason", finished_reason(ending))
        .object("summary", common_fields::summary_object(ending.summary));
    match ending.outcome {
        Outcome::Failed | Outcome::Interrupted => with_usage(
            with_timestamp(event("RUN_ERROR"), ending.at)
                .text("message", common_fields::problem_message(ending))
                .text("code", common_fields::problem_code(ending)),
        )
        .object("metadata", metadata)
        .finish(),
        Outcome::Completed
        | Outcome::Stopped
        | Outcome::NoText
        | Outcome::MaxTurns
        | Outcome::Refused
        | Outcome::Replaced => {
            let finished = with_timestamp(event("RUN_FINISHED"), ending.at)
                .text("threadId", &encoder.thread)
                .text("runId", &encoder.run);
            let finished = match outcome_object(encoder.version, ending, pending_calls) {
                Some(outcome) => finished.object("outcome", outcome),
                None => finished,
            };
            let finished = match &ending.ended.text {
                Some(text) => finished.object("result", JsonObjectWriter::new().text("text", text)),
                None => finished,
            };
            with_usage(finished).object("metadata", metadata).finish()
        }
    }
}

/// The outcome in AG-UI terms. Reaching the turn limit is not a success, and AG-UI has no outcome
/// for it.
fn outcome_object(
    version: AgUiRevision,
    ending: &RunEnding<'_>,
    pending_calls: &[SharedId],
) -> Option<JsonObjectWriter> {
    if !ending.waiting.is_empty() {
        let interrupts = ending.waiting.iter().flat_map(|tool| interrupts(tool));
        return Some(
            JsonObjectWriter::new().text("type", "interrupt").list("interrupts", interrupts),
        );
    }
    match (ending.outcome, version) {
        (
            Outcome::Completed | Outcome::NoText | Outcome::Refused,
            AgUiRevision::V0 | AgUiRevision::V1,
        ) => {
            let success = JsonObjectWriter::new().text("type", "success");
            Some(match pending_calls {
                [] => success,
                ids => success.list("pendingToolCallIds", ids.iter().map(|id| quote(id))),
            })
        }
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

/// Whether the run may leave calls to the application: only a successful run names them, and one
/// that waits for a person is not successful yet.
pub(super) fn can_leave_calls(ending: &RunEnding<'_>) -> bool {
    ending.waiting.is_empty()
        && matches!(ending.outcome, Outcome::Completed | Outcome::NoText | Outcome::Refused)
}

fn finished_reason(ending: &RunEnding<'_>) -> Option<&'static str> {
    match ending.outcome {
        Outcome::Completed | Outcome::NoText if ending.is_cut => Some("length"),
        Outcome::Stopped | Outcome::Replaced => Some("cancelled"),
        Outcome::NoText | Outcome::MaxTurns | Outcome::Refused => Some(ending.outcome.name()),
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
