//! What the integration tests of this crate share: ask the engine, ask the oracle, compare.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use foxwedge_core::{
    CheckOptions, Finding, FixApplicability, Format, Policy, Profile, Report, RuleSet,
    UnansweredPolicy, check,
};
use foxwedge_formats::{outline_options, read, text};
use foxwedge_testkit::{RuleViolation, laws::LawTally, violations};
use serde_json::Value;

/// What a repair gave.
#[derive(Debug)]
pub(crate) struct Fixed {
    /// What was wrong before.
    pub(crate) before: Report,
    /// What was done.
    pub(crate) edits: foxwedge_core::EditLog,
    /// The new document.
    pub(crate) text: String,
}

impl Fixed {
    /// The new document as a value.
    pub(crate) fn value(&self) -> Value {
        value(&self.text)
    }

    /// The messages of the new document, wherever they stand.
    pub(crate) fn list(&self) -> Vec<Value> {
        list(&self.value())
    }

    /// The rules that were broken, each once, in order.
    pub(crate) fn codes(&self) -> Vec<u16> {
        codes(&self.before)
    }
}

/// Every rule of a profile, with repairs that speak for the user allowed.
pub(crate) fn bold(profile: Profile) -> CheckOptions {
    asked(profile, Policy { allow_unsafe: true, ..Policy::default() })
}

/// Every rule of a profile under a policy.
pub(crate) fn asked(profile: Profile, policy: Policy) -> CheckOptions {
    CheckOptions { profile, rules: RuleSet::of(profile), policy }
}

/// The three ways to treat calls that nobody answered.
pub(crate) const WAYS: [UnansweredPolicy; 3] =
    [UnansweredPolicy::Answer, UnansweredPolicy::DropTurn, UnansweredPolicy::DropCall];

/// Every rule of a profile, with one way to treat unanswered calls.
pub(crate) fn way(profile: Profile, unanswered: UnansweredPolicy) -> CheckOptions {
    asked(profile, Policy { unanswered, allow_unsafe: true, ..Policy::default() })
}

/// What the engine finds.
pub(crate) fn report(wire: Format, question: &CheckOptions, document: &str) -> Report {
    let source = text(document.as_bytes()).expect("a test document is text");
    let reading = read(source, wire, outline_options(question.profile))
        .unwrap_or_else(|error| panic!("{error}\n{document}"));
    check(&reading.draft, question)
}

/// What the engine makes of it.
pub(crate) fn fixed(wire: Format, question: &CheckOptions, document: &str) -> Fixed {
    let source = text(document.as_bytes()).expect("a test document is text");
    let reading = read(source, wire, outline_options(question.profile))
        .unwrap_or_else(|error| panic!("{error}\n{document}"));
    let (patched, repair) = reading.fix(question);
    Fixed { before: repair.before, edits: repair.edits, text: patched.to_string() }
}

/// What the oracle finds.
pub(crate) fn judged(wire: Format, question: &CheckOptions, document: &str) -> Vec<RuleViolation> {
    let pending = question.policy.tail == foxwedge_core::TailPolicy::Pending;
    violations(wire.name(), question.profile.name(), pending, &value(document))
}

/// What is wrong with a repaired document in the eyes of the engine, of the oracle, and of a
/// second repair; nothing, if all is well.
pub(crate) fn complaints(wire: Format, question: &CheckOptions, document: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if let Err(error) = serde_json::from_str::<Value>(document) {
        complaints.push(format!("no JSON any more: {error}"));
        return complaints;
    }
    let left = report(wire, question, document);
    let left = left.findings.iter().filter(|f| f.fix.applicability != FixApplicability::None);
    complaints.extend(left.map(|f| format!("the engine still finds {}", shown(f))));
    // An empty history, an unknown block and an open program have no repair; see their pages.
    let left = judged(wire, question, document).into_iter().filter(|v| !v.may_stay);
    complaints.extend(left.map(|v| format!("the oracle still finds FW{} {}", v.code, v.at)));
    let again = fixed(wire, question, document);
    if again.text != document || !again.edits.is_empty() {
        complaints.push(format!("a second repair changes it: {:?}\n{}", again.edits, again.text));
    }
    complaints
}

