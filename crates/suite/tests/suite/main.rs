//! Our engine passes the suite, and the judge finds every planted fault: for each law there is an
//! engine that breaks exactly this one.

mod documents;
mod model;
mod probe;
mod second_faults;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use foxwedge_suite::{
    EngineAnswer, EngineReply, ExpectedFailures, HistoryFormat, HistoryReading, ProfileRules,
    ProfileVerdict, QuestionFilter, QuestionOutcome, ReferenceEngine, RepairLaws, SuiteEngine,
    SuiteLaw, SuiteLevel, SuiteQuestion, SuiteResults, SuiteSession, SuiteTrack, SuiteVector,
    SuiteVerdict, badge_svg, json_report, junit_report, run_suite, text_table,
};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite")
}

fn vectors() -> Vec<SuiteVector> {
    let mut vectors = Vec::new();
    for folder in fs::read_dir(folder().join("vectors")).expect("vectors") {
        for file in fs::read_dir(folder.expect("a folder").path()).expect("a folder") {
            let text = fs::read_to_string(file.expect("a file").path()).expect("a vector");
            vectors.push(serde_json::from_str(&text).expect("a vector"));
        }
    }
    vectors.sort_by(|one: &SuiteVector, two| one.id.cmp(&two.id));
    vectors
}

#[test]
fn our_engine_passes_every_vector() {
    let results = run_suite(&vectors(), &mut ReferenceEngine, &QuestionFilter::default(), |_| ());
    assert!(results.questions.len() > 1000, "{}", results.questions.len());
    assert_eq!(results.failed().count(), 0, "{}", text_table(&results));
    assert_eq!(results.skipped(), 0);
}

#[test]
fn every_vector_has_its_own_number_evidence_and_laws() {
    let mut seen = BTreeSet::new();
    for vector in vectors() {
        assert!(seen.insert(vector.id.clone()), "{} is there twice", vector.id);
        assert!(!vector.title.is_empty() && !vector.clause.is_empty(), "{}", vector.id);
        for (profile, known) in &vector.verdicts {
            let evidence = vector.evidence.iter().any(|evidence| evidence.profile == *profile);
            let unknown = known.verdict == SuiteVerdict::Unknown;
            assert_eq!(evidence, !unknown, "{} {profile}: evidence", vector.id);
            let invalid = known.verdict == SuiteVerdict::Invalid;
            assert_eq!(!known.causes.is_empty(), invalid, "{} {profile}: causes", vector.id);
            let repaired = vector.tracks.contains(&SuiteTrack::Repair) && !known.needs_decision;
            assert!(!invalid || !repaired || vector.laws.is_some(), "{}: laws", vector.id);
        }
    }
}

/// What the schema says about one object, compared with what a vector has.
fn check_object(schema: &Value, value: &Value, place: &str) {
    let properties = schema["properties"].as_object().expect("an object schema");
    let object = value.as_object().unwrap_or_else(|| panic!("{place} is no object"));
    for key in object.keys() {
        assert!(properties.contains_key(key), "{place}.{key} is not in the schema");
    }
    for key in schema["required"].as_array().expect("required fields") {
        let key = key.as_str().expect("a name");
        assert!(object.contains_key(key), "{place}.{key} is missing");
    }
    for (key, property) in properties {
        let Some(value) = object.get(key) else { continue };
        if let Some(allowed) = property["enum"].as_array() {
            assert!(allowed.contains(value), "{place}.{key}: {value}");
        }
    }
}

#[test]
fn every_vector_keeps_to_the_schema() {
    let text = fs::read_to_string(folder().join("vector.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    let definitions = &schema["$defs"];
    for vector in vectors() {
        let value = serde_json::to_value(&vector).expect("JSON");
        check_object(&schema, &value, &vector.id);
        for verdict in value["verdicts"].as_object().expect("verdicts").values() {
            check_object(&definitions["verdict"], verdict, &vector.id);
        }
        for evidence in value["evidence"].as_array().expect("evidence") {
            check_object(&definitions["evidence"], evidence, &vector.id);
        }
        if let Some(laws) = value.get("laws") {
            check_object(&definitions["laws"], laws, &vector.id);
        }
    }
}

/// An engine that does something to the work of ours.
struct PlantedEngine(fn(&SuiteQuestion<'_>, EngineAnswer) -> EngineAnswer);

impl SuiteEngine for PlantedEngine {
    fn ask(&mut self, question: &SuiteQuestion<'_>) -> EngineReply {
        EngineReply::new(self.0(question, ReferenceEngine.ask(question).answer))
    }
}

/// Changes the list of messages in an output.
fn changed(answer: EngineAnswer, change: impl FnOnce(&mut Vec<Value>)) -> EngineAnswer {
    let EngineAnswer::Output(text) = answer else { panic!("{answer:?}") };
    let mut list: Vec<Value> = serde_json::from_str(&text).expect("a list");
    change(&mut list);
    EngineAnswer::Output(Value::from(list).to_string())
}

fn call(id: &str, at: u32) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "look", "arguments": format!("{{\"at\":{at}}}")}})
}

