//! Randomly damaged files: a repair fixes everything that `check` calls fixable, leaves a readable
//! file, and counts everything that it loses.

use std::collections::HashSet;

use foxwedge_core::{
    CheckOptions, Finding, FixApplicability, OrphanPolicy, Policy, Repair, RepairLosses, RuleSet,
    UnansweredPolicy, check, rules,
};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{
    AgentDetection, FindingEffect, ParsedSession, SessionAgent, detect_agent, read, readable_text,
};
use serde_json::Value;

use super::{
    AGENTS, file,
    judge::{SessionVerdict, breach, shown_bytes},
    minimal, shrink,
};
use crate::{
    Random, all_text,
    laws::{LawBreach, LawCase, LawOptions, LawTally},
    link_names, mutated_rows, mutated_session, session_file,
};

/// Runs all cases in sequence, with the agents taking turns.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        let turn = usize::try_from(seed).unwrap_or(0) % AGENTS.len();
        let agent = options.agent.unwrap_or(AGENTS[turn]);
        run(seed, agent, options.size, &mut tally);
    }
    tally
}

/// Damages a generated file and judges its repair, most often under the default policy.
pub fn run(seed: u64, agent: SessionAgent, size: usize, tally: &mut LawTally) {
    tally.cases += 1;
    let options = LawOptions { agent: Some(agent), size, ..LawOptions::default() };
    let mut case = LawCase::draw(seed, &options);
    let mut random = Random::new(seed ^ 0x00ac_c1de_0000);
    if random.chance(70) {
        case.policy = Policy::default();
    }
    let generated = file(&case, agent);
    // Rows of a database get into no file.
    let files: Vec<SessionAgent> =
        AGENTS.into_iter().filter(|agent| !agent.is_in_database()).collect();
    let other = *random.pick(&files);
    let stranger = session_file(&mut random, other.name(), 4);
    let bytes = match agent {
        SessionAgent::Pi => {
            let renamed = link_names::without_pi_names(&generated.bytes);
            link_names::with_pi_names(&mutated_session(&mut random, &renamed, &stranger.bytes))
        }
        _ if agent.is_in_database() => mutated_rows(&mut random, &generated.bytes),
        _ => mutated_session(&mut random, &generated.bytes, &stranger.bytes),
    };
    if let Err((law, what)) = judge(&case, agent, &bytes, tally) {
        let again = |bytes: &[u8]| judge(&case, agent, bytes, &mut LawTally::default()).err();
        let breaks = |bytes: &[u8]| again(bytes).is_some_and(|(other, _)| other == law);
        let bytes = shrink::smallest(bytes, breaks);
        let what = again(&bytes).map_or(what, |(_, what)| what);
        tally.violations.push(LawBreach { law, case, what, document: shown_bytes(&bytes) });
    }
}

/// Checks the laws on a damaged file, with and without the defects that its agent tolerates.
///
/// # Errors
/// The name of the broken law, and what was observed.
pub fn judge(
    case: &LawCase,
    agent: SessionAgent,
    bytes: &[u8],
    tally: &mut LawTally,
) -> SessionVerdict {
    for spares in [false, true] {
        judge_once(case, agent, bytes, spares, tally)?;
    }
    Ok(())
}