/// Repairs a document, and asserts that engine and oracle are content with the result.
pub(crate) fn mended(wire: Format, question: &CheckOptions, document: &str) -> Fixed {
    let fixed = fixed(wire, question, document);
    let complaints = complaints(wire, question, &fixed.text);
    assert!(
        complaints.is_empty(),
        "{} under {} ({})\nbefore {document}\nafter  {}\nedits  {:?}\n{}",
        wire.name(),
        question.profile.name(),
        question.policy.unanswered.name(),
        fixed.text,
        fixed.edits,
        complaints.join("\n")
    );
    fixed
}

/// Why a document that is sound would not pass as it is; nothing, if it passes.
pub(crate) fn touched(wire: Format, question: &CheckOptions, document: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let found = report(wire, question, document);
    complaints.extend(found.findings.iter().map(|f| format!("the engine finds {}", shown(f))));
    let judged = judged(wire, question, document);
    complaints.extend(judged.iter().map(|v| format!("the oracle finds FW{} {}", v.code, v.at)));
    let fixed = fixed(wire, question, document);
    if fixed.text != document || !fixed.edits.is_empty() {
        complaints.push(format!("repair changes it: {:?}\n{}", fixed.edits, fixed.text));
    }
    complaints
}

/// Asserts that a document is sound and passes byte for byte, under every policy.
pub(crate) fn passes(what: &str, wire: Format, profile: Profile, document: &str) {
    for unanswered in WAYS {
        let complaints = touched(wire, &way(profile, unanswered), document);
        assert!(
            complaints.is_empty(),
            "{what}: {} under {} ({})\n{document}\n{}",
            wire.name(),
            profile.name(),
            unanswered.name(),
            complaints.join("\n")
        );
    }
}

/// A finding in one line.
pub(crate) fn shown(finding: &Finding) -> String {
    format!("{} messages[{}] {}", finding.rule.label(), finding.location.message, finding.message)
}

