//! Finds tool results that are in the file but not attached to the path.

use std::collections::HashMap;

use super::{ChainBuilder, ChainStatus, NO_RECORD, compose::ComposedMessages, units::adopt_answer};
use foxwedge_core::{PartKind, pair_calls};

/// Looks for results of calls that have none. Ids repeat, so a result counts for the last call with
/// its id before it. Returns whether any was found.
pub(super) fn find_lost_answers(
    state: &mut ChainBuilder<'_, '_>,
    composed: &ComposedMessages<'_>,
) -> bool {
    let mut open = open_calls(state, composed);
    if open.is_empty() {
        return false;
    }
    let mut latest: HashMap<&str, u32> = HashMap::new();
    let mut found = Vec::new();
    for index in 0..u32::try_from(state.links.len()).unwrap_or(NO_RECORD) {
        // A copy of a record makes no call again.
        let is_copy = state.statuses[index as usize] == ChainStatus::Duplicate;
        for part in state.parts(index).iter().filter(|_| !is_copy) {
            match &part.kind {
                PartKind::Call(call) => {
                    let known = call.id.as_deref().and_then(|id| open.get_key_value(id));
                    if let Some((&id, _)) = known {
                        latest.insert(id, index);
                    }
                }
                PartKind::Answer(answer) => {
                    let Some(id) = answer.id.as_deref() else { continue };
                    // A message that the agent does not send answers nothing.
                    let free = state.statuses[index as usize] == ChainStatus::Branch
                        && state.role(index).is_some();
                    if free && open.get(id).is_some_and(|call| latest.get(id) == Some(call)) {
                        open.remove(id);
                        found.push((index, latest.remove(id).unwrap_or(index)));
                    }
                }
                _ => {}
            }
        }
    }
    found.dedup_by_key(|(index, _)| *index);
    for &(index, call) in &found {
        let unit = state.unit_of_record[call as usize];
        if unit != NO_RECORD {
            adopt_answer(state, index, unit);
        }
    }
    !found.is_empty()
}

/// The calls of the conversation without a result, with their records. If an id is open twice, the
/// later call counts.
fn open_calls<'c>(
    state: &ChainBuilder<'_, '_>,
    composed: &'c ComposedMessages<'_>,
) -> HashMap<&'c str, u32> {
    let draft = &composed.draft;
    let pairing = pair_calls(draft);
    let mut open = HashMap::new();
    for paired in pairing.calls.iter().filter(|call| call.answer().is_none()) {
        let part = &draft.parts[paired.part()];
        if let PartKind::Call(call) = &part.kind
            && let Some(id) = call.id.as_deref()
        {
            let before = state.links.partition_point(|link| link.span.start <= part.span.start);
            let record = before.checked_sub(1).and_then(|at| u32::try_from(at).ok());
            open.extend(record.map(|record| (id, record)));
        }
    }
    open
}
