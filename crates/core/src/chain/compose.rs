//! From units to messages.

use super::{ChainBuilder, NO_RECORD, RecordChain, units::ReplyUnit};
use crate::draft::{ContentShape, Draft, DraftBuilder, DraftFeatures, Message, Role};

/// The records that one message is made of.
#[derive(Clone, Copy, Debug)]
pub struct MessageRecords {
    first: u32,
    last: u32,
}

impl MessageRecords {
    /// The group of one record.
    pub(super) fn single(at: u32) -> MessageRecords {
        MessageRecords { first: at, last: at + 1 }
    }

    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.last as usize
    }
}

/// Messages, and what they are made of.
pub(super) struct ComposedMessages<'a> {
    pub(super) draft: Draft<'a>,
    groups: Vec<MessageRecords>,
    records: Vec<u32>,
    order: Vec<u32>,
    empty_records: Vec<u32>,
    /// For each unit the message it begins with.
    starts: Vec<u32>,
}

/// One message for each reply, and one for what users say between two replies.
pub(super) fn compose_messages<'a>(state: &ChainBuilder<'_, 'a>) -> ComposedMessages<'a> {
    let fragments = state.fragments;
    let builder = DraftBuilder::with_capacity(
        fragments.source,
        fragments.format,
        state.units.len() * 2,
        fragments.parts.len(),
    );
    let mut making = MessageComposer {
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
        making.add_unit(unit);
    }
    making.finish_message();
    let MessageComposer { builder, groups, records, order, empty_records: hollow, starts, .. } =
        making;
    let mut draft = builder.finish();
    draft.body = fragments.body.clone();
    keep_surrogates(state, &records, &mut draft);
    ComposedMessages { draft, groups, records, order, empty_records: hollow, starts }
}

/// Half characters count where the conversation holds them: nothing else of a record is sent.
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
    /// Where the records of the message that is being made begin.
    message_start: usize,
}

impl MessageComposer<'_, '_, '_> {
    fn add_unit(&mut self, unit: &ReplyUnit<'_>) {
        let hollow = self.state.behavior.skips_empty_replies
            && unit.answers.is_empty()
            && !unit.reply.is_empty()
            && unit.reply.iter().all(|&index| self.state.is_reasoning_or_blank(index));
        let mut spoken = Vec::with_capacity(unit.reply.len());
        for &index in &unit.reply {
            let blank = self.state.behavior.skips_blank_records && self.state.is_blank(index);
            let kept = if hollow || blank { &mut self.empty_records } else { &mut spoken };
            kept.push(index);
        }
        if !spoken.is_empty() {
            self.finish_message();
            self.records.extend(&spoken);
        }
        self.starts.push(u32::try_from(self.groups.len()).unwrap_or(NO_RECORD));
        if !spoken.is_empty() {
            self.finish_message();
        }
        for &index in unit.answers.iter().chain(&unit.rest) {
            let Some(role) = self.state.role(index) else { continue };
            // Instructions stand alone.
            let before = self.records.get(self.message_start..).and_then(|open| open.last());
            if before.is_some_and(|&before| self.state.role(before) != Some(role)) {
                self.finish_message();
            }
            self.records.push(index);
        }
        self.order.extend(unit.reply.iter().chain(&unit.answers).chain(&unit.rest));
    }

    /// Ends the message that is being made.
    fn finish_message(&mut self) {
        let records = self.records.get(self.message_start..).unwrap_or(&[]);
        let fragments = self.state.fragments;
        let message = |index: u32| -> Option<&Message> {
            self.state.links[index as usize]
                .fragment
                .and_then(|at| fragments.messages.get(at as usize))
        };
        let Some(first) = records.first().and_then(|&index| message(index)) else { return };
        let (role, span, mut content, mut marks) =
            (first.role, first.span, first.content, first.flags);
        if records.len() > 1 {
            content = ContentShape::List;
        }
        for &index in records {
            for part in self.state.parts(index) {
                self.builder.push_part(part.span, part.kind.clone());
            }
            marks = message(index).map_or(marks, |message| marks.with(message.flags));
        }
        self.builder.push_message(role, span, content, marks);
        let last = u32::try_from(self.records.len()).unwrap_or(NO_RECORD);
        let open = u32::try_from(self.message_start).unwrap_or(NO_RECORD);
        self.groups.push(MessageRecords { first: open, last });
        self.message_start = self.records.len();
        debug_assert!(role != Role::Answer, "answers stand in user messages here");
    }
}

/// Gives the flaws their places, and hands everything over.
pub(super) fn finish_chain<'a>(
    state: ChainBuilder<'_, 'a>,
    composed: ComposedMessages<'a>,
) -> RecordChain<'a> {
    let ComposedMessages { mut draft, groups, records, order, empty_records: hollow, starts } =
        composed;
    let mut flaws = state.defects;
    flaws.sort_by_key(|(record, flaw)| (*record, flaw.code));
    let mut culprits = Vec::with_capacity(flaws.len());
    let last = draft.messages.len().saturating_sub(1);
    let (mut unit, mut next) = (0, 0);
    for (record, mut flaw) in flaws {
        // The unit of the record itself, or of the nearest one before it.
        while next <= record as usize {
            if state.unit_of_record[next] != NO_RECORD {
                unit = state.unit_of_record[next];
            }
            next += 1;
        }
        let start = starts.get(unit as usize).copied().unwrap_or(0);
        flaw.message = start.min(u32::try_from(last).unwrap_or(NO_RECORD));
        culprits.push(record);
        draft.body.defects.push(flaw);
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
        defect_records: culprits,
        empty_records: hollow,
    }
}