/// A history in which the second call has no result.
fn open_call() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "first question here"}),
        json!({"role": "assistant", "content": "let me look that up", "tool_calls": [call("c1", 1)]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "the first real result"}),
        json!({"role": "assistant", "content": "", "tool_calls": [call("c2", 2)]}),
        json!({"role": "user", "content": "second question here"}),
    ]
}

fn vector(track: SuiteTrack, verdict: SuiteVerdict, messages: Vec<Value>) -> SuiteVector {
    let format = HistoryFormat::parse("openai-chat").expect("a format");
    let input = Value::from(messages).to_string();
    let rules = ProfileRules::new(format, "openai-chat").expect("a profile");
    let reading = HistoryReading::of(&rules, &input).expect("a history");
    let known =
        ProfileVerdict { verdict, causes: Vec::new(), messages: vec![3], needs_decision: false };
    SuiteVector {
        id: "V0000".to_owned(),
        title: "a test".to_owned(),
        clause: "FW101".to_owned(),
        tracks: vec![track],
        level: SuiteLevel::A,
        format,
        input,
        keep: (track == SuiteTrack::Cut).then_some(3),
        verdicts: BTreeMap::from([("openai-chat".to_owned(), known)]),
        evidence: Vec::new(),
        laws: Some(RepairLaws::of(&reading)),
    }
}

fn broken_laws(vector: &SuiteVector, engine: &mut dyn SuiteEngine) -> BTreeSet<SuiteLaw> {
    let results =
        run_suite(std::slice::from_ref(vector), engine, &QuestionFilter::default(), |_| ());
    assert_eq!(results.questions.len(), 1);
    results.failed().flat_map(|failed| failed.breaches()).map(|breach| breach.law).collect()
}

/// The vector and the engine that breaks a law, and only this one.
fn planted(law: SuiteLaw) -> (SuiteVector, PlantedEngine) {
    let validate = || vector(SuiteTrack::Validate, SuiteVerdict::Invalid, open_call());
    let repair = || vector(SuiteTrack::Repair, SuiteVerdict::Invalid, open_call());
    let mut whole = open_call();
    whole.insert(4, json!({"role": "tool", "tool_call_id": "c2", "content": "the second result"}));
    let valid = vector(SuiteTrack::Repair, SuiteVerdict::Valid, whole.clone());
    let mut cut = vector(SuiteTrack::Cut, SuiteVerdict::Valid, whole);
    if let Some(laws) = &mut cut.laws {
        laws.texts.drain(..laws.texts.len() - 1);
        laws.results.clear();
        laws.calls.iter_mut().for_each(|call| call.stays = false);
    }
    match law {
        SuiteLaw::Answer => (repair(), PlantedEngine(|_, _| EngineAnswer::Failed("?".to_owned()))),
        SuiteLaw::Verdict => {
            (validate(), PlantedEngine(|_, _| EngineAnswer::Verdict { valid: true, message: None }))
        }
        SuiteLaw::Message => (
            validate(),
            PlantedEngine(|_, _| EngineAnswer::Verdict { valid: false, message: Some(0) }),
        ),
        SuiteLaw::Readable => {
            (repair(), PlantedEngine(|_, _| EngineAnswer::Output("no history".to_owned())))
        }
        SuiteLaw::Valid => {
            (repair(), PlantedEngine(|question, _| EngineAnswer::Output(question.input.to_owned())))
        }
        SuiteLaw::Texts => (
            repair(),
            PlantedEngine(|_, answer| {
                changed(answer, |list| list.retain(|it| it["content"] != "second question here"))
            }),
        ),
        SuiteLaw::Results => (
            repair(),
            PlantedEngine(|_, answer| {
                changed(answer, |list| list[2]["content"] = json!("shortened"))
            }),
        ),
        SuiteLaw::Calls => (
            repair(),
            PlantedEngine(|_, answer| {
                changed(answer, |list| {
                    if let Some(object) = list[1].as_object_mut() {
                        object.remove("tool_calls");
                    }
                    list.retain(|it| it["tool_call_id"] != "c1");
                })
            }),
        ),
        SuiteLaw::Invented => {
            (
                repair(),
                PlantedEngine(|_, answer| {
                    changed(answer, |list| {
                        if list.iter().any(|it| it["tool_call_id"] == "c9") {
                            return;
                        }
                        list.insert(1, json!({"role": "assistant", "content": "", "tool_calls": [call("c9", 9)]}));
                        list.insert(
                            2,
                            json!({"role": "tool", "tool_call_id": "c9", "content": "done"}),
                        );
                    })
                }),
            )
        }
        SuiteLaw::Order => (
            repair(),
            PlantedEngine(|_, answer| {
                changed(answer, |list| {
                    let last = list.len() - 1;
                    list[0]["content"] = json!("second question here");
                    list[last]["content"] = json!("first question here");
                })
            }),
        ),
        SuiteLaw::Ids => (
            repair(),
            PlantedEngine(|_, answer| match answer {
                EngineAnswer::Output(text) => EngineAnswer::Output(text.replace("c1", "renamed")),
                other => other,
            }),
        ),
        SuiteLaw::Untouched => (
            valid,
            PlantedEngine(|_, answer| {
                changed(answer, |list| list[0]["content"] = json!("First question here!"))
            }),
        ),
        SuiteLaw::Idempotent => (
            repair(),
            PlantedEngine(|_, answer| {
                changed(answer, |list| {
                    let text = list[4]["content"].as_str().unwrap_or_default().to_owned();
                    list[4]["content"] = json!(format!("{text}!"));
                })
            }),
        ),
        SuiteLaw::Shorter => {
            (cut, PlantedEngine(|question, _| EngineAnswer::Output(question.input.to_owned())))
        }
    }
}

