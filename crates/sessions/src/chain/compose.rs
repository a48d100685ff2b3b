//! Builds messages from units.

use super::{ChainBuilder, NO_RECORD, RecordChain, units::ReplyUnit};
use foxwedge_core::{ContentShape, Draft, DraftBuilder, DraftFeatures, Message, Role};

/// The records of one message, as a range of [`RecordChain::records`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageRecords {
    first: u32,
    last: u32,
}

impl MessageRecords {
    /// The range of a single record.
    pub(super) fn single(at: u32) -> MessageRecords {
        MessageRecords { first: at, last: at + 1 }
    }

    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.last as usize
    }
}

/// Messages, and the records they consist of.
pub(super) struct ComposedMessages<'a> {
    pub(super) draft: Draft<'a>,
    groups: Vec<MessageRecords>,
    records: Vec<u32>,
    order: Vec<u32>,
    empty_records: Vec<u32>,
    /// For each unit the index of its first message.
    starts: Vec<u32>,
}

/// Builds one message per reply, and one for the user messages between two replies.
pub(super) fn compose_messages<'a>(state: &ChainBuilder<'_, 'a>) -> ComposedMessages<'a> {
    let fragments = state.fragments;
    let builder = DraftBuilder::with_capacity(
        fragments.source,
        fragments.format,
        state.units.len() * 2,
        fragments.parts.len(),
    );
    let mut composer = MessageComposer {
        state,
        builder,
        groups: Vec::new(),
        records: Vec::new(),
        order: Vec::new(),
        empty_records: Vec::new(),
        starts: Vec::with_capacity(state.units.len()),
        message_start: 0,
    };
    for unit in &state.units {
        composer.add_unit(unit);
    }
    composer.finish_message();
    let MessageComposer { builder, groups, records, order, empty_records, starts, .. } = composer;
    let mut draft = builder.finish();
    draft.body = fragments.body.clone();
    keep_surrogates(state, &records, &mut draft);
    ComposedMessages { draft, groups, records, order, empty_records, starts }
}

/// Keeps only lone surrogates inside the conversation: nothing else of a record is sent.
fn keep_surrogates(state: &ChainBuilder<'_, '_>, records: &[u32], draft: &mut Draft<'_>) {
    if draft.body.surrogates.is_empty() {
        return;
    }
    let fragment = |&record: &u32| state.link(record).fragment;
    let spans = records.iter().filter_map(fragment).filter_map(|at| {
        let message = state.fragments.messages.get(at as usize)?;
        Some((message.span.start, message.span.end))
    });
    let mut spans: Vec<(u32, u32)> = spans.collect();
    spans.sort_unstable();
    draft.body.surrogates.retain(|lone| {
        let after = spans.partition_point(|(start, _)| *start <= lone.start);
        after.checked_sub(1).is_some_and(|at| lone.end <= spans[at].1)
    });
    if !draft.body.surrogates.is_empty() {
        draft.features.insert(DraftFeatures::SURROGATE);
    }
}

struct MessageComposer<'m, 's, 'a> {
    state: &'m ChainBuilder<'s, 'a>,
    builder: DraftBuilder<'a>,
    groups: Vec<MessageRecords>,
    records: Vec<u32>,
    order: Vec<u32>,
    empty_records: Vec<u32>,
    starts: Vec<u32>,
    /// Where the records of the current message begin.
    message_start: usize,
}

impl MessageComposer<'_, '_, '_> {
    fn add_unit(&mut self, unit: &ReplyUnit<'_>) {
        let is_empty = self.state.behavior.skips_empty_replies
            && unit.answers.is_empty()
            && !unit.reply.is_empty()
            && unit.reply.iter().all(|&index| self.state.is_reasoning_or_blank(index));
        let mut reply_records = Vec::with_capacity(unit.reply.len());
        for &index in &unit.reply {
            let blank = self.state.behavior.skips_blank_records && self.state.is_blank(index);
            let target =
                if is_empty || blank { &mut self.empty_records } else { &mut reply_records };
            target.push(index);
        }
        if !reply_records.is_empty() {
            self.finish_message();
            self.records.extend(&reply_records);
        }
        self.starts.push(u32::try_from(self.groups.len()).unwrap_or(NO_RECORD));
        if !reply_records.is_empty() {
            self.finish_message();
        }
        for &index in unit.answers.iter().chain(&unit.rest) {
            let Some(role) = self.state.role(index) else { continue };
            // System messages are not joined with user messages.
            let before = self.records.get(self.message_start..).and_then(|open| open.last());
            let is_apart = |before: u32| {
                self.state.behavior.keeps_summaries_apart
                    && self.state.link(before).cut_parent.is_some()
            };
            if before.is_some_and(|&at| self.state.role(at) != Some(role) || is_apart(at)) {
                self.finish_message();
            }
            self.records.push(index);
        }
        self.order.extend(unit.reply.iter().chain(&unit.answers).chain(&unit.rest));
    }

    /// Ends the current message.
    fn finish_message(&mut self) {
        let records = self.records.get(self.message_start..).unwrap_or(&[]);
        let fragments = self.state.fragments;
        let message = |index: u32| -> Option<&Message> {
            self.state.links[index as usize]
                .fragment
                .and_then(|at| fragments.messages.get(at as usize))
        };
        let Some(first) = records.first().and_then(|&index| message(index)) else { return };
        let (role, span, mut content, mut flags) =
            (first.role, first.span, first.content, first.flags);
        if records.len() > 1 {
            content = ContentShape::List;
        }
        for &index in records {
            for part in self.state.parts(index) {
                self.builder.push_part(part.span, part.kind.clone());
            }
            flags = message(index).map_or(flags, |message| flags.with(message.flags));
        }
        self.builder.push_message(role, span, content, flags);
        let last = u32::try_from(self.records.len()).unwrap_or(NO_RECORD);
        let first = u32::try_from(self.message_start).unwrap_or(NO_RECORD);
        self.groups.push(MessageRecords { first, last });
        self.message_start = self.records.len();
        debug_assert!(role != Role::Answer, "results are in user messages here");
    }
}

/// Assigns messages to the defects and assembles the chain.
pub(super) fn finish_chain<'a>(
    state: ChainBuilder<'_, 'a>,
    composed: ComposedMessages<'a>,
) -> RecordChain<'a> {
    let ComposedMessages { mut draft, groups, records, order, empty_records, starts } = composed;
    let mut defects = state.defects;
    defects.sort_by_key(|(record, defect)| (*record, defect.code));
    let mut defect_records = Vec::with_capacity(defects.len());
    let last = draft.messages.len().saturating_sub(1);
    let (mut unit, mut next) = (0, 0);
    for (record, mut defect) in defects {
        // The unit of the record itself, or of the nearest earlier record with a unit.
        while next <= record as usize {
            if state.unit_of_record[next] != NO_RECORD {
                unit = state.unit_of_record[next];
            }
            next += 1;
        }
        let start = starts.get(unit as usize).copied().unwrap_or(0);
        defect.message = start.min(u32::try_from(last).unwrap_or(NO_RECORD));
        defect_records.push(record);
        draft.body.defects.push(defect);
    }
    if !draft.body.defects.is_empty() {
        draft.features.insert(DraftFeatures::FILE_DEFECT);
    }
    RecordChain {
        draft,
        groups,
        records,
        order,
        statuses: state.statuses,
        defect_records,
        spared_links: Vec::new(),
        empty_records,
    }
}
