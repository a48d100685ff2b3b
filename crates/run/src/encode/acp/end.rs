//! How a run ends in ACP.

use super::{AcpEncoder, AcpRevision, message, meta};
use crate::{
    Outcome,
    encode::{common_fields, json::JsonObjectWriter, tracker::RunEnding},
};

/// The code of an error inside the agent, in JSON-RPC.
const INTERNAL_ERROR: &str = "-32603";

/// The last message.
pub(super) fn end_message(voice: &AcpEncoder, over: &RunEnding<'_>) -> String {
    let about = JsonObjectWriter::new()
        .text("outcome", over.outcome.name())
        .object("summary", common_fields::summary_object(over.summary));
    let about = match &over.ended.usage {
        Some(usage) => {
            about.object("usage", common_fields::add_usage(JsonObjectWriter::new(), usage))
        }
        None => about,
    };
    let error = |about: JsonObjectWriter| {
        let data = about.text("code", common_fields::problem_code(over));
        JsonObjectWriter::new()
            .raw("code", INTERNAL_ERROR)
            .text("message", common_fields::problem_message(over))
            .object("data", data)
    };
    let reason = stop_reason(over.outcome);
    match voice.version {
        AcpRevision::V1 => {
            let answer = message().raw("id", &voice.prompt);
            match reason {
                Some(reason) => {
                    let result = JsonObjectWriter::new().text("stopReason", reason);
                    answer.object("result", result.object("_meta", meta(about))).finish()
                }
                None => answer.object("error", error(about)).finish(),
            }
        }
        AcpRevision::V2 => {
            let idle =
                JsonObjectWriter::new().text("sessionUpdate", "state_update").text("state", "idle");
            voice.update(match reason {
                Some(reason) => idle.text("stopReason", reason).object("_meta", meta(about)),
                None => idle.text("stopReason", "error").object("error", error(about)),
            })
        }
    }
}

/// Why it stopped; or nothing, if it went wrong.
fn stop_reason(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Completed | Outcome::NoText => Some("end_turn"),
        Outcome::Stopped | Outcome::Replaced => Some("cancelled"),
        Outcome::MaxTurns => Some("max_turn_requests"),
        Outcome::Refused => Some("refusal"),
        Outcome::Failed | Outcome::Interrupted => None,
    }
}