#[test]
fn for_every_law_an_engine_breaks_exactly_this_one() {
    for law in SuiteLaw::ALL {
        let (vector, mut engine) = planted(law);
        assert_eq!(broken_laws(&vector, &mut ReferenceEngine), BTreeSet::new(), "{}", law.name());
        assert_eq!(broken_laws(&vector, &mut engine), BTreeSet::from([law]), "{}", law.name());
    }
}

#[test]
fn an_engine_that_changes_nothing_fails_every_invalid_vector() {
    let mut idle = PlantedEngine(|question, _| match question.track {
        SuiteTrack::Validate => EngineAnswer::Verdict { valid: true, message: None },
        _ => EngineAnswer::Output(question.input.to_owned()),
    });
    let vectors = vectors();
    let filter = QuestionFilter {
        tracks: vec![SuiteTrack::Validate, SuiteTrack::Repair],
        ..QuestionFilter::default()
    };
    let results = run_suite(&vectors, &mut idle, &filter, |_| ());
    for result in &results.questions {
        let vector = vectors.iter().find(|vector| vector.id == result.id).expect("its vector");
        let invalid = vector.verdicts[&result.profile].verdict == SuiteVerdict::Invalid;
        let failed = !result.breaches().is_empty();
        assert!(!invalid || failed, "{} passes without a repair", result.key());
        let valid = vector.verdicts[&result.profile].verdict == SuiteVerdict::Valid;
        assert!(!valid || !failed, "{} fails without a change", result.key());
    }
}

#[test]
fn expected_failures_are_compared_both_ways() {
    let (vector, mut engine) = planted(SuiteLaw::Texts);
    let vectors = [vector];
    let failing = run_suite(&vectors, &mut engine, &QuestionFilter::default(), |_| ());
    let passing = run_suite(&vectors, &mut ReferenceEngine, &QuestionFilter::default(), |_| ());
    let written = ExpectedFailures::of(&failing);
    assert_eq!(written, "V0000 repair openai-chat  # texts\n");
    let expected = ExpectedFailures::read(&written, &vectors).expect("a file of ours");
    assert!(expected.difference(&failing).is_empty());
    let difference = expected.difference(&passing);
    assert_eq!(difference.unexpected_passes, ["V0000 repair openai-chat"]);
    let difference = ExpectedFailures::default().difference(&failing);
    assert_eq!(difference.new_failures, ["V0000 repair openai-chat"]);
    // A known failure is no failure in any form; a pass that was not expected is one.
    let forms = |results: &SuiteResults| {
        let report: Value = serde_json::from_str(&json_report(results, &expected)).expect("JSON");
        (report["questions"][0]["expected"].clone(), junit_report(results, &expected))
    };
    let (known, junit) = forms(&failing);
    assert_eq!(known, json!(true));
    assert!(junit.contains("tests=\"1\" failures=\"0\" skipped=\"1\""), "{junit}");
    assert!(junit.contains("<skipped message=\"expected failure: texts: "), "{junit}");
    assert!(!junit.contains("<failure"), "{junit}");
    let (_, junit) = forms(&passing);
    assert!(junit.contains("failures=\"1\" skipped=\"0\""), "{junit}");
    assert!(junit.contains("expected to fail, but passed"), "{junit}");
    let lines = ["V0001 repair", "V9999 repair openai-chat", "V0000 nonsense openai-chat"];
    for line in lines {
        let error = ExpectedFailures::read(&format!("# known\n{line}\n"), &vectors);
        assert!(error.expect_err(line).starts_with("line 2: "), "{line}");
    }
}

