//! Compactions in files whose records are linked. What is left is written once more behind a new
//! root, as a chain of its own; the old chain is not touched and not on the path any more.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{Span, chain::Standing};

use super::{
    Condensed, Session, Shown, claude_code, fresh::Fresh, mark, neovate, partners::Partners,
};
use crate::{
    json::{fields, quote, says},
    session::{Agent, emit::Edits},
    splice::{Change, Changes, Chunk, Writer, patch},
};

/// A record of the new chain.
pub(super) struct Planned {
    pub(super) id: String,
    pub(super) made: Made,
    /// The record that whoever goes on behind it goes on from, once the compaction is taken back.
    stands: Option<String>,
}

/// What a record of the new chain is made of.
pub(super) enum Made {
    /// A copy of a record, and which message it is part of.
    Copy(u32, usize),
    /// A message that is not as it was.
    Said(Said),
}

/// A message that is not as it was, or a piece of one.
pub(super) struct Said {
    pub(super) role: &'static str,
    /// Its content, as the agent spells it.
    pub(super) content: String,
    /// A record whose shape it takes; one of the message it was, if it was one.
    pub(super) template: u32,
    /// Whether it was a message before.
    pub(super) known: bool,
    /// The place of the message among those that are left.
    pub(super) place: usize,
}

/// How a record is linked.
pub(super) struct Links<'l> {
    pub(super) id: &'l str,
    pub(super) parent: Option<&'l str>,
    pub(super) time: Option<String>,
    pub(super) mark: String,
    /// What the agent shows in place of the record.
    pub(super) marker: Option<&'l str>,
}

impl Links<'_> {
    /// The fields of a record that change.
    pub(super) fn changes(&self) -> Changes<'static> {
        let parent = self.parent.map_or("null".to_owned(), quote);
        let mut changes: Changes<'static> = vec![
            ("uuid", Change::Text(quote(self.id))),
            ("parentUuid", Change::Text(parent)),
            (mark::MARK, Change::Text(self.mark.clone())),
        ];
        if let Some(time) = &self.time {
            changes.push(("timestamp", Change::Text(quote(time))));
        }
        changes
    }
}

/// The records of a compaction.
pub(super) fn compacted(
    session: &Session<'_>,
    condensed: &Condensed<'_>,
    fresh: &mut Fresh<'_>,
) -> Edits {
    let tip = tip(session);
    let end = tip.and_then(|tip| id(session, tip));
    let mut plan = plan(session, condensed, fresh, tip.unwrap_or(0));
    if let Some(last) = plan.last_mut() {
        last.stands = end.map(str::to_owned);
    }
    let twins = twins(session, &plan, condensed);
    let mut edits = Edits::default();
    let mut parent: Option<String> = None;
    if session.agent == Agent::ClaudeCode {
        let (id, chunks) = claude_code::boundary(session, condensed, fresh, tip.unwrap_or(0), end);
        edits.last.push(chunks);
        parent = Some(id);
    }
    for (at, planned) in plan.iter().enumerate() {
        let links = Links {
            id: &planned.id,
            parent: parent.as_deref(),
            time: fresh.time(),
            mark: mark::standing(&fresh.compaction, planned.stands.as_deref()),
            marker: Some(condensed.marker).filter(|_| at == 0),
        };
        let mut out = Writer::new(session.log.source, &[]);
        match (session.agent, &planned.made) {
            (Agent::Neovate, made) => neovate::write(session, &mut out, made, &links),
            (_, made) => claude_code::write(session, &mut out, made, &links, fresh, &twins),
        }
        edits.last.push(out.finish());
        parent = Some(planned.id.clone());
    }
    edits
}

fn id<'a>(session: &Session<'a>, record: u32) -> Option<&'a str> {
    session.log.links.get(record as usize)?.id
}

/// The record that the next message would hang on: the last message on the path.
fn tip(session: &Session<'_>) -> Option<u32> {
    let mut records = session.chain.standing.iter().zip(&session.log.links);
    let last = records
        .rposition(|(standing, link)| *standing == Standing::Path && link.fragment.is_some());
    last.and_then(|last| u32::try_from(last).ok())
}