fn judge_once(
    case: &LawCase,
    agent: SessionAgent,
    bytes: &[u8],
    spares: bool,
    tally: &mut LawTally,
) -> SessionVerdict {
    let base_options = case.question();
    let Ok(text) = readable_text(bytes) else { return Ok(()) };
    let Ok(mut session) = read(&text, agent, outline_options(base_options.profile)) else {
        tally.unreadable += 1;
        return Ok(());
    };
    let mut options = base_options;
    if spares {
        session.spare_tolerated(&mut options, true);
    }
    let report = check(session.draft(), &options);
    for finding in &report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    let allow_unsafe = options.policy.allow_unsafe;
    let fixable = report.findings.iter().any(|finding| is_fixable(finding, allow_unsafe));
    let mut fixed = Vec::new();
    let (rewritten, repair) = session.fix(&options);
    if rewritten.write_to(&mut fixed).is_err() {
        return breach("total", "it cannot be written");
    }
    if !fixable {
        // A byte order mark is not part of the text.
        if fixed != text.bytes() {
            return breach("untouched", shown_bytes(&fixed));
        }
        tally.sound += u64::from(report.is_clean());
        return Ok(());
    }
    for edit in repair.edits.iter() {
        *tally.repairs.entry(edit.strategy.name()).or_default() += 1;
    }
    let describe = |what: String| {
        let found: Vec<String> = report.findings.iter().map(named).collect();
        let edits: Vec<&str> = repair.edits.iter().map(|edit| edit.note.as_str()).collect();
        let fixed = shown_bytes(&fixed);
        format!("spares {spares}: {what}\nfindings {found:#?}\nedits {edits:#?}\nafter\n{fixed}")
    };
    let again = match again(agent, &options, &fixed, spares) {
        Ok(again) => again,
        Err(error) => return breach("sound", describe(format!("unreadable: {error}"))),
    };
    if !again.owned && is_owned(&session, text.as_str()) {
        return breach("sound", describe("nothing in it says whose it is".to_owned()));
    }
    if let Some(left) = again.left.filter(|_| again.owned) {
        return breach("sound", describe(left));
    }
    if again.twice != fixed {
        return breach("idempotent", describe(format!("twice\n{}", shown_bytes(&again.twice))));
    }
    // A policy that drops calls or results also loses everything linked to them.
    let Policy { unanswered, orphans, .. } = options.policy;
    if unanswered != UnansweredPolicy::Answer || orphans != OrphanPolicy::Quote {
        return Ok(());
    }
    let losses = repair.losses(session.draft());
    if let Some(lost) = uncounted(agent, bytes, &fixed, &losses) {
        return breach("honest", describe(lost));
    }
    if spares && let Some(lost) = needless(&session, &options, &losses, &repair) {
        return breach("needless", describe(lost));
    }
    // With new ids, records before and after cannot be matched.
    if repair.edits.iter().any(|edit| edit.code == 703) {
        return Ok(());
    }
    let relinks = repair.edits.iter().any(|edit| edit.code < 800);
    let about_links = repair.edits.iter().filter(|edit| edit.code >= 700);
    let named = about_links.flat_map(|edit| edit.ids.iter().map(String::as_str)).collect();
    // A result that is linked into the path is named by its call.
    let about_pairs = repair.edits.iter().filter(|edit| edit.code < 700 || edit.code == 702);
    let pairs = about_pairs.flat_map(|edit| edit.ids.iter().map(String::as_str)).collect();
    // A relinked record belongs to the turn of the record that it is put after.
    let about_links = repair.edits.iter().filter(|edit| edit.code >= 700);
    let behind = about_links.flat_map(|edit| edit.note.split('`').skip(1).step_by(2)).collect();
    let named = minimal::EditedRecords { links: named, behind, pairs };
    minimal::judge(agent, &base_options, spares, (bytes, &fixed), relinks, &named, case.seed)
        .map_err(|(law, what)| (law, describe(what)))
}

/// A repaired file, read again.
struct SecondRepair {
    /// A finding that is still fixable.
    left: Option<String>,
    /// Whether the agent of the file can be detected.
    owned: bool,
    /// The file after a second repair.
    twice: Vec<u8>,
}

fn again(
    agent: SessionAgent,
    options: &CheckOptions,
    fixed: &[u8],
    spares: bool,
) -> Result<SecondRepair, String> {
    let text = readable_text(fixed).map_err(|error| error.to_string())?;
    let mut session: ParsedSession<'_> =
        read(&text, agent, outline_options(options.profile)).map_err(|error| error.to_string())?;
    let mut spared_options = *options;
    if spares {
        session.spare_tolerated(&mut spared_options, true);
    }
    let owned = is_owned(&session, text.as_str());
    let report = check(session.draft(), &spared_options);
    let allow_unsafe = spared_options.policy.allow_unsafe;
    let left = report.findings.iter().find(|finding| is_fixable(finding, allow_unsafe)).map(named);
    let mut twice = Vec::new();
    session.fix(&spared_options).0.write_to(&mut twice).map_err(|error| error.to_string())?;
    Ok(SecondRepair { left, owned, twice })
}

