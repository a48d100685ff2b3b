//! Judges one session file.

use foxwedge_core::{
    CheckOptions, FixApplicability, OrphanPolicy, Report, TailPolicy, UnansweredPolicy, check,
};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{SessionAgent, read, readable_text};
use serde_json::Value;

use super::{bystanders, conserving, ordinals};
use crate::{
    RuleViolation, SessionConversation, SessionFile,
    laws::{LawCase, LawTally},
    plain_walk, session_view, told, violations, violations_in_rows,
};

/// The name of a broken law, and what was observed.
pub type SessionVerdict = Result<(), (&'static str, String)>;

pub(super) fn breach(law: &'static str, what: impl Into<String>) -> SessionVerdict {
    Err((law, what.into()))
}

/// The result of reading and repairing a file.
#[derive(Clone, Debug)]
pub struct RepairedSession {
    /// Findings of the check.
    pub report: Report,
    /// The conversation. In Anthropic's format all contents are lists.
    pub history: Vec<Value>,
    /// The file after the repair.
    pub fixed: Vec<u8>,
    /// There was nothing to repair.
    pub untouched: bool,
    /// Nothing is left of the conversation.
    pub emptied: bool,
    /// The edits, as text.
    pub edits: Vec<String>,
    /// Number of reasoning blocks that the repair reports as removed.
    thinking_removed: usize,
    strategies: Vec<&'static str>,
}

/// Reads a file, extracts its conversation, and repairs it.
///
/// # Errors
/// The error of the reader, if it rejects the file.
pub fn see(
    agent: SessionAgent,
    options: &CheckOptions,
    bytes: &[u8],
) -> Result<RepairedSession, String> {
    let text = readable_text(bytes).map_err(|error| error.to_string())?;
    let session =
        read(&text, agent, outline_options(options.profile)).map_err(|error| error.to_string())?;
    let report = check(session.draft(), options);
    let history: Value = serde_json::from_str(&session.history())
        .map_err(|error| format!("the history is no JSON: {error}"))?;
    let (rewritten, repair) = session.fix(options);
    let mut fixed = Vec::new();
    rewritten.write_to(&mut fixed).map_err(|error| error.to_string())?;
    let edits = repair
        .edits
        .iter()
        .map(|edit| format!("FW{} {}: {}", edit.code, edit.strategy.name(), edit.note));
    Ok(RepairedSession {
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

/// Only repairs a file.
///
/// # Errors
/// As [`see`].
pub(super) fn repaired(
    agent: SessionAgent,
    options: &CheckOptions,
    bytes: &[u8],
) -> Result<Vec<u8>, String> {
    let text = readable_text(bytes).map_err(|error| error.to_string())?;
    let session =
        read(&text, agent, outline_options(options.profile)).map_err(|error| error.to_string())?;
    let mut fixed = Vec::new();
    let result = session.fix(options).0.write_to(&mut fixed);
    result.map(|()| fixed).map_err(|error| error.to_string())
}

/// Checks what is known from the generation of a file.
pub(super) fn generated(
    case: &LawCase,
    agent: SessionAgent,
    file: &SessionFile,
    tally: &mut LawTally,
) -> SessionVerdict {
    let Ok(session) = see(agent, &case.question(), &file.bytes) else { return Ok(()) };
    if let Some(truth) = &file.truth
        && session.history != *truth
    {
        return breach("truth", differ("history", &session.history, "truth", truth));
    }
    if file.sound {
        tally.sound += 1;
        if !session.report.is_clean() {
            return breach("harmless", format!("{:?}", shown(&session.report)));
        }
    }
    Ok(())
}

/// Checks all laws on a file.
///
/// # Errors
/// The name of the first broken law, and what was observed.
pub fn judge(
    case: &LawCase,
    agent: SessionAgent,
    bytes: &[u8],
    tally: &mut LawTally,
) -> SessionVerdict {
    let options = case.question();
    let session = match see(agent, &options, bytes) {
        Ok(session) => session,
        Err(_) => {
            tally.unreadable += 1;
            return Ok(());
        }
    };
    for finding in &session.report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    for kind in &session.strategies {
        *tally.repairs.entry(kind).or_default() += 1;
    }
    let before = session_view(agent.name(), bytes);
    if flaws(&session.report).is_empty() {
        agreement(case, &session, &before)?;
    }
    if session.report.is_clean() || session.untouched {
        if session.fixed != bytes {
            return breach("untouched", shown_bytes(&session.fixed));
        }
        if session.report.is_clean() {
            return Ok(());
        }
    }
    sound(case, agent, &session)?;
    let again = see(agent, &options, bytes);
    if again.is_ok_and(|again| again.fixed != session.fixed) {
        return breach("deterministic", shown_bytes(&session.fixed));
    }
    let after = session_view(agent.name(), &session.fixed);
    if case.policy.unanswered == UnansweredPolicy::Answer
        && case.policy.orphans == OrphanPolicy::Quote
    {
        conserving::judge(case, bytes, &before, &after, &session)?;
    }
    thinking(agent, bytes, &session)?;
    bystanders::judge(agent, &before, bytes, &session)?;
    ordinals::judge(agent, bytes, &session)?;
    reached(agent, &before, &after, &session)
}

/// Engine and oracle read the same conversation and agree on whether it is valid.
fn agreement(
    case: &LawCase,
    session: &RepairedSession,
    conversation: &SessionConversation,
) -> SessionVerdict {
    let expected = told(case.wire.name(), &conversation.messages);
    if session.history != expected {
        return breach("same view", differ("engine", &session.history, "oracle", &expected));
    }
    let judged = complaints(case, conversation);
    if session.report.is_clean() != judged.is_empty() {
        return breach(
            "agreement",
            format!("engine {:?}\noracle {judged:?}", shown(&session.report)),
        );
    }
    Ok(())
}

/// What the oracle finds in a conversation, for the rules that are enabled.
fn complaints(case: &LawCase, conversation: &SessionConversation) -> Vec<RuleViolation> {
    let options = case.question();
    let pending = case.policy.tail == TailPolicy::Pending || conversation.deferred;
    let messages = conversation.messages.iter().map(|message| as_sent(case, message)).collect();
    let in_rows = case.agent.is_some_and(SessionAgent::is_in_database);
    let judge = if in_rows { violations_in_rows } else { violations };
    let judged = judge(case.wire.name(), case.profile.name(), pending, &messages);
    judged.into_iter().filter(|violation| options.rules.has(violation.code)).collect()
}

/// Codex answers its shell calls like all others, so they are judged like all others.
fn as_sent(case: &LawCase, message: &Value) -> Value {
    let shell = message["type"] == "local_shell_call" && case.agent == Some(SessionAgent::Codex);
    match shell {
        true => {
            let mut ids = [&message["call_id"], &message["id"]].into_iter();
            let id = ids.find(|id| id.as_str().is_some_and(|id| !id.is_empty()));
            serde_json::json!({"type": "function_call", "call_id": id,
                "name": "shell", "arguments": "{}"})
        }
        false => message.clone(),
    }
}

/// Nothing is left to repair, and a second repair changes nothing.
pub(super) fn sound(
    case: &LawCase,
    agent: SessionAgent,
    session: &RepairedSession,
) -> SessionVerdict {
    let options = case.question();
    let after = |what: String| {
        format!("{what}\nedits {:?}\nafter\n{}", session.edits, shown_bytes(&session.fixed))
    };
    // In a file without a message no line can be missing.
    let has_messages = !session.untouched && !session.history.is_empty();
    if has_messages && !is_whole(agent, &session.fixed) {
        return breach("sound", after("it is not JSON".to_owned()));
    }
    let again = match see(agent, &options, &session.fixed) {
        Ok(again) => again,
        Err(error) => return breach("sound", after(format!("unreadable: {error}"))),
    };
    if session.emptied {
        // Only a conversation that was empty before may be empty now.
        return match session.history.is_empty() {
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
    let mut left = complaints(case, &session_view(agent.name(), &session.fixed));
    left.retain(|left| !left.may_stay);
    if !left.is_empty() {
        return breach("sound", after(format!("oracle {left:?}")));
    }
    if again.fixed != session.fixed {
        let twice = format!("{:?}\ntwice\n{}", again.edits, shown_bytes(&again.fixed));
        return breach("idempotent", after(twice));
    }
    Ok(())
}

/// The report counts the removed reasoning correctly.
fn thinking(agent: SessionAgent, bytes: &[u8], session: &RepairedSession) -> SessionVerdict {
    if agent != SessionAgent::ClaudeCode || session.emptied || !flaws(&session.report).is_empty() {
        return Ok(());
    }
    let count = |bytes: &[u8]| -> usize {
        let records = bytes.split(|byte| *byte == b'\n').map(serde_json::from_slice::<Value>);
        let contents = records.flatten().map(|record| record["message"]["content"].clone());
        let blocks = contents.flat_map(|content| content.as_array().cloned().unwrap_or_default());
        let kinds = ["thinking", "redacted_thinking"];
        blocks.filter(|block| kinds.iter().any(|kind| block["type"] == *kind)).count()
    };
    let removed = count(bytes).saturating_sub(count(&session.fixed));
    if removed == session.thinking_removed {
        return Ok(());
    }
    let summary =
        format!("{removed} gone, {} told\nedits {:?}", session.thinking_removed, session.edits);
    breach("honest", format!("{summary}\nafter\n{}", shown_bytes(&session.fixed)))
}

/// Whether a file, or every line of it, is valid JSON.
fn is_whole(agent: SessionAgent, bytes: &[u8]) -> bool {
    let parses = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).is_ok();
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    match agent {
        SessionAgent::Cline => parses(bytes),
        _ => parses(bytes) || lines.all(parses),
    }
}

/// Following the parents reaches every record of a repaired turn.
fn reached(
    agent: SessionAgent,
    before: &SessionConversation,
    after: &SessionConversation,
    session: &RepairedSession,
) -> SessionVerdict {
    let Some(walk) = plain_walk(agent.name(), &session.fixed) else { return Ok(()) };
    for at in 0..after.messages.len() {
        let Some(pair) = after.messages.get(at..at + 2) else { break };
        let pair = turn(pair);
        let same = |list: &[Value]| list.windows(2).any(|old| turn(old) == pair);
        let reply = pair[0]["role"] == "assistant" || pair[0]["role"] == "model";
        // Turns that were not repaired are left to agents that also look beside the path.
        let left =
            agent == SessionAgent::ClaudeCode && (same(&before.messages) || same(&session.history));
        if !reply || left {
            continue;
        }
        let lines: Vec<usize> = after.lines[at..at + 2].concat();
        if lines.iter().any(|line| after.carried.contains(line)) {
            continue;
        }
        if let Some(line) = lines.iter().find(|line| !walk.contains(line)) {
            let fixed = shown_bytes(&session.fixed);
            return breach(
                "reached",
                format!(
                    "line {} of message {at} is not on the way {walk:?}\nedits {:?}\nafter\n{fixed}",
                    line + 1,
                    session.edits
                ),
            );
        }
    }
    Ok(())
}

/// A reply and the tool results after it.
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

/// Describes two lists from the first message in which they differ.
fn differ(one: &str, left: &[Value], two: &str, right: &[Value]) -> String {
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let rest = |list: &[Value]| Value::Array(list.get(same..).unwrap_or(&[]).to_vec());
    format!("they differ from message {same}\n{one} {}\n{two} {}", rest(left), rest(right))
}
