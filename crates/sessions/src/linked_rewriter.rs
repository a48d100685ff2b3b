//! Writes the repaired file of a session whose records are linked.

use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
};

use crate::chain::{ChainStatus, RecordChain};
use foxwedge_core::{Message, Part, PartKind, Repair, Role, Span};

use super::{
    ParsedSession, SessionAgent, claude_code,
    emit::{FileEdits, emit},
    neovate,
    placement::{place_records, stays_in_place},
    plan::{PlannedRecord, RecordOrigin, plan_records},
    records::SessionRecords,
    relink::{LinkChanges, NewRecordLink, relink, removed_records},
    rewritten_file::RewrittenFile,
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{field_value, quote};

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
    inlines_carried: bool,
}

impl<'a> Deref for LinkedFileRewriter<'_, 'a> {
    type Target = ParsedSession<'a>;

    fn deref(&self) -> &ParsedSession<'a> {
        self.session
    }
}

/// Writes the file that a repair produces.
pub(super) fn rewrite<'a>(session: &ParsedSession<'a>, repair: &Repair<'a>) -> RewrittenFile<'a> {
    let mut rewriter = LinkedFileRewriter::new(session);
    let plan = plan_records(&rewriter, repair);
    rewriter.decide_inlining(&plan, repair);
    let gone = removed_records(&rewriter, &plan, repair);
    let places = place_records(&rewriter, &plan, repair, &gone);
    let links = relink(&rewriter, &plan, repair, gone, &places.moved);
    let mut edits = FileEdits::default();
    for (place, planned) in
        plan.iter().enumerate().filter(|(_, planned)| stays_in_place(planned, &places))
    {
        if let RecordOrigin::Changed(record, _) = planned.origin {
            edits.changed.insert(record, rewriter.write_record(planned, place, &links, repair));
        }
    }
    if rewriter.inlines_carried && rewriter.agent == SessionAgent::ClaudeCode {
        for (at, record) in (0..).zip(&rewriter.log().records) {
            let standing = rewriter.standing(at);
            let is_read = standing.is_in_conversation() || standing == ChainStatus::Duplicate;
            if record.kind == "system" && is_read {
                let fields = ["preservedMessages", "preservedSegment"];
                let fields: FieldChanges<'_> =
                    fields.into_iter().map(|key| (key, FieldChange::Remove)).collect();
                let mut changes: FieldChanges<'_> = link_changes(at, &links).collect();
                if field_value(rewriter.log().source, record.span, "compactMetadata").is_some() {
                    changes.push(("compactMetadata", FieldChange::Nested(fields)));
                    let mut out = SpliceWriter::new(rewriter.log().source, &repair.surrogates);
                    write_patched(&mut out, record.span, changes);
                    edits.changed.insert(at, out.finish());
                }
            }
        }
    }
    let lone = repair.surrogates.iter().filter_map(|lone| rewriter.record_at(*lone));
    for record in links.parents.keys().chain(links.ids.keys()).copied().chain(lone) {
        edits
            .changed
            .entry(record)
            .or_insert_with(|| rewriter.write_relinked(record, &links, repair));
    }
    for &record in links.gone.iter().chain(&places.moved) {
        edits.changed.insert(record, Vec::new());
    }
    let write = |&place: &usize| rewriter.write_record(&plan[place], place, &links, repair);
    edits.first = places.first.iter().map(write).collect();
    edits.last = places.last.iter().map(write).collect();
    for (&record, behind) in &places.behind {
        edits.behind.insert(record, behind.iter().map(write).collect());
    }
    emit(session, repair, edits)
}

