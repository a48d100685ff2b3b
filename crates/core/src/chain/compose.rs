//! From units to messages.

use super::{Chain, NONE, State, units::Unit};
use crate::draft::{Builder, Content, Draft, Facts, Message, Role};

/// The records that one message is made of.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    first: u32,
    last: u32,
}

impl Group {
    /// The group of one record.
    pub(super) fn single(at: u32) -> Group {
        Group { first: at, last: at + 1 }
    }

    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..self.last as usize
    }
}

/// Messages, and what they are made of.
pub(super) struct Composed<'a> {
    pub(super) draft: Draft<'a>,
    groups: Vec<Group>,
    records: Vec<u32>,
    order: Vec<u32>,
    hollow: Vec<u32>,
    /// For each unit the message it begins with.
    starts: Vec<u32>,
}

/// One message for each reply, and one for what users say between two replies.
pub(super) fn compose<'a>(state: &State<'_, 'a>) -> Composed<'a> {
    let fragments = state.fragments;
    let builder = Builder::sized(
        fragments.source,
        fragments.wire,
        state.units.len() * 2,
        fragments.parts.len(),
    );
    let mut making = Making {
        state,
        builder,
        groups: Vec::new(),
        records: Vec::new(),
        order: Vec::new(),
        hollow: Vec::new(),
        starts: Vec::with_capacity(state.units.len()),
        open: 0,
    };
    for unit in &state.units {
        making.unit(unit);
    }
    making.close();
    let Making { builder, groups, records, order, hollow, starts, .. } = making;
    let mut draft = builder.finish();
    draft.body = fragments.body.clone();
    keep_surrogates(state, &records, &mut draft);
    Composed { draft, groups, records, order, hollow, starts }
}

/// Half characters count where the conversation holds them: nothing else of a record is sent.
fn keep_surrogates(state: &State<'_, '_>, records: &[u32], draft: &mut Draft<'_>) {
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
        draft.facts.note(Facts::SURROGATE);
    }
}

struct Making<'m, 's, 'a> {
    state: &'m State<'s, 'a>,
    builder: Builder<'a>,
    groups: Vec<Group>,
    records: Vec<u32>,
    order: Vec<u32>,
    hollow: Vec<u32>,
    starts: Vec<u32>,
    /// Where the records of the message that is being made begin.
    open: usize,
}

impl Making<'_, '_, '_> {
    fn unit(&mut self, unit: &Unit<'_>) {
        let hollow = self.state.manner.leaves_hollow
            && unit.answers.is_empty()
            && !unit.reply.is_empty()
            && unit.reply.iter().all(|&index| self.state.is_hollow(index));
        let mut spoken = Vec::with_capacity(unit.reply.len());
        for &index in &unit.reply {
            let blank = self.state.manner.leaves_blank && self.state.is_blank(index);
            let kept = if hollow || blank { &mut self.hollow } else { &mut spoken };
            kept.push(index);
        }
        if !spoken.is_empty() {
            self.close();
            self.records.extend(&spoken);
        }
        self.starts.push(u32::try_from(self.groups.len()).unwrap_or(NONE));
        if !spoken.is_empty() {
            self.close();
        }
        for &index in unit.answers.iter().chain(&unit.rest) {
            let Some(role) = self.state.role(index) else { continue };
            // Instructions stand alone.
            let before = self.records.get(self.open..).and_then(|open| open.last());
            if before.is_some_and(|&before| self.state.role(before) != Some(role)) {
                self.close();
            }
            self.records.push(index);
        }
        self.order.extend(unit.reply.iter().chain(&unit.answers).chain(&unit.rest));
    }

    /// Ends the message that is being made.
    fn close(&mut self) {
        let records = self.records.get(self.open..).unwrap_or(&[]);
        let fragments = self.state.fragments;
        let message = |index: u32| -> Option<&Message> {
            self.state.links[index as usize]
                .fragment
                .and_then(|at| fragments.messages.get(at as usize))
        };
        let Some(first) = records.first().and_then(|&index| message(index)) else { return };
        let (role, span, mut content, mut marks) =
            (first.role, first.span, first.content, first.marks);
        if records.len() > 1 {
            content = Content::List;
        }
        for &index in records {
            for part in self.state.parts(index) {
                self.builder.part(part.span, part.kind.clone());
            }
            marks = message(index).map_or(marks, |message| marks.with(message.marks));
        }
        self.builder.message(role, span, content, marks);
        let last = u32::try_from(self.records.len()).unwrap_or(NONE);
        let open = u32::try_from(self.open).unwrap_or(NONE);
        self.groups.push(Group { first: open, last });
        self.open = self.records.len();
        debug_assert!(role != Role::Answer, "answers stand in user messages here");
    }
}

/// Gives the flaws their places, and hands everything over.
pub(super) fn finish<'a>(state: State<'_, 'a>, composed: Composed<'a>) -> Chain<'a> {
    let Composed { mut draft, groups, records, order, hollow, starts } = composed;
    let mut flaws = state.flaws;
    flaws.sort_by_key(|(record, flaw)| (*record, flaw.code));
    let mut culprits = Vec::with_capacity(flaws.len());
    let last = draft.messages.len().saturating_sub(1);
    let (mut unit, mut next) = (0, 0);
    for (record, mut flaw) in flaws {
        // The unit of the record itself, or of the nearest one before it.
        while next <= record as usize {
            if state.unit[next] != NONE {
                unit = state.unit[next];
            }
            next += 1;
        }
        let start = starts.get(unit as usize).copied().unwrap_or(0);
        flaw.message = start.min(u32::try_from(last).unwrap_or(NONE));
        culprits.push(record);
        draft.body.flaws.push(flaw);
    }
    if !draft.body.flaws.is_empty() {
        draft.facts.note(Facts::FLAWED);
    }
    Chain { draft, groups, records, order, standing: state.standing, culprits, hollow }
}
