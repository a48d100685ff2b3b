//! Builds sessions from files without links: which of their messages still count.

use std::collections::HashSet;

use crate::chain::{ChainStatus, unlinked_chain};
use foxwedge_core::{
    CallFamily, Draft, DraftBuilder, Message, MessageFlags, OptionalText, PartKind,
};

use super::{
    ParsedSession, SessionAgent, ai_sdk,
    codex::{self, VisibleMessages},
    crush,
    effect::SparedDefects,
    gemini_cli,
    metadata::SessionMetadata,
    opencode,
    records::{HistoryControl, SessionRecords},
};

/// Builds a session from its records.
pub(super) fn build_session<'a>(
    agent: SessionAgent,
    mut log: SessionRecords<'a>,
    mut fragments: Draft<'a>,
    metadata: SessionMetadata<'a>,
) -> ParsedSession<'a> {
    if agent == SessionAgent::Crush {
        crush::apply_summary(&mut log, &mut fragments);
    }
    let visible = match agent {
        SessionAgent::Opencode => opencode::visible_messages(&log, &fragments),
        _ => visible_messages(agent, &log, &fragments),
    };
    build_from_messages(agent, log, fragments, metadata, visible)
}

/// Builds a session whose messages have several versions.
pub(super) fn build_versioned_session<'a>(
    agent: SessionAgent,
    log: SessionRecords<'a>,
    fragments: Draft<'a>,
    metadata: SessionMetadata<'a>,
) -> ParsedSession<'a> {
    let entries = gemini_cli::current_versions(&log);
    let messages = entries
        .iter()
        .flat_map(|entry| (entry.first..entry.last).map(|message| (entry.record, message)));
    let messages = messages.collect();
    ParsedSession { entries, ..build_from_messages(agent, log, fragments, metadata, messages) }
}

fn build_from_messages<'a>(
    agent: SessionAgent,
    log: SessionRecords<'a>,
    fragments: Draft<'a>,
    metadata: SessionMetadata<'a>,
    visible: Vec<(u32, u32)>,
) -> ParsedSession<'a> {
    let mut builder = DraftBuilder::new(log.source, agent.wire());
    let mut records = Vec::with_capacity(visible.len());
    let mut statuses = vec![ChainStatus::Unlinked; log.records.len()];
    for (at, link) in log.links.iter().enumerate().filter(|(_, link)| link.fragment.is_some()) {
        statuses[at] = if link.is_hidden { ChainStatus::Unlinked } else { ChainStatus::Branch };
    }
    let client_calls =
        (agent == SessionAgent::AiSdkModel).then(|| ai_sdk::ClientCalls::of(&fragments));
    for (record, message) in visible {
        let Some(original) = fragments.messages.get(message as usize) else { continue };
        for part in fragments.parts_of(original) {
            let mut kind = part.kind.clone();
            if agent == SessionAgent::Codex
                && matches!(&kind, PartKind::Call(call) if call.family == CallFamily::LocalShell)
                && let Some(call) = kind.call_mut()
            {
                // Codex stores results of shell calls like any other; shell calls have no name.
                call.family = CallFamily::Function;
                if call.name.is_none() {
                    call.name = OptionalText::Borrowed("local_shell");
                }
            }
            if let Some(calls) = client_calls.as_ref().filter(|_| original.role.is_assistant()) {
                calls.mark_provider_result(&mut kind);
            }
            builder.push_part(part.span, kind);
        }
        builder.push_message(original.role, original.span, original.content, original.flags);
        statuses[record as usize] = ChainStatus::Path;
        records.push(record);
    }
    let mut draft = builder.finish();
    draft.body = fragments.body;
    // References that no longer count do not make the history stateful.
    if draft.body.stateful {
        let refers = |message: &Message| message.flags.has(MessageFlags::REFERENCE);
        draft.body.stateful = draft.messages.iter().any(refers);
    }
    draft.features.insert(fragments.features);
    if agent.is_ai_sdk() {
        ai_sdk::keep_waiting_calls(&mut draft);
    }
    let chain = unlinked_chain(draft, records, statuses);
    let fragments = fragments.messages;
    let (entries, defect_lines) = (Vec::new(), Vec::new());
    let spared_defects = SparedDefects::default();
    let mut session = ParsedSession {
        agent,
        metadata,
        log,
        fragments,
        chain,
        entries,
        defect_lines,
        spared_defects,
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
    // From the end, to find where the messages of each record end.
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
        // Messages hidden by a truncation or a summary count again once that is removed.
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
