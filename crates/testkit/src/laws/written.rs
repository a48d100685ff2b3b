//! What a repair writes holds the order that providers ask for, and its results stay results.

use foxwedge_core::{Format, TailPolicy};
use serde_json::Value;

use super::{
    Case,
    judge::{Verdict, breach},
};
use crate::{calls_before_assistant, inventory, loose_calls, owed};

/// What is written holds the order that providers ask for in their error texts.
pub(super) fn ordered(case: &Case, before: &Value, fixed: &str) -> Verdict {
    let Ok(after) = serde_json::from_str::<Value>(fixed) else { return Ok(()) };
    if case.policy.tail == TailPolicy::Pending {
        return Ok(());
    }
    let wire = case.wire.name();
    let had = calls_before_assistant(wire, before);
    if case.wire == Format::OpenaiChat && loose_calls(&after) > had {
        return breach("ordered", format!("a call without its answer behind it\nafter {fixed}"));
    }
    if case.wire != Format::OpenaiResponses && calls_before_assistant(wire, &after) > had {
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
