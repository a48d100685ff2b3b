//! Files that were damaged at random: whatever `check` calls fixable, a repair takes care of, it
//! leaves a file that can be read again, and nothing is lost that it does not count.

use std::collections::HashSet;

use foxwedge_core::{
    CheckOptions, Finding, FixApplicability, OrphanPolicy, Policy, Repair, RepairLosses,
    UnansweredPolicy, check,
};
use foxwedge_dialect::{
    outline_options,
    session::{
        AgentDetection, FindingEffect, ParsedSession, SessionAgent, detect_agent, read,
        readable_text,
    },
};
use serde_json::Value;

use super::{
    AGENTS, file,
    judge::{Verdict, breach, shown_bytes},
    minimal, shrink,
};
use crate::{
    Random, all_text,
    laws::{Breach, Case, Options, Tally},
    mutated_session, session_file,
};

/// Runs the cases one after another: files of every agent in turn.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        let turn = usize::try_from(seed).unwrap_or(0) % AGENTS.len();
        let agent = options.agent.unwrap_or(AGENTS[turn]);
        run(seed, agent, options.size, &mut tally);
    }
    tally
}

/// Damages one generated file and judges its repair, most often under the policy that users have.
pub fn run(seed: u64, agent: SessionAgent, size: usize, tally: &mut Tally) {
    tally.cases += 1;
    let options = Options { agent: Some(agent), size, ..Options::default() };
    let mut case = Case::draw(seed, &options);
    let mut random = Random::new(seed ^ 0x00ac_c1de_0000);
    if random.chance(70) {
        case.policy = Policy::default();
    }
    let made = file(&case, agent);
    let other = *random.pick(&AGENTS);
    let stranger = session_file(&mut random, other.name(), 4);
    let bytes = mutated_session(&mut random, &made.bytes, &stranger.bytes);
    if let Err((law, what)) = judge(&case, agent, &bytes, tally) {
        let again = |bytes: &[u8]| judge(&case, agent, bytes, &mut Tally::default()).err();
        let breaks = |bytes: &[u8]| again(bytes).is_some_and(|(other, _)| other == law);
        let bytes = shrink::smallest(bytes, breaks);
        let what = again(&bytes).map_or(what, |(_, what)| what);
        tally.violations.push(Breach { law, case, what, document: shown_bytes(&bytes) });
    }
}

/// Whether the laws hold for a damaged file, judged as a provider does and as its agent does.
///
/// # Errors
/// The name of the broken law, and what was seen.
pub fn judge(case: &Case, agent: SessionAgent, bytes: &[u8], tally: &mut Tally) -> Verdict {
    for spares in [false, true] {
        judge_once(case, agent, bytes, spares, tally)?;
    }
    Ok(())
}

