//! Files that are one plain sequence: which of their messages still count.

use std::collections::HashSet;

use foxwedge_core::{
    Builder, Draft, Family, Kind, Marks, Message, OptionalText,
    chain::{Standing, sequence},
};

use super::{
    Agent, Session,
    about::About,
    codex::{self, VisibleMessages},
    effect::SparedFlaws,
    gemini_cli,
    log::{Control, Log},
};

/// Puts a session together from its records.
pub(super) fn session<'a>(
    agent: Agent,
    log: Log<'a>,
    fragments: Draft<'a>,
    about: About<'a>,
) -> Session<'a> {
    let visible = visible(agent, &log, &fragments);
    compose(agent, log, fragments, about, visible)
}

/// Puts a session together whose messages were written several times.
pub(super) fn versions<'a>(
    agent: Agent,
    log: Log<'a>,
    fragments: Draft<'a>,
    about: About<'a>,
) -> Session<'a> {
    let entries = gemini_cli::current(&log);
    let messages = entries
        .iter()
        .flat_map(|entry| (entry.first..entry.last).map(|message| (entry.record, message)));
    let messages = messages.collect();
    Session { entries, ..compose(agent, log, fragments, about, messages) }
}

fn compose<'a>(
    agent: Agent,
    log: Log<'a>,
    fragments: Draft<'a>,
    about: About<'a>,
    visible: Vec<(u32, u32)>,
) -> Session<'a> {
    let mut builder = Builder::new(log.source, agent.wire());
    let mut records = Vec::with_capacity(visible.len());
    let mut standing = vec![Standing::Aside; log.records.len()];
    for (at, link) in log.links.iter().enumerate().filter(|(_, link)| link.fragment.is_some()) {
        standing[at] = if link.hidden { Standing::Aside } else { Standing::Branch };
    }
    for (record, message) in visible {
        let Some(header) = fragments.messages.get(message as usize) else { continue };
        for part in fragments.parts_of(header) {
            let mut kind = part.kind.clone();
            if agent == Agent::Codex
                && matches!(&kind, Kind::Call(call) if call.family == Family::LocalShell)
                && let Some(call) = kind.call_mut()
            {
                // Codex answers its shell calls like any other; they have no name of their own.
                call.family = Family::Function;
                if call.name.is_none() {
                    call.name = OptionalText::Borrowed("local_shell");
                }
            }
            builder.part(part.span, kind);
        }
        builder.message(header.role, header.span, header.content, header.marks);
        standing[record as usize] = Standing::Path;
        records.push(record);
    }
    let mut draft = builder.finish();
    draft.body = fragments.body;
    // A reference that does not count any more brings nothing back.
    if draft.body.stateful {
        let refers = |message: &Message| message.marks.has(Marks::REFERENCE);
        draft.body.stateful = draft.messages.iter().any(refers);
    }
    draft.facts.note(fragments.facts);
    let chain = sequence(draft, records, standing);
    let fragments = fragments.messages;
    let (entries, flaw_lines) = (Vec::new(), Vec::new());
    let spared = SparedFlaws::default();
    let mut session = Session { agent, about, log, fragments, chain, entries, flaw_lines, spared };
    session.add_flaws();
    session
}

/// The messages that count, each with its record.
fn visible(agent: Agent, log: &Log<'_>, fragments: &Draft<'_>) -> Vec<(u32, u32)> {
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
            Some(Control::Replaced | Control::Summary) => visible.clear(),
            Some(Control::Compacted) => visible.compact(fragments),
            Some(Control::RolledBack(turns)) => codex::roll_back(fragments, &mut visible, turns),
            None => {}
        }
        let Some(first) = link.fragment.filter(|_| !link.hidden) else { continue };
        // What a truncation or a summary took away comes back when that goes.
        if [link.parent, link.source].into_iter().flatten().any(|marker| markers.contains(marker)) {
            continue;
        }
        for message in first as usize..ends[at] {
            if agent != Agent::Codex || !codex::is_hidden(fragments, message) {
                visible.push(fragments, record, u32::try_from(message).unwrap_or(u32::MAX));
            }
        }
    }
    visible.list
}
