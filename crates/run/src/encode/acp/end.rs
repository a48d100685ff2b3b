//! How a run ends in ACP.

use super::{Acp, Voice, message, meta};
use crate::{
    Outcome,
    encode::{json::Object, tracker::Over, words},
};

/// The code of an error inside the agent, in JSON-RPC.
const INTERNAL: &str = "-32603";

/// The last message.
pub(super) fn message_of(voice: &Voice, over: &Over<'_>) -> String {
    let about = Object::new()
        .text("outcome", over.outcome.name())
        .object("summary", words::summary(over.summary));
    let about = match &over.ended.usage {
        Some(usage) => about.object("usage", words::usage(Object::new(), usage)),
        None => about,
    };
    let error = |about: Object| {
        let data = about.text("code", words::trouble_code(over));
        Object::new()
            .written("code", INTERNAL)
            .text("message", words::trouble(over))
            .object("data", data)
    };
    let reason = stop_reason(over.outcome);
    match voice.version {
        Acp::V1 => {
            let answer = message().written("id", &voice.prompt);
            match reason {
                Some(reason) => {
                    let result = Object::new().text("stopReason", reason);
                    answer.object("result", result.object("_meta", meta(about))).end()
                }
                None => answer.object("error", error(about)).end(),
            }
        }
        Acp::V2 => {
            let idle = Object::new().text("sessionUpdate", "state_update").text("state", "idle");
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
