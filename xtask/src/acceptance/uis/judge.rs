//! Compares what a client understood with what happened.

use foxwedge_run::{Outcome, ToolStatus, encode::UiFormat};
use serde_json::Value;

use super::{
    UiClient, UiJob,
    runs::{RunFacts, RunKind},
};

/// What is wrong, if anything is.
pub(super) fn judge(job: &UiJob<'_>, answer: &Value) -> Result<(), String> {
    match (&job.fault, answer["refused"].as_str()) {
        (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => Err(format!("it takes the fault: {answer}")),
        (None, Some(refusal)) => Err(format!("it refuses: {refusal}\n{}", job.stream)),
        (None, None) => match &job.run.expected {
            Some(facts) => compare(job.client, job.run.kind, facts, answer),
            None => Ok(()),
        },
    }
}

fn compare(
    client: UiClient,
    kind: RunKind,
    facts: &RunFacts,
    answer: &Value,
) -> Result<(), String> {
    same("the text", &facts.text, answer["text"].as_str().unwrap_or_default())?;
    let waits = facts.calls.iter().any(|(_, status)| status.is_none());
    let end_text = answer["end"].as_str().unwrap_or_default();
    // The agent chooses what a failure is called.
    let end_text = if end_text.starts_with("error ") { "error" } else { end_text };
    same("the end", end(client, facts.outcome, waits), end_text)?;
    let understood = answer["calls"].as_object().map_or(0, serde_json::Map::len);
    same("the number of calls", &facts.calls.len().to_string(), &understood.to_string())?;
    for (call, status) in &facts.calls {
        let state = &answer["calls"][call];
        let states = match (client.format, status, kind) {
            // Random logs have calls that are allowed first and denied then; the approval counts.
            (UiFormat::AiSdk, Some(ToolStatus::Denied), RunKind::RandomLog) => {
                &["output-denied", "output-error"]
            }
            _ => states(client, *status),
        };
        if !states.contains(&state.as_str().unwrap_or("nothing")) {
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
fn states(client: UiClient, status: Option<ToolStatus>) -> &'static [&'static str] {
    match (client.format, status) {
        (UiFormat::AgUi, Some(status)) => match status {
            ToolStatus::Succeeded => &["succeeded"],
            ToolStatus::Failed => &["failed"],
            ToolStatus::Denied => &["denied"],
            ToolStatus::Cancelled => &["cancelled"],
            ToolStatus::Interrupted => &["interrupted"],
            ToolStatus::HandedOver => &["handed_over"],
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running => &[],
        },
        (UiFormat::AgUi, None) => &["nothing"],
        (UiFormat::AiSdk, Some(status)) => match status {
            ToolStatus::Succeeded | ToolStatus::HandedOver => &["output-available"],
            ToolStatus::Failed | ToolStatus::Interrupted => &["output-error"],
            ToolStatus::Denied => &["output-denied"],
            // Denied, if somebody was asked about it and never said yes.
            ToolStatus::Cancelled => &["output-error", "output-denied"],
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running => &[],
        },
        // A question is answered by the output that the client gives.
        (UiFormat::AiSdk, None) => &["approval-requested", "input-available"],
        (UiFormat::Acp, Some(ToolStatus::Succeeded | ToolStatus::HandedOver)) => &["completed"],
        (UiFormat::Acp, Some(ToolStatus::Cancelled | ToolStatus::Interrupted) | None) => {
            if client.version == 1 { &["failed"] } else { &["cancelled"] }
        }
        (UiFormat::Acp, Some(ToolStatus::Failed | ToolStatus::Denied)) => &["failed"],
        (
            UiFormat::Acp,
            Some(
                ToolStatus::Unknown
                | ToolStatus::Pending
                | ToolStatus::AwaitingApproval
                | ToolStatus::Running,
            ),
        )
        | (UiFormat::Jsonl, _) => &[],
    }
}

/// How the end of a run looks.
fn end(client: UiClient, outcome: Outcome, waits: bool) -> &'static str {
    match (client.format, outcome) {
        (UiFormat::AgUi, Outcome::Completed) if waits => "interrupt -",
        (UiFormat::AgUi, Outcome::NoText) if waits => "interrupt no_text",
        (UiFormat::AgUi, Outcome::Completed) => "success -",
        (UiFormat::AgUi, Outcome::NoText) => "success no_text",
        (UiFormat::AgUi, Outcome::Refused) => "success refused",
        (UiFormat::AgUi, Outcome::MaxTurns) => "finished max_turns",
        (UiFormat::AgUi, Outcome::Stopped | Outcome::Replaced) => {
            if client.version == 0 {
                "finished cancelled"
            } else {
                "cancelled cancelled"
            }
        }
        (UiFormat::AgUi, Outcome::Failed | Outcome::Interrupted) => "error",
        (UiFormat::AiSdk, Outcome::Completed | Outcome::NoText) if waits => "finish tool-calls",
        (UiFormat::AiSdk, Outcome::Completed) => "finish stop",
        (UiFormat::AiSdk, Outcome::NoText | Outcome::MaxTurns) => "finish other",
        (UiFormat::AiSdk, Outcome::Refused) => "finish content-filter",
        (UiFormat::AiSdk, Outcome::Stopped) => "abort stopped",
        (UiFormat::AiSdk, Outcome::Replaced) => "abort replaced",
        (UiFormat::AiSdk, Outcome::Failed | Outcome::Interrupted) => "error",
        (UiFormat::Acp, Outcome::Completed | Outcome::NoText) => "end_turn",
        (UiFormat::Acp, Outcome::Stopped | Outcome::Replaced) => "cancelled",
        (UiFormat::Acp, Outcome::MaxTurns) => "max_turn_requests",
        (UiFormat::Acp, Outcome::Refused) => "refusal",
        (UiFormat::Acp, Outcome::Failed | Outcome::Interrupted) => "error",
        (UiFormat::Jsonl, _) => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::acceptance::uis::{jobs, runs};

    #[test]
    fn misunderstandings_are_reported() {
        let runs = runs::all(0).expect("runs");
        let run = runs.iter().find(|run| run.name == "approval-denied").expect("a run");
        let jobs = jobs(run);
        let ai_sdk = |job: &&UiJob<'_>| job.client.format == UiFormat::AiSdk;
        let whole = jobs.iter().filter(ai_sdk).find(|job| job.fault.is_none()).expect("a job");
        let faulty = jobs.iter().filter(ai_sdk).find(|job| job.fault.is_some()).expect("a job");
        let answer = |text: &str, state: &str, end: &str| json!({ "refused": null, "text": text, "calls": { "a": state }, "end": end });
        let fine = answer("Fine.", "output-denied", "finish stop");
        let table = [
            (whole, fine.clone(), ""),
            (whole, json!({ "refused": "no" }), "it refuses: no"),
            (whole, answer("", "output-denied", "finish stop"), "the text is \"Fine.\", and"),
            (whole, answer("Fine.", "output-error", "finish stop"), "the call a is Some(Denied)"),
            (whole, answer("Fine.", "output-denied", "abort -"), "the end is \"finish stop\", and"),
            (faulty, fine, "it takes the fault"),
            (faulty, json!({ "refused": "no" }), ""),
        ];
        for (job, answer, expected) in table {
            let verdict = judge(job, &answer).err().unwrap_or_default();
            assert!(verdict.starts_with(expected), "{answer}: {verdict}");
            assert_eq!(verdict.is_empty(), expected.is_empty(), "{answer}: {verdict}");
        }
    }
}
