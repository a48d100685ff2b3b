//! How a run ends in ACP.

use super::{AcpEncoder, AcpRevision, message, meta};
use crate::{
    Outcome,
    encode::{common_fields, json::JsonObjectWriter, tracker::RunEnding},
};

/// The JSON-RPC error code for an internal error of the agent.
const INTERNAL_ERROR: &str = "-32603";

/// The last message.
pub(super) fn end_message(encoder: &AcpEncoder, ending: &RunEnding<'_>) -> String {
    let fields = JsonObjectWriter::new()
        .text("outcome", ending.outcome.name())
        .object("summary", common_fields::summary_object(ending.summary));
    let fields = match &ending.ended.usage {
        Some(usage) => {
            fields.object("usage", common_fields::add_usage(JsonObjectWriter::new(), usage))
        }
        None => fields,
    };
    let error = |fields: JsonObjectWriter| {
        let data = fields.text("code", common_fields::problem_code(ending));
        JsonObjectWriter::new()
            .raw("code", INTERNAL_ERROR)
            .text("message", common_fields::problem_message(ending))
            .object("data", data)
    };
    let reason = stop_reason(ending.outcome);
    match encoder.version {
        AcpRevision::V1 => {
            let response = message().raw("id", &encoder.prompt);
            match reason {
                Some(reason) => {
                    let result = JsonObjectWriter::new().text("stopReason", reason);
                    response.object("result", result.object("_meta", meta(fields))).finish()
                }
                None => response.object("error", error(fields)).finish(),
            }
        }
        AcpRevision::V2 => {
            let idle =
                JsonObjectWriter::new().text("sessionUpdate", "state_update").text("state", "idle");
            encoder.update(match reason {
                Some(reason) => idle.text("stopReason", reason).object("_meta", meta(fields)),
                None => idle.text("stopReason", "error").object("error", error(fields)),
            })
        }
    }
}

/// The stop reason; `None` if the run failed.
fn stop_reason(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Completed | Outcome::NoText => Some("end_turn"),
        Outcome::Stopped | Outcome::Replaced => Some("cancelled"),
        Outcome::MaxTurns => Some("max_turn_requests"),
        Outcome::Refused => Some("refusal"),
        Outcome::Failed | Outcome::Interrupted => None,
    }
}
