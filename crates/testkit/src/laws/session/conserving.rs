//! No user text and no real tool result is lost, and a call with a real result gets no placeholder.

use std::collections::HashSet;

use foxwedge_core::TailPolicy;
use serde_json::Value;

use super::judge::{RepairedSession, SessionVerdict, breach, shown_bytes};
use crate::{
    PLACEHOLDERS, SessionConversation, TextInventory, inventory,
    laws::{LawCase, SessionAgent},
    lost,
};

/// Beginnings of placeholders. A real result may replace them.
const STAND_INS: [&str; 2] = ["[Tool call interrupted: the session ended", OURS];
const OURS: &str = "[foxwedge] ";

/// Compares the conversation before and after.
pub(super) fn judge(
    case: &LawCase,
    bytes: &[u8],
    before: &SessionConversation,
    after: &SessionConversation,
    session: &RepairedSession,
) -> SessionVerdict {
    let format = case.wire.name();
    // The messages that the oracle finds in the file, and those that the engine finds.
    let both = before.messages.iter().chain(&session.history).cloned().collect();
    let mut expected = inventory(format, &Value::Array(both));
    expected.answers.retain(|answer| is_real(answer));
    let mut missing = lost(format, &expected, &Value::Array(after.messages.clone()));
    // Kimi Code takes back the last message of the user, also if that is a quoted result. Codex does
    // so if more turns are taken back than the user began, and the quote is before a running turn.
    let running = case.policy.tail == TailPolicy::Pending;
    let takes_back = |record: &Value| match case.agent {
        Some(SessionAgent::KimiCode) => record["type"] == "context.undo",
        Some(SessionAgent::Codex) => running && record["payload"]["type"] == "thread_rolled_back",
        _ => false,
    };
    if !missing.is_empty()
        && (uncovers_hiding(bytes, &session.fixed)
            || uncovers_end(bytes, &session.fixed)
            || records_of(&session.fixed).any(|(_, record)| takes_back(&record)))
    {
        let hidden = TextInventory { user_texts: missing, ..TextInventory::default() };
        let records = records_of(&session.fixed).map(|(_, record)| record).collect();
        missing = lost(format, &hidden, &Value::Array(records));
    }
    let describe = || format!("edits {:?}\nafter\n{}", session.edits, shown_bytes(&session.fixed));
    if !missing.is_empty() {
        return breach("conserving", format!("lost {missing:?}\n{}", describe()));
    }
    // A row that was cut off may bring a second call of the same id back. Which of the two the result
    // belongs to is then not known, and one of them may get a new id.
    let is_renamed = |id: &str| {
        let becomes = format!("id `{}` becomes", id.trim_start_matches(|c: char| c != ' ').trim());
        session.edits.iter().any(|edit| edit.contains(&becomes))
    };
    let alone = |id: &str| {
        told_calls(&session.history, id) <= 1
            && told_calls(&after.messages, id) <= 1
            && !is_renamed(id)
    };
    match replaced(&before.messages, &after.messages).filter(|id| alone(id)) {
        Some(id) => breach("conserving", format!("`{id}` had a real answer\n{}", describe())),
        None => Ok(()),
    }
}

/// Records that hide what stands before them, by words in them.
const HIDING: [&str; 8] = [
    "compact",
    "chat_compression",
    "rolled_back",
    "context_cleared",
    "context.clear",
    "context.undo",
    "$rewindTo",
    "\"summary\":true",
];

/// Whether a record that hides history can be read only after the repair: it shared a line with something
/// torn, or had the id of another record. The agent then does not send what was before it, which stays in the file.
fn uncovers_hiding(bytes: &[u8], fixed: &[u8]) -> bool {
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    let before: HashSet<&[u8]> = lines(bytes).collect();
    lines(fixed).filter(|line| !before.contains(line)).any(|line| {
        let text = String::from_utf8_lossy(line);
        HIDING.iter().any(|word| text.contains(word))
    })
}

/// Whether the conversation ends, but for records of ours, at a record that can be read only after the repair: it
/// shared a line with something torn. The agent then follows the branch of that record, and the branch that was the
/// conversation before stays in the file.
fn uncovers_end(bytes: &[u8], fixed: &[u8]) -> bool {
    let id = |record: &Value| record.get("uuid").or(record.get("id")).cloned();
    let parent = |record: &Value| record.get("parentUuid").or(record.get("parentId")).cloned();
    let before: Vec<Value> = records_of(bytes).filter_map(|(_, record)| id(&record)).collect();
    let text = String::from_utf8_lossy(bytes);
    let records: Vec<(&[u8], Value)> = records_of(fixed).collect();
    let mut next = None;
    for (line, record) in records.iter().rev() {
        let Some(own) = id(record).filter(|id| next.as_ref().is_none_or(|next| next == id)) else {
            continue;
        };
        if before.contains(&own) {
            return false;
        }
        // A record whose id another one has got a new one.
        let own = own.to_string();
        let line = String::from_utf8_lossy(line);
        let is_renamed = line.split_once(&own).is_some_and(|(head, tail)| {
            head.len() + tail.len() > 64 && text.contains(head) && text.contains(tail)
        });
        if text.contains(&own) || is_renamed {
            return true;
        }
        next = parent(record).filter(|parent| *parent != own);
        if next.is_none() {
            return false;
        }
    }
    false
}

/// The lines that are records.
fn records_of(bytes: &[u8]) -> impl Iterator<Item = (&[u8], Value)> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| Some((line, serde_json::from_slice(line).ok()?)))
}

fn is_real(answer: &str) -> bool {
    // The end of a placeholder may be damaged.
    let is_in = |text: &&str| answer.contains(text.trim_end_matches('.'));
    !PLACEHOLDERS.iter().chain(&STAND_INS).any(is_in)
}

/// The id of a call that had a real result and now has our placeholder. Ids that are used twice or
/// are missing prove nothing.
fn replaced(before: &[Value], after: &[Value]) -> Option<String> {
    let (old, new) = (told(before), told(after));
    let answers = |list: &[CallOrResult], id: &str, predicate: fn(&str) -> bool| {
        list.iter().any(|entry| entry.answer && entry.id == id && predicate(&entry.text))
    };
    let named = |entry: &CallOrResult| !entry.id.ends_with(' ');
    for (at, call) in old.iter().enumerate().filter(|(_, entry)| !entry.answer && named(entry)) {
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
    told(messages).iter().filter(|entry| !entry.answer && entry.id == id).count()
}

/// A call or a tool result, in any format.
struct CallOrResult {
    id: String,
    answer: bool,
    text: String,
}

fn told(messages: &[Value]) -> Vec<CallOrResult> {
    let blocks = messages.iter().flat_map(|message| {
        let list = message.get("content").or_else(|| message.get("parts"));
        let list = list.and_then(Value::as_array).cloned().unwrap_or_default();
        list.into_iter().chain([message.clone()])
    });
    blocks.filter_map(|block| one(&block)).collect()
}

fn one(block: &Value) -> Option<CallOrResult> {
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
    // In items, a call and its result must be of one family. Codex has another family for shell
    // calls.
    let family = match kind.trim_end_matches("_output") {
        family if family.ends_with("_call") => family.trim_start_matches("local_shell"),
        _ => "",
    };
    let family = if family == "_call" { "function_call" } else { family };
    Some(CallOrResult { id: format!("{family} {}", id.as_str()?), answer, text: body.to_string() })
}
