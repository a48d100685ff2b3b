//! The messages that a run leaves in its session can be sent to a provider, and match its table of
//! calls.

use foxwedge_core::{CheckOptions, Format, Policy, Profile, RuleSet, check};
use foxwedge_formats::{outline_options, read};
use foxwedge_run::{Run, ToolCallState, ToolStatus, history};
use serde_json::{Value, json};

use super::judge::{RunVerdict, holds};
use crate::violations;

/// Every call has its result at the position that providers require, and the results are those of
/// the table.
pub(super) fn is_sound(run: &Run) -> RunVerdict {
    let run_messages: Vec<Value> = history(run).iter().map(|message| message.value()).collect();
    let question = json!({ "role": "user", "content": "What now?" });
    let messages: Vec<Value> = [question].into_iter().chain(run_messages).collect();
    let body = json!({ "model": "any", "max_tokens": 1, "messages": messages });
    let document = body.to_string();
    for profile in [Profile::Anthropic, Profile::Strict] {
        let found = findings(&document, profile);
        holds("a stored run is sound", found.is_empty(), || format!("{found:?}\n{document}"))?;
        let mut found = violations("anthropic", profile.name(), false, &body);
        found.retain(|violation| is_about_pairs(violation.code));
        holds("a stored run is sound", found.is_empty(), || format!("{found:?}\n{document}"))?;
    }
    let mut expected: Vec<_> = run.tools().iter().filter(is_own).map(entry).collect();
    let mut stored: Vec<_> = messages.iter().flat_map(answers).collect();
    expected.sort_unstable();
    stored.sort_unstable();
    holds("a stored run says what its table says", stored == expected, || {
        format!("{stored:?}\nand not\n{expected:?}\n{document}")
    })
}

fn findings(document: &str, profile: Profile) -> Vec<String> {
    let Ok(reading) = read(document, Format::Anthropic, outline_options(profile)) else {
        return vec!["it cannot be read".to_owned()];
    };
    let rules = RuleSet::of(profile);
    let report = check(&reading.draft, &CheckOptions { profile, rules, policy: Policy::default() });
    let found = report.findings.iter().filter(|finding| is_about_pairs(finding.rule.code));
    found.map(|finding| format!("FW{} {}", finding.rule.code, finding.message)).collect()
}

fn is_about_pairs(code: u16) -> bool {
    (100..200).contains(&code)
}

/// Calls of sub-agents are not part of the conversation, and neither are calls that were never
/// made.
fn is_own(tool: &&ToolCallState) -> bool {
    tool.was_called() && tool.parent.is_none()
}

fn entry(tool: &ToolCallState) -> (String, bool) {
    let well = matches!(tool.status(), ToolStatus::Succeeded | ToolStatus::HandedOver);
    (tool.call.to_string(), !well)
}

fn answers(message: &Value) -> Vec<(String, bool)> {
    let blocks = message["content"].as_array().into_iter().flatten();
    let answers = blocks.filter(|block| block["type"] == "tool_result");
    let entry = |block: &Value| {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        (id.to_owned(), block["is_error"] == true)
    };
    answers.map(entry).collect()
}
