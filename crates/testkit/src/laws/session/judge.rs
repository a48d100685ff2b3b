//! Judges one session file.

use foxwedge_core::{
    CheckOptions, FixApplicability, OrphanPolicy, Report, TailPolicy, UnansweredPolicy, check,
};
use foxwedge_dialect::{
    outline_options,
    session::{SessionAgent, read, readable_text},
};
use serde_json::Value;

use super::{bystanders, conserving, ordinals};
use crate::{
    SessionFile, View,
    laws::{Case, Tally},
    plain_walk, session_view, told, violations,
};

/// The name of a broken law, and what was seen.
pub type Verdict = Result<(), (&'static str, String)>;

pub(super) fn breach(law: &'static str, what: impl Into<String>) -> Verdict {
    Err((law, what.into()))
}

/// What the engine made of a file.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What is wrong with it.
    pub report: Report,
    /// The conversation; in Anthropic's format contents are lists.
    pub history: Vec<Value>,
    /// The file after the repair.
    pub fixed: Vec<u8>,
    /// There was nothing to repair.
    pub untouched: bool,
    /// Nothing is left of the conversation.
    pub emptied: bool,
    /// What was done, as told.
    pub edits: Vec<String>,
    /// Blocks of reasoning that the repair says it took out.
    thinking_removed: usize,
    strategies: Vec<&'static str>,
}

/// Reads a file, tells it, and repairs it.
///
/// # Errors
/// What the reader says about a file that it does not take.
pub fn see(agent: SessionAgent, question: &CheckOptions, bytes: &[u8]) -> Result<Seen, String> {
    let text = readable_text(bytes).map_err(|error| error.to_string())?;
    let session =
        read(&text, agent, outline_options(question.profile)).map_err(|error| error.to_string())?;
    let report = check(session.draft(), question);
    let history: Value = serde_json::from_str(&session.history())
        .map_err(|error| format!("the history is no JSON: {error}"))?;
    let (rewritten, repair) = session.fix(question);
    let mut fixed = Vec::new();
    rewritten.write_to(&mut fixed).map_err(|error| error.to_string())?;
    let edits = repair
        .edits
        .iter()
        .map(|edit| format!("FW{} {}: {}", edit.code, edit.strategy.name(), edit.note));
    Ok(Seen {
        report,
        history: told(agent.wire().name(), history.as_array().map_or(&[], Vec::as_slice)),
        fixed,
        untouched: repair.is_untouched(),
        emptied: !repair.is_untouched() && repair.messages.is_empty(),
        edits: edits.collect(),
        thinking_removed: repair.losses(session.draft()).thinking_blocks_removed,
        strategies: repair.edits.iter().map(|edit| edit.strategy.name()).collect(),
    })
}

/// Only repairs it.
///
/// # Errors
/// As [`see`].
pub(super) fn repaired(
    agent: SessionAgent,
    question: &CheckOptions,
    bytes: &[u8],
) -> Result<Vec<u8>, String> {
    let text = readable_text(bytes).map_err(|error| error.to_string())?;
    let session =
        read(&text, agent, outline_options(question.profile)).map_err(|error| error.to_string())?;
    let mut fixed = Vec::new();
    let written = session.fix(question).0.write_to(&mut fixed);
    written.map(|()| fixed).map_err(|error| error.to_string())
}

/// What must hold for a file because we know how it was made.
pub(super) fn generated(
    case: &Case,
    agent: SessionAgent,
    file: &SessionFile,
    tally: &mut Tally,
) -> Verdict {
    let Ok(seen) = see(agent, &case.question(), &file.bytes) else { return Ok(()) };
    if let Some(truth) = &file.truth
        && seen.history != *truth
    {
        return breach("truth", differ("history", &seen.history, "truth", truth));
    }
    if file.sound {
        tally.sound += 1;
        if !seen.report.is_clean() {
            return breach("harmless", format!("{:?}", shown(&seen.report)));
        }
    }
    Ok(())
}

