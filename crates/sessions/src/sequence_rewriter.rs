//! Writes the repaired file of a session without links: every message is a record or inside one.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{Message, Repair, RepairedMessage, Span};

use super::{
    ParsedSession, SessionAgent, ai_sdk, codex, copilot_cli, crush,
    derived_id::UsedIds,
    emit::{FileEdits, emit},
    goose, kimi_code,
    message_rows::{self, RowFormat},
    placement::longest_increasing,
    records,
    rewritten_file::RewrittenFile,
};
use foxwedge_formats::write_slot;
use foxwedge_json::{FieldChange, OutputChunk, SpliceWriter, write_patched};

/// Writes the file that a repair produces.
pub(super) fn rewrite<'a>(session: &ParsedSession<'a>, repair: &Repair<'a>) -> RewrittenFile<'a> {
    let rewriter = SequenceFileRewriter { session, repair };
    let is_copilot = session.agent == SessionAgent::CopilotCli;
    let mut edits = FileEdits::default();
    let moved = rewriter.moved_messages();
    // The messages of each record, in order. New messages follow the record before them.
    let mut messages_by_record: HashMap<u32, Vec<&RepairedMessage<'a>>> = HashMap::new();
    let mut anchor = None;
    let mut new_messages = Vec::new();
    let messages = match session.agent {
        SessionAgent::AiSdkModel => ai_sdk::split_messages(session.draft(), repair),
        SessionAgent::Crush | SessionAgent::Goose => {
            message_rows::split_messages(session.draft(), repair)
        }
        _ => repair.messages.iter().map(Cow::Borrowed).collect(),
    };
    for message in messages.iter().map(Cow::as_ref) {
        let own = message.origin().filter(|origin| !moved.contains(origin));
        match own.and_then(|origin| rewriter.record_of(origin)) {
            Some(record) => {
                anchor = Some(record);
                messages_by_record.entry(record).or_default().push(message);
            }
            None => new_messages.push((anchor, message)),
        }
    }
    for message in 0..session.draft().messages.len() {
        if let Some(record) = rewriter.record_of(message) {
            let messages = messages_by_record.get(&record).map_or(&[][..], Vec::as_slice);
            if rewriter.is_changed(record, messages) {
                edits
                    .changed
                    .entry(record)
                    .or_insert_with(|| rewriter.changed_record(record, messages));
            }
        }
    }
    if let Some(row_format) = row_dialect(session.agent) {
        message_rows::repair_rows(row_format, session, repair, &mut edits);
    }
    for &fixed in repair.body.fixed_defects.iter().filter(|_| is_copilot) {
        let defect = session.draft().body.defects.get(fixed);
        let is_removed = defect.is_some_and(|it| it.code == records::INCOMPLETE_EVENT);
        if let Some(&record) = session.chain.defect_records.get(fixed).filter(|_| is_removed) {
            edits.changed.insert(record, Vec::new());
        }
    }
    // Lone surrogates may occur anywhere, also in records that hold no message.
    for lone in repair.surrogates.iter() {
        let after = session.log.records.partition_point(|record| record.span.start <= lone.start);
        if let Some(record) = after.checked_sub(1).and_then(|at| u32::try_from(at).ok()) {
            edits.changed.entry(record).or_insert_with(|| rewriter.copied_record(record));
        }
    }
    let mut ordinals = codex::CodexOrdinals::new(session, &edits);
    let mut used = UsedIds::default();
    if is_copilot && !new_messages.is_empty() {
        used.taken = copilot_cli::event_ids(session);
    }
    for (anchor, message) in new_messages {
        let new = rewriter.new_record(anchor, message, &mut ordinals, &mut used);
        match anchor {
            Some(anchor) => edits.behind.entry(anchor).or_default().push(new),
            None => edits.first.push(new),
        }
    }
    emit(session, repair, edits)
}

/// How an agent stores messages as rows of a database.
fn row_dialect(agent: SessionAgent) -> Option<&'static RowFormat> {
    match agent {
        SessionAgent::Crush => Some(&crush::ROWS),
        SessionAgent::Goose => Some(&goose::ROWS),
        _ => None,
    }
}

struct SequenceFileRewriter<'d, 'a> {
    session: &'d ParsedSession<'a>,
    repair: &'d Repair<'a>,
}

