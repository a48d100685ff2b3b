//! A law can be broken in more than one way. Here are the ways beside those of the planted engines.

use foxwedge_suite::{
    EngineAnswer, QuestionFilter, SuiteLaw, SuiteQuestion, SuiteTrack, SuiteVerdict, run_suite,
};
use serde_json::json;

use super::{PlantedEngine, changed, open_call, vector};

/// A fault: the track, the law, words of the breach, and the engine.
type PlantedFault =
    (SuiteTrack, SuiteLaw, &'static str, fn(&SuiteQuestion<'_>, EngineAnswer) -> EngineAnswer);

const FAULTS: [PlantedFault; 7] = [
    (SuiteTrack::Repair, SuiteLaw::Answer, "an output was asked for", |_, _| {
        EngineAnswer::Verdict { valid: true, message: None }
    }),
    (SuiteTrack::Validate, SuiteLaw::Answer, "a verdict was asked for", |question, _| {
        EngineAnswer::Output(question.input.to_owned())
    }),
    (SuiteTrack::Repair, SuiteLaw::Texts, "more often than before", |_, answer| {
        changed(answer, |list| {
            list[0]["content"] = json!("first question here, second question here")
        })
    }),
    (SuiteTrack::Repair, SuiteLaw::Results, "more often than before", |_, answer| {
        changed(answer, |list| list[4]["content"] = json!("the first real result"))
    }),
    (SuiteTrack::Repair, SuiteLaw::Order, "the call to `look` has another place", |_, answer| {
        changed(answer, |list| list[1..5].rotate_left(2))
    }),
    (SuiteTrack::Repair, SuiteLaw::Invented, "the text `nobody said this`", |_, answer| {
        changed(answer, |list| {
            list.push(json!({"role": "assistant", "content": "nobody said this"}))
        })
    }),
    (SuiteTrack::Repair, SuiteLaw::Idempotent, "not twice", |question, answer| {
        match question.input.matches("tool_call_id").count() {
            1 => answer,
            _ => EngineAnswer::Failed("not twice".to_owned()),
        }
    }),
];

#[test]
fn a_law_that_is_broken_in_another_way_is_found() {
    for (track, law, words, engine) in FAULTS {
        let vectors = [vector(track, SuiteVerdict::Invalid, open_call())];
        let mut engine = PlantedEngine(engine);
        let results = run_suite(&vectors, &mut engine, &QuestionFilter::default(), |_| ());
        let breaches = results.questions[0].breaches();
        let found = breaches.iter().any(|breach| breach.law == law && breach.what.contains(words));
        assert!(found, "{} {words}: {breaches:?}", law.name());
    }
}

#[test]
fn a_valid_history_that_an_engine_calls_invalid_is_a_wrong_verdict() {
    let mut whole = open_call();
    whole.insert(4, json!({"role": "tool", "tool_call_id": "c2", "content": "the second result"}));
    let vectors = [vector(SuiteTrack::Validate, SuiteVerdict::Valid, whole)];
    let mut engine = PlantedEngine(|_, _| EngineAnswer::Verdict { valid: false, message: None });
    let results = run_suite(&vectors, &mut engine, &QuestionFilter::default(), |_| ());
    assert_eq!(results.questions[0].breaches()[0].law, SuiteLaw::Verdict);
}
