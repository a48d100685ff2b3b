//! A repair changes the least, and writes nothing that a stricter reader refuses.

use foxwedge_core::{Kind, Repair, Report, Tail, Unanswered, Wire};
use foxwedge_dialect::Reading;
use serde_json::Value;

use super::{
    Case,
    judge::{Verdict, breach},
};
use crate::{calls_before_assistant, inventory, loose_calls, owed};

/// A repair works on a turn and the messages around it.
const NEAR: usize = 3;

/// A message is rewritten, moved into another or removed only if a finding or an edit is about it:
/// about its place or one near it, or about an id that it holds. And no more messages are added
/// than edits say.
pub(super) fn minimal(
    case: &Case,
    reading: &Reading<'_>,
    report: &Report,
    repair: &Repair<'_>,
    fixed: &str,
) -> Verdict {
    let draft = &reading.draft;
    let mut about: Vec<usize> = Vec::new();
    for finding in &report.findings {
        about.push(finding.at.message);
        about.extend(finding.partner.as_ref().map(|partner| partner.message));
    }
    about.extend(repair.edits.iter().map(|edit| edit.message));
    let ids: Vec<&String> = repair.edits.iter().flat_map(|edit| &edit.ids).collect();
    // An id that was missing on a call is written on its answer as well.
    let given = repair.edits.iter().any(|edit| edit.code == 204);
    // Half characters are replaced wherever they stand.
    let halves = !draft.body.surrogates.is_empty();
    for (at, message) in draft.messages.iter().enumerate().filter(|_| !halves) {
        let text = message.span.of(draft.source);
        if fixed.contains(text) {
            continue;
        }
        // Ids may be spelled with escapes.
        let value = serde_json::from_str::<Value>(text).unwrap_or_default();
        let named = about.iter().any(|place| place.abs_diff(at) <= NEAR)
            // Whoever wants whole turns removed loses all of a turn, however long it is.
            || case.policy.unanswered == Unanswered::DropTurn
            || ids.iter().any(|id| says(&value, id))
            || given && draft.parts_of(message).iter().any(|part| is_answer(&part.kind));
        if !named {
            let edits = &repair.edits;
            return breach("minimal", format!("[{at}] changed\nedits {edits:?}\nafter {fixed}"));
        }
    }
    let added = repair.slots.iter().filter(|slot| slot.origin.is_none()).count();
    // One edit may split a message into rounds of calls, each with its answers.
    let most = repair.edits.len() + draft.parts.len() / 64 + 1;
    if added > most {
        return breach("minimal", format!("{added} messages added\nafter {fixed}"));
    }
    Ok(())
}

/// Whether a string somewhere in a value holds a text.
fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(list) => list.iter().any(|item| says(item, text)),
        Value::Object(fields) => fields.values().any(|field| says(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_answer(kind: &Kind<'_>) -> bool {
    matches!(kind, Kind::Answer(_))
}

/// What is written holds the order that providers ask for in their error texts.
pub(super) fn ordered(case: &Case, before: &Value, fixed: &str) -> Verdict {
    let Ok(after) = serde_json::from_str::<Value>(fixed) else { return Ok(()) };
    if case.policy.tail == Tail::Pending {
        return Ok(());
    }
    let wire = case.wire.name();
    let had = calls_before_assistant(wire, before);
    if case.wire == Wire::OpenaiChat && loose_calls(&after) > had {
        return breach("ordered", format!("a call without its answer behind it\nafter {fixed}"));
    }
    if case.wire != Wire::OpenaiResponses && calls_before_assistant(wire, &after) > had {
        return breach("ordered", format!("a call directly before the assistant\nafter {fixed}"));
    }
    Ok(())
}

/// No real answer that stands behind a call of its id gives way to a placeholder, however often
/// the id was used.
pub(super) fn still_answers(case: &Case, before: &Value, after: &Value) -> Verdict {
    let wire = case.wire.name();
    let answers = inventory(wire, after).answers.join("\n");
    for (count, texts) in owed(wire, before) {
        let kept = texts.iter().filter(|text| answers.contains(text.as_str())).count();
        if kept < count {
            let what = format!("{count} of {texts:?} should be answers\nafter {after}");
            return breach("conserving", what);
        }
    }
    Ok(())
}
