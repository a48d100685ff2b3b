//! No user text and no real answer is lost, and who was answered gets no placeholder.

use serde_json::Value;

use super::judge::{Seen, Verdict, breach, shown_bytes};
use crate::{PLACEHOLDERS, View, inventory, laws::Case, lost};

/// How answers begin that somebody wrote because there was none. They may give way to a real one.
const STAND_INS: [&str; 2] = ["[Tool call interrupted: the session ended", OURS];
const OURS: &str = "[foxwedge] ";

/// Judges what the conversation holds before and after.
pub(super) fn judge(case: &Case, before: &View, after: &View, seen: &Seen) -> Verdict {
    let wire = case.wire.name();
    // What the oracle sees in the file, and what the engine sees beyond that.
    let both = before.messages.iter().chain(&seen.history).cloned().collect();
    let mut kept = inventory(wire, &Value::Array(both));
    kept.answers.retain(|answer| is_real(answer));
    let gone = lost(wire, &kept, &Value::Array(after.messages.clone()));
    let told = || format!("edits {:?}\nafter\n{}", seen.edits, shown_bytes(&seen.fixed));
    if !gone.is_empty() {
        return breach("conserving", format!("lost {gone:?}\n{}", told()));
    }
    let alone = |id: &str| told_calls(&seen.history, id) <= 1;
    match replaced(&before.messages, &after.messages).filter(|id| alone(id)) {
        Some(id) => breach("conserving", format!("`{id}` had a real answer\n{}", told())),
        None => Ok(()),
    }
}

fn is_real(answer: &str) -> bool {
    !PLACEHOLDERS.iter().chain(&STAND_INS).any(|words| answer.contains(words))
}

/// A call with a real answer behind it that now has one of ours. Ids that are used twice, or are
/// not there, prove nothing.
fn replaced(before: &[Value], after: &[Value]) -> Option<String> {
    let (old, new) = (told(before), told(after));
    let answers = |list: &[Told], id: &str, wanted: fn(&str) -> bool| {
        list.iter().any(|told| told.answer && told.id == id && wanted(&told.text))
    };
    let named = |told: &Told| !told.id.ends_with(' ');
    for (at, call) in old.iter().enumerate().filter(|(_, told)| !told.answer && named(told)) {
        let ours = |text: &str| text.contains(OURS);
        let once = told_calls(before, &call.id) == 1;
        let answered = once && answers(&old[at..], &call.id, is_real);
        if answered && answers(&new, &call.id, ours) {
            return Some(call.id.clone());
        }
    }
    None
}

fn told_calls(messages: &[Value], id: &str) -> usize {
    told(messages).iter().filter(|told| !told.answer && told.id == id).count()
}

/// A call or an answer, in any wire format.
struct Told {
    id: String,
    answer: bool,
    text: String,
}

fn told(messages: &[Value]) -> Vec<Told> {
    let blocks = messages.iter().flat_map(|message| {
        let list = message.get("content").or_else(|| message.get("parts"));
        let list = list.and_then(Value::as_array).cloned().unwrap_or_default();
        list.into_iter().chain([message.clone()])
    });
    blocks.filter_map(|block| one(&block)).collect()
}

fn one(block: &Value) -> Option<Told> {
    let kind = block["type"].as_str().unwrap_or("");
    let part = |key: &str| block.get(key).map(|body| (&body["id"], body));
    let (answer, (id, body)) = match kind {
        "tool_use" => (false, (&block["id"], &Value::Null)),
        "tool_result" => (true, (&block["tool_use_id"], &block["content"])),
        _ if kind.ends_with("_call_output") => (true, (&block["call_id"], &block["output"])),
        _ if kind.ends_with("_call") => (false, (&block["call_id"], &Value::Null)),
        _ => match part("functionCall") {
            Some(call) => (false, call),
            None => (true, part("functionResponse")?),
        },
    };
    // In items a call and an answer must be of one family; Codex has one for shell calls, too.
    let family = match kind.trim_end_matches("_output") {
        family if family.ends_with("_call") => family.trim_start_matches("local_shell"),
        _ => "",
    };
    let family = if family == "_call" { "function_call" } else { family };
    Some(Told { id: format!("{family} {}", id.as_str()?), answer, text: body.to_string() })
}
