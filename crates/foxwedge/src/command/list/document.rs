//! The session list as JSON.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::UNIX_EPOCH,
};

use serde::Serialize;

use super::ListedSessionRow;
use foxwedge_local::{
    agents::SessionOrigin, calendar::format_timestamp, session_health::SessionHealth,
    session_reach::ReachJson,
};

#[derive(Serialize)]
struct SessionListJson<'a> {
    version: u32,
    sessions: Vec<ListedSessionJson<'a>>,
}

#[derive(Serialize)]
struct ListedSessionJson<'a> {
    agent: &'static str,
    /// The product that wrote the file, where several share a format.
    product: &'static str,
    id: &'a str,
    path: String,
    project: Option<&'a str>,
    title: Option<&'a str>,
    modified: String,
    size: u64,
    messages: usize,
    /// How much of it reaches the model; `null` if it cannot be read.
    reach: Option<ReachJson>,
    health: SessionHealth,
    findings: &'a BTreeMap<String, usize>,
    /// Findings that its agent tolerates.
    #[serde(skip_serializing_if = "is_empty")]
    coped: &'a BTreeMap<String, usize>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// The session that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    sub_agents: usize,
}

fn is_empty(counts: &&BTreeMap<String, usize>) -> bool {
    counts.is_empty()
}

/// Writes one document.
pub(super) fn write(out: &mut dyn Write, rows: &[ListedSessionRow]) -> io::Result<()> {
    let sessions = rows.iter().map(session_json).collect();
    serde_json::to_writer_pretty(&mut *out, &SessionListJson { version: 1, sessions })?;
    out.write_all(b"\n")
}

fn session_json(row: &ListedSessionRow) -> ListedSessionJson<'_> {
    let ListedSessionRow { entry, overview, sub_agents, .. } = row;
    let modified = entry.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    ListedSessionJson {
        agent: entry.agent.name(),
        product: entry.product,
        id: &entry.id,
        path: entry.path.to_string_lossy().into_owned(),
        project: overview.project.as_deref(),
        title: overview.title.as_deref(),
        modified: format_timestamp(modified.as_secs()),
        size: row.overview.size,
        messages: overview.messages,
        reach: overview.reach.as_ref().map(ReachJson::from),
        health: overview.health,
        findings: &overview.findings,
        coped: &overview.tolerated,
        error: overview.error.as_deref(),
        parent: match &entry.origin {
            SessionOrigin::SubAgent(Some(parent)) => Some(parent),
            // The records of a sub-agent contain the id of the session that started it.
            SessionOrigin::SubAgent(None) => overview.id.as_deref(),
            SessionOrigin::Session => None,
        },
        sub_agents: *sub_agents,
    }
}
