//! Every record of a session file as people look at it: a tree with the path marked.

use foxwedge_core::{
    Role, Span,
    chain::{ChainStatus, resolve_parents},
};

use super::{ParsedSession, lines::RecordState};
use crate::json::{array_elements, field_value, unescape};

/// One record.
#[derive(Clone, Debug)]
pub struct RecordNode<'s> {
    /// Its line, counted from one.
    pub line: usize,
    /// Its id, where it has one.
    pub id: Option<&'s str>,
    /// Its parent among the nodes.
    pub parent: Option<usize>,
    /// The agent's word for what it is; empty for what cannot be read.
    pub kind: &'s str,
    /// Who speaks, if it is a message.
    pub role: Option<Role>,
    /// What became of it.
    pub standing: ChainStatus,
    /// The message of the conversation it belongs to.
    pub message: Option<usize>,
    /// When it was written.
    pub time: Option<&'s str>,
    /// How its text begins.
    pub preview: String,
}

/// What of a file is not in the conversation, and why.
#[derive(Clone, Debug, Default)]
pub struct OmittedRecords {
    /// Messages on other branches (record ids).
    pub branches: Vec<String>,
    /// Messages of sub-agents.
    pub sub_agents: Vec<String>,
    /// Records that repeat another one.
    pub duplicates: Vec<String>,
    /// Replies of nothing but reasoning or white space.
    pub empty_replies: Vec<String>,
    /// Messages that the agent keeps for itself.
    pub hidden: Vec<String>,
    /// Lines that cannot be read.
    pub unreadable: Vec<usize>,
    /// Records that are no messages.
    pub other_records: usize,
}

/// How many characters of a text are shown.
const PREVIEW_CHARACTERS: usize = 160;

/// Every record of a session.
pub(super) fn nodes<'s>(session: &'s ParsedSession<'_>) -> Vec<RecordNode<'s>> {
    let log = &session.log;
    let parents = resolve_parents(&log.links);
    let messages = session.messages_by_record();
    let mut nodes = Vec::with_capacity(log.records.len());
    for (at, (record, link)) in log.records.iter().zip(&log.links).enumerate() {
        let fragment = link.fragment.and_then(|at| session.fragments.get(at as usize));
        nodes.push(RecordNode {
            line: record.line as usize + 1,
            id: link.id,
            parent: parents.get(at).copied().flatten().map(|parent| parent as usize),
            kind: record.kind,
            role: fragment.map(|message| message.role),
            standing: session.chain.statuses.get(at).copied().unwrap_or(ChainStatus::Unlinked),
            message: messages.get(at).copied().flatten(),
            time: record.time,
            preview: fragment
                .map_or_else(String::new, |message| preview_text(log.source, message.span)),
        });
    }
    nodes
}

/// How the text of a message begins.
fn preview_text(source: &str, message: Span) -> String {
    let content = ["content", "parts"].iter().find_map(|key| field_value(source, message, key));
    let Some(content) = content else { return String::new() };
    let text = |span: Span| {
        let raw = span.of(source).trim_matches('"');
        let end = raw.char_indices().nth(PREVIEW_CHARACTERS * 2).map_or(raw.len(), |(at, _)| at);
        let said: String =
            unescape(raw.get(..end).unwrap_or(raw)).chars().take(PREVIEW_CHARACTERS).collect();
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    if content.of(source).starts_with('"') {
        return text(content);
    }
    let texts = array_elements(source, content)
        .into_iter()
        .filter_map(|one| field_value(source, one, "text"));
    texts.map(text).find(|said| !said.is_empty()).unwrap_or_default()
}

/// What of a session is not in the conversation.
pub(super) fn left_out(session: &ParsedSession<'_>) -> OmittedRecords {
    let mut out = OmittedRecords::default();
    let (log, chain) = (&session.log, &session.chain);
    for (at, (record, link)) in log.records.iter().zip(&log.links).enumerate() {
        let id = || link.id.unwrap_or_default().to_owned();
        if record.state == RecordState::Torn {
            out.unreadable.push(record.line as usize + 1);
            continue;
        }
        if link.fragment.is_none() {
            out.other_records += 1;
            continue;
        }
        match chain.statuses.get(at).copied().unwrap_or(ChainStatus::Unlinked) {
            _ if link.is_hidden => out.hidden.push(id()),
            ChainStatus::Branch | ChainStatus::Unlinked => out.branches.push(id()),
            ChainStatus::Subagent => out.sub_agents.push(id()),
            ChainStatus::Duplicate => out.duplicates.push(id()),
            ChainStatus::Path | ChainStatus::Carried | ChainStatus::Recovered => {}
        }
    }
    let id = |&record: &u32| log.links.get(record as usize).and_then(|link| link.id);
    out.empty_replies = chain.empty_records.iter().filter_map(id).map(str::to_owned).collect();
    out
}
