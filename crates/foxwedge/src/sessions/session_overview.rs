//! One look at a session file: what it is about, and how it is. Read once, and only checked.

use std::{collections::BTreeMap, fs};

use anyhow::bail;
use foxwedge_core::{Draft, PartKind, Role, TextShape};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{AgentDetection, FindingEffect, ParsedSession, detect_agent, read};

use super::{SessionHealth, default_check_options, view::is_safely_fixable};
use crate::{agents::LocalSessionEntry, preview, source};

/// What one look at a session file tells.
#[derive(Clone, Debug)]
pub(crate) struct SessionOverview {
    pub(crate) health: SessionHealth,
    /// The id in the file.
    pub(crate) id: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) messages: usize,
    /// How often each rule is broken, by its label.
    pub(crate) findings: BTreeMap<String, usize>,
    /// The same for what the agent copes with.
    pub(crate) tolerated: BTreeMap<String, usize>,
    /// Whether a repair does something about it.
    pub(crate) is_fixable: bool,
    /// Why it cannot be read.
    pub(crate) error: Option<String>,
}

/// Characters of a title that are kept.
const TITLE: usize = 120;

/// Looks at a session file.
pub(crate) fn read_overview(entry: &LocalSessionEntry) -> SessionOverview {
    read_overview_within(entry, u32::MAX.into())
}

/// Looks at a session file, if it has no more than so many bytes.
pub(crate) fn read_overview_within(entry: &LocalSessionEntry, most: u64) -> SessionOverview {
    try_read_overview(entry, most).unwrap_or_else(|error| SessionOverview {
        health: SessionHealth::Unreadable,
        id: None,
        project: entry.project.clone(),
        title: entry.title.clone(),
        messages: 0,
        findings: BTreeMap::new(),
        tolerated: BTreeMap::new(),
        is_fixable: false,
        error: Some(format!("{error:#}")),
    })
}

fn try_read_overview(entry: &LocalSessionEntry, most: u64) -> anyhow::Result<SessionOverview> {
    if entry.size > most {
        let read = match most {
            most if most < u32::MAX.into() => format!("{most} that are read here"),
            _ => "four gigabytes we read".to_owned(),
        };
        bail!("{} bytes are more than the {read}", entry.size);
    }
    let content = fs::read(&entry.path)?;
    let content = source::decompress_within(&content, most)?;
    let text = foxwedge_sessions::readable_text(&content)?;
    let recognised = detect_agent(text.as_str());
    match &recognised {
        AgentDetection::UnknownVersion(_, why) => bail!("{why}"),
        AgentDetection::Unsupported(name) => {
            bail!("a session of {name}, which is not supported yet")
        }
        AgentDetection::Unknown | AgentDetection::Known(_) => {}
    }
    let question = default_check_options(entry.agent);
    let session = read(&text, entry.agent, outline_options(question.profile))?;
    let rated = session.rate_findings(&question);
    // Lists of messages look alike.
    let alike = entry.agent == foxwedge_sessions::SessionAgent::Cline;
    if recognised == AgentDetection::Unknown && !alike && !rated.counts.is_empty() {
        bail!("there is no record of {} in it", entry.agent.name());
    }
    let (mut findings, mut coped) = (BTreeMap::new(), BTreeMap::new());
    for (rule, effect, count) in &rated.counts {
        let counts = if *effect == FindingEffect::Tolerated { &mut coped } else { &mut findings };
        *counts.entry(rule.label()).or_insert(0) += count;
    }
    let about = &session.metadata;
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    Ok(SessionOverview {
        health: SessionHealth::of(rated.worst()),
        id: owned(&about.id),
        project: owned(&about.folder).or_else(|| entry.project.clone()),
        title: session_title(&session)
            .or_else(|| entry.title.clone())
            .or_else(|| first_user_text(session.draft())),
        messages: session.draft().messages.len(),
        findings,
        tolerated: coped,
        is_fixable: rated.findings.iter().any(|(finding, effect)| {
            *effect != FindingEffect::Tolerated && is_safely_fixable(finding)
        }),
        error: None,
    })
}

/// What the session is called.
pub(crate) fn session_title(session: &ParsedSession<'_>) -> Option<String> {
    let title = session.metadata.title.as_deref()?;
    Some(title.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|title| !title.is_empty())
}

/// How the user began: the first words that no program put in.
pub(crate) fn first_user_text(draft: &Draft<'_>) -> Option<String> {
    const OURS: [&str; 4] = ["<", "Caveat:", "# AGENTS.md", "This session is being continued"];
    let users = draft.messages.iter().filter(|message| message.role == Role::User);
    users
        .flat_map(|message| draft.parts_of(message))
        .filter(|part| matches!(part.kind, PartKind::Text(TextShape::Full | TextShape::Trailing)))
        .map(|part| preview::text(part.span.of(draft.source), TITLE))
        .find(|words| !words.is_empty() && !OURS.iter().any(|head| words.starts_with(head)))
}