/// Whether the agent of a file can be detected.
fn is_owned(session: &ParsedSession<'_>, text: &str) -> bool {
    let list = session.agent == SessionAgent::Cline && text.trim_start().starts_with('[');
    let known = match detect_agent(text) {
        AgentDetection::Known(other) | AgentDetection::UnknownVersion(other, _) => {
            other == session.agent
        }
        AgentDetection::Unknown | AgentDetection::Unsupported(_) => false,
    };
    !session.draft().messages.is_empty() || session.has_records() || list || known
}

fn is_fixable(finding: &Finding, allow_unsafe: bool) -> bool {
    match finding.fix.applicability {
        FixApplicability::Safe => true,
        FixApplicability::Unsafe => allow_unsafe,
        FixApplicability::None => false,
    }
}

fn named(finding: &Finding) -> String {
    format!("{} {}", finding.rule.label(), finding.message)
}

/// Describes texts that are missing although the repair counts fewer losses.
fn uncounted(
    agent: SessionAgent,
    before: &[u8],
    after: &[u8],
    losses: &RepairLosses,
) -> Option<String> {
    let mut remaining = String::new();
    for record in records(agent, after) {
        remaining.push_str(&all_text(&record));
        remaining.push('\n');
    }
    let unread = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_err();
    for line in after.split(|byte| *byte == b'\n').filter(unread) {
        remaining.push_str(&plain_text(line));
    }
    let (mut thinking, mut texts) = (HashSet::new(), HashSet::new());
    let all = records(agent, before);
    let own = all.iter().enumerate().filter(|(at, record)| {
        is_own(agent, record) && !is_replaced(agent, record, all.get(at + 1..).unwrap_or(&[]))
    });
    let own = own.map(|(_, record)| record);
    own.for_each(|record| said(record, &mut thinking, &mut texts));
    let missing = |expected: HashSet<&str>| -> Vec<String> {
        expected.into_iter().filter(|text| !remaining.contains(text)).map(str::to_owned).collect()
    };
    let (thinking, texts) = (missing(thinking), missing(texts));
    let counted = losses.texts_removed + losses.tool_results_removed + losses.other_parts_removed;
    let less = thinking.len() > losses.thinking_blocks_removed || texts.len() > counted;
    less.then(|| format!("lost {thinking:?} {texts:?}\ncounted {losses:?}"))
}

/// The text of a line that agents can read and serde_json cannot: it has a lone surrogate, or a
/// number that is too large.
fn plain_text(line: &[u8]) -> String {
    let raw = String::from_utf8_lossy(line);
    let mut pieces = raw.split('\\');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    while let Some(piece) = pieces.next() {
        let mut characters = piece.chars();
        match characters.next() {
            // Two backslashes stand for one; what follows is no escape.
            None => {
                text.push('\\');
                text.push_str(pieces.next().unwrap_or_default());
                continue;
            }
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('u') => {
                let code = piece.get(1..5).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                text.extend(code.and_then(char::from_u32));
                text.push_str(piece.get(5..).unwrap_or_default());
                continue;
            }
            Some(other) => text.push(other),
        }
        text.push_str(characters.as_str());
    }
    text
}

/// All complete records of a file.
fn records(agent: SessionAgent, bytes: &[u8]) -> Vec<Value> {
    // A byte order mark is not part of the text, as in agents.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(whole) = serde_json::from_slice(bytes) {
        return vec![whole];
    }
    // Text after a complete list is the rest of an older file.
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().next();
    if let Some(Ok(list @ Value::Array(_))) = first.filter(|_| agent == SessionAgent::Cline) {
        return vec![list];
    }
    let lines = bytes.split(|byte| *byte == b'\n').map(serde_json::from_slice);
    // Cline reads only the first list; another list on its own line is ignored.
    let debris = |record: &Value| agent == SessionAgent::Cline && record.is_array();
    lines.filter_map(Result::ok).filter(|record| !debris(record)).collect()
}

/// Whether a later record with the same id replaces this one. Gemini CLI does not read it any more.
fn is_replaced(agent: SessionAgent, record: &Value, later: &[Value]) -> bool {
    let same = |other: &Value| other["id"].is_string() && other["id"] == record["id"];
    agent == SessionAgent::GeminiCli && later.iter().any(same)
}

