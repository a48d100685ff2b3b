//! Walks the path from the last message back to a root.

use std::collections::{HashMap, HashSet};

use super::{CarriedRecords, ChainBuilder, ChainStatus, RecordLink};
use foxwedge_core::{PartKind, Strategy, display_id};

/// Walks the path. A link that leads nowhere or in a cycle is replaced by the preceding record.
pub(super) fn walk_path(state: &mut ChainBuilder<'_, '_>) {
    let mut ends = state.links.iter().zip(&state.statuses);
    let notes = state.behavior.starts_at_notes;
    let is_end = |link: &RecordLink<'_>| link.fragment.is_some() || notes && link.id.is_some();
    let last = ends.rposition(|(link, &status)| is_end(link) && status == ChainStatus::Branch);
    let mut below = FreeRecordIndex::new(state);
    let mut at = last.and_then(|last| u32::try_from(last).ok());
    at = at.map(|last| find_leaf(state, last));
    let mut reply = None;
    while let Some(index) = at {
        state.statuses[index as usize] = ChainStatus::Path;
        below.take(index);
        state.path.push(index);
        let link = state.link(index);
        reply = if link.fragment.is_some() { link.reply } else { reply };
        at = next_record(state, &mut below, index, reply);
    }
    state.path.reverse();
}

/// Finds the record where the path ends. This is the last message, unless that is a late tool
/// result: if its turn continued without it, the path ends with the last message of that
/// continuation.
fn find_leaf(state: &mut ChainBuilder<'_, '_>, last: u32) -> u32 {
    let parent = state.link(last).parent.and_then(|parent| state.resolve(parent, last));
    let key = parent.and_then(|parent| state.link(parent).reply);
    if key.is_none() || !state.holds_only_answers(last) {
        return last;
    }
    // The last message of another turn, if its path leads through this turn.
    let of_turn = |state: &ChainBuilder<'_, '_>, index: u32| {
        let parent = state.link(index).parent.and_then(|parent| state.resolve(parent, index));
        state.link(index).reply == key
            || state.holds_only_answers(index)
                && parent.is_some_and(|at| state.link(at).reply == key)
    };
    let other = (0..last).rev().find(|&index| {
        state.statuses[index as usize] == ChainStatus::Branch
            && state.role(index).is_some()
            && !of_turn(state, index)
    });
    let Some(other) = other else { return last };
    let up = |index: u32| state.link(index).parent.and_then(|parent| state.resolve(parent, index));
    // A reply that ends where this result begins did not go on without it.
    let mut above = std::iter::successors(parent, |&index| up(index)).take(state.links.len());
    if above.any(|index| index == other) {
        return last;
    }
    let mut at = Some(other);
    // The path must continue from the result of another call of this turn, and without this result.
    let (mut beside, mut answered) = (false, false);
    let own: HashSet<&str> = state.answered_ids(last).collect();
    for _ in 0..state.links.len() {
        let Some(index) = at else { break };
        beside |= of_turn(state, index) && state.holds_only_answers(index);
        answered |= state.answered_ids(index).any(|id| own.contains(id));
        if state.link(index).reply == key {
            // A copy of the call may stand there: then this result belongs to the other one.
            let above = std::iter::successors(Some(index), |&index| up(index));
            let mut reply =
                above.take(state.links.len()).take_while(|&index| state.link(index).reply == key);
            let copied = reply.any(|index| Some(index) != parent && has_call(state, index, &own));
            if !beside || answered || copied {
                return last;
            }
            let mut records = (0u32..).take(state.links.len());
            if !records.any(|at| state.link(at).reply == key && has_call(state, at, &own)) {
                return last;
            }
            let ids: Vec<String> = state.answered_ids(last).map(str::to_owned).collect();
            let shown: Vec<String> = ids.iter().map(|id| display_id(Some(id))).collect();
            let shown = shown.join(", ");
            let problem = format!(
                "the result of {shown} came late: it is the last record, where the agent begins to \
                 read, and its turn went on without it"
            );
            let repair = format!("the result of {shown} is moved to its call");
            state.add_defect(702, last, ids, problem, repair, Strategy::Recover);
            return other;
        }
        at = up(index);
    }
    last
}

/// Whether a record holds a call with one of these ids.
fn has_call(state: &ChainBuilder<'_, '_>, index: u32, ids: &HashSet<&str>) -> bool {
    let called = |part: &foxwedge_core::Part<'_>| match &part.kind {
        PartKind::Call(call) => call.id.as_deref().is_some_and(|id| ids.contains(id)),
        _ => false,
    };
    state.parts(index).iter().any(called)
}

