//! Makes a vector of a source: verdicts from the rules and the evidence, laws from the input.

use std::collections::BTreeMap;

use foxwedge_core::{Format, Profile, Severity, check, rules};
use foxwedge_suite::{
    HistoryFormat, HistoryReading, HistorySide, ItemContent, ProfileRules, ProfileVerdict,
    RepairLaws, SuiteLevel, SuiteTrack, SuiteVector, SuiteVerdict, VectorEvidence,
};

use super::{evidence::EvidenceTable, laws, sources::VectorSource};

/// Two messages with calls in a row. Nobody knows whether OpenAI refuses them.
const SPLIT_TURN: u16 = 106;

/// What a profile says, and why.
struct JudgedProfile {
    verdict: ProfileVerdict,
    evidence: Vec<VectorEvidence>,
}

/// The vector of a source, if it has one, and notes for the reviewer.
pub(super) fn build(
    source: &VectorSource,
    id: String,
    evidence: &EvidenceTable,
) -> Result<(Option<SuiteVector>, Vec<String>), String> {
    let mut vector = SuiteVector {
        id,
        title: source.title.clone(),
        clause: String::new(),
        tracks: vec![source.track],
        level: SuiteLevel::A,
        format: source.format,
        input: source.input.clone(),
        keep: source.keep,
        verdicts: BTreeMap::new(),
        evidence: Vec::new(),
        laws: None,
    };
    match source.track {
        SuiteTrack::Validate | SuiteTrack::Repair => histories(source, evidence, &mut vector)?,
        SuiteTrack::Cut => {
            vector.clause = "cut".to_owned();
            accepted(&mut vector, source.format.profiles().first().copied(), evidence)?;
        }
        SuiteTrack::Convert => {
            vector.clause = "convert".to_owned();
            vector.level = SuiteLevel::B;
            let own = source.format.name();
            let targets = Profile::ALL.into_iter().filter(|it| *it != Profile::Strict);
            for target in targets.map(Profile::name).filter(|target| *target != own) {
                accepted(&mut vector, Some(target), evidence)?;
            }
        }
        SuiteTrack::Stream => {
            vector.clause = "stream".to_owned();
            accepted(&mut vector, source.format.profiles().first().copied(), evidence)?;
        }
    }
    if vector.verdicts.is_empty() {
        return Ok((None, vec!["no profile".to_owned()]));
    }
    vector.laws = Some(initial_laws(source)?);
    let notes = laws::relax(&mut vector);
    vector.evidence.sort_by(|one, two| one.profile.cmp(&two.profile));
    vector.evidence.dedup();
    let useful = !vector.tracks.is_empty() && !vector.verdicts.is_empty();
    Ok((useful.then_some(vector), notes))
}

/// A history that a provider accepts, as documented.
fn accepted(
    vector: &mut SuiteVector,
    profile: Option<&str>,
    evidence: &EvidenceTable,
) -> Result<(), String> {
    let Some(profile) = profile else { return Ok(()) };
    let documented = evidence.of("format", profile).ok_or(format!("no evidence for {profile}"))?;
    vector.evidence.push(documented.clone());
    let verdict = ProfileVerdict {
        verdict: SuiteVerdict::Valid,
        causes: Vec::new(),
        messages: Vec::new(),
        needs_decision: false,
    };
    vector.verdicts.insert(profile.to_owned(), verdict);
    Ok(())
}

fn histories(
    source: &VectorSource,
    evidence: &EvidenceTable,
    vector: &mut SuiteVector,
) -> Result<(), String> {
    vector.tracks = vec![SuiteTrack::Validate, SuiteTrack::Repair];
    let mut first_cause = None;
    for (at, profile) in source.format.profiles().into_iter().enumerate() {
        let Some(judged) = judge(source, &vector.id, profile, evidence)? else { continue };
        // What another provider of the format says is of interest if it is clear.
        let clear = match judged.verdict.verdict {
            SuiteVerdict::Invalid => true,
            SuiteVerdict::Valid => !is_second_endpoint(source, profile),
            SuiteVerdict::Acceptable | SuiteVerdict::Unknown => false,
        };
        if at > 0 && !clear {
            continue;
        }
        first_cause = first_cause.or_else(|| judged.verdict.causes.first().cloned());
        vector.evidence.extend(judged.evidence);
        vector.verdicts.insert(profile.to_owned(), judged.verdict);
    }
    let code = source.rule.map(|code| format!("FW{code}"));
    vector.clause = code.or(first_cause).unwrap_or_else(|| "format".to_owned());
    vector.level = rules::find_rule(&vector.clause)
        .map_or(SuiteLevel::A, |rule| SuiteLevel::of_code(rule.code));
    Ok(())
}

