//! Files that are one plain sequence: which of their messages still count.

use std::collections::HashSet;

use foxwedge_core::{
    CallFamily, Draft, DraftBuilder, Message, MessageFlags, OptionalText, PartKind,
    chain::{ChainStatus, unlinked_chain},
};

use super::{
    ParsedSession, SessionAgent,
    codex::{self, VisibleMessages},
    effect::SparedDefects,
    gemini_cli,
    metadata::SessionMetadata,
    records::{HistoryControl, SessionRecords},
};

/// Puts a session together from its records.
pub(super) fn build_session<'a>(
    agent: SessionAgent,
    log: SessionRecords<'a>,
    fragments: Draft<'a>,
    about: SessionMetadata<'a>,
) -> ParsedSession<'a> {
    let visible = visible_messages(agent, &log, &fragments);
    build_from_messages(agent, log, fragments, about, visible)
}

/// Puts a session together whose messages were written several times.
pub(super) fn build_versioned_session<'a>(
    agent: SessionAgent,
    log: SessionRecords<'a>,
    fragments: Draft<'a>,
    about: SessionMetadata<'a>,
) -> ParsedSession<'a> {
    let entries = gemini_cli::current_versions(&log);
    let messages = entries
        .iter()
        .flat_map(|entry| (entry.first..entry.last).map(|message| (entry.record, message)));
    let messages = messages.collect();
    ParsedSession { entries, ..build_from_messages(agent, log, fragments, about, messages) }
}

fn build_from_messages<'a>(
    agent: SessionAgent,
    log: SessionRecords<'a>,
    fragments: Draft<'a>,
    about: SessionMetadata<'a>,
    visible: Vec<(u32, u32)>,
) -> ParsedSession<'a> {
    let mut builder = DraftBuilder::new(log.source, agent.wire());
    let mut records = Vec::with_capacity(visible.len());
    let mut standing = vec![ChainStatus::Unlinked; log.records.len()];
    for (at, link) in log.links.iter().enumerate().filter(|(_, link)| link.fragment.is_some()) {
        standing[at] = if link.is_hidden { ChainStatus::Unlinked } else { ChainStatus::Branch };
    }
    for (record, message) in visible {
        let Some(header) = fragments.messages.get(message as usize) else { continue };
        for part in fragments.parts_of(header) {
            let mut kind = part.kind.clone();
            if agent == SessionAgent::Codex
                && matches!(&kind, PartKind::Call(call) if call.family == CallFamily::LocalShell)
                && let Some(call) = kind.call_mut()
            {
                // Codex answers its shell calls like any other; they have no name of their own.
                call.family = CallFamily::Function;
                if call.name.is_none() {
                    call.name = OptionalText::Borrowed("local_shell");
                }
            }
            builder.push_part(part.span, kind);
        }
        builder.push_message(header.role, header.span, header.content, header.flags);
        standing[record as usize] = ChainStatus::Path;
        records.push(record);
    }
    let mut draft = builder.finish();
    draft.body = fragments.body;
    // A reference that does not count any more brings nothing back.
    if draft.body.stateful {
        let refers = |message: &Message| message.flags.has(MessageFlags::REFERENCE);
        draft.body.stateful = draft.messages.iter().any(refers);
    }
    draft.features.insert(fragments.features);
    let chain = unlinked_chain(draft, records, standing);
    let fragments = fragments.messages;
    let (entries, flaw_lines) = (Vec::new(), Vec::new());
    let spared = SparedDefects::default();
    let mut session = ParsedSession {
        agent,
        metadata: about,
        log,
        fragments,
        chain,
        entries,
        defect_lines: flaw_lines,
        spared_defects: spared,
    };
    session.add_defects();
    session
}

/// The messages that count, each with its record.
fn visible_messages(
    agent: SessionAgent,
    log: &SessionRecords<'_>,
    fragments: &Draft<'_>,
) -> Vec<(u32, u32)> {
    let mut visible = VisibleMessages::default();
    let mut controls = log.controls.iter().peekable();
    let markers: HashSet<&str> = log.links.iter().filter_map(|link| link.id).collect();
    let mut next = fragments.messages.len();
    // From the back, to know where the messages of each record end.
    let mut ends = vec![next; log.links.len()];
    for (at, link) in log.links.iter().enumerate().rev() {
        ends[at] = next;
        next = link.fragment.map_or(next, |first| first as usize);
    }
    for (at, link) in log.links.iter().enumerate() {
        let record = u32::try_from(at).unwrap_or(u32::MAX);
        match controls.next_if(|(place, _)| *place == record).map(|(_, control)| *control) {
            Some(HistoryControl::Replaced | HistoryControl::Summary) => visible.clear(),
            Some(HistoryControl::Compacted) => visible.compact(fragments),
            Some(HistoryControl::RolledBack(turns)) => {
                codex::roll_back(fragments, &mut visible, turns)
            }
            None => {}
        }
        let Some(first) = link.fragment.filter(|_| !link.is_hidden) else { continue };
        // What a truncation or a summary took away comes back when that goes.
        if [link.parent, link.source].into_iter().flatten().any(|marker| markers.contains(marker)) {
            continue;
        }
        for message in first as usize..ends[at] {
            if agent != SessionAgent::Codex || !codex::is_hidden(fragments, message) {
                visible.push(fragments, record, u32::try_from(message).unwrap_or(u32::MAX));
            }
        }
    }
    visible.list
}
