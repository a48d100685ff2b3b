//! Every record of a session file as people look at it: a tree with the path marked.

use foxwedge_core::{
    Role, Span,
    chain::{Standing, parents},
};

use super::{Session, lines::State};
use crate::json::{elements, field, unescape};

/// One record.
#[derive(Clone, Debug)]
pub struct Node<'s> {
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
    pub standing: Standing,
    /// The message of the conversation it belongs to.
    pub message: Option<usize>,
    /// When it was written.
    pub time: Option<&'s str>,
    /// How its text begins.
    pub words: String,
}

/// What of a file is not in the conversation, and why.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// Messages on other branches (record ids).
    pub branches: Vec<String>,
    /// Messages of sub-agents.
    pub side: Vec<String>,
    /// Records that repeat another one.
    pub twins: Vec<String>,
    /// Replies of nothing but reasoning or white space.
    pub hollow: Vec<String>,
    /// Messages that the agent keeps for itself.
    pub hidden: Vec<String>,
    /// Lines that cannot be read.
    pub unreadable: Vec<usize>,
    /// Records that are no messages.
    pub others: usize,
}

/// How many characters of a text are shown.
const WORDS: usize = 160;

/// Every record of a session.
pub(super) fn nodes<'s>(session: &'s Session<'_>) -> Vec<Node<'s>> {
    let log = &session.log;
    let parents = parents(&log.links);
    let messages = session.messages();
    let mut nodes = Vec::with_capacity(log.records.len());
    for (at, (record, link)) in log.records.iter().zip(&log.links).enumerate() {
        let fragment = link.fragment.and_then(|at| session.fragments.get(at as usize));
        nodes.push(Node {
            line: record.line as usize + 1,
            id: link.id,
            parent: parents.get(at).copied().flatten().map(|parent| parent as usize),
            kind: record.kind,
            role: fragment.map(|message| message.role),
            standing: session.chain.standing.get(at).copied().unwrap_or(Standing::Aside),
            message: messages.get(at).copied().flatten(),
            time: record.time,
            words: fragment.map_or_else(String::new, |message| words(log.source, message.span)),
        });
    }
    nodes
}

/// How the text of a message begins.
fn words(source: &str, message: Span) -> String {
    let content = ["content", "parts"].iter().find_map(|key| field(source, message, key));
    let Some(content) = content else { return String::new() };
    let text = |span: Span| {
        let raw = span.of(source).trim_matches('"');
        let end = raw.char_indices().nth(WORDS * 2).map_or(raw.len(), |(at, _)| at);
        let said: String = unescape(raw.get(..end).unwrap_or(raw)).chars().take(WORDS).collect();
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    if content.of(source).starts_with('"') {
        return text(content);
    }
    let texts = elements(source, content).into_iter().filter_map(|one| field(source, one, "text"));
    texts.map(text).find(|said| !said.is_empty()).unwrap_or_default()
}

/// What of a session is not in the conversation.
pub(super) fn left_out(session: &Session<'_>) -> LeftOut {
    let mut out = LeftOut::default();
    let (log, chain) = (&session.log, &session.chain);
    for (at, (record, link)) in log.records.iter().zip(&log.links).enumerate() {
        let id = || link.id.unwrap_or_default().to_owned();
        if record.state == State::Torn {
            out.unreadable.push(record.line as usize + 1);
            continue;
        }
        if link.fragment.is_none() {
            out.others += 1;
            continue;
        }
        match chain.standing.get(at).copied().unwrap_or(Standing::Aside) {
            _ if link.hidden => out.hidden.push(id()),
            Standing::Branch | Standing::Aside => out.branches.push(id()),
            Standing::Side => out.side.push(id()),
            Standing::Twin => out.twins.push(id()),
            Standing::Path | Standing::Carried | Standing::Recovered => {}
        }
    }
    let id = |&record: &u32| log.links.get(record as usize).and_then(|link| link.id);
    out.hollow = chain.hollow.iter().filter_map(id).map(str::to_owned).collect();
    out
}