fn judge(
    source: &VectorSource,
    id: &str,
    profile: &str,
    evidence: &EvidenceTable,
) -> Result<Option<JudgedProfile>, String> {
    let Some(rules) = ProfileRules::new(source.format, profile) else { return Ok(None) };
    let found = |rules: &ProfileRules| {
        rules.with_draft(&source.input, |draft| check(draft, rules.options()))
    };
    let report = found(&rules)?;
    let mut causes = Vec::new();
    let mut messages = Vec::new();
    let mut reasons = Vec::new();
    // What the provider itself said to this vector.
    let live = evidence.of(id, profile);
    for finding in report.findings.iter().filter(|it| it.severity == Severity::Error) {
        let label = finding.rule.label();
        let reason = evidence.of(&label, profile).filter(|reason| {
            !is_second_endpoint(source, profile) || reason.text.contains("Responses endpoint")
        });
        let reason = reason.or(live.filter(|live| live.text.starts_with("refused")));
        let Some(reason) = reason else { continue };
        messages.push(finding.location.message);
        messages.extend(finding.partner.map(|partner| partner.message));
        if !causes.contains(&label) {
            causes.push(label);
            reasons.push(reason.clone());
        }
    }
    messages.sort_unstable();
    messages.dedup();
    let running = found(&rules.with_running_tail())?;
    let documented = evidence.of("format", profile).cloned();
    let refused_elsewhere = || {
        let strict = found(&rules.strictest());
        strict.is_ok_and(|report| {
            report.findings.iter().any(|finding| match source.rule {
                Some(code) => source.broken && finding.rule.code == code,
                // Not known of this provider, known of others of its format.
                None => finding.rule.code == SPLIT_TURN && source.format.profiles().len() > 1,
            })
        })
    };
    if let Some(exception) = evidence.exception(&source.key, profile) {
        let verdict = acceptable();
        return Ok(Some(JudgedProfile { verdict, evidence: vec![exception.clone()] }));
    }
    let reading = HistoryReading::of(&rules, &source.input)?;
    let verdict = if report.is_clean() {
        // Somebody accepted exactly this.
        let recorded = source.rule.and_then(|code| evidence.of(&format!("FW{code}"), profile));
        let accepted = recorded.filter(|it| it.text.starts_with("accepted"));
        reasons = accepted.cloned().or(documented).into_iter().collect();
        if refused_elsewhere() || waits(source, profile, &reading, evidence) {
            SuiteVerdict::Acceptable
        } else {
            SuiteVerdict::Valid
        }
    } else if causes.is_empty() {
        SuiteVerdict::Unknown
    } else if running.is_clean() {
        reasons.extend(documented);
        causes.clear();
        messages.clear();
        SuiteVerdict::Acceptable
    } else {
        SuiteVerdict::Invalid
    };
    if verdict != SuiteVerdict::Unknown {
        reasons.extend(live.cloned());
    }
    let verdict = ProfileVerdict { verdict, causes, messages, needs_decision: false };
    Ok(Some(JudgedProfile { verdict, evidence: reasons }))
}

/// Whether the evidence for a profile is about another endpoint, unless it says so: DeepSeek's Responses API.
fn is_second_endpoint(source: &VectorSource, profile: &str) -> bool {
    source.format == HistoryFormat::Provider(Format::OpenaiResponses) && profile == "deepseek"
}

fn acceptable() -> ProfileVerdict {
    let verdict = SuiteVerdict::Acceptable;
    ProfileVerdict { verdict, causes: Vec::new(), messages: Vec::new(), needs_decision: false }
}

/// Whether a history is a state to keep, and not yet one to send: a list whose last message is the model's, for a
/// provider that takes no such request.
fn waits(
    source: &VectorSource,
    profile: &str,
    reading: &HistoryReading,
    evidence: &EvidenceTable,
) -> bool {
    let is_list = source.input.trim_start().starts_with('[');
    let ends_with_model = reading.said().last().is_some_and(|item| {
        item.side == HistorySide::Assistant && matches!(item.content, ItemContent::Text(_))
    });
    is_list && ends_with_model && evidence.of("FW403", profile).is_some()
}

fn initial_laws(source: &VectorSource) -> Result<RepairLaws, String> {
    if let Some(expected) = &source.expected {
        return laws::of_stream(expected);
    }
    let own = source.format.profiles().into_iter().next().unwrap_or_default();
    let rules = ProfileRules::new(source.format, own).ok_or("no profile")?;
    let reading = HistoryReading::of(&rules, &source.input)?;
    let mut laws = RepairLaws::of(&reading);
    match source.track {
        SuiteTrack::Cut => laws::for_cut(&mut laws),
        // Other providers have other ids.
        SuiteTrack::Convert => laws.may_rename = Profile::ALL.map(|it| it.name().to_owned()).into(),
        SuiteTrack::Validate | SuiteTrack::Repair | SuiteTrack::Stream => {}
    }
    Ok(laws)
}
