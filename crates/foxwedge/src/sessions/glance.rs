//! One look at a session file: what it is about, and how it is. Read once, and only checked.

use std::{collections::BTreeMap, fs};

use anyhow::bail;
use foxwedge_core::{Draft, Kind, Role, Text};
use foxwedge_dialect::{
    session::{FindingEffect, Recognised, Session, read, recognise},
    want,
};

use super::{Health, usual, view::is_repaired};
use crate::{agents::Entry, preview, source};

/// What one look at a session file tells.
#[derive(Clone, Debug)]
pub(crate) struct Glance {
    pub(crate) health: Health,
    /// The id in the file.
    pub(crate) id: Option<String>,
    pub(crate) project: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) messages: usize,
    /// How often each rule is broken, by its label.
    pub(crate) findings: BTreeMap<String, usize>,
    /// The same for what the agent copes with.
    pub(crate) coped: BTreeMap<String, usize>,
    /// Whether a repair does something about it.
    pub(crate) healable: bool,
    /// Why it cannot be read.
    pub(crate) why: Option<String>,
}

/// Characters of a title that are kept.
const TITLE: usize = 120;

/// Looks at a session file.
pub(crate) fn glance(entry: &Entry) -> Glance {
    glance_within(entry, u32::MAX.into())
}

/// Looks at a session file, if it has no more than so many bytes.
pub(crate) fn glance_within(entry: &Entry, most: u64) -> Glance {
    look(entry, most).unwrap_or_else(|error| Glance {
        health: Health::Unreadable,
        id: None,
        project: entry.project.clone(),
        title: entry.title.clone(),
        messages: 0,
        findings: BTreeMap::new(),
        coped: BTreeMap::new(),
        healable: false,
        why: Some(format!("{error:#}")),
    })
}

fn look(entry: &Entry, most: u64) -> anyhow::Result<Glance> {
    if entry.size > most {
        let read = match most {
            most if most < u32::MAX.into() => format!("{most} that are read here"),
            _ => "four gigabytes we read".to_owned(),
        };
        bail!("{} bytes are more than the {read}", entry.size);
    }
    let content = fs::read(&entry.path)?;
    let content = source::unpacked_within(&content, most)?;
    let text = foxwedge_dialect::session::text(&content)?;
    let recognised = recognise(text.as_str());
    match &recognised {
        Recognised::Newer(_, why) => bail!("{why}"),
        Recognised::Unsupported(name) => bail!("a session of {name}, which is not supported yet"),
        Recognised::No | Recognised::Yes(_) => {}
    }
    let question = usual(entry.agent);
    let session = read(&text, entry.agent, want(question.profile))?;
    let rated = session.rated(&question);
    // Lists of messages look alike.
    let alike = entry.agent == foxwedge_dialect::session::Agent::Cline;
    if recognised == Recognised::No && !alike && !rated.counts.is_empty() {
        bail!("there is no record of {} in it", entry.agent.name());
    }
    let (mut findings, mut coped) = (BTreeMap::new(), BTreeMap::new());
    for (rule, effect, count) in &rated.counts {
        let counts = if *effect == FindingEffect::Coped { &mut coped } else { &mut findings };
        *counts.entry(rule.label()).or_insert(0) += count;
    }
    let about = &session.about;
    let owned = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    Ok(Glance {
        health: Health::of(rated.worst()),
        id: owned(&about.id),
        project: owned(&about.folder).or_else(|| entry.project.clone()),
        title: title(&session).or_else(|| entry.title.clone()).or_else(|| opening(session.draft())),
        messages: session.draft().messages.len(),
        findings,
        coped,
        healable: rated
            .findings
            .iter()
            .any(|(finding, effect)| *effect != FindingEffect::Coped && is_repaired(finding)),
        why: None,
    })
}

/// What the session is called.
pub(crate) fn title(session: &Session<'_>) -> Option<String> {
    let title = session.about.title.as_deref()?;
    Some(title.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|title| !title.is_empty())
}

/// How the user began: the first words that no program put in.
pub(crate) fn opening(draft: &Draft<'_>) -> Option<String> {
    const OURS: [&str; 4] = ["<", "Caveat:", "# AGENTS.md", "This session is being continued"];
    let users = draft.messages.iter().filter(|message| message.role == Role::User);
    users
        .flat_map(|message| draft.parts_of(message))
        .filter(|part| matches!(part.kind, Kind::Text(Text::Full | Text::Trailing)))
        .map(|part| preview::text(part.span.of(draft.source), TITLE))
        .find(|words| !words.is_empty() && !OURS.iter().any(|head| words.starts_with(head)))
}