impl<'a> SequenceFileRewriter<'_, 'a> {
    fn record_of(&self, message: usize) -> Option<u32> {
        self.session.chain.records_of(message).first().copied()
    }

    /// Messages that are at another position after the repair.
    fn moved_messages(&self) -> HashSet<usize> {
        let origins = self.repair.messages.iter().filter_map(|message| message.origin());
        let order: Vec<u32> = origins.filter_map(|origin| u32::try_from(origin).ok()).collect();
        if order.is_sorted() {
            return HashSet::new();
        }
        let unmoved = longest_increasing(&order);
        order.into_iter().filter(|at| !unmoved.contains(at)).map(|at| at as usize).collect()
    }

    /// Whether the messages of a record changed.
    fn is_changed(&self, record: u32, messages: &[&RepairedMessage<'_>]) -> bool {
        let span = self.session.log.records[record as usize].span;
        let lone = &self.repair.surrogates;
        let first = lone.partition_point(|lone| lone.start < span.start);
        let has_surrogate = lone.get(first).is_some_and(|lone| lone.end <= span.end);
        has_surrogate
            || messages.len() != self.session.messages_in(record)
            || messages.iter().any(|message| message.is_touched())
    }

    fn writer(&self) -> SpliceWriter<'_> {
        SpliceWriter::new(self.session.log.source, &self.repair.surrogates)
    }

    /// Writes one message in the provider's format.
    fn write_message(&self, message: &RepairedMessage<'a>) -> Vec<OutputChunk> {
        let mut out = self.writer();
        let draft = self.session.draft();
        let origin = message.origin().and_then(|origin| draft.messages.get(origin));
        match origin.filter(|_| !message.is_touched()) {
            Some(Message { span, .. }) => out.copy(*span),
            None if self.session.agent == SessionAgent::AiSdkModel => {
                let origin = message.origin().and_then(|origin| draft.messages.get(origin));
                ai_sdk::write_message(&mut out, draft, origin, message);
            }
            None => write_slot(&mut out, draft, message),
        }
        out.finish()
    }

    /// Writes a record whose messages changed; empty if none is left.
    fn changed_record(&self, record: u32, messages: &[&RepairedMessage<'a>]) -> Vec<OutputChunk> {
        let span = self.session.log.records[record as usize].span;
        let mut out = self.writer();
        match (self.session.agent, messages) {
            (SessionAgent::Codex, _) if self.session.is_nested(record) => {
                let mut list = self.writer();
                for (at, message) in messages.iter().enumerate() {
                    list.text(if at == 0 { "[" } else { "," });
                    list.append(self.write_message(message));
                }
                list.text(if messages.is_empty() { "[]" } else { "]" });
                let inside = vec![("replacement_history", FieldChange::Chunks(list.finish()))];
                write_patched(&mut out, span, vec![("payload", FieldChange::Nested(inside))]);
            }
            (_, []) => {}
            (SessionAgent::CopilotCli, [message, ..]) => {
                copilot_cli::write_changed(&mut out, self.session.draft(), span, message)
            }
            (SessionAgent::KimiCode, [message, ..]) => {
                kimi_code::write_changed(&mut out, self.session.draft(), span, message)
            }
            (SessionAgent::Crush | SessionAgent::Goose, [message, ..]) => {
                if let Some(row_format) = row_dialect(self.session.agent) {
                    let draft = self.session.draft();
                    message_rows::write_changed(row_format, &mut out, draft, span, message);
                }
            }
            (SessionAgent::Codex, [message, ..]) => {
                let payload = FieldChange::Chunks(self.write_message(message));
                write_patched(&mut out, span, vec![("payload", payload)]);
            }
            (_, [message, ..]) => out.append(self.write_message(message)),
        }
        out.finish()
    }

    /// Copies a record, with lone surrogates replaced.
    fn copied_record(&self, record: u32) -> Vec<OutputChunk> {
        let mut out = self.writer();
        out.copy(self.session.span(record));
        out.finish()
    }

    /// Writes a new record. The record before it is the template, or the first one of the path.
    fn new_record(
        &self,
        anchor: Option<u32>,
        message: &RepairedMessage<'a>,
        ordinals: &mut codex::CodexOrdinals,
        used: &mut UsedIds,
    ) -> Vec<OutputChunk> {
        let near = anchor.or_else(|| self.session.chain.records.first().copied()).unwrap_or(0);
        let mut out = self.writer();
        if let Some(row_format) = row_dialect(self.session.agent) {
            message_rows::write_new(row_format, self.session, &mut out, near, message);
            return out.finish();
        }
        match self.session.agent {
            SessionAgent::CopilotCli => {
                copilot_cli::write_new(self.session, &mut out, near, message, used);
                return out.finish();
            }
            SessionAgent::KimiCode => {
                kimi_code::write_new(self.session, &mut out, near, message);
                return out.finish();
            }
            _ => {}
        }
        let encoded = self.write_message(message);
        if self.session.agent == SessionAgent::Codex {
            codex::write_envelope(self.session, &mut out, near, ordinals.next(anchor), encoded);
        } else {
            out.append(encoded);
        }
        out.finish()
    }
}

impl ParsedSession<'_> {
    /// How many messages of the conversation are in a record.
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
