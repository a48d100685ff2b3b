//! Foxwedge itself as an engine.

use foxwedge_core::{
    CompactionText, Severity, apply_plan, check,
    compact::{
        CompactionInput, ElisionPolicy, HistoryClues, TokenLimits, TokenWeights, plan_budget,
    },
};
use foxwedge_formats::{
    convert::{self, ConversionOptions},
    model::encode_turn,
    outline_options, read,
    stream::{StreamLimits, StreamWatcher},
};

use serde::Deserialize;

use crate::{
    EngineAnswer, EngineReply, HistoryFormat, ProfileRules, SuiteEngine, SuiteQuestion, SuiteTrack,
};

/// The engine of this project: the default policy, and nothing that the suite told it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceEngine;

impl SuiteEngine for ReferenceEngine {
    fn ask(&mut self, question: &SuiteQuestion<'_>) -> EngineReply {
        let rules = ProfileRules::new(question.target.unwrap_or(question.format), question.profile);
        let answer = match (rules, question.track) {
            (None, _) => Ok(EngineAnswer::Skip("the profile is not known".to_owned())),
            (Some(rules), SuiteTrack::Validate) => validate(&rules, question.input),
            (Some(rules), SuiteTrack::Repair) => {
                rules.repair(question.input).map(EngineAnswer::Output)
            }
            (Some(rules), SuiteTrack::Cut) => {
                cut(&rules, question.input, question.keep.unwrap_or(usize::MAX))
            }
            (Some(rules), SuiteTrack::Convert) => convert(&rules, question),
            (Some(rules), SuiteTrack::Stream) => record(&rules, question.input),
        };
        let engine = Some(concat!("foxwedge ", env!("CARGO_PKG_VERSION")).to_owned());
        EngineReply { answer: answer.unwrap_or_else(EngineAnswer::Failed), engine }
    }
}

/// A question, as an engine reads it.
#[derive(Deserialize)]
struct QuestionLine {
    id: String,
    track: SuiteTrack,
    format: HistoryFormat,
    profile: String,
    input: String,
    target: Option<HistoryFormat>,
    keep: Option<usize>,
}

/// The answer of this project's engine to a line of the protocol.
pub fn answer_line(line: &str) -> String {
    match serde_json::from_str::<QuestionLine>(line) {
        Ok(QuestionLine { id, track, format, profile, input, target, keep }) => {
            let question = SuiteQuestion {
                id: &id,
                track,
                format,
                profile: &profile,
                input: &input,
                target,
                keep,
            };
            ReferenceEngine.ask(&question).line(&id)
        }
        Err(error) => {
            EngineReply::new(EngineAnswer::Failed(format!("not a question: {error}"))).line("")
        }
    }
}

fn validate(rules: &ProfileRules, text: &str) -> Result<EngineAnswer, String> {
    rules.with_draft(text, |draft| {
        let report = check(draft, rules.options());
        let mut errors = report.findings.iter().filter(|it| it.severity == Severity::Error);
        let first = errors.next();
        let message = first.map(|finding| finding.location.message);
        EngineAnswer::Verdict { valid: first.is_none(), message }
    })
}

/// Drops the oldest units until few enough messages are left.
fn cut(rules: &ProfileRules, text: &str, keep: usize) -> Result<EngineAnswer, String> {
    let HistoryFormat::Provider(format) = rules.format else {
        return Ok(EngineAnswer::Skip("lists of the AI SDK are not cut".to_owned()));
    };
    let outline = outline_options(rules.options().profile);
    let document = read(text, format, outline).map_err(|error| error.to_string())?;
    let transcript = document.draft.clone().validate(rules.options());
    let transcript = transcript.map_err(|_| "the history is invalid".to_owned())?;
    let mut weights = TokenWeights::new(0, true);
    for message in &transcript.draft().messages {
        for _ in message.range() {
            weights.push_part(0, 0);
        }
        weights.push_message(1);
    }
    let (clues, elision) = (HistoryClues::default(), ElisionPolicy::default());
    let mut input = CompactionInput::new(&transcript, &weights, &clues, &elision, &[]);
    let limits = TokenLimits::exactly(keep as u64);
    let plan = plan_budget(&mut input, limits).map_err(|error| error.to_string())?;
    let repair = apply_plan(&transcript, rules.options(), &plan, CompactionText::default());
    Ok(EngineAnswer::Output(document.apply(&repair).to_string()))
}

fn convert(rules: &ProfileRules, question: &SuiteQuestion<'_>) -> Result<EngineAnswer, String> {
    match (question.format, rules.format) {
        (HistoryFormat::Provider(from), HistoryFormat::Provider(to)) => {
            let profile = Some(rules.options().profile);
            let options = ConversionOptions { profile, ..ConversionOptions::default() };
            let converted = convert::request(question.input, from, to, &options);
            let converted = converted.map_err(|error| error.to_string())?;
            Ok(EngineAnswer::Output(converted.body))
        }
        _ => Ok(EngineAnswer::Skip("only formats of providers are converted".to_owned())),
    }
}

/// The messages that a stream leaves in the history.
fn record(rules: &ProfileRules, stream: &str) -> Result<EngineAnswer, String> {
    let HistoryFormat::Provider(format) = rules.format else {
        return Ok(EngineAnswer::Skip("the format has no streams".to_owned()));
    };
    let mut watcher = StreamWatcher::new(format, StreamLimits::default());
    watcher.push(stream.as_bytes(), &mut |_| ());
    let seen = watcher.finish(&mut |_| ());
    let turn = encode_turn(&seen.collection.reply, format).unwrap_or_default();
    let list = if turn.starts_with('[') { turn } else { format!("[{turn}]") };
    Ok(EngineAnswer::Output(list))
}