fn plan(
    session: &Session<'_>,
    condensed: &Condensed<'_>,
    fresh: &mut Fresh<'_>,
    tip: u32,
) -> Vec<Planned> {
    let partners = Partners::of(&condensed.messages, session.agent.wire());
    let mut plan = Vec::new();
    for (at, shown) in condensed.messages.iter().enumerate() {
        if let Some(origin) = session.kept(shown) {
            for &record in session.chain.records_of(origin) {
                let old = id(session, record).unwrap_or_default();
                let new = fresh.id(&["copy", old]);
                let stands = Some(old.to_owned());
                plan.push(Planned { id: new, made: Made::Copy(record, origin), stands });
            }
            continue;
        }
        let own = shown.origin.map_or(&[][..], |origin| session.chain.records_of(origin));
        let template = own.first().copied().unwrap_or(tip);
        let pieces = match session.agent {
            Agent::Neovate => neovate::pieces(shown.json, at, &partners),
            _ => claude_code::pieces(shown.json),
        };
        let stands = stands_for(session, condensed, at, shown);
        for (piece, (role, content)) in pieces.into_iter().enumerate() {
            let id = fresh.id(&["said", &at.to_string(), &piece.to_string()]);
            let said = Said { role, content, template, known: shown.origin.is_some(), place: at };
            plan.push(Planned { id, made: Made::Said(said), stands: stands.clone() });
        }
    }
    plan
}

/// The last record of what a new or changed message stands for.
fn stands_for(
    session: &Session<'_>,
    condensed: &Condensed<'_>,
    at: usize,
    shown: &Shown<'_>,
) -> Option<String> {
    // A new one stands for everything before the next one that was there.
    let message = shown.origin.or_else(|| {
        let later = condensed.messages.iter().skip(at).find_map(|shown| shown.origin);
        later.unwrap_or(session.chain.groups.len()).checked_sub(1)
    })?;
    let record = session.chain.records_of(message).last()?;
    id(session, *record).map(str::to_owned)
}

/// The new record for each old one whose message is left.
fn twins<'a, 'p>(
    session: &Session<'a>,
    plan: &'p [Planned],
    condensed: &Condensed<'_>,
) -> HashMap<&'a str, &'p str> {
    let mut twins = HashMap::new();
    let changed = condensed.messages.iter().filter_map(|shown| shown.origin);
    let changed: HashMap<u32, usize> = changed
        .filter_map(|origin| Some((*session.chain.records_of(origin).first()?, origin)))
        .collect();
    for planned in plan {
        let old: &[u32] = match &planned.made {
            Made::Copy(record, _) => std::slice::from_ref(record),
            Made::Said(said) if said.known => {
                changed.get(&said.template).map_or(&[], |origin| session.chain.records_of(*origin))
            }
            Made::Said(_) => &[],
        };
        for old in old.iter().filter_map(|record| id(session, *record)) {
            twins.entry(old).or_insert(planned.id.as_str());
        }
    }
    twins
}

/// The file without a compaction; `None` if what it hid is gone.
pub(super) fn uncompacted(session: &Session<'_>, compaction: &str) -> Option<Edits> {
    let source = session.log.source;
    let own = mark::records(session, compaction);
    let first = *own.first()?;
    let own: HashSet<u32> = own.into_iter().collect();
    // What each record of ours stands for, as JSON.
    let mut stands: HashMap<&str, String> = HashMap::new();
    for &record in &own {
        let span = session.span(record);
        let before = mark::of(source, span).and_then(|mark| says(source, mark, "for"));
        if let Some(id) = id(session, record) {
            stands.insert(id, before.map_or("null".to_owned(), |id| quote(&id)));
        }
    }
    let others = (0..).zip(&session.log.links).filter(|(at, _)| !own.contains(at));
    let there: HashSet<String> = others.filter_map(|(_, link)| link.id).map(quote).collect();
    if stands.values().any(|id| id != "null" && !there.contains(id)) {
        return None;
    }
    let mut edits = Edits::default();
    let count = u32::try_from(session.log.records.len()).unwrap_or(0);
    for record in first..count {
        if own.contains(&record) {
            edits.changed.insert(record, Vec::new());
        } else if let Some(chunks) = relinked(source, session.span(record), &stands) {
            edits.changed.insert(record, chunks);
        }
    }
    Some(edits)
}

/// A later record that named records of the compaction.
fn relinked(source: &str, record: Span, stands: &HashMap<&str, String>) -> Option<Vec<Chunk>> {
    const CARRIED: &str = "compactMetadata";
    const NAMES: [&str; 5] =
        ["parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid", "messageId"];
    let mut changes: Changes<'_> = Vec::new();
    for field in fields(source, record) {
        let value = field.value.of(source);
        if let Some(name) = NAMES.into_iter().find(|name| *name == field.key) {
            let before = stands.get(value.trim_matches('"'));
            changes.extend(before.map(|before| (name, Change::Text(before.clone()))));
        } else if field.key == CARRIED {
            // A later compaction may have carried some of ours over.
            let mut text = value.to_owned();
            for (id, before) in stands.iter().filter(|(_, before)| *before != "null") {
                text = text.replace(&quote(id), before);
            }
            if text != value {
                changes.push((CARRIED, Change::Text(text)));
            }
        }
    }
    if changes.is_empty() {
        return None;
    }
    let mut out = Writer::new(source, &[]);
    patch(&mut out, record, changes);
    Some(out.finish())
}