/// Whether all laws hold for a file; the first that does not is named.
///
/// # Errors
/// The name of the broken law, and what was seen.
pub fn judge(case: &Case, agent: SessionAgent, bytes: &[u8], tally: &mut Tally) -> Verdict {
    let question = case.question();
    let seen = match see(agent, &question, bytes) {
        Ok(seen) => seen,
        Err(_) => {
            tally.unreadable += 1;
            return Ok(());
        }
    };
    for finding in &seen.report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    for kind in &seen.strategies {
        *tally.repairs.entry(kind).or_default() += 1;
    }
    let before = session_view(agent.name(), bytes);
    if flaws(&seen.report).is_empty() {
        agreement(case, &seen, &before)?;
    }
    if seen.report.is_clean() || seen.untouched {
        if seen.fixed != bytes {
            return breach("untouched", shown_bytes(&seen.fixed));
        }
        if seen.report.is_clean() {
            return Ok(());
        }
    }
    sound(case, agent, &seen)?;
    let again = see(agent, &question, bytes);
    if again.is_ok_and(|again| again.fixed != seen.fixed) {
        return breach("deterministic", shown_bytes(&seen.fixed));
    }
    let after = session_view(agent.name(), &seen.fixed);
    if case.policy.unanswered == UnansweredPolicy::Answer
        && case.policy.orphans == OrphanPolicy::Quote
    {
        conserving::judge(case, &before, &after, &seen)?;
    }
    thinking(agent, bytes, &seen)?;
    bystanders::judge(agent, &before, bytes, &seen)?;
    ordinals::judge(agent, bytes, &seen)?;
    reached(agent, &before, &after, &seen)
}

/// Engine and oracle tell the same, and think the same of it.
fn agreement(case: &Case, seen: &Seen, view: &View) -> Verdict {
    let told = told(case.wire.name(), &view.messages);
    if seen.history != told {
        return breach("same view", differ("engine", &seen.history, "oracle", &told));
    }
    let judged = complaints(case, view);
    if seen.report.is_clean() != judged.is_empty() {
        return breach("agreement", format!("engine {:?}\noracle {judged:?}", shown(&seen.report)));
    }
    Ok(())
}

/// What the oracle says against a view, by the rules that are asked for.
fn complaints(case: &Case, view: &View) -> Vec<String> {
    let (question, pending) = (case.question(), case.policy.tail == TailPolicy::Pending);
    let messages = view.messages.iter().map(|message| as_sent(case, message)).collect();
    let judged = violations(case.wire.name(), case.profile.name(), pending, &messages);
    let asked = judged.into_iter().filter(|violation| question.rules.has(violation.code));
    asked.map(|violation| format!("FW{} {}", violation.code, violation.at)).collect()
}

/// Codex answers its shell calls like any other, so they are judged like any other.
fn as_sent(case: &Case, message: &Value) -> Value {
    let shell = message["type"] == "local_shell_call" && case.agent == Some(SessionAgent::Codex);
    match shell {
        true => {
            let id = [&message["call_id"], &message["id"]].into_iter().find(|id| !id.is_null());
            serde_json::json!({"type": "function_call", "call_id": id,
                "name": "shell", "arguments": "{}"})
        }
        false => message.clone(),
    }
}

/// Nothing is left to repair, and repairing again changes nothing.
pub(super) fn sound(case: &Case, agent: SessionAgent, seen: &Seen) -> Verdict {
    let question = case.question();
    let after = |what: String| {
        format!("{what}\nedits {:?}\nafter\n{}", seen.edits, shown_bytes(&seen.fixed))
    };
    // In a file without a message no line is missed.
    let told = !seen.untouched && !seen.history.is_empty();
    if told && !is_whole(agent, &seen.fixed) {
        return breach("sound", after("it is not JSON".to_owned()));
    }
    let again = match see(agent, &question, &seen.fixed) {
        Ok(again) => again,
        Err(error) => return breach("sound", after(format!("unreadable: {error}"))),
    };
    if seen.emptied {
        // Only a file that told nothing before may tell nothing now.
        return match seen.history.is_empty() {
            true => Ok(()),
            false => breach("conserving", after("nothing is left".to_owned())),
        };
    }
    let open = again.report.findings.iter();
    let open = open.filter(|finding| finding.fix.applicability != FixApplicability::None);
    let open: Vec<String> =
        open.map(|finding| format!("FW{} {}", finding.rule.code, finding.message)).collect();
    if !open.is_empty() {
        return breach("sound", after(format!("engine {open:?}")));
    }
    let mut left = complaints(case, &session_view(agent.name(), &seen.fixed));
    left.retain(|left| !left.starts_with("FW314"));
    if !left.is_empty() {
        return breach("sound", after(format!("oracle {left:?}")));
    }
    if again.fixed != seen.fixed {
        let twice = format!("{:?}\ntwice\n{}", again.edits, shown_bytes(&again.fixed));
        return breach("idempotent", after(twice));
    }
    Ok(())
}

