//! Replies put together from their pieces, each with the records that answer it.

use std::collections::HashMap;

use super::{ChainBuilder, ChainStatus, NO_RECORD};
use crate::{
    draft::{PartKind, Role},
    placeholder::is_placeholder,
    report::Strategy,
};

/// A reply with its answers and what follows before the next reply.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyUnit<'a> {
    /// Which reply.
    pub(super) key: Option<(&'a str, &'a str)>,
    /// The records of the reply; none before the first reply.
    pub(super) reply: Vec<u32>,
    /// Records that answer its calls.
    pub(super) answers: Vec<u32>,
    /// Everything else, in order: what users say then, and records that are no messages.
    pub(super) rest: Vec<u32>,
    /// What hangs beside the path and belongs to it, until [`settle`] puts it in its place: the
    /// record, and the record of the same list that it stands behind.
    recovered: Vec<(u32, Option<u32>, UnitSection)>,
    /// Somebody spoke since the reply.
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

/// Where in a unit a record goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnitSection {
    Reply,
    Answers,
}

/// Puts a record into a unit: what lies on the path in its order, what hangs beside it later.
fn add_record(state: &mut ChainBuilder<'_, '_>, index: u32, at: usize, place: UnitSection) {
    count_calls(state, index, at, place);
    let beside = state.unit_of_record[index as usize] != NO_RECORD;
    let parent = state.link(index).parent.filter(|_| beside);
    let parent = parent.and_then(|parent| state.resolve(parent, index));
    let own = u32::try_from(at).unwrap_or(NO_RECORD);
    let parent = parent.filter(|&parent| {
        state.unit_of_record[parent as usize] == own
            && state.sections[parent as usize] == Some(place)
    });
    state.sections[index as usize] = Some(place);
    let unit = &mut state.units[at];
    match place {
        _ if beside => unit.recovered.push((index, parent, place)),
        UnitSection::Reply => unit.reply.push(index),
        UnitSection::Answers => unit.answers.push(index),
    }
}

/// Puts what hangs beside the path in its place: behind the piece it hangs on, else in the order of
/// the file. All of it at once, since a reply may have as many pieces as the file has records.
pub(super) fn place_recovered(state: &mut ChainBuilder<'_, '_>) {
    for unit in state.units.iter_mut().filter(|unit| !unit.recovered.is_empty()) {
        let beside = std::mem::take(&mut unit.recovered);
        for (place, list) in
            [(UnitSection::Reply, &mut unit.reply), (UnitSection::Answers, &mut unit.answers)]
        {
            let own = beside.iter().filter(|(.., other)| *other == place);
            let mut behind: HashMap<u32, Vec<u32>> = HashMap::new();
            let mut free: Vec<u32> = Vec::new();
            for &(index, parent, _) in own {
                match parent {
                    Some(parent) => behind.entry(parent).or_default().push(index),
                    None => free.push(index),
                }
            }
            free.sort_unstable();
            let mut free = free.into_iter().peekable();
            let mut settled = Vec::with_capacity(list.len() + beside.len());
            for &index in list.iter() {
                while let Some(earlier) = free.next_if(|&free| free < index) {
                    push_with_children(earlier, &behind, &mut settled);
                }
                push_with_children(index, &behind, &mut settled);
            }
            free.for_each(|index| push_with_children(index, &behind, &mut settled));
            *list = settled;
        }
    }
}

/// A record, and behind it what hangs on it, the latest first.
fn push_with_children(index: u32, behind: &HashMap<u32, Vec<u32>>, settled: &mut Vec<u32>) {
    let mut open = vec![index];
    while let Some(index) = open.pop() {
        settled.push(index);
        open.extend(behind.get(&index).into_iter().flatten());
    }
}

