//! Whether a client understood what happened.

use foxwedge_run::{Outcome, Status, encode::Format};
use serde_json::Value;

use super::{
    reader::{Job, Reader},
    run::Seen,
};

/// What is wrong, if anything is.
pub(super) fn judge(job: &Job<'_>, answer: &Value) -> Result<(), String> {
    match (&job.fault, answer["refused"].as_str()) {
        (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => Err(format!("it takes the fault: {answer}")),
        (None, Some(refusal)) => Err(format!("it refuses: {refusal}\n{}", job.stream())),
        (None, None) => match &job.run.seen {
            Some(seen) => compare(job.reader, seen, answer),
            None => Ok(()),
        },
    }
}

fn compare(reader: Reader, seen: &Seen, answer: &Value) -> Result<(), String> {
    same("the text", &seen.text, answer["text"].as_str().unwrap_or_default())?;
    let waits = seen.calls.iter().any(|(_, status)| status.is_none());
    same("the end", end(reader, seen.outcome, waits), answer["end"].as_str().unwrap_or_default())?;
    let understood = answer["calls"].as_object().map_or(0, serde_json::Map::len);
    same("the number of calls", &seen.calls.len().to_string(), &understood.to_string())?;
    for (call, status) in &seen.calls {
        let state = &answer["calls"][call];
        if !states(reader, *status).contains(&state.as_str().unwrap_or("nothing")) {
            return Err(format!("the call {call} is {status:?}, and {state} was understood"));
        }
    }
    Ok(())
}

fn same(what: &str, is: &str, understood: &str) -> Result<(), String> {
    if is == understood {
        return Ok(());
    }
    Err(format!("{what} is {is:?}, and {understood:?} was understood"))
}

/// How a call looks that ended so.
fn states(reader: Reader, status: Option<Status>) -> &'static [&'static str] {
    match (reader.format, status) {
        (Format::AgUi, Some(status)) => match status {
            Status::Succeeded => &["succeeded"],
            Status::Failed => &["failed"],
            Status::Denied => &["denied"],
            Status::Cancelled => &["cancelled"],
            Status::Interrupted => &["interrupted"],
            Status::HandedOver => &["handed_over"],
            Status::Unknown | Status::Pending | Status::AwaitingApproval | Status::Running => &[],
        },
        (Format::AgUi, None) => &["nothing"],
        (Format::AiSdk, Some(status)) => match status {
            Status::Succeeded | Status::HandedOver => &["output-available"],
            Status::Failed | Status::Interrupted => &["output-error"],
            Status::Denied => &["output-denied"],
            // Denied, if somebody was asked about it and never said yes.
            Status::Cancelled => &["output-error", "output-denied"],
            Status::Unknown | Status::Pending | Status::AwaitingApproval | Status::Running => &[],
        },
        // A question is answered by the output that the client gives.
        (Format::AiSdk, None) => &["approval-requested", "input-available"],
        (Format::Acp, Some(Status::Succeeded | Status::HandedOver)) => &["completed"],
        (Format::Acp, Some(Status::Cancelled | Status::Interrupted) | None) => {
            if reader.version == 1 { &["failed"] } else { &["cancelled"] }
        }
        (Format::Acp, Some(Status::Failed | Status::Denied)) => &["failed"],
        (
            Format::Acp,
            Some(Status::Unknown | Status::Pending | Status::AwaitingApproval | Status::Running),
        )
        | (Format::Jsonl, _) => &[],
    }
}

/// How the end of a run looks.
fn end(reader: Reader, outcome: Outcome, waits: bool) -> &'static str {
    match (reader.format, outcome) {
        (Format::AgUi, Outcome::Completed) if waits => "interrupt -",
        (Format::AgUi, Outcome::NoText) if waits => "interrupt no_text",
        (Format::AgUi, Outcome::Completed) => "success -",
        (Format::AgUi, Outcome::NoText) => "success no_text",
        (Format::AgUi, Outcome::Refused) => "success refused",
        (Format::AgUi, Outcome::MaxTurns) => "finished max_turns",
        (Format::AgUi, Outcome::Stopped | Outcome::Replaced) => {
            if reader.version == 0 { "finished cancelled" } else { "cancelled cancelled" }
        }
        (Format::AgUi, Outcome::Failed) => "error overloaded_error",
        (Format::AgUi, Outcome::Interrupted) => "error interrupted",
        (Format::AiSdk, Outcome::Completed | Outcome::NoText) if waits => "finish tool-calls",
        (Format::AiSdk, Outcome::Completed) => "finish stop",
        (Format::AiSdk, Outcome::NoText | Outcome::MaxTurns) => "finish other",
        (Format::AiSdk, Outcome::Refused) => "finish content-filter",
        (Format::AiSdk, Outcome::Stopped) => "abort stopped",
        (Format::AiSdk, Outcome::Replaced) => "abort replaced",
        (Format::AiSdk, Outcome::Failed | Outcome::Interrupted) => "error -",
        (Format::Acp, Outcome::Completed | Outcome::NoText) => "end_turn",
        (Format::Acp, Outcome::Stopped | Outcome::Replaced) => "cancelled",
        (Format::Acp, Outcome::MaxTurns) => "max_turn_requests",
        (Format::Acp, Outcome::Refused) => "refusal",
        (Format::Acp, Outcome::Failed | Outcome::Interrupted) => "error",
        (Format::Jsonl, _) => "",
    }
}
