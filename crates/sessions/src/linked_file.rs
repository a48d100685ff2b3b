//! Indexes of a session file whose records are linked.

use std::{collections::HashMap, ops::Deref};

use crate::chain::{ChainStatus, RecordChain};
use foxwedge_core::{Message, Part, PartKind, Span};

use super::{ParsedSession, SessionAgent, derived_id::UsedIds, records::SessionRecords};

/// Indexes of a session for rewriting its file.
pub(super) struct LinkedFileRewriter<'s, 'a> {
    session: &'s ParsedSession<'a>,
    ids: HashMap<&'a str, u32>,
    parents: Vec<Option<u32>>,
    /// Where the parts of each record of the conversation begin.
    starts: Vec<u32>,
    /// The records with a call of each id, in file order.
    calls: HashMap<&'s str, Vec<u32>>,
    /// Whether records that a compaction carried over become ordinary records of the conversation.
    pub(super) inlines_carried: bool,
    /// Whether all records are put in order and linked in that order, whatever the agent would keep.
    pub(super) straightens: bool,
}

impl<'a> Deref for LinkedFileRewriter<'_, 'a> {
    type Target = ParsedSession<'a>;

    fn deref(&self) -> &ParsedSession<'a> {
        self.session
    }
}

impl<'s, 'a> LinkedFileRewriter<'s, 'a> {
    pub(super) fn new(session: &'s ParsedSession<'a>) -> LinkedFileRewriter<'s, 'a> {
        let links = &session.log.links;
        let mut ids = HashMap::with_capacity(links.len());
        for (at, link) in (0..).zip(links) {
            link.id.map(|id| ids.entry(id).or_insert(at));
        }
        let parents = crate::chain::resolve_parents(links, &session.chain.statuses);
        let starts = Vec::new();
        let mut rewriter = LinkedFileRewriter {
            session,
            ids,
            parents,
            starts,
            calls: HashMap::new(),
            inlines_carried: false,
            straightens: false,
        };
        rewriter.starts = rewriter.part_starts();
        rewriter.index_calls();
        rewriter
    }

    fn part_starts(&self) -> Vec<u32> {
        let mut starts = vec![u32::MAX; self.log.records.len()];
        for (at, message) in self.draft().messages.iter().enumerate() {
            let mut first = message.first;
            for &record in self.chain.records_of(at) {
                starts[record as usize] = first;
                first += self.fragment(record).map_or(0, |fragment| fragment.last - fragment.first);
            }
        }
        starts
    }

    fn index_calls(&mut self) {
        for part in self.session.chain.draft.parts.iter() {
            if let PartKind::Call(call) = &part.kind
                && let (Some(id), Some(record)) = (call.id.as_deref(), self.record_at(part.span))
            {
                self.calls.entry(id).or_default().push(record);
            }
        }
        self.calls.values_mut().for_each(|records| records.sort_unstable());
    }

    pub(super) fn log(&self) -> &'s SessionRecords<'a> {
        &self.session.log
    }

    pub(super) fn chain(&self) -> &'s RecordChain<'a> {
        &self.session.chain
    }

    /// The message of a record.
    pub(super) fn fragment(&self, record: u32) -> Option<&'s Message> {
        let fragment = self.log.links.get(record as usize)?.fragment?;
        self.session.fragments.get(fragment as usize)
    }

    /// The record that contains a span.
    pub(super) fn record_at(&self, span: Span) -> Option<u32> {
        let after = self.log.records.partition_point(|record| record.span.start <= span.start);
        after.checked_sub(1).and_then(|at| u32::try_from(at).ok())
    }

    /// The id of a record; empty if it has none.
    pub(super) fn id(&self, record: u32) -> &'a str {
        self.log.links.get(record as usize).and_then(|link| link.id).unwrap_or_default()
    }

    /// The first record with an id.
    pub(super) fn first_record_with_id(&self, id: &str) -> Option<u32> {
        self.ids.get(id).copied()
    }

    /// The parent of a record.
    pub(super) fn parent(&self, record: u32) -> Option<u32> {
        self.parents.get(record as usize).copied().flatten()
    }

    pub(super) fn standing(&self, record: u32) -> ChainStatus {
        let status = self.chain.statuses.get(record as usize).copied();
        match status.unwrap_or(ChainStatus::Unlinked) {
            ChainStatus::Carried if self.inlines_carried => ChainStatus::Path,
            status => status,
        }
    }

    /// Whether a record that a compaction carried over becomes an ordinary record.
    pub(super) fn inlines_record(&self, record: u32) -> bool {
        self.inlines_carried
            && self.chain.statuses.get(record as usize) == Some(&ChainStatus::Carried)
    }

    /// Whether a record is a compaction that no longer carries anything over, and so must not lead to
    /// the records that it kept.
    pub(super) fn cuts_path(&self, record: u32) -> bool {
        let link = self.log.links.get(record as usize);
        self.inlines_carried && link.is_some_and(|link| link.cut_parent.is_some())
    }

    /// The parts of a record of the conversation.
    pub(super) fn parts(&self, record: u32) -> &'s [Part<'a>] {
        let start = self.starts.get(record as usize).copied().unwrap_or(u32::MAX) as usize;
        let length = self.fragment(record).map_or(0, |message| message.range().len());
        let parts = &self.session.chain.draft.parts;
        start.checked_add(length).map_or(&[], |end| parts.slice(start..end))
    }

    /// Whether a record holds tool results and nothing else.
    pub(super) fn only_answers(&self, record: u32) -> bool {
        let parts = self.parts(record);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)))
    }

    /// Whether two records are parts of the same reply.
    pub(super) fn same_reply(&self, one: u32, two: u32) -> bool {
        let reply = |record: u32| self.log.links.get(record as usize).and_then(|link| link.reply);
        reply(one).is_some() && reply(one) == reply(two)
    }

    /// Whether a reply may stay as several records, with tool results between them.
    pub(super) fn mixes_turns(&self) -> bool {
        self.agent == SessionAgent::ClaudeCode && !self.straightens
    }

    /// Whether the agent starts at the last record, even if that is not a message.
    pub(super) fn starts_at_notes(&self) -> bool {
        matches!(self.agent, SessionAgent::Pi | SessionAgent::QwenCode)
    }

    /// The last record up to and including `record` with a call of this id.
    pub(super) fn call_before(&self, id: &str, record: u32) -> Option<u32> {
        let calls = self.calls.get(id)?;
        let after = calls.partition_point(|&call| call <= record);
        calls.get(after.saturating_sub(1)).copied()
    }

    /// Derives an unused id from a seed.
    pub(super) fn derive_id(&self, seed: &[&str], used: &mut UsedIds) -> String {
        used.derive(seed, |id| self.ids.contains_key(id))
    }
}