impl<'s, 'a> LinkedFileRewriter<'s, 'a> {
    fn new(session: &'s ParsedSession<'a>) -> LinkedFileRewriter<'s, 'a> {
        let links = &session.log.links;
        let mut ids = HashMap::with_capacity(links.len());
        for (at, link) in (0..).zip(links) {
            link.id.map(|id| ids.entry(id).or_insert(at));
        }
        let parents = crate::chain::resolve_parents(links);
        let starts = Vec::new();
        let mut rewriter = LinkedFileRewriter {
            session,
            ids,
            parents,
            starts,
            calls: HashMap::new(),
            inlines_carried: false,
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
        for part in &self.session.chain.draft.parts {
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

    /// Decides about carried-over records. A compaction carries messages over by naming them, so a
    /// repair that adds, removes or moves one of them would have to update those names. They are put
    /// after the summary instead. A record whose content changes keeps its name and its link.
    fn decide_inlining(&mut self, plan: &[PlannedRecord<'_, '_>], repair: &Repair<'_>) {
        let carried =
            |record: u32| self.chain.statuses.get(record as usize) == Some(&ChainStatus::Carried);
        // Each record still follows the same record.
        let behind = |order: &[u32]| -> Vec<(Option<u32>, u32)> {
            let before = [None].into_iter().chain(order.iter().copied().map(Some));
            before.zip(order.iter().copied()).filter(|(_, record)| carried(*record)).collect()
        };
        let order: Vec<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
        let same = behind(&order) == behind(&self.chain.records);
        // Nothing new may stand among them, directly before or directly after them.
        let is_carried = |planned: &PlannedRecord<'_, '_>| planned.record().is_some_and(carried);
        let span = plan.iter().position(is_carried).zip(plan.iter().rposition(is_carried));
        let slice = |from: usize, to: usize| plan.get(from..to.min(plan.len())).unwrap_or(&[]);
        let around = span.map_or(&[][..], |(first, last)| slice(first.saturating_sub(1), last + 2));
        let added = around.iter().any(|planned| matches!(planned.origin, RecordOrigin::New(..)));
        // A record that is linked to one of them has to find it on the path.
        let among = span.map_or(&[][..], |(first, last)| slice(first, last + 2));
        let defects = &self.draft().body.defects;
        let fixed = repair.body.fixed_defects.iter().copied();
        let mut relinked = fixed
            .filter(|&at| defects.get(at).is_some_and(|it| matches!(it.code, 701..=704)))
            .filter_map(|at| self.chain.defect_records.get(at));
        let linked = relinked.any(|record| among.iter().any(|it| it.record() == Some(*record)));
        let any = self.chain.records.iter().any(|&record| carried(record));
        self.inlines_carried = any && (added || linked || !same);
    }

    /// The parts of a record of the conversation.
    pub(super) fn parts(&self, record: u32) -> &'s [Part<'a>] {
        let start = self.starts.get(record as usize).copied().unwrap_or(u32::MAX) as usize;
        let length = self.fragment(record).map_or(0, |message| message.range().len());
        let parts = &self.session.chain.draft.parts;
        start.checked_add(length).and_then(|end| parts.get(start..end)).unwrap_or(&[])
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

    /// Whether a reply is written as several records, with tool results between them.
    pub(super) fn mixes_turns(&self) -> bool {
        self.agent == SessionAgent::ClaudeCode
    }

    /// The last record up to and including `record` with a call of this id.
    pub(super) fn call_before(&self, id: &str, record: u32) -> Option<u32> {
        let calls = self.calls.get(id)?;
        let after = calls.partition_point(|&call| call <= record);
        calls.get(after.saturating_sub(1)).copied()
    }

    /// Derives an unused id from a seed.
    pub(super) fn derive_id(&self, seed: &[&str], used: &mut UsedIds) -> String {
        // Skips the rounds of this seed that are already used.
        let round = used.rounds.entry(derive_uuid(seed, 0)).or_insert(0);
        loop {
            let id = derive_uuid(seed, *round);
            *round += 1;
            if !self.ids.contains_key(id.as_str()) && used.taken.insert(id.clone()) {
                return id;
            }
        }
    }

    /// Writes a record of the plan. `place` is its index in the plan.
    pub(super) fn write_record(
        &self,
        planned: &PlannedRecord<'_, '_>,
        place: usize,
        links: &LinkChanges,
        repair: &Repair<'_>,
    ) -> Vec<OutputChunk> {
        let mut out = SpliceWriter::new(self.log.source, &repair.surrogates);
        match planned.origin {
            RecordOrigin::Unchanged(record) => return self.write_relinked(record, links, repair),
            RecordOrigin::Changed(record, parts) => {
                let mut changes = match self.agent {
                    SessionAgent::ClaudeCode => {
                        claude_code::message_changes(self, &out, record, planned.role, parts)
                    }
                    SessionAgent::Neovate => {
                        neovate::content_changes(self, &out, record, planned.role, parts)
                    }
                    SessionAgent::Codex | SessionAgent::GeminiCli | SessionAgent::Cline => {
                        Vec::new()
                    }
                };
                changes.extend(link_changes(record, links));
                write_patched(&mut out, self.log.records[record as usize].span, changes);
            }
            RecordOrigin::New(template, parts) => {
                let Some(link) = links.new.get(&place) else { return Vec::new() };
                let new =
                    NewLinkedRecord { template, link, role: planned.role, joins: planned.joins };
                match self.agent {
                    SessionAgent::ClaudeCode => {
                        claude_code::write_new_record(self, &mut out, &new, parts)
                    }
                    SessionAgent::Neovate => neovate::write_new_record(self, &mut out, &new, parts),
                    SessionAgent::Codex | SessionAgent::GeminiCli | SessionAgent::Cline => {}
                }
            }
        }
        out.finish()
    }

    /// Writes a record with the same content and possibly new links.
    pub(super) fn write_relinked(
        &self,
        record: u32,
        links: &LinkChanges,
        repair: &Repair<'_>,
    ) -> Vec<OutputChunk> {
        let mut out = SpliceWriter::new(self.log.source, &repair.surrogates);
        let span = self.log.records[record as usize].span;
        let changes: FieldChanges<'_> = link_changes(record, links).collect();
        if changes.is_empty() {
            out.copy(span)
        } else {
            write_patched(&mut out, span, changes)
        }
        out.finish()
    }
}

/// Ids that were given to new records, and the next round for each seed.
#[derive(Debug, Default)]
pub(super) struct UsedIds {
    taken: HashSet<String>,
    rounds: HashMap<String, u32>,
}

/// A record to be created.
pub(super) struct NewLinkedRecord<'n> {
    /// The record whose fields it copies.
    pub(super) template: u32,
    pub(super) link: &'n NewRecordLink,
    pub(super) role: Role,
    /// Whether it belongs to the same message as the template.
    pub(super) joins: bool,
}

/// The changed link fields of a record.
fn link_changes(
    record: u32,
    links: &LinkChanges,
) -> impl Iterator<Item = (&'static str, FieldChange<'static>)> {
    let parent = links.parents.get(&record).map(|parent| ("parentUuid", parent.clone()));
    let id = links.ids.get(&record).map(|id| ("uuid", quote(id)));
    parent.into_iter().chain(id).map(|(key, value)| (key, FieldChange::Text(value)))
}

/// Derives a UUID from strings (version 8: vendor-defined), the same on every machine.
pub(super) fn derive_uuid(seed: &[&str], round: u32) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut add = |byte: u8| {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
    };
    for text in seed {
        text.bytes().for_each(&mut add);
        add(0);
    }
    round.to_le_bytes().into_iter().for_each(&mut add);
    let hash = hash & !(0xf << 76) & !(0x3 << 62) | (0x8 << 76) | (0x2 << 62);
    let hex = format!("{hash:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_uuids_and_depend_only_on_seed_and_round() {
        let id = derive_uuid(&["a", "b"], 0);
        assert_eq!(id, derive_uuid(&["a", "b"], 0));
        assert_eq!(
            (id.len(), id.as_bytes()[14], id.as_bytes()[19] & 0b1100 == 0b1000),
            (36, b'8', true)
        );
        assert_ne!(id, derive_uuid(&["ab"], 0));
        assert_ne!(id, derive_uuid(&["a", "b"], 1));
    }
}
