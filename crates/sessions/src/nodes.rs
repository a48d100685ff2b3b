//! All records of a session file for display: a tree with the current path marked.

use crate::chain::{ChainStatus, resolve_parents};
use foxwedge_core::{Role, Span};

use super::{ParsedSession, lines::RecordState};
use foxwedge_json::{array_elements, field_value, unescape};

/// One record of a session file.
#[derive(Clone, Debug)]
pub struct RecordNode<'s> {
    /// The line number, starting at 1.
    pub line: usize,
    /// The record id, if there is one.
    pub id: Option<&'s str>,
    /// The index of the parent in the list of nodes.
    pub parent: Option<usize>,
    /// The record type as the agent names it. Empty for a record that cannot be read.
    pub kind: &'s str,
    /// The role, if the record is a message.
    pub role: Option<Role>,
    /// Whether and why the record is part of the conversation.
    pub standing: ChainStatus,
    /// The index of the message it belongs to in the conversation.
    pub message: Option<usize>,
    /// When the record was written.
    pub time: Option<&'s str>,
    /// The beginning of its text.
    pub preview: String,
}

/// The records of a file that are not part of the conversation, by reason.
#[derive(Clone, Debug, Default)]
pub struct OmittedRecords {
    /// Ids of messages on other branches.
    pub branches: Vec<String>,
    /// Ids of messages of sub-agents.
    pub sub_agents: Vec<String>,
    /// Ids of records that repeat another record.
    pub duplicates: Vec<String>,
    /// Ids of replies that hold only reasoning or white space.
    pub empty_replies: Vec<String>,
    /// Ids of messages that the agent does not send.
    pub hidden: Vec<String>,
    /// Numbers of lines that cannot be read.
    pub unreadable: Vec<usize>,
    /// How many records are not messages.
    pub other_records: usize,
}

/// Maximum length of a preview in characters.
const PREVIEW_CHARACTERS: usize = 160;

/// Lists all records of a session.
pub(super) fn nodes<'s>(session: &'s ParsedSession<'_>) -> Vec<RecordNode<'s>> {
    let log = &session.log;
    let parents = resolve_parents(&log.links, &session.chain.statuses);
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

/// The beginning of the text of a message.
fn preview_text(source: &str, message: Span) -> String {
    let content = ["content", "parts"].iter().find_map(|key| field_value(source, message, key));
    let Some(content) = content else { return String::new() };
    let text = |span: Span| {
        let raw = span.of(source).trim_matches('"');
        let end = raw.char_indices().nth(PREVIEW_CHARACTERS * 2).map_or(raw.len(), |(at, _)| at);
        let shown: String =
            unescape(raw.get(..end).unwrap_or(raw)).chars().take(PREVIEW_CHARACTERS).collect();
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    if content.of(source).starts_with('"') {
        return text(content);
    }
    let texts = array_elements(source, content)
        .into_iter()
        .filter_map(|one| field_value(source, one, "text"));
    texts.map(text).find(|shown| !shown.is_empty()).unwrap_or_default()
}

/// Collects the records that are not part of the conversation.
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