/// The next record on the path towards the root. `reply` is that of the last message so far.
fn next_record(
    state: &mut ChainBuilder<'_, '_>,
    below: &mut FreeRecordIndex,
    index: u32,
    reply: Option<(&str, &str)>,
) -> Option<u32> {
    let link = state.link(index);
    let id = link.id.unwrap_or_default();
    if let Some(first) = previous_of_same_id(state, index) {
        // Two records with the same id and parent: the second follows the first.
        return Some(first);
    }
    let parent = link.parent?;
    let found = state.resolve(parent, index);
    let found = found.filter(|at| state.statuses[*at as usize] != ChainStatus::Subagent);
    if let Some(found) = found
        && state.statuses[found as usize] == ChainStatus::Branch
    {
        return Some(found);
    }
    let (code, problem) = if found.is_some() {
        (704, format!("record `{id}` has itself among its ancestors"))
    } else if parent.is_empty() {
        (701, format!("record `{id}` has no parent, and the records before it are lost"))
    } else {
        (701, format!("the parent `{parent}` of record `{id}` is not in the file"))
    };
    // A record below the path cannot precede it.
    let before = match found {
        Some(_) => below.nearest(index).filter(|&at| !hangs_on_path(state, at)),
        None => {
            let mut candidates = (0..MAX_CANDIDATES)
                .scan(index, |at, _| {
                    *at = below.nearest(*at)?;
                    Some(*at)
                })
                .filter(|&at| !hangs_on_path(state, at));
            let nearest = candidates.next();
            // A reply goes on after its own records, whatever was written between them.
            let is_own = |at: &u32| reply.is_some() && state.link(*at).reply == reply;
            nearest.filter(is_own).or_else(|| candidates.find(is_own)).or(nearest)
        }
    };
    if before.is_none() && found.is_none() {
        // Nothing precedes it: its parent is in another file, and nothing is lost.
        return None;
    }
    let repair = match before.and_then(|at| state.link(at).id) {
        Some(other) => format!("record `{id}` is linked to the record before it, `{other}`"),
        None => format!("record `{id}` becomes the first record of its conversation"),
    };
    state.add_defect(code, index, vec![id.to_owned()], problem, repair, Strategy::Recover);
    before
}

/// How many of the records before one with a missing parent may hang below it.
const MAX_CANDIDATES: usize = 16;

/// Whether a few steps up from a record lead to the path.
fn hangs_on_path(state: &ChainBuilder<'_, '_>, index: u32) -> bool {
    const STEPS: usize = 64;
    let up = |at: &u32| state.link(*at).parent.and_then(|parent| state.resolve(parent, *at));
    let mut way = std::iter::successors(Some(index), up).take(STEPS);
    way.any(|at| state.statuses[at as usize] == ChainStatus::Path)
}

/// The record with the same id and parent that this record follows.
fn previous_of_same_id(state: &ChainBuilder<'_, '_>, index: u32) -> Option<u32> {
    let id = state.link(index).id?;
    let first = state.ids.get(id).copied().filter(|&first| first != index)?;
    let others = state.later_records.get(id)?;
    let before = others.partition_point(|&other| other < index).checked_sub(1);
    let other = before.and_then(|at| others.get(at)).copied().unwrap_or(first);
    let same = state.link(other).parent == state.link(index).parent;
    (same && state.statuses[other as usize] == ChainStatus::Branch).then_some(other)
}

/// Inserts the records that a compaction carried over after the record it names.
pub(super) fn place_carried(state: &mut ChainBuilder<'_, '_>, carried: &[CarriedRecords<'_>]) {
    if carried.is_empty() {
        return;
    }
    let mut anchored: HashMap<&str, Vec<&CarriedRecords<'_>>> = HashMap::new();
    carried.iter().for_each(|one| anchored.entry(one.anchor).or_default().push(one));
    // A compaction carries over less than the whole file. More steps mean a cycle.
    let mut steps = state.links.len().saturating_mul(STEPS);
    let mut path = Vec::with_capacity(state.path.len());
    for index in std::mem::take(&mut state.path) {
        path.push(index);
        let here = state.link(index).id.and_then(|id| anchored.get(id));
        for carried in here.into_iter().flatten() {
            let named = carried.ids.iter().filter_map(|id| state.ids.get(id).copied()).collect();
            let records: Vec<u32> =
                carried.segment.map_or(named, |ends| segment_records(state, ends, &mut steps));
            for record in records {
                let earlier = record < carried.compaction;
                // Only the latest compaction of a path counts.
                let is_cut = state.link(record).cut_parent.is_some();
                if earlier && !is_cut && state.statuses[record as usize] == ChainStatus::Branch {
                    state.statuses[record as usize] = ChainStatus::Carried;
                    path.push(record);
                }
            }
        }
    }
    state.path = path;
}

/// Steps that all segments of a file may take together, per record of the file.
const STEPS: usize = 16;

/// The records from the first to the last of a segment; empty if the links do not connect them.
fn segment_records(
    state: &ChainBuilder<'_, '_>,
    (last, first): (&str, &str),
    steps: &mut usize,
) -> Vec<u32> {
    let mut found = Vec::new();
    let mut at = state.ids.get(last).copied();
    while let Some(index) = at {
        // A path longer than the file has a cycle.
        if found.len() > state.links.len() || *steps == 0 {
            return Vec::new();
        }
        *steps -= 1;
        found.push(index);
        let link = state.link(index);
        if link.id == Some(first) {
            found.reverse();
            return found;
        }
        at = link.parent.or(link.cut_parent).and_then(|parent| state.resolve(parent, index));
    }
    Vec::new()
}

/// Finds the nearest earlier record that is not on the path yet.
struct FreeRecordIndex {
    /// A union-find forest, shifted by one: a free record points to itself, any other one towards
    /// the nearest free record before it.
    free: Vec<u32>,
}

impl FreeRecordIndex {
    fn new(state: &ChainBuilder<'_, '_>) -> FreeRecordIndex {
        let mut free = vec![0; state.links.len() + 1];
        for (index, status) in (0..).zip(&state.statuses) {
            let at = index as usize;
            free[at + 1] = if *status == ChainStatus::Branch { index + 1 } else { index };
        }
        FreeRecordIndex { free }
    }

    fn take(&mut self, index: u32) {
        self.free[index as usize + 1] = index;
    }

    fn nearest(&mut self, index: u32) -> Option<u32> {
        let mut at = index;
        while self.free[at as usize] != at {
            let next = self.free[at as usize];
            self.free[at as usize] = self.free[next as usize];
            at = self.free[at as usize];
        }
        at.checked_sub(1)
    }
}