/// Notes the calls of a record, or which calls of its unit it answers.
fn count_calls(state: &mut ChainBuilder<'_, '_>, index: u32, at: usize, place: UnitSection) {
    for part in state.parts(index) {
        match (&part.kind, place) {
            (PartKind::Call(call), UnitSection::Reply) => {
                let key = call.id.as_deref().map(|id| (at, id));
                if let Some(key) = key {
                    state.calls.entry(key).or_default().0 += 1;
                }
            }
            (PartKind::Answer(answer), UnitSection::Answers) => {
                // The piece with the call may be found later.
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

/// Whether a record answers a call of this unit that has no answer in it yet.
fn answers_unit(state: &ChainBuilder<'_, '_>, at: usize, index: u32) -> bool {
    state.parts(index).iter().any(|part| {
        let PartKind::Answer(answer) = &part.kind else { return false };
        let key = answer.id.as_deref().map(|id| (at, id));
        let counts = key.and_then(|key| state.calls.get(&key));
        // A placeholder may still give way to the real answer, but not to another placeholder.
        let real = !is_placeholder(answer.content.of(state.fragments.source));
        counts.is_some_and(|(calls, all, known)| if real { known < calls } else { all < calls })
    })
}

/// Brings back what hangs beside the path: pieces of its replies, and answers to them.
pub(super) fn recover(state: &mut ChainBuilder<'_, '_>) {
    // Nearly always one pass does: parents stand before their children. What hangs on a record that
    // belongs to no turn is found by its call, once no parent leads anywhere any more.
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

/// Looks at a file that tells its records backwards; each finds what hangs one step further away.
const MAX_PASSES: usize = 64;

/// One look at everything beside the path; says whether another one may find more.
fn recover_pass(state: &mut ChainBuilder<'_, '_>, by_source: bool, deferred: &mut bool) -> bool {
    let (mut found, mut early) = (false, false);
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
        let hangs = unit_of(parent);
        if hangs.is_none() && parent.is_some() && source.is_some() && !by_source {
            *deferred = true;
            continue;
        }
        let Some(unit) = hangs.or_else(|| unit_of(source)) else { continue };
        let at = unit as usize;
        match state.role(index) {
            // Pieces may hang on a record that is no message.
            None => {
                found |= state.unit_of_record[index as usize] == NO_RECORD;
                state.unit_of_record[index as usize] = unit;
            }
            Some(Role::Assistant) => {
                if link.reply.is_some() && link.reply == state.units[at].key {
                    recover_record(state, index, unit, UnitSection::Reply);
                    found = true;
                }
            }
            Some(_) => {
                if answers_unit(state, at, index) {
                    recover_record(state, index, unit, UnitSection::Answers);
                    found = true;
                    // Not every version follows the note about the call where the parent is gone.
                    if !state.behavior.finds_siblings || hangs.is_none() {
                        report_lost_answer(state, index);
                    }
                }
            }
        }
    }
    found && early
}

fn recover_record(state: &mut ChainBuilder<'_, '_>, index: u32, unit: u32, place: UnitSection) {
    // What hangs on something that a compaction carried over came along with it.
    let first = state.units[unit as usize].reply.first();
    let carried = first.is_some_and(|&at| state.statuses[at as usize] == ChainStatus::Carried);
    state.statuses[index as usize] =
        if carried { ChainStatus::Carried } else { ChainStatus::Recovered };
    state.unit_of_record[index as usize] = unit;
    add_record(state, index, unit as usize, place);
}

/// Puts an answer from elsewhere into a unit, and notes that the agent would not have found it.
pub(super) fn adopt_answer(state: &mut ChainBuilder<'_, '_>, index: u32, unit: u32) {
    recover_record(state, index, unit, UnitSection::Answers);
    report_lost_answer(state, index);
}

fn report_lost_answer(state: &mut ChainBuilder<'_, '_>, index: u32) {
    let ids: Vec<String> = state.answered_ids(index).map(str::to_owned).collect();
    let shown =
        ids.iter().map(|id| crate::check::display_id(Some(id))).collect::<Vec<_>>().join(", ");
    let what =
        format!("the answer to {shown} hangs beside the path, where the agent does not look");
    let mend = format!("the answer to {shown} is linked into the path");
    state.add_defect(702, index, ids, what, mend, Strategy::Recover);
}
