//! Runs as JSON. Times are milliseconds since 1970, as in events.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use foxwedge_run::{RunSummary, RunUsage, ToolStatus};
use foxwedge_store::{RunRow, RunState};
use serde::Serialize;

#[derive(Serialize)]
struct RunListJson<'a> {
    version: u32,
    runs: Vec<ListedRunJson<'a>>,
}

/// A recorded run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListedRunJson<'a> {
    id: &'a str,
    session: &'a str,
    /// Its number in the session.
    epoch: u64,
    agent: Option<&'a str>,
    model: Option<&'a str>,
    started: u64,
    /// The number of events.
    events: u64,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_until: Option<u64>,
    #[serde(flatten)]
    end: Option<RunEndJson<'a>>,
}

#[derive(Serialize)]
struct RunEndJson<'a> {
    ended: u64,
    outcome: Option<&'static str>,
    text: Option<&'a str>,
    error: Option<&'a str>,
    summary: CallCountsJson,
    usage: Option<TokenUsageJson>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallCountsJson {
    available: Option<usize>,
    calls: usize,
    by_status: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct TokenUsageJson {
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
}

/// Writes all runs as one document.
pub(super) fn write(out: &mut dyn Write, rows: &[RunRow]) -> io::Result<()> {
    write_pretty(
        out,
        &RunListJson { version: 1, runs: rows.iter().map(ListedRunJson::of).collect() },
    )
}

/// Writes an indented document.
pub(super) fn write_pretty(out: &mut dyn Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}

impl<'a> ListedRunJson<'a> {
    pub(super) fn of(row: &'a RunRow) -> ListedRunJson<'a> {
        let (state, end) = match &row.state {
            RunState::Open => ("open", None),
            RunState::Ended { ended, summary, at } => {
                let problem = ended.problem.as_ref();
                let end = RunEndJson {
                    ended: *at,
                    outcome: ended.outcome.map(|outcome| outcome.name()),
                    text: ended.text.as_deref(),
                    error: problem.map(|problem| problem.message.as_str()),
                    summary: counts(summary),
                    usage: ended.usage.as_ref().map(tokens),
                };
                ("ended", Some(end))
            }
        };
        let lease = row.lease.as_ref().filter(|_| end.is_none());
        ListedRunJson {
            id: &row.id,
            session: &row.session,
            epoch: row.epoch,
            agent: row.agent.as_deref(),
            model: row.model.as_deref(),
            started: row.started,
            events: row.last,
            state,
            owner: lease.map(|lease| lease.owner.as_str()),
            lease_until: row.lease_until.filter(|_| end.is_none()),
            end,
        }
    }
}

fn counts(summary: &RunSummary) -> CallCountsJson {
    let by_status =
        ToolStatus::ALL.into_iter().map(|status| (status.name(), summary.count(status)));
    let by_status = by_status.filter(|(_, number)| *number > 0).collect();
    CallCountsJson { available: summary.available, calls: summary.calls, by_status }
}

fn tokens(usage: &RunUsage) -> TokenUsageJson {
    let RunUsage { input, output, cached, reasoning } = *usage;
    TokenUsageJson { input, output, cached, reasoning }
}
