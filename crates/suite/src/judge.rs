//! Judges one answer of an engine.

use foxwedge_core::{Format, Severity, check};

use crate::{
    EngineAnswer, HistoryFormat, HistoryItem, HistoryReading, ItemContent, LawBreach, ProfileRules,
    SuiteEngine, SuiteLaw, SuiteQuestion, SuiteTrack, SuiteVector, SuiteVerdict,
    conservation::broken_laws,
};

/// What is wrong with an answer; nothing, if it is right. An output is given to the engine a second
/// time where a repair must leave its own work alone. An engine that skips is not judged.
pub fn judge_answer(
    vector: &SuiteVector,
    question: &SuiteQuestion<'_>,
    answer: &EngineAnswer,
    engine: &mut dyn SuiteEngine,
) -> Vec<LawBreach> {
    match (question.track, answer) {
        (_, EngineAnswer::Skip(_)) => Vec::new(),
        (_, EngineAnswer::Failed(why)) => vec![LawBreach::new(SuiteLaw::Answer, why.clone())],
        (SuiteTrack::Validate, EngineAnswer::Verdict { valid, message }) => {
            judge_verdict(vector, question, *valid, *message)
        }
        (SuiteTrack::Validate, EngineAnswer::Output(_)) => {
            vec![LawBreach::new(SuiteLaw::Answer, "a verdict was asked for, not an output")]
        }
        (_, EngineAnswer::Verdict { .. }) => {
            vec![LawBreach::new(SuiteLaw::Answer, "an output was asked for, not a verdict")]
        }
        (_, EngineAnswer::Output(text)) => judge_output(vector, question, text, engine),
    }
}

fn judge_verdict(
    vector: &SuiteVector,
    question: &SuiteQuestion<'_>,
    valid: bool,
    message: Option<usize>,
) -> Vec<LawBreach> {
    let Some(known) = vector.verdicts.get(question.profile) else { return Vec::new() };
    let right = match known.verdict {
        SuiteVerdict::Valid => valid,
        SuiteVerdict::Invalid => !valid,
        SuiteVerdict::Acceptable | SuiteVerdict::Unknown => true,
    };
    if !right {
        let said = if valid { "valid" } else { "invalid" };
        return vec![LawBreach::new(SuiteLaw::Verdict, format!("the engine says {said}"))];
    }
    match message {
        Some(at) if !valid && !known.messages.is_empty() && !known.messages.contains(&at) => {
            vec![LawBreach::new(SuiteLaw::Message, format!("the engine names message {at}"))]
        }
        _ => Vec::new(),
    }
}

fn judge_output(
    vector: &SuiteVector,
    question: &SuiteQuestion<'_>,
    text: &str,
    engine: &mut dyn SuiteEngine,
) -> Vec<LawBreach> {
    let unreadable = |why: String| vec![LawBreach::new(SuiteLaw::Readable, why)];
    let format = question.target.unwrap_or(question.format);
    let Some(rules) = ProfileRules::new(format, question.profile) else {
        return unreadable(format!("no profile `{}` for this format", question.profile));
    };
    let (rules, text) = match question.track {
        SuiteTrack::Stream => match recorded_history(format, text) {
            Some(history) => (rules.with_running_tail(), history),
            None => return unreadable("the output is no list of messages".to_owned()),
        },
        _ => (rules, text.to_owned()),
    };
    let mut output = match HistoryReading::of(&rules, &text) {
        Ok(output) => output,
        Err(why) => return unreadable(why),
    };
    let input = match question.track {
        SuiteTrack::Stream => {
            // The user message is ours.
            output.items.drain(..output.items.len().min(1));
            said_by_stream(vector)
        }
        _ => ProfileRules::new(question.format, own_profile(question))
            .and_then(|rules| HistoryReading::of(&rules, question.input).ok())
            .unwrap_or_default(),
    };
    let verdict = vector.verdicts.get(question.profile).map(|known| known.verdict);
    let mut breaches = Vec::new();
    if question.track == SuiteTrack::Repair && verdict == Some(SuiteVerdict::Valid) {
        if !output.says_the_same(&input) {
            let what = first_difference(&input, &output);
            breaches.push(LawBreach::new(SuiteLaw::Untouched, what));
        }
        return breaches;
    }
    let stays_open = verdict == Some(SuiteVerdict::Acceptable);
    let rules = if stays_open { rules.with_running_tail() } else { rules };
    breaches.extend(remaining_findings(&rules, &text));
    if let Some(laws) = &vector.laws {
        breaches.extend(broken_laws(laws, question.profile, &input, &output));
    }
    match question.track {
        SuiteTrack::Cut if question.keep.is_some_and(|keep| output.messages > keep) => {
            let what = format!("{} messages are left", output.messages);
            breaches.push(LawBreach::new(SuiteLaw::Shorter, what));
        }
        SuiteTrack::Repair => {
            breaches.extend(second_repair(&rules, question, &text, &output, engine))
        }
        _ => {}
    }
    breaches
}

