//! Joins the records of each reply and assigns tool results to replies.

use std::collections::HashMap;

use super::{ChainBuilder, ChainStatus, NO_RECORD};
use foxwedge_core::{PartKind, Role, Strategy, is_placeholder};

/// A reply with its results and what follows before the next reply.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyUnit<'a> {
    /// Identifies the reply.
    pub(super) key: Option<(&'a str, &'a str)>,
    /// The records of the reply; empty before the first reply.
    pub(super) reply: Vec<u32>,
    /// Records with the results of its calls.
    pub(super) answers: Vec<u32>,
    /// All other records in order: later user messages, and records that are not messages.
    pub(super) rest: Vec<u32>,
    /// Records beside the path that belong to this unit, until [`place_recovered`] inserts them:
    /// the record, and the record of the same list that it follows.
    recovered: Vec<(u32, Option<u32>, UnitSection)>,
    /// Whether a user message followed the reply.
    user_spoke: bool,
}

/// Builds the units of the path.
pub(super) fn build_units(state: &mut ChainBuilder<'_, '_>) {
    state.units.push(ReplyUnit::default());
    for index in std::mem::take(&mut state.path) {
        let mut at = state.units.len() - 1;
        let role = state.role(index);
        let unit = &state.units[at];
        match role {
            None => state.units[at].rest.push(index),
            Some(Role::Assistant) => {
                let key = state.link(index).reply;
                if key.is_none() || unit.key != key || unit.user_spoke {
                    state.units.push(ReplyUnit { key, ..ReplyUnit::default() });
                    at += 1;
                }
                add_record(state, index, at, UnitSection::Reply);
            }
            Some(_) => {
                let answers = state.holds_only_answers(index) && !unit.reply.is_empty();
                if answers && (!unit.user_spoke || answers_unit(state, at, index)) {
                    add_record(state, index, at, UnitSection::Answers);
                } else {
                    count_calls(state, index, at, UnitSection::Answers);
                    state.units[at].user_spoke = true;
                    state.units[at].rest.push(index);
                }
            }
        }
        state.unit_of_record[index as usize] = u32::try_from(at).unwrap_or(NO_RECORD);
    }
}

/// The list of a unit that a record belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnitSection {
    Reply,
    Answers,
}

/// How far above a record beside the path the record is looked for that it follows.
const MAX_STEPS: usize = 64;

/// Adds a record to a unit: in order if it is on the path, else for [`place_recovered`].
fn add_record(state: &mut ChainBuilder<'_, '_>, index: u32, at: usize, section: UnitSection) {
    count_calls(state, index, at, section);
    let beside = state.unit_of_record[index as usize] != NO_RECORD;
    // The nearest record above it in the same list. Others of the unit may be between them.
    let own = u32::try_from(at).unwrap_or(NO_RECORD);
    let up = |&index: &u32| {
        let parent = state.link(index).parent.and_then(|parent| state.resolve(parent, index));
        parent.filter(|&parent| state.unit_of_record[parent as usize] == own)
    };
    let above = std::iter::successors(Some(index).filter(|_| beside), up).take(MAX_STEPS);
    let mut above = above.enumerate().skip(1);
    let parent = above.find(|&(_, at)| state.sections[at as usize] == Some(section));
    // The order of the file says the same, unless the record stands before the other one.
    let parent = parent.filter(|&(steps, at)| steps == 1 || at > index).map(|(_, at)| at);
    state.sections[index as usize] = Some(section);
    let unit = &mut state.units[at];
    match section {
        _ if beside => unit.recovered.push((index, parent, section)),
        UnitSection::Reply => unit.reply.push(index),
        UnitSection::Answers => unit.answers.push(index),
    }
}

/// Inserts the records beside the path: after the record they are attached to, else in file order.
/// All of them at once, since a reply may have as many records as the file.
pub(super) fn place_recovered(state: &mut ChainBuilder<'_, '_>) {
    for unit in state.units.iter_mut().filter(|unit| !unit.recovered.is_empty()) {
        let beside = std::mem::take(&mut unit.recovered);
        for (section, list) in
            [(UnitSection::Reply, &mut unit.reply), (UnitSection::Answers, &mut unit.answers)]
        {
            let own = beside.iter().filter(|(.., other)| *other == section);
            let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
            let mut free: Vec<u32> = Vec::new();
            for &(index, parent, _) in own {
                match parent {
                    Some(parent) => children.entry(parent).or_default().push(index),
                    None => free.push(index),
                }
            }
            free.sort_unstable();
            let mut free = free.into_iter().peekable();
            let mut ordered = Vec::with_capacity(list.len() + beside.len());
            for &index in list.iter() {
                while let Some(earlier) = free.next_if(|&free| free < index) {
                    push_with_children(earlier, &children, &mut ordered);
                }
                push_with_children(index, &children, &mut ordered);
            }
            free.for_each(|index| push_with_children(index, &children, &mut ordered));
            *list = ordered;
        }
    }
}

/// Adds a record and its descendants, the latest child first.
fn push_with_children(index: u32, children: &HashMap<u32, Vec<u32>>, ordered: &mut Vec<u32>) {
    let mut open = vec![index];
    while let Some(index) = open.pop() {
        ordered.push(index);
        open.extend(children.get(&index).into_iter().flatten());
    }
}

