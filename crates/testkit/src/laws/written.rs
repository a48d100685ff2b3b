//! A repair writes the order that providers require, and tool results stay tool results.

use foxwedge_core::{Format, TailPolicy};
use serde_json::Value;

use super::{
    LawCase,
    judge::{LawVerdict, breach},
};
use crate::{calls_before_assistant, inventory, loose_calls, owed};

/// The repaired document has the order that providers require in their error messages.
pub(super) fn ordered(case: &LawCase, before: &Value, fixed: &str) -> LawVerdict {
    let Ok(after) = serde_json::from_str::<Value>(fixed) else { return Ok(()) };
    if case.policy.tail == TailPolicy::Pending {
        return Ok(());
    }
    let format = case.wire.name();
    let had = calls_before_assistant(format, before);
    if case.wire == Format::OpenaiChat && loose_calls(&after) > had {
        return breach("ordered", format!("a call without its answer behind it\nafter {fixed}"));
    }
    let flat = matches!(case.wire, Format::OpenaiResponses | Format::GeminiInteractions);
    if !flat && calls_before_assistant(format, &after) > had {
        return breach("ordered", format!("a call directly before the assistant\nafter {fixed}"));
    }
    Ok(())
}

/// No real result that follows a call with its id is replaced by a placeholder, no matter how often
/// the id is used.
pub(super) fn still_answers(case: &LawCase, before: &Value, after: &Value) -> LawVerdict {
    let format = case.wire.name();
    let answers = inventory(format, after).answers.join("\n");
    for (count, texts) in owed(format, before) {
        // Gemini's results are listed as JSON.
        let is_present = |text: &&String| {
            let escaped = Value::from(text.as_str()).to_string();
            answers.contains(text.as_str()) || answers.contains(escaped.trim_matches('"'))
        };
        let present = texts.iter().filter(is_present).count();
        if present < count {
            let what = format!("{count} of {texts:?} should be answers\nafter {after}");
            return breach("conserving", what);
        }
    }
    Ok(())
}