/// Collects the texts and the reasoning of a record.
fn said<'v>(value: &'v Value, thinking: &mut HashSet<&'v str>, texts: &mut HashSet<&'v str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| said(value, thinking, texts)),
        Value::Object(fields) => {
            if value.get("type").is_some_and(|kind| !kind.is_string()) {
                return; // The type is unknown.
            }
            let kind = value["type"].as_str().unwrap_or_default();
            let thought = kind.contains("reasoning") || kind.contains("thinking");
            if thought || value["thought"] == true {
                // One block, even with several strings.
                let text = longest(value);
                thinking.extend(text.filter(|text| !text.trim().is_empty()).map(str::trim));
                return;
            }
            if value["role"].is_string() && !fields.contains_key("content") {
                // A message whose content is in unknown fields is one loss.
                texts.extend(longest(value).map(str::trim).filter(|text| !text.is_empty()));
                return;
            }
            for (key, value) in fields {
                match (key.as_str(), value) {
                    // The meaning of this field is unknown.
                    ("other", _) => {}
                    ("text" | "content" | "output", Value::String(text)) => {
                        texts.extend(Some(text.trim()).filter(|text| !text.is_empty()));
                    }
                    (_, value) => said(value, thinking, texts),
                }
            }
        }
        _ => {}
    }
}

/// The longest string under a key that holds text.
fn longest(value: &Value) -> Option<&str> {
    match value {
        Value::Array(list) => list.iter().filter_map(longest).max_by_key(|text| text.len()),
        Value::Object(fields) => {
            let all = fields.iter().filter_map(|(key, value)| match (key.as_str(), value) {
                ("text" | "thinking", Value::String(text)) => Some(text.as_str()),
                (_, value) => longest(value),
            });
            all.max_by_key(|text| text.len())
        }
        _ => None,
    }
}

/// Whether this is a record of the agent. In a broken list, others cannot be distinguished from
/// debris.
fn is_own(agent: SessionAgent, record: &Value) -> bool {
    match agent {
        SessionAgent::Cline => record.is_array() || record.get("role").is_some(),
        SessionAgent::GeminiCli => {
            record.is_object()
                && record.get("payload").is_none()
                && record.get("event").is_none()
                && record.get("data").is_none()
                && record.get("message").is_none()
                && record.get("parentUuid").is_none()
                && record.get("operation").is_none()
        }
        SessionAgent::ClaudeCode
        | SessionAgent::Neovate
        | SessionAgent::Codex
        | SessionAgent::Pi
        | SessionAgent::CopilotCli
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => true,
    }
}

/// Texts or reasoning that are lost although no finding blocks the agent: neither in the file, nor
/// in the history that a repair of its lines and links brings back.
fn needless(
    session: &ParsedSession<'_>,
    options: &CheckOptions,
    losses: &RepairLosses,
    repair: &Repair<'_>,
) -> Option<String> {
    let lost = losses.thinking_blocks_removed + losses.texts_removed;
    if options.policy.allow_unsafe || lost == 0 || repair.messages.is_empty() {
        return None;
    }
    let blocks = |session: &ParsedSession<'_>| {
        let rated = session.rate_findings(options);
        rated.findings.iter().any(|(_, effect)| *effect == FindingEffect::Blocks)
    };
    let demanded = blocks(session) || with_whole_history(session, options, blocks)?;
    (!demanded).then(|| format!("{losses:?}"))
}

/// Looks at a session after a repair of its lines and links only.
fn with_whole_history(
    session: &ParsedSession<'_>,
    options: &CheckOptions,
    look: impl Fn(&ParsedSession<'_>) -> bool,
) -> Option<bool> {
    let mut rules = RuleSet::default();
    rules::ALL.iter().filter(|rule| rule.code >= 700).for_each(|rule| rules.add(rule.code));
    let mut bytes = Vec::new();
    session.fix(&CheckOptions { rules, ..*options }).0.write_to(&mut bytes).ok()?;
    let text = readable_text(&bytes).ok()?;
    let whole = read(&text, session.agent, outline_options(options.profile)).ok()?;
    Some(look(&whole))
}
