//! Nothing that a repair changed could have stayed as it was.

use foxwedge_core::{
    Edit, PartSource, Repair, RepairedMessage, Span, Strategy, TailPolicy, UnansweredPolicy, check,
};
use foxwedge_dialect::{OutlinedDocument, outline_options, read};
use serde_json::Value;

use super::{
    Case,
    judge::{Verdict, breach, messages},
};
use crate::has_user;

/// Takes back one change at a time: a message that was rewritten gets its old bytes, one that was
/// added goes, one that was removed comes back. Each time something is found that the repair had
/// taken care of.
pub(super) fn needed(
    case: &Case,
    reading: &OutlinedDocument<'_>,
    repair: &Repair<'_>,
    before: &Value,
    fixed: &str,
) -> Verdict {
    // Half characters are no JSON values, and reasoning that goes with an edit is no finding. A call
    // of the provider is unfinished only while something follows it.
    let excused = |edit: &Edit| {
        edit.strategy == Strategy::DropThinking || matches!(edit.code, 206 | 313 | 601)
    };
    // Which calls still run depends on what follows, and what lies on the server answers anything.
    if case.policy.tail == TailPolicy::Pending || reading.draft.body.stateful {
        return Ok(());
    }
    if repair.edits.iter().any(excused) || !reading.draft.body.surrogates.is_empty() {
        return Ok(());
    }
    let Ok(after) = serde_json::from_str::<Value>(fixed) else { return Ok(()) };
    let (old, new) = (messages(before), messages(&after));
    if old.len() != reading.draft.messages.len() || new.len() != repair.messages.len() {
        return Ok(());
    }
    let mut behind = None;
    let mut kept = vec![false; old.len()];
    for (at, slot) in repair.messages.iter().enumerate() {
        let mut other = new.to_vec();
        match slot.origin {
            Some(origin) => {
                kept[origin] = true;
                behind = Some(origin);
                // What was joined to it may have gone behind that.
                if repair.edits.iter().any(|edit| joins(edit, origin)) {
                    continue;
                }
                if !slot.touched || old[origin] == new[at] || !is_own(reading, slot, origin) {
                    continue;
                }
                // What has an id that was given up has lost its other half.
                let ids = reading.draft.parts_of(&reading.draft.messages[origin]);
                let mut ids = ids.iter().filter_map(|part| part.kind.id());
                if ids.any(|id| repair.edits.iter().any(|edit| gives_up(edit, id))) {
                    continue;
                }
                // What went elsewhere would stand twice.
                let others = repair.messages.iter().filter(|slot| slot.origin != Some(origin));
                if others.into_iter().any(|slot| holds(reading, slot, origin)) {
                    continue;
                }
                other[at] = old[origin].clone();
            }
            None => {
                // What came from elsewhere is not to be lost.
                if slot.parts.iter().any(|piece| !matches!(piece.source, PartSource::Text(_))) {
                    continue;
                }
                other.remove(at);
            }
        }
        if is_as_good(case, repair, &after, other) {
            let what =
                format!("message {at} of the result need not have changed (from {behind:?})");
            return breach("needed", format!("{what}\nedits {:#?}\nafter {fixed}", &*repair.edits));
        }
    }
    // What was joined with another message is not gone, and what has an id that was given up has
    // lost its other half.
    let linked = |edit: &Edit| matches!(edit.strategy, Strategy::Merge | Strategy::Rename);
    if repair.edits.iter().any(linked) {
        return Ok(());
    }
    // Whoever wants whole turns removed loses all of a turn.
    if case.policy.unanswered == UnansweredPolicy::DropTurn {
        return Ok(());
    }
    for gone in (0..old.len()).filter(|at| !kept[*at]) {
        // Behind the message that stood before it.
        let origins = repair.messages.iter().enumerate();
        let before = origins.filter(|(_, slot)| slot.origin.is_some_and(|at| at < gone));
        let place = before.max_by_key(|(_, slot)| slot.origin).map_or(0, |(at, _)| at + 1);
        let mut other = new.to_vec();
        other.insert(place, old[gone].clone());
        if is_as_good(case, repair, &after, other) {
            let what = format!("message {gone} need not have gone");
            return breach("needed", format!("{what}\nedits {:#?}\nafter {fixed}", &*repair.edits));
        }
    }
    Ok(())
}

fn gives_up(edit: &Edit, id: &str) -> bool {
    edit.strategy == Strategy::Rename && edit.ids.first().is_some_and(|old| old == id)
}

fn joins(edit: &Edit, message: usize) -> bool {
    edit.strategy == Strategy::Merge && edit.message == message
}

/// Whether a message holds nothing that came from another one.
fn is_own(reading: &OutlinedDocument<'_>, slot: &RepairedMessage<'_>, origin: usize) -> bool {
    let span = reading.draft.messages[origin].span;
    // A new id stands on both halves of a pair.
    let renamed = slot.parts.iter().any(|piece| piece.patch.id);
    !renamed
        && slot.parts.iter().all(|piece| match piece.source {
            PartSource::Input => {
                span.start <= piece.part.span.start && piece.part.span.end <= span.end
            }
            PartSource::Text(_) => true,
            PartSource::Quote { .. } | PartSource::Media { .. } => false,
        })
}

/// Whether a message holds something that came from that other one.
fn holds(reading: &OutlinedDocument<'_>, slot: &RepairedMessage<'_>, origin: usize) -> bool {
    let span = reading.draft.messages[origin].span;
    let came = |part: Span| span.start <= part.start && part.end <= span.end;
    slot.touched && slot.parts.iter().any(|piece| came(piece.part.span))
}

/// Whether nothing is found in a document with this list that is not found in the repaired one.
fn is_as_good(case: &Case, repair: &Repair<'_>, after: &Value, list: Vec<Value>) -> bool {
    if list.is_empty() || messages(after).is_empty() {
        return false;
    }
    let mut document = after.clone();
    match &mut document {
        Value::Array(old) => *old = list,
        Value::Object(fields) => {
            let keys = ["messages", "input", "contents"];
            let Some(key) = keys.into_iter().find(|key| fields.contains_key(*key)) else {
                return false;
            };
            fields.insert(key.to_owned(), Value::Array(list));
        }
        _ => return false,
    }
    let wire = case.wire.name();
    if has_user(wire, after) && !has_user(wire, &document) {
        return false;
    }
    let text = document.to_string();
    let Ok(reading) = read(&text, case.wire, outline_options(case.profile)) else { return false };
    check(&reading.draft, &case.question()).total() <= repair.after.total()
}