/// Counts the calls of a record, or the results it has for its unit.
fn count_calls(state: &mut ChainBuilder<'_, '_>, index: u32, at: usize, section: UnitSection) {
    for part in state.parts(index) {
        match (&part.kind, section) {
            (PartKind::Call(call), UnitSection::Reply) => {
                let key = call.id.as_deref().map(|id| (at, id));
                if let Some(key) = key {
                    state.calls.entry(key).or_default().0 += 1;
                }
            }
            (PartKind::Answer(answer), UnitSection::Answers) => {
                // The record with the call may be found later.
                if let Some(id) = answer.id.as_deref() {
                    let answered = state.calls.entry((at, id)).or_default();
                    answered.1 += 1;
                    let real = !is_placeholder(answer.content.of(state.fragments.source));
                    answered.2 += u32::from(real);
                }
            }
            _ => {}
        }
    }
}

/// Whether a record has the result of a call in this unit that still lacks one.
fn answers_unit(state: &ChainBuilder<'_, '_>, at: usize, index: u32) -> bool {
    state.parts(index).iter().any(|part| {
        let PartKind::Answer(answer) = &part.kind else { return false };
        let key = answer.id.as_deref().map(|id| (at, id));
        let counts = key.and_then(|key| state.calls.get(&key));
        // A real result may replace a placeholder; another placeholder may not.
        let real = !is_placeholder(answer.content.of(state.fragments.source));
        counts.is_some_and(|(calls, all, known)| if real { known < calls } else { all < calls })
    })
}

/// Recovers the records beside the path: parts of its replies, and results for them.
pub(super) fn recover(state: &mut ChainBuilder<'_, '_>) {
    // One pass nearly always suffices, since parents precede their children. Records attached to a
    // record outside any turn are found by their call, once no more parents lead anywhere.
    let mut deferred = false;
    for by_source in [false, true] {
        for _ in 0..MAX_PASSES {
            if !recover_pass(state, by_source, &mut deferred) {
                break;
            }
        }
        if !deferred {
            break;
        }
    }
}

/// Maximum number of passes, for files in reverse order. Each pass reaches one link further.
const MAX_PASSES: usize = 64;

/// Scans all records beside the path once. Returns whether another pass may find more.
fn recover_pass(state: &mut ChainBuilder<'_, '_>, by_source: bool, deferred: &mut bool) -> bool {
    let (mut found, mut early) = (false, false);
    // A result may belong to a call that is found after it.
    let mut refused = false;
    for index in 0..u32::try_from(state.links.len()).unwrap_or(NO_RECORD) {
        if state.statuses[index as usize] != ChainStatus::Branch {
            continue;
        }
        let link = state.link(index);
        let parent = link.parent.and_then(|id| state.resolve(id, index));
        let source = link.source.and_then(|id| state.resolve(id, index));
        early |= parent.is_some_and(|parent| parent > index);
        let unit_of = |record: Option<u32>| {
            record
                .map(|record| state.unit_of_record[record as usize])
                .filter(|&unit| unit != NO_RECORD)
        };
        let parent_unit = unit_of(parent);
        if parent_unit.is_none() && parent.is_some() && source.is_some() && !by_source {
            *deferred = true;
            continue;
        }
        let Some(unit) = parent_unit.or_else(|| unit_of(source)) else { continue };
        let at = unit as usize;
        match state.role(index) {
            // Parts of a reply may be attached to a record that is not a message.
            None => {
                found |= state.unit_of_record[index as usize] == NO_RECORD;
                state.unit_of_record[index as usize] = unit;
            }
            Some(Role::Assistant) => {
                if link.reply.is_some() && link.reply == state.units[at].key {
                    recover_record(state, index, unit, UnitSection::Reply);
                    found = true;
                    early |= refused;
                }
            }
            Some(_) => {
                if answers_unit(state, at, index) {
                    recover_record(state, index, unit, UnitSection::Answers);
                    found = true;
                    // Not every agent version uses the source link if the parent is missing.
                    if !state.behavior.finds_siblings || parent_unit.is_none() {
                        report_lost_answer(state, index);
                    }
                } else {
                    refused |= state.holds_only_answers(index);
                }
            }
        }
    }
    found && early
}

fn recover_record(state: &mut ChainBuilder<'_, '_>, index: u32, unit: u32, section: UnitSection) {
    // Records attached to something that a compaction carried over were carried over with it.
    let first = state.units[unit as usize].reply.first();
    let carried = first.is_some_and(|&at| state.statuses[at as usize] == ChainStatus::Carried);
    state.statuses[index as usize] =
        if carried { ChainStatus::Carried } else { ChainStatus::Recovered };
    state.unit_of_record[index as usize] = unit;
    add_record(state, index, unit as usize, section);
}

/// Adds a result from another branch to a unit, and reports that the agent would not find it.
pub(super) fn adopt_answer(state: &mut ChainBuilder<'_, '_>, index: u32, unit: u32) {
    recover_record(state, index, unit, UnitSection::Answers);
    report_lost_answer(state, index);
}

fn report_lost_answer(state: &mut ChainBuilder<'_, '_>, index: u32) {
    let ids: Vec<String> = state.answered_ids(index).map(str::to_owned).collect();
    let shown =
        ids.iter().map(|id| foxwedge_core::display_id(Some(id))).collect::<Vec<_>>().join(", ");
    let problem =
        format!("the result of {shown} is not on the path, and the agent does not find it");
    let repair = format!("the result of {shown} is linked into the path");
    state.add_defect(702, index, ids, problem, repair, Strategy::Recover);
}