/// What a stream says, as far as its vector knows.
fn said_by_stream(vector: &SuiteVector) -> HistoryReading {
    let texts = vector.laws.iter().flat_map(|laws| &laws.texts);
    let items = texts
        .map(|said| HistoryItem { side: said.side, content: ItemContent::Text(said.text.clone()) });
    HistoryReading { items: items.collect(), messages: 1 }
}

/// The profile under which the input is read.
fn own_profile<'q>(question: &SuiteQuestion<'q>) -> &'q str {
    match (question.track, question.format) {
        (SuiteTrack::Convert, HistoryFormat::Provider(format)) => format.name(),
        _ => question.profile,
    }
}

/// What a provider is known to refuse in an output.
fn remaining_findings(rules: &ProfileRules, text: &str) -> Option<LawBreach> {
    let found = rules.with_draft(text, |draft| {
        let report = check(draft, rules.options());
        let errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
        let first = errors.map(|finding| {
            format!("{} in message {}", finding.rule.label(), finding.location.message)
        });
        first.take(3).collect::<Vec<_>>()
    });
    let found = found.unwrap_or_else(|why| vec![why]);
    (!found.is_empty()).then(|| LawBreach::new(SuiteLaw::Valid, found.join(", ")))
}

/// A second repair of an output must not change it.
fn second_repair(
    rules: &ProfileRules,
    question: &SuiteQuestion<'_>,
    text: &str,
    output: &HistoryReading,
    engine: &mut dyn SuiteEngine,
) -> Option<LawBreach> {
    let again = SuiteQuestion { input: text, ..*question };
    let what = match engine.ask(&again).answer {
        EngineAnswer::Output(second) if second == text => return None,
        EngineAnswer::Output(second) => match HistoryReading::of(rules, &second) {
            Ok(second) if second.says_the_same(output) => return None,
            Ok(second) => first_difference(output, &second),
            Err(why) => why,
        },
        EngineAnswer::Failed(why) | EngineAnswer::Skip(why) => why,
        EngineAnswer::Verdict { .. } => "a verdict was given, not an output".to_owned(),
    };
    Some(LawBreach::new(SuiteLaw::Idempotent, format!("a second repair: {what}")))
}

/// The first element that differs.
fn first_difference(before: &HistoryReading, after: &HistoryReading) -> String {
    let (before, after): (Vec<_>, Vec<_>) = (before.said().collect(), after.said().collect());
    match before.iter().zip(&after).position(|(one, two)| one != two) {
        Some(at) => format!("element {at} changed"),
        None => format!("{} elements became {}", before.len(), after.len()),
    }
}

/// A recorded reply with a user message before it, as a history.
fn recorded_history(format: HistoryFormat, reply: &str) -> Option<String> {
    let HistoryFormat::Provider(format) = format else { return None };
    let reply = reply.trim();
    let list = match reply.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.trim(),
        None => reply,
    };
    let user = match format {
        Format::OpenaiChat | Format::Anthropic | Format::OpenaiResponses => {
            r#"{"role":"user","content":"Go on."}"#
        }
        Format::Gemini => r#"{"role":"user","parts":[{"text":"Go on."}]}"#,
        Format::Bedrock => r#"{"role":"user","content":[{"text":"Go on."}]}"#,
        Format::GeminiInteractions => {
            r#"{"type":"user_input","content":[{"type":"text","text":"Go on."}]}"#
        }
    };
    let separator = if list.is_empty() { "" } else { "," };
    Some(format!("[{user}{separator}{list}]"))
}