fn judge_once(
    case: &Case,
    agent: SessionAgent,
    bytes: &[u8],
    spares: bool,
    tally: &mut Tally,
) -> Verdict {
    let asked = case.question();
    let Ok(text) = readable_text(bytes) else { return Ok(()) };
    let Ok(mut session) = read(&text, agent, outline_options(asked.profile)) else {
        tally.unreadable += 1;
        return Ok(());
    };
    let mut question = asked;
    if spares {
        session.spare_tolerated(&mut question, true);
    }
    let report = check(session.draft(), &question);
    for finding in &report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    let bold = question.policy.allow_unsafe;
    let fixable = report.findings.iter().any(|finding| is_fixable(finding, bold));
    let mut fixed = Vec::new();
    let (rewritten, repair) = session.fix(&question);
    if rewritten.write_to(&mut fixed).is_err() {
        return breach("total", "it cannot be written");
    }
    if !fixable {
        // A byte order mark is no part of the text.
        if fixed != text.bytes() {
            return breach("untouched", shown_bytes(&fixed));
        }
        tally.sound += u64::from(report.is_clean());
        return Ok(());
    }
    for edit in repair.edits.iter() {
        *tally.repairs.entry(edit.strategy.name()).or_default() += 1;
    }
    let told = |what: String| {
        let found: Vec<String> = report.findings.iter().map(named).collect();
        let edits: Vec<&str> = repair.edits.iter().map(|edit| edit.note.as_str()).collect();
        let fixed = shown_bytes(&fixed);
        format!("spares {spares}: {what}\nfindings {found:#?}\nedits {edits:#?}\nafter\n{fixed}")
    };
    let again = match again(agent, &question, &fixed, spares) {
        Ok(again) => again,
        Err(error) => return breach("sound", told(format!("unreadable: {error}"))),
    };
    if !again.owned && is_owned(&session, text.as_str()) {
        return breach("sound", told("nothing in it says whose it is".to_owned()));
    }
    if let Some(left) = again.left.filter(|_| again.owned) {
        return breach("sound", told(left));
    }
    if again.twice != fixed {
        return breach("idempotent", told(format!("twice\n{}", shown_bytes(&again.twice))));
    }
    // Whoever asks for something to be dropped loses what hangs on it.
    let Policy { unanswered, orphans, .. } = question.policy;
    if unanswered != UnansweredPolicy::Answer || orphans != OrphanPolicy::Quote {
        return Ok(());
    }
    let losses = repair.losses(session.draft());
    if let Some(lost) = uncounted(agent, bytes, &fixed, &losses) {
        return breach("honest", told(lost));
    }
    if spares && let Some(lost) = needless(&session, &question, &losses, &repair) {
        return breach("needless", told(lost));
    }
    // Where ids are given anew, nobody can say which record was which.
    if repair.edits.iter().any(|edit| edit.code == 703) {
        return Ok(());
    }
    let relinks = repair.edits.iter().any(|edit| edit.code < 800);
    let about_links = repair.edits.iter().filter(|edit| edit.code >= 700);
    let named = about_links.flat_map(|edit| edit.ids.iter().map(String::as_str)).collect();
    let about_pairs = repair.edits.iter().filter(|edit| edit.code < 700);
    let pairs = about_pairs.flat_map(|edit| edit.ids.iter().map(String::as_str)).collect();
    // A record that is linked anew belongs to the turn of the one it is put behind.
    let about_links = repair.edits.iter().filter(|edit| edit.code >= 700);
    let behind = about_links.flat_map(|edit| edit.note.split('`').skip(1).step_by(2)).collect();
    let named = minimal::Named { links: named, behind, pairs };
    minimal::judge(agent, &asked, spares, (bytes, &fixed), relinks, &named, case.seed)
        .map_err(|(law, what)| (law, told(what)))
}

/// A repaired file, read again.
struct Again {
    /// A finding that is still called fixable.
    left: Option<String>,
    /// The file says whose it is.
    owned: bool,
    /// What a second repair makes of it.
    twice: Vec<u8>,
}

fn again(
    agent: SessionAgent,
    question: &CheckOptions,
    fixed: &[u8],
    spares: bool,
) -> Result<Again, String> {
    let text = readable_text(fixed).map_err(|error| error.to_string())?;
    let mut session: ParsedSession<'_> =
        read(&text, agent, outline_options(question.profile)).map_err(|error| error.to_string())?;
    let mut asked = *question;
    if spares {
        session.spare_tolerated(&mut asked, true);
    }
    let owned = is_owned(&session, text.as_str());
    let report = check(session.draft(), &asked);
    let bold = asked.policy.allow_unsafe;
    let left = report.findings.iter().find(|finding| is_fixable(finding, bold)).map(named);
    let mut twice = Vec::new();
    session.fix(&asked).0.write_to(&mut twice).map_err(|error| error.to_string())?;
    Ok(Again { left, owned, twice })
}

/// Whether a file says whose it is.
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

fn is_fixable(finding: &Finding, bold: bool) -> bool {
    match finding.fix.applicability {
        FixApplicability::Safe => true,
        FixApplicability::Unsafe => bold,
        FixApplicability::None => false,
    }
}

fn named(finding: &Finding) -> String {
    format!("{} {}", finding.rule.label(), finding.message)
}

