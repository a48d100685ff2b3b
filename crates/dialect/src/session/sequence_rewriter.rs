//! Repairs files that are one plain sequence: every message is a record, or lies in one.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{Message, Repair, RepairedMessage, Span};

use super::{
    ParsedSession, SessionAgent, codex,
    emit::{FileEdits, emit},
    placement::longest_increasing,
    rewritten_file::RewrittenFile,
};
use crate::splice::{FieldChange, OutputChunk, SpliceWriter, write_patched, write_slot};

/// Writes the file that a repair makes of a session.
pub(super) fn rewrite<'a>(session: &ParsedSession<'a>, repair: &Repair<'a>) -> RewrittenFile<'a> {
    let job = SequenceFileRewriter { session, repair };
    let mut edits = FileEdits::default();
    let moved = job.moved_messages();
    // Slots of each record, in order; new ones stand behind the record before them.
    let mut stays: HashMap<u32, Vec<&RepairedMessage<'a>>> = HashMap::new();
    let mut anchor = None;
    let mut late = Vec::new();
    for slot in repair.messages.iter() {
        let own = slot.origin.filter(|origin| !moved.contains(origin));
        match own.and_then(|origin| job.record_of(origin)) {
            Some(record) => {
                anchor = Some(record);
                stays.entry(record).or_default().push(slot);
            }
            None => late.push((anchor, slot)),
        }
    }
    for message in 0..session.draft().messages.len() {
        if let Some(record) = job.record_of(message) {
            let slots = stays.get(&record).map_or(&[][..], Vec::as_slice);
            if job.is_changed(record, slots) {
                edits.changed.entry(record).or_insert_with(|| job.changed_record(record, slots));
            }
        }
    }
    // Half a character may stand anywhere, also in records that hold no message.
    for lone in repair.surrogates.iter() {
        let after = session.log.records.partition_point(|record| record.span.start <= lone.start);
        if let Some(record) = after.checked_sub(1).and_then(|at| u32::try_from(at).ok()) {
            edits.changed.entry(record).or_insert_with(|| job.copied_record(record));
        }
    }
    let mut ordinals = codex::CodexOrdinals::new(session, &edits);
    for (anchor, slot) in late {
        let near = anchor.or_else(|| session.chain.records.first().copied()).unwrap_or(0);
        let new = job.new_record(near, slot, &mut ordinals);
        match anchor {
            Some(anchor) => edits.behind.entry(anchor).or_default().push(new),
            None => edits.first.push(new),
        }
    }
    emit(session, repair, edits)
}

struct SequenceFileRewriter<'d, 'a> {
    session: &'d ParsedSession<'a>,
    repair: &'d Repair<'a>,
}

impl<'a> SequenceFileRewriter<'_, 'a> {
    fn record_of(&self, message: usize) -> Option<u32> {
        self.session.chain.records_of(message).first().copied()
    }

    /// Messages that stand elsewhere after the repair.
    fn moved_messages(&self) -> HashSet<usize> {
        let origins = self.repair.messages.iter().filter_map(|slot| slot.origin);
        let order: Vec<u32> = origins.filter_map(|origin| u32::try_from(origin).ok()).collect();
        if order.is_sorted() {
            return HashSet::new();
        }
        let kept = longest_increasing(&order);
        order.into_iter().filter(|at| !kept.contains(at)).map(|at| at as usize).collect()
    }

    /// Whether the messages of a record are not what they were.
    fn is_changed(&self, record: u32, slots: &[&RepairedMessage<'_>]) -> bool {
        let span = self.session.log.records[record as usize].span;
        let lone = &self.repair.surrogates;
        let first = lone.partition_point(|lone| lone.start < span.start);
        let half = lone.get(first).is_some_and(|lone| lone.end <= span.end);
        half || slots.len() != self.session.messages_in(record)
            || slots.iter().any(|slot| slot.touched)
    }

    fn writer(&self) -> SpliceWriter<'_> {
        SpliceWriter::new(self.session.log.source, &self.repair.surrogates)
    }

    /// One message, as the provider spells it.
    fn write_message(&self, slot: &RepairedMessage<'a>) -> Vec<OutputChunk> {
        let mut out = self.writer();
        let draft = self.session.draft();
        let origin = slot.origin.and_then(|origin| draft.messages.get(origin));
        match origin.filter(|_| !slot.touched) {
            Some(Message { span, .. }) => out.copy(*span),
            None => write_slot(&mut out, draft, slot),
        }
        out.finish()
    }

    /// A record whose messages changed; nothing if none is left.
    fn changed_record(&self, record: u32, slots: &[&RepairedMessage<'a>]) -> Vec<OutputChunk> {
        let span = self.session.log.records[record as usize].span;
        let mut out = self.writer();
        match (self.session.agent, slots) {
            (SessionAgent::Codex, _) if self.session.is_nested(record) => {
                let mut list = self.writer();
                for (at, slot) in slots.iter().enumerate() {
                    list.text(if at == 0 { "[" } else { "," });
                    list.append(self.write_message(slot));
                }
                list.text(if slots.is_empty() { "[]" } else { "]" });
                let inside = vec![("replacement_history", FieldChange::Chunks(list.finish()))];
                write_patched(&mut out, span, vec![("payload", FieldChange::Nested(inside))]);
            }
            (_, []) => {}
            (SessionAgent::Codex, [slot, ..]) => {
                let payload = FieldChange::Chunks(self.write_message(slot));
                write_patched(&mut out, span, vec![("payload", payload)]);
            }
            (_, [slot, ..]) => out.append(self.write_message(slot)),
        }
        out.finish()
    }

    /// A record as it is, but for halves of characters.
    fn copied_record(&self, record: u32) -> Vec<OutputChunk> {
        let mut out = self.writer();
        out.copy(self.session.span(record));
        out.finish()
    }

    /// A new record, shaped like the one before it.
    fn new_record(
        &self,
        near: u32,
        slot: &RepairedMessage<'a>,
        ordinals: &mut codex::CodexOrdinals,
    ) -> Vec<OutputChunk> {
        let mut out = self.writer();
        let said = self.write_message(slot);
        if self.session.agent == SessionAgent::Codex {
            codex::write_envelope(self.session, &mut out, near, ordinals.next(near), said);
        } else {
            out.append(said);
        }
        out.finish()
    }
}

impl ParsedSession<'_> {
    /// How many messages of the conversation lie in a record.
    fn messages_in(&self, record: u32) -> usize {
        let first = self.chain.records.partition_point(|&other| other < record);
        self.chain.records.iter().skip(first).take_while(|&&other| other == record).count()
    }

    /// Whether a record holds a list of messages.
    fn is_nested(&self, record: u32) -> bool {
        self.log.records.get(record as usize).is_some_and(|record| record.kind == "compacted")
    }

    /// The span of a record.
    pub(super) fn span(&self, record: u32) -> Span {
        self.log.records.get(record as usize).map_or(Span::NOWHERE, |record| record.span)
    }
}