#[test]
fn a_run_that_is_driven_from_outside_has_the_same_results() {
    let vectors = vectors();
    let filter = QuestionFilter {
        tracks: vec![SuiteTrack::Validate, SuiteTrack::Repair],
        ids: vectors.iter().step_by(9).map(|vector| vector.id.clone()).collect(),
        ..QuestionFilter::default()
    };
    // One engine is right, one changes nothing, and one changes its own work again.
    let engines: [fn(&SuiteQuestion<'_>, EngineAnswer) -> EngineAnswer; 3] = [
        |_, answer| answer,
        |question, answer| match answer {
            EngineAnswer::Output(_) => EngineAnswer::Output(question.input.to_owned()),
            other => other,
        },
        |_, answer| match answer {
            EngineAnswer::Output(text) => EngineAnswer::Output(text.replace("user", "user ")),
            other => other,
        },
    ];
    for engine in engines {
        let mut engine = PlantedEngine(engine);
        let expected = run_suite(&vectors, &mut engine, &filter, |_| ());
        let mut session = SuiteSession::new(vectors.clone(), &filter);
        while let Some(line) = session.question() {
            let asked: Value = serde_json::from_str(&line).expect("JSON");
            let text = |key: &str| asked[key].as_str().expect("a text").to_owned();
            let (id, profile, input) = (text("id"), text("profile"), text("input"));
            let question = SuiteQuestion {
                id: &id,
                track: SuiteTrack::parse(&text("track")).expect("a track"),
                format: HistoryFormat::parse(&text("format")).expect("a format"),
                profile: &profile,
                input: &input,
                target: None,
                keep: None,
            };
            let reply = engine.ask(&question);
            session.answer(&reply.line(&id));
        }
        assert_eq!(session.results().questions, expected.questions);
    }
}

#[test]
fn results_have_the_same_counts_in_every_form() {
    let (vector, mut engine) = planted(SuiteLaw::Texts);
    let none = ExpectedFailures::default();
    let mut skipping = PlantedEngine(|_, _| EngineAnswer::Skip("no".to_owned()));
    let vectors = [vector];
    let failing = run_suite(&vectors, &mut engine, &QuestionFilter::default(), |_| ());
    let skipped = run_suite(&vectors, &mut skipping, &QuestionFilter::default(), |_| ());
    let report: Value = serde_json::from_str(&json_report(&failing, &none)).expect("JSON");
    assert_eq!((&report["passed"], &report["failed"]), (&json!(0), &json!(1)));
    assert_eq!(report["questions"][0]["broken"][0]["law"], "texts");
    assert!(junit_report(&failing, &none).contains("tests=\"1\" failures=\"1\" skipped=\"0\""));
    assert!(junit_report(&skipped, &none).contains("<skipped/>"));
    assert_eq!(skipped.questions[0].outcome, QuestionOutcome::Skipped);
    assert!(badge_svg(&failing).contains("repair 0 %"));
    assert!(badge_svg(&skipped).contains("not run"));
}

#[test]
fn no_output_makes_the_judge_panic_and_no_nonsense_passes() {
    const NONSENSE: [&str; 9] =
        ["", "null", "0", "\"\"", "{}", "[null]", "[[[[", "[{\"role\":7}]", "{\"messages\":{}}"];
    let filter = QuestionFilter {
        tracks: SuiteTrack::ALL.into_iter().skip(1).collect(),
        ..QuestionFilter::default()
    };
    let vectors = vectors();
    for text in NONSENSE {
        let mut engine = FixedEngine(|_| text.to_owned());
        let results = run_suite(&vectors, &mut engine, &filter, |_| ());
        for result in results.questions {
            let vector = vectors.iter().find(|it| it.id == result.id).expect("its vector");
            let says_something = vector.laws.as_ref().is_some_and(|laws| !laws.texts.is_empty());
            assert!(!says_something || !result.breaches().is_empty(), "{text}: {}", result.key());
        }
    }
    // A document that ends anywhere.
    let mut torn = FixedEngine(|question| {
        let half = question.input.len() / 2;
        question.input.char_indices().take_while(|(at, _)| *at < half).map(|(_, c)| c).collect()
    });
    run_suite(&vectors, &mut torn, &filter, |_| ());
}

/// An engine that answers every question with a text.
struct FixedEngine<F: Fn(&SuiteQuestion<'_>) -> String>(F);

impl<F: Fn(&SuiteQuestion<'_>) -> String> SuiteEngine for FixedEngine<F> {
    fn ask(&mut self, question: &SuiteQuestion<'_>) -> EngineReply {
        EngineReply::new(EngineAnswer::Output(self.0(question)))
    }
}
