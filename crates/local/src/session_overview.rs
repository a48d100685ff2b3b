//! Overview of a session file: its metadata and health. The file is read once and not repaired.

use std::collections::BTreeMap;

use anyhow::bail;
use foxwedge_core::{Draft, PartKind, Role, TextShape};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{
    AgentDetection, FindingEffect, ParsedSession, SessionReach, detect_agent, read,
};

use crate::{
    agents::LocalSessionEntry,
    database, preview,
    session_document::{default_check_options, is_safely_fixable},
    session_health::SessionHealth,
    source,
};

/// Overview of a session file.
#[derive(Clone, Debug)]
pub struct SessionOverview {
    /// The health.
    pub health: SessionHealth,
    /// The id in the file.
    pub id: Option<String>,
    /// The working folder.
    pub project: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The number of messages.
    pub messages: usize,
    /// Size in bytes, of the file or of the rows in a database.
    pub size: u64,
    /// How much of it reaches the model; `None` if it cannot be read.
    pub reach: Option<SessionReach>,
    /// Number of findings of each rule, by rule label.
    pub findings: BTreeMap<String, usize>,
    /// The same for findings that the agent tolerates.
    pub tolerated: BTreeMap<String, usize>,
    /// Whether a repair would change it.
    pub is_fixable: bool,
    /// Why the file cannot be read.
    pub error: Option<String>,
}

/// Characters of a title that are kept.
const MAX_TITLE: usize = 120;

/// Reads a session file.
pub fn read_overview(entry: &LocalSessionEntry) -> SessionOverview {
    read_overview_within(entry, u32::MAX.into())
}

/// Reads a session file, if it has at most `max_bytes`.
pub fn read_overview_within(entry: &LocalSessionEntry, max_bytes: u64) -> SessionOverview {
    try_read_overview(entry, max_bytes).unwrap_or_else(|error| SessionOverview {
        health: SessionHealth::Unreadable,
        id: None,
        project: entry.project.clone(),
        title: entry.title.clone(),
        messages: 0,
        size: entry.size,
        reach: None,
        findings: BTreeMap::new(),
        tolerated: BTreeMap::new(),
        is_fixable: false,
        error: Some(format!("{error:#}")),
    })
}

fn try_read_overview(entry: &LocalSessionEntry, max_bytes: u64) -> anyhow::Result<SessionOverview> {
    if entry.size > max_bytes {
        let limit = match max_bytes {
            max_bytes if max_bytes < u32::MAX.into() => format!("{max_bytes} bytes"),
            _ => "four gigabytes".to_owned(),
        };
        bail!("{} bytes are more than the limit of {limit}", entry.size);
    }
    let content = database::read(&entry.path)?;
    let content = source::decompress_within(&content, max_bytes)?;
    let text = foxwedge_sessions::readable_text(&content)?;
    if let Some(reason) = source::lost_content(&text) {
        bail!(reason);
    }
    let detection = detect_agent(text.as_str());
    match &detection {
        AgentDetection::UnknownVersion(_, why) => bail!("{why}"),
        AgentDetection::Unsupported(name) => {
            bail!("sessions of {name} are only read from their own files")
        }
        AgentDetection::Unknown | AgentDetection::Known(_) => {}
    }
    let options = default_check_options(entry.agent);
    let session = read(&text, entry.agent, outline_options(options.profile))?;
    let rated = session.rate_findings(&options);
    // A Cline file is a plain list of messages, so it cannot be identified.
    let is_plain_list = entry.agent == foxwedge_sessions::SessionAgent::Cline;
    let is_empty = session.draft().messages.is_empty();
    if detection == AgentDetection::Unknown
        && !is_plain_list
        && is_empty
        && !rated.counts.is_empty()
    {
        bail!("it contains no {} records", entry.agent.name());
    }
    let (mut findings, mut tolerated) = (BTreeMap::new(), BTreeMap::new());
    for (rule, effect, count) in &rated.counts {
        let is_tolerated = *effect == FindingEffect::Tolerated;
        let counts = if is_tolerated { &mut tolerated } else { &mut findings };
        *counts.entry(rule.label()).or_insert(0) += count;
    }
    let metadata = &session.metadata;
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    Ok(SessionOverview {
        health: SessionHealth::of(rated.worst()),
        id: owned(&metadata.id),
        project: owned(&metadata.folder).or_else(|| entry.project.clone()),
        title: session_title(&session)
            .or_else(|| entry.title.clone())
            .or_else(|| first_user_text(session.draft())),
        messages: session.draft().messages.len(),
        size: match entry.size {
            0 => u64::try_from(content.len()).unwrap_or(u64::MAX),
            size => size,
        },
        reach: Some(session.reach(&rated, is_safely_fixable)),
        findings,
        tolerated,
        is_fixable: entry.agent.read_only_reason().is_none()
            && rated.findings.iter().any(|(finding, effect)| {
                *effect != FindingEffect::Tolerated && is_safely_fixable(finding)
            }),
        error: None,
    })
}

/// The title in the session's metadata.
pub fn session_title(session: &ParsedSession<'_>) -> Option<String> {
    let title = session.metadata.title.as_deref()?;
    Some(title.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|title| !title.is_empty())
}

/// The beginning of the first user text that no program wrote.
pub fn first_user_text(draft: &Draft<'_>) -> Option<String> {
    const GENERATED: [&str; 4] = ["<", "Caveat:", "# AGENTS.md", "This session is being continued"];
    let users = draft.messages.iter().filter(|message| message.role == Role::User);
    users
        .flat_map(|message| draft.parts_of(message))
        .filter(|part| matches!(part.kind, PartKind::Text(TextShape::Full | TextShape::Trailing)))
        .map(|part| preview::text(part.span.of(draft.source), MAX_TITLE))
        .find(|text| !text.is_empty() && !GENERATED.iter().any(|head| text.starts_with(head)))
}