/// What is gone from the file although the repair counts less.
fn uncounted(
    agent: SessionAgent,
    before: &[u8],
    after: &[u8],
    losses: &RepairLosses,
) -> Option<String> {
    let mut kept = String::new();
    for record in records(agent, after) {
        kept.push_str(&all_text(&record));
        kept.push('\n');
    }
    let unread = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_err();
    for line in after.split(|byte| *byte == b'\n').filter(unread) {
        kept.push_str(&plain_text(line));
    }
    let (mut thinking, mut texts) = (HashSet::new(), HashSet::new());
    let all = records(agent, before);
    let own = all.iter().enumerate().filter(|(at, record)| {
        is_own(agent, record) && !is_replaced(agent, record, all.get(at + 1..).unwrap_or(&[]))
    });
    let own = own.map(|(_, record)| record);
    own.for_each(|record| said(record, &mut thinking, &mut texts));
    let gone = |said: HashSet<&str>| -> Vec<String> {
        said.into_iter().filter(|text| !kept.contains(text)).map(str::to_owned).collect()
    };
    let (thinking, texts) = (gone(thinking), gone(texts));
    let counted = losses.texts_removed + losses.tool_results_removed + losses.other_parts_removed;
    let less = thinking.len() > losses.thinking_blocks_removed || texts.len() > counted;
    less.then(|| format!("lost {thinking:?} {texts:?}\ncounted {losses:?}"))
}

/// The text of a line that agents read and this law's parser does not: half a character is in it, or
/// a number that is too large.
fn plain_text(line: &[u8]) -> String {
    let raw = String::from_utf8_lossy(line);
    let plain = [("\\n", "\n"), ("\\t", "\t"), ("\\\"", "\""), ("\\\\", "\\")];
    plain.iter().fold(raw.into_owned(), |text, (spelled, said)| text.replace(spelled, said))
}

/// The whole records of a file.
fn records(agent: SessionAgent, bytes: &[u8]) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_slice(bytes) {
        return vec![whole];
    }
    // What stands behind a list that is whole is the rest of an older file.
    let first = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().next();
    if let Some(Ok(list @ Value::Array(_))) = first.filter(|_| agent == SessionAgent::Cline) {
        return vec![list];
    }
    let lines = bytes.split(|byte| *byte == b'\n').map(serde_json::from_slice);
    // Cline reads one list, the first; another one on a line of its own is no part of it.
    let debris = |record: &Value| agent == SessionAgent::Cline && record.is_array();
    lines.filter_map(Result::ok).filter(|record| !debris(record)).collect()
}

/// Whether a later record of the same id takes the place of this one: Gemini CLI itself does not
/// read it any more.
fn is_replaced(agent: SessionAgent, record: &Value, later: &[Value]) -> bool {
    let same = |other: &Value| other["id"].is_string() && other["id"] == record["id"];
    agent == SessionAgent::GeminiCli && later.iter().any(same)
}

/// What is said in a record, and thought.
fn said<'v>(value: &'v Value, thinking: &mut HashSet<&'v str>, texts: &mut HashSet<&'v str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| said(value, thinking, texts)),
        Value::Object(fields) => {
            if value.get("type").is_some_and(|kind| !kind.is_string()) {
                return; // Nobody knows what it is.
            }
            let kind = value["type"].as_str().unwrap_or_default();
            let thought = kind.contains("reasoning") || kind.contains("thinking");
            if thought || value["thought"] == true {
                // One block, however many strings it has.
                let text = longest(value);
                thinking.extend(text.filter(|text| !text.trim().is_empty()).map(str::trim));
                return;
            }
            for (key, value) in fields {
                match (key.as_str(), value) {
                    // Nobody knows what this says.
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

/// Whether something is a record of the agent: others in a broken list cannot be told from debris.
fn is_own(agent: SessionAgent, record: &Value) -> bool {
    match agent {
        SessionAgent::Cline => record.is_array() || record.get("role").is_some(),
        SessionAgent::GeminiCli => {
            record.is_object()
                && record.get("payload").is_none()
                && record.get("message").is_none()
                && record.get("parentUuid").is_none()
                && record.get("operation").is_none()
        }
        SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::Codex => true,
    }
}

/// Texts or thinking that are lost although nothing keeps the agent from going on.
fn needless(
    session: &ParsedSession<'_>,
    question: &CheckOptions,
    losses: &RepairLosses,
    repair: &Repair<'_>,
) -> Option<String> {
    let lost = losses.thinking_blocks_removed + losses.texts_removed;
    if question.policy.allow_unsafe || lost == 0 || repair.messages.is_empty() {
        return None;
    }
    let blocks = |(_, effect): &(Finding, FindingEffect)| *effect == FindingEffect::Blocks;
    let demanded = session.rate_findings(question).findings.iter().any(blocks);
    (!demanded).then(|| format!("{losses:?}"))
}
