//! Every change of a repair is needed.

use foxwedge_core::{
    Edit, Format, PartKind, PartSource, Repair, RepairedMessage, RepairedPart, Span, Strategy,
    TailPolicy, UnansweredPolicy, check,
};
use foxwedge_formats::{OutlinedDocument, outline_options, read};
use serde_json::Value;

use super::{
    LawCase,
    judge::{LawVerdict, breach, messages},
};
use crate::has_user;

/// Reverts one change at a time: a rewritten message gets its old bytes, an added message is
/// removed, a removed message is restored. Each time the check must find something that the repair
/// had fixed.
pub(super) fn needed(
    case: &LawCase,
    reading: &OutlinedDocument<'_>,
    repair: &Repair<'_>,
    before: &Value,
    fixed: &str,
) -> LawVerdict {
    // Lone surrogates are not JSON values, and reasoning that is dropped with an edit has no
    // finding. A provider-run call is unfinished only while something follows it.
    // Without ids, results pair by their number, so each depends on all others of its turn.
    let has_ids = reading.draft.parts.iter().all(|part| match &part.kind {
        PartKind::Answer(answer) => !answer.id.is_none(),
        _ => true,
    });
    // The model signs its calls, also if the only signed one is dropped.
    let drops = repair.edits.iter().any(|edit| edit.strategy == Strategy::Drop);
    let signs = drops && reading.draft.format == Format::Gemini;
    let excused = |edit: &Edit| {
        edit.strategy == Strategy::DropThinking
            || edit.code == 502 && signs
            || matches!(edit.code, 206 | 313 | 601)
            || edit.code == 102 && edit.strategy == Strategy::Drop && !has_ids
    };
    // Which calls are still running depends on what follows, and state on the server may answer any
    // call.
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
    let mut present = vec![false; old.len()];
    for (at, message) in repair.messages.iter().enumerate() {
        let mut other = new.to_vec();
        match message.origin() {
            Some(origin) => {
                present[origin] = true;
                behind = Some(origin);
                // A message that was joined to it may have been moved.
                if repair.edits.iter().any(|edit| joins(edit, origin)) {
                    continue;
                }
                if !message.is_touched()
                    || old[origin] == new[at]
                    || !is_own(reading, message, origin)
                {
                    continue;
                }
                // A part whose id was replaced has lost its counterpart.
                let ids = reading.draft.parts_of(&reading.draft.messages[origin]);
                let mut ids = ids.iter().filter_map(|part| part.kind.id());
                if ids.any(|id| repair.edits.iter().any(|edit| gives_up(edit, id))) {
                    continue;
                }
                // Parts that moved to another message would be there twice.
                let others =
                    repair.messages.iter().filter(|message| message.origin() != Some(origin));
                if others.into_iter().any(|message| holds(reading, message, origin)) {
                    continue;
                }
                other[at] = old[origin].clone();
            }
            None => {
                // Parts that came from another message must not be lost.
                if message.parts.iter().any(|part| !matches!(part.source(), PartSource::Text(_))) {
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
    // A message that was joined with another is not gone, and a part whose id was replaced has lost
    // its counterpart.
    let linked = |edit: &Edit| matches!(edit.strategy, Strategy::Merge | Strategy::Rename);
    if repair.edits.iter().any(linked) {
        return Ok(());
    }
    // The policy that drops whole turns removes everything in a turn.
    if case.policy.unanswered == UnansweredPolicy::DropTurn {
        return Ok(());
    }
    for gone in (0..old.len()).filter(|at| !present[*at]) {
        // Where all that followed it is gone, too, it would be the last message, which it was not.
        if gone + 1 < old.len() && !present[gone + 1..].contains(&true) {
            continue;
        }
        // After the message that came before it, or that was made of it, and before all that came
        // after it.
        let start = reading.draft.messages[gone].span.start;
        let is_behind = |message: &RepairedMessage<'_>| message.origin() > Some(gone);
        let end = repair.messages.iter().position(is_behind).unwrap_or(repair.messages.len());
        let is_before = |message: &RepairedMessage<'_>| {
            let is_input = |part: &RepairedPart<'_>| !matches!(part.source(), PartSource::Text(_));
            let mut parts = message.parts.iter().filter(|part| is_input(part));
            match message.origin() {
                Some(at) => at < gone,
                None => parts.any(|part| part.part.span.start < start),
            }
        };
        let place = repair.messages[..end].iter().rposition(is_before).map_or(0, |at| at + 1);
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

/// Whether all parts of a message are its own.
fn is_own(reading: &OutlinedDocument<'_>, message: &RepairedMessage<'_>, origin: usize) -> bool {
    let span = reading.draft.messages[origin].span;
    // A new id is on both the call and its result.
    let renamed = message.parts.iter().any(|part| part.patch.id);
    !renamed
        && message.parts.iter().all(|part| match part.source() {
            PartSource::Input => {
                span.start <= part.part.span.start && part.part.span.end <= span.end
            }
            PartSource::Text(_) => true,
            PartSource::Quote { .. } | PartSource::Media { .. } => false,
        })
}

/// Whether a message holds a part of this other message.
fn holds(reading: &OutlinedDocument<'_>, message: &RepairedMessage<'_>, origin: usize) -> bool {
    let span = reading.draft.messages[origin].span;
    let is_within = |part: Span| span.start <= part.start && part.end <= span.end;
    message.is_touched() && message.parts.iter().any(|part| is_within(part.part.span))
}

/// Whether a document with this list has no more findings of any rule than the repaired one.
fn is_as_good(case: &LawCase, repair: &Repair<'_>, after: &Value, list: Vec<Value>) -> bool {
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
    let format = case.wire.name();
    if has_user(format, after) && !has_user(format, &document) {
        return false;
    }
    let text = document.to_string();
    let Ok(reading) = read(&text, case.wire, outline_options(case.profile)) else { return false };
    let found = check(&reading.draft, &case.question()).counts;
    found.iter().all(|kind| found.of(kind.rule.code) <= repair.after.counts.of(kind.rule.code))
}