/// The rules that a report names, each once, in order.
pub(crate) fn codes(report: &Report) -> Vec<u16> {
    let mut codes: Vec<u16> = report.findings.iter().map(|finding| finding.rule.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// A document as a value.
pub(crate) fn value(document: &str) -> Value {
    // A lone surrogate is no JSON for this reader; the oracle cannot see it anyway.
    serde_json::from_str(document).unwrap_or(Value::Null)
}

/// The messages of a document, wherever they stand.
pub(crate) fn list(document: &Value) -> Vec<Value> {
    let list = match document {
        Value::Object(object) => {
            ["messages", "input", "contents"].iter().find_map(|key| object.get(*key))
        }
        other => Some(other),
    };
    list.and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The ids of all calls and of all answers, in order; read naively, wherever they stand.
pub(crate) fn ids(messages: &[Value]) -> (Vec<String>, Vec<String>) {
    let (mut calls, mut answers) = (Vec::new(), Vec::new());
    for message in messages {
        for part in parts(message) {
            match part {
                Part::Call(id) => calls.push(id),
                Part::Answer(id, _) => answers.push(id),
                Part::Text(_) | Part::Thought | Part::Media | Part::Other => {}
            }
        }
    }
    (calls, answers)
}

/// The shape of a history after a repair, in the tokens that tests are written in: `u`, `a`, `s`,
/// `a[x y]`, `r[x y]`. A placeholder answer is `x~`. Where a message holds several things they
/// stand side by side: `r[x]+u`, `th+a[x]`.
pub(crate) fn shape(messages: &[Value]) -> String {
    let mut tokens: Vec<String> = Vec::new();
    let mut loose = false;
    for message in messages {
        let role = message["role"].as_str().unwrap_or("");
        let kind = message["type"].as_str().unwrap_or("message");
        let item = !matches!(kind, "message" | "user_input" | "model_output");
        let letter = match role {
            _ if kind == "model_output" => "a",
            "assistant" | "model" => "a",
            "system" | "developer" => "s",
            _ => "u",
        };
        let mut pieces: Vec<String> = Vec::new();
        for part in parts(message) {
            let (open, id) = match part {
                Part::Call(id) => ("a[", id),
                Part::Answer(id, true) => ("r[", format!("{id}~")),
                Part::Answer(id, false) => ("r[", id),
                Part::Text(_) => (letter, String::new()),
                Part::Thought => ("th", String::new()),
                Part::Media => ("m", String::new()),
                Part::Other => ("?", String::new()),
            };
            match pieces.last_mut() {
                Some(last) if !id.is_empty() && last.starts_with(open) => {
                    last.truncate(last.len() - 1);
                    last.push_str(&format!(" {id}]"));
                }
                Some(last) if id.is_empty() && last == open => {}
                _ if id.is_empty() => pieces.push(open.to_owned()),
                _ => pieces.push(format!("{open}{id}]")),
            }
        }
        let token = pieces.join("+");
        // Tool messages and items of one turn are one token.
        let single = item || role == "tool";
        let open = token.get(..2).filter(|open| *open == "a[" || *open == "r[");
        match (tokens.last_mut(), open) {
            (Some(last), Some(open)) if single && loose && last.starts_with(open) => {
                last.truncate(last.len() - 1);
                last.push(' ');
                last.push_str(&token[2..]);
            }
            _ => tokens.push(token),
        }
        loose = single;
    }
    tokens.join(" ")
}

/// One part of a message, read naively.
enum Part {
    Call(String),
    /// The id, and whether it is a placeholder of ours.
    Answer(String, bool),
    Text(String),
    Thought,
    Media,
    Other,
}

fn parts(message: &Value) -> Vec<Part> {
    let id = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let invented = |value: &Value| value.to_string().contains("[foxwedge] ");
    let answer = |name: &Value, value: &Value| Part::Answer(id(name), invented(value));
    let mut parts = Vec::new();
    match message["type"].as_str() {
        Some("reasoning" | "thought") => return vec![Part::Thought],
        Some("function_result") => return vec![answer(&message["call_id"], &message["result"])],
        Some(kind) if kind.ends_with("_output") && kind != "model_output" => {
            return vec![answer(&message["call_id"], &message["output"])];
        }
        Some(kind) if kind.ends_with("_call") => {
            // The id of a step is that of its call.
            let own = message.get("call_id").unwrap_or(&message["id"]);
            return vec![Part::Call(id(own))];
        }
        _ => {}
    }
    if message["role"] == "tool" && message.get("tool_call_id").is_some() {
        return vec![answer(&message["tool_call_id"], &message["content"])];
    }
    if message.get("reasoning_content").is_some_and(Value::is_string) {
        parts.push(Part::Thought);
    }
    match message.get("content").or_else(|| message.get("parts")) {
        Some(Value::String(text)) if !text.is_empty() => parts.push(Part::Text(text.clone())),
        Some(Value::Array(blocks)) => parts.extend(blocks.iter().map(block)),
        _ => {}
    }
    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    parts.extend(calls.iter().map(|call| Part::Call(id(&call["id"]))));
    parts
}

fn block(block: &Value) -> Part {
    let id = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let answer = |name: &Value| Part::Answer(id(name), block.to_string().contains("[foxwedge] "));
    match block["type"].as_str() {
        Some("tool_use") => return Part::Call(id(&block["id"])),
        Some("tool_result") => return answer(&block["tool_use_id"]),
        Some("thinking" | "redacted_thinking") => return Part::Thought,
        Some("image" | "image_url" | "input_image") => return Part::Media,
        _ => {}
    }
    if let Some(call) = block.get("toolUse").or_else(|| block.get("functionCall")) {
        return Part::Call(id(call.get("toolUseId").unwrap_or(&call["id"])));
    }
    if let Some(found) = block.get("toolResult").or_else(|| block.get("functionResponse")) {
        return answer(found.get("toolUseId").unwrap_or(&found["id"]));
    }
    match block.get("text").and_then(Value::as_str) {
        Some(_) if block["thought"] == true => Part::Thought,
        Some(text) => Part::Text(text.to_owned()),
        None if block.get("reasoningContent").is_some() => Part::Thought,
        None => Part::Other,
    }
}

/// Panics with the first breaches of a campaign.
pub(crate) fn assert_lawful(tally: &LawTally) {
    let first = tally.violations.iter().take(3).map(|breach| {
        format!("{} {:?}\n{}\n{}", breach.law, breach.case, breach.document, breach.what)
    });
    let first: Vec<String> = first.collect();
    let count = tally.violations.len();
    assert!(first.is_empty(), "{count} violations, the first:\n{}", first.join("\n\n"));
}