/// The report says how much reasoning is gone.
fn thinking(agent: SessionAgent, bytes: &[u8], seen: &Seen) -> Verdict {
    if agent != SessionAgent::ClaudeCode || seen.emptied || !flaws(&seen.report).is_empty() {
        return Ok(());
    }
    let count = |bytes: &[u8]| -> usize {
        let records = bytes.split(|byte| *byte == b'\n').map(serde_json::from_slice::<Value>);
        let contents = records.flatten().map(|record| record["message"]["content"].clone());
        let blocks = contents.flat_map(|content| content.as_array().cloned().unwrap_or_default());
        let kinds = ["thinking", "redacted_thinking"];
        blocks.filter(|block| kinds.iter().any(|kind| block["type"] == *kind)).count()
    };
    let gone = count(bytes).saturating_sub(count(&seen.fixed));
    if gone == seen.thinking_removed {
        return Ok(());
    }
    let told = format!("{gone} gone, {} told\nedits {:?}", seen.thinking_removed, seen.edits);
    breach("honest", format!("{told}\nafter\n{}", shown_bytes(&seen.fixed)))
}

/// Whether a file, or every line of it, is JSON and nothing else.
fn is_whole(agent: SessionAgent, bytes: &[u8]) -> bool {
    let parses = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).is_ok();
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    match agent {
        SessionAgent::Cline => parses(bytes),
        _ => parses(bytes) || lines.all(parses),
    }
}

/// A plain walk over parents reaches every record of a turn that was repaired.
fn reached(agent: SessionAgent, before: &View, after: &View, seen: &Seen) -> Verdict {
    let Some(walk) = plain_walk(agent.name(), &seen.fixed) else { return Ok(()) };
    for at in 0..after.messages.len() {
        let Some(pair) = after.messages.get(at..at + 2) else { break };
        let pair = turn(pair);
        let same = |list: &[Value]| list.windows(2).any(|old| turn(old) == pair);
        let reply = pair[0]["role"] == "assistant";
        // What was not repaired is left to agents that look beside the path.
        let left =
            agent == SessionAgent::ClaudeCode && (same(&before.messages) || same(&seen.history));
        if !reply || left {
            continue;
        }
        let lines: Vec<usize> = after.lines[at..at + 2].concat();
        if lines.iter().any(|line| after.carried.contains(line)) {
            continue;
        }
        if let Some(line) = lines.iter().find(|line| !walk.contains(line)) {
            let fixed = shown_bytes(&seen.fixed);
            return breach(
                "reached",
                format!(
                    "line {} of message {at} is not on the way {walk:?}\nedits {:?}\nafter\n{fixed}",
                    line + 1,
                    seen.edits
                ),
            );
        }
    }
    Ok(())
}

/// A reply and the answers behind it.
fn turn(pair: &[Value]) -> Vec<Value> {
    let mut turn = told("anthropic", pair);
    for list in turn.iter_mut().skip(1).filter_map(|user| user["content"].as_array_mut()) {
        list.retain(|block| block["type"] == "tool_result");
    }
    turn
}

/// Findings about links and lines.
pub(super) fn flaws(report: &Report) -> Vec<String> {
    let flaws = report.findings.iter().filter(|finding| finding.rule.code >= 700);
    flaws.map(|finding| format!("FW{} {}", finding.rule.code, finding.message)).collect()
}

fn shown(report: &Report) -> Vec<String> {
    let all = report.findings.iter();
    all.map(|finding| format!("FW{} {}", finding.rule.code, finding.message)).collect()
}

pub(super) fn shown_bytes(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two lists, from the first message in which they differ.
fn differ(one: &str, left: &[Value], two: &str, right: &[Value]) -> String {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let rest = |list: &[Value]| Value::Array(list.get(same..).unwrap_or(&[]).to_vec());
    format!("they differ from message {same}\n{one} {}\n{two} {}", rest(left), rest(right))
}
