//! Judges one case.

use foxwedge_core::{
    Edit, FixApplicability, Format, OrphanPolicy, Profile, Repair, Strategy, TailPolicy,
    UnansweredPolicy, check, is_placeholder,
};
use foxwedge_formats::{OutlinedDocument, outline_options, read, text};
use serde_json::Value;

use super::{
    LONE, LawCase, LawTally, least,
    needed::needed,
    written::{ordered, still_answers},
};
use crate::{PLACEHOLDERS, inventory, lost, lost_user, violations};

pub(super) type LawVerdict = Result<(), (&'static str, String)>;

pub(super) fn breach(law: &'static str, what: impl Into<String>) -> LawVerdict {
    Err((law, what.into()))
}

/// Checks all laws on a document.
///
/// # Errors
/// The name of the first broken law, and what was observed.
pub fn judge(case: &LawCase, document: &str, tally: &mut LawTally) -> LawVerdict {
    let options = case.question();
    let Ok(source) = text(document.as_bytes()) else { return Ok(()) };
    let reading = match read(source, case.wire, outline_options(case.profile)) {
        Ok(reading) => reading,
        Err(_) => {
            tally.unreadable += 1;
            return Ok(());
        }
    };
    let report = check(&reading.draft, &options);
    for finding in &report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    // The oracle reads with serde_json, which rejects lone surrogates. With them FW313 is expected,
    // and everything else is judged without them.
    let lone = document.contains(LONE);
    let value: Value = match serde_json::from_str(&document.replace(LONE, "\\ufffd")) {
        Ok(value) => value,
        Err(error) => {
            return breach("total", format!("the scanner takes what serde_json refuses: {error}"));
        }
    };
    let pending = case.policy.tail == TailPolicy::Pending;
    let judged = violations(case.wire.name(), case.profile.name(), pending, &value);
    if report.is_clean() != (judged.is_empty() && !lone) {
        let found: Vec<_> =
            report.findings.iter().map(|f| format!("FW{} {}", f.rule.code, f.message)).collect();
        return breach("agreement", format!("engine {found:?}\noracle {judged:?}"));
    }
    let (patched, repair) = reading.fix(&options);
    for edit in &repair.edits {
        *tally.repairs.entry(edit.strategy.name()).or_default() += 1;
    }
    let fixed = patched.to_string();
    if report.is_clean() {
        tally.sound += 1;
        if fixed != source || !repair.is_untouched() {
            return breach("untouched", format!("{:?}", repair.edits));
        }
        return Ok(());
    }
    sound(case, &fixed, &repair.edits)?;
    leaves_whole(&repair, &fixed)?;
    deterministic(case, document, &fixed)?;
    if !reading.draft.messages.is_empty() && repair.messages.is_empty() && !repair.is_untouched() {
        return breach("conserving", format!("nothing is left\nedits {:?}", &*repair.edits));
    }
    if case.policy.unanswered == UnansweredPolicy::Answer
        && case.policy.orphans == OrphanPolicy::Quote
    {
        conserving(case, &value, &fixed)?;
        ordered(case, &value, &fixed)?;
    }
    least::minimal(case, &reading, &repair, &fixed)?;
    needed(case, &reading, &repair, &value, &fixed)?;
    honest(case, &value, &fixed)?;
    prefix_stable(case, &reading, &value)
}

fn sound(case: &LawCase, fixed: &str, edits: &[foxwedge_core::Edit]) -> LawVerdict {
    let options = case.question();
    let value: Value = match serde_json::from_str(fixed) {
        Ok(value) => value,
        Err(error) => return breach("sound", format!("not JSON any more: {error}\n{fixed}")),
    };
    let pending = case.policy.tail == TailPolicy::Pending;
    let mut left = violations(case.wire.name(), case.profile.name(), pending, &value);
    left.retain(|violation| !violation.may_stay);
    if !left.is_empty() {
        return breach("sound", format!("oracle {left:?}\nedits {edits:?}\nafter {fixed}"));
    }
    let again = match read(fixed, case.wire, outline_options(case.profile)) {
        Ok(reading) => reading,
        Err(error) => return breach("sound", format!("unreadable after repair: {error}\n{fixed}")),
    };
    let report = check(&again.draft, &options);
    let open = report.findings.iter().filter(|f| f.fix.applicability != FixApplicability::None);
    let open: Vec<_> = open.map(|f| format!("FW{} {}", f.rule.code, f.message)).collect();
    if !open.is_empty() {
        return breach("sound", format!("engine {open:?}\nafter {fixed}"));
    }
    let (twice, repair) = again.fix(&options);
    if twice.to_string() != fixed {
        return breach("idempotent", format!("{:?}\nonce {fixed}\ntwice {twice}", repair.edits));
    }
    Ok(())
}

/// A repair separates no call of the provider from its result, and puts nothing behind a trigger.
/// Only a quoted result ends a call in flight, because it is text of the user.
fn leaves_whole(repair: &Repair<'_>, fixed: &str) -> LawVerdict {
    if repair.edits.iter().any(|edit| edit.strategy == Strategy::Quote) {
        return Ok(());
    }
    for code in [601, 602, 605] {
        let (before, after) = (repair.before.counts.of(code), repair.after.counts.of(code));
        if after > before {
            let edits = &*repair.edits;
            return breach("whole", format!("FW{code}: {before}, {after}\n{edits:#?}\n{fixed}"));
        }
    }
    Ok(())
}

fn deterministic(case: &LawCase, document: &str, fixed: &str) -> LawVerdict {
    let Ok(reading) = read(document, case.wire, outline_options(case.profile)) else {
        return Ok(());
    };
    let (again, _) = reading.fix(&case.question());
    if again.to_string() == fixed { Ok(()) } else { breach("deterministic", again.to_string()) }
}

/// No user text and no real tool result is lost.
fn conserving(case: &LawCase, before: &Value, fixed: &str) -> LawVerdict {
    let mut expected = inventory(case.wire.name(), before);
    expected
        .answers
        .retain(|answer| !PLACEHOLDERS.iter().any(|placeholder| answer.contains(placeholder)));
    let Ok(after) = serde_json::from_str::<Value>(fixed) else { return Ok(()) };
    let missing = lost(case.wire.name(), &expected, &after);
    if !missing.is_empty() {
        return breach("conserving", format!("lost {missing:?}\nafter {fixed}"));
    }
    still_answers(case, before, &after)?;
    let format = case.wire.name();
    if lost_user(format, before, &after) {
        return breach("conserving", format!("nobody asks anything any more\nafter {fixed}"));
    }
    Ok(())
}

/// Signed thinking that stays has exactly the same history before it.
pub(super) fn honest(case: &LawCase, before: &Value, fixed: &str) -> LawVerdict {
    let binds = matches!(case.profile, Profile::Anthropic | Profile::Bedrock | Profile::Strict);
    if case.wire != Format::Anthropic || !binds || names_older_model(before) {
        return Ok(());
    }
    let Ok(after) = serde_json::from_str::<Value>(fixed) else { return Ok(()) };
    let (old, new) = (messages(before), messages(&after));
    for (at, message) in new.iter().enumerate() {
        let Some(blocks) = message.get("content").and_then(Value::as_array) else { continue };
        for (index, block) in blocks.iter().enumerate() {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or("");
            let seal = ["signature", "data"].iter().find_map(|key| block.get(*key)?.as_str());
            let signed = seal.is_some_and(|seal| !seal.is_empty());
            if !signed || kind != "thinking" && kind != "redacted_thinking" {
                continue;
            }
            let same = old.get(..at) == new.get(..at)
                && old.get(at).and_then(|m| m.get("content")?.as_array()?.get(..index))
                    == blocks.get(..index);
            if !same {
                return breach(
                    "honest",
                    format!("thinking at [{at}].content[{index}] over a changed past\n{fixed}"),
                );
            }
        }
    }
    Ok(())
}

fn names_older_model(document: &Value) -> bool {
    let model = document.get("model").and_then(Value::as_str).unwrap_or("");
    ["claude-3", "claude-sonnet-4", "claude-opus-4", "claude-haiku-4"]
        .iter()
        .any(|old| model.contains(old))
}

pub(super) fn messages(document: &Value) -> &[Value] {
    let list = match document {
        Value::Object(object) => {
            ["messages", "input", "contents"].iter().find_map(|key| object.get(*key))
        }
        other => Some(other),
    };
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The repair of a longer history begins with the repair of its prefix, up to the turn that was
/// open at the end of the prefix.
fn prefix_stable(case: &LawCase, reading: &OutlinedDocument<'_>, document: &Value) -> LawVerdict {
    let list = messages(document);
    if document.is_object() || list.len() < 4 || !stable_input(case, reading, list) {
        return Ok(());
    }
    let cut = list.len() / 2;
    let options = case.question();
    // If all user messages are empty, which of them is filled depends on all of them.
    let fills = |edit: &Edit| matches!(edit.code, 301 | 308) && edit.strategy == Strategy::Recode;
    let fix = |list: &[Value]| -> Option<Vec<Value>> {
        let text = Value::Array(list.to_vec()).to_string();
        let reading = read(&text, case.wire, outline_options(case.profile)).ok()?;
        let (patched, repair) = reading.fix(&options);
        if repair.edits.iter().any(fills) {
            return None;
        }
        serde_json::from_str::<Value>(&patched.to_string()).ok()?.as_array().cloned()
    };
    let (Some(head), Some(whole)) = (fix(&list[..cut]), fix(list)) else { return Ok(()) };
    // The open turn: the last assistant run of the prefix and everything after it.
    let kinds = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("");
        let kind = message.get("type").and_then(Value::as_str).unwrap_or("");
        role == "assistant" || role == "model" || kind.ends_with("_call") || kind == "reasoning"
    };
    let last = head.iter().rposition(kinds).map_or(0, |last| {
        head[..last].iter().rposition(|message| !kinds(message)).map_or(0, |at| at + 1)
    });
    let closed = last.saturating_sub(1);
    if head.get(..closed) != whole.get(..closed) {
        return breach(
            "prefix-stable",
            format!(
                "cut {cut} closed {closed}\nhead  {}\nwhole {}",
                Value::Array(head),
                Value::Array(whole)
            ),
        );
    }
    Ok(())
}

/// Exceptions: late results, results before their call, and fields that enable a rule for the whole
/// history. With these, later messages may change earlier ones.
fn stable_input(case: &LawCase, reading: &OutlinedDocument<'_>, list: &[Value]) -> bool {
    use foxwedge_core::{AnswerShape, PartKind, ResultMatch};
    let pairing = foxwedge_core::pair_calls(&reading.draft);
    let cut = list.len() / 2;
    let crosses = |at: usize, call: usize| (pairing.calls[call].message() < cut) != (at < cut);
    let late = pairing.answers.iter().any(|answer| match answer.result_match() {
        ResultMatch::Duplicate(call) => crosses(answer.message(), call),
        // Its call may not be found because of something between them that the repair removes.
        ResultMatch::Orphan => pairing.calls.iter().any(|call| {
            let id = |part: usize| reading.draft.parts[part].kind.id();
            (call.message() < cut) != (answer.message() < cut)
                && id(call.part()).is_some_and(|own| id(answer.part()) == Some(own))
        }),
        other => other.call().is_some_and(|call| crosses(answer.message(), call)),
    });
    // A real result replaces an empty one or a placeholder, at any position.
    let answers = |side: bool| {
        let answers = pairing.answers.iter().filter(move |answer| (answer.message() < cut) == side);
        answers.map(|answer| &reading.draft.parts[answer.part()].kind)
    };
    let silent = |kind: &&PartKind<'_>| match kind {
        PartKind::Answer(answer) => {
            let content = answer.content.of(reading.draft.source);
            answer.output != AnswerShape::Full || is_placeholder(content)
        }
        _ => false,
    };
    let mut silent = answers(true).filter(silent).filter_map(PartKind::id);
    let late = late || silent.any(|id| answers(false).any(|kind| kind.id() == Some(id)));
    let switches = matches!(case.profile, Profile::Deepseek | Profile::Gemini);
    // Something unknown keeps its whole turn as it is, also what is before it.
    let unknown = &pairing.unknown_turns;
    let crosses_unknown =
        unknown.iter().any(|turn| turn.start < cut) && unknown.iter().any(|turn| turn.end > cut);
    !late
        && !crosses_unknown
        && !switches
        && !reading.draft.body.stateful
        && case.policy.unanswered == UnansweredPolicy::Answer
        && case.policy.tail == TailPolicy::Dead
}
