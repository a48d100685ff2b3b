//! Live verdicts: what is sent, what is kept of a reply, and what contradicts the suite.

use std::{collections::BTreeMap, fs};

use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedRequest, respond};
use foxwedge_suite::{
    ProbeEvidence, ProbeFile, ProbeOutcome, ProbeRequest, ProbeVerdict, QuestionFilter, REVISION,
    SuiteVector, SuiteVerdict, contradicts, evidence_conflicts, merge_evidence, probe_vectors,
};

use serde_json::json;

use super::{folder, vectors};

/// The scripted judges answer as providers do; they share no code with the engine.
fn judge(request: &ProbeRequest, format: Format, profile: &str) -> ProbeVerdict {
    let path = match format {
        Format::OpenaiChat => "/v1/chat/completions",
        Format::OpenaiResponses => "/v1/responses",
        Format::Anthropic => "/v1/messages",
        Format::Gemini => "/v1beta/models/scripted:generateContent",
        Format::GeminiInteractions => "/v1beta/interactions",
        Format::Bedrock => unreachable!("{profile} is not asked"),
    };
    let body = request.body.as_bytes();
    let response = respond(&ScriptedRequest { format, path, headers: &[], body });
    ProbeVerdict::of(request, response.status, &String::from_utf8_lossy(&response.body()))
}

const PROVIDERS: [(&str, Format, &str); 7] = [
    ("openai-chat", Format::OpenaiChat, "scripted"),
    ("openai-responses", Format::OpenaiResponses, "scripted"),
    ("anthropic", Format::Anthropic, "scripted"),
    ("gemini", Format::Gemini, "scripted"),
    ("gemini-interactions", Format::GeminiInteractions, "scripted"),
    ("mistral", Format::OpenaiChat, "scripted-mistral"),
    ("deepseek", Format::OpenaiChat, "scripted-deepseek"),
];

/// What the scripted judges do not know: strings in a list of outputs, and calls that the model does
/// not wait for.
const UNKNOWN_TO_JUDGES: [&str; 2] = ["V0200", "V0426"];

fn file(provider: &str, verdicts: Vec<ProbeVerdict>) -> ProbeFile {
    ProbeFile {
        suite: REVISION.to_owned(),
        provider: provider.to_owned(),
        model: "scripted".to_owned(),
        date: "2026-11-18".to_owned(),
        gateway: false,
        verdicts,
    }
}

#[test]
fn scripted_judges_confirm_the_chosen_vectors_of_every_provider() {
    let vectors = vectors();
    let mut against = Vec::new();
    for (profile, format, model) in PROVIDERS {
        let chosen = probe_vectors(&vectors, profile, &QuestionFilter::default(), false);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for vector in chosen.into_iter().filter(|it| it.format.name() == format.name()) {
            if UNKNOWN_TO_JUDGES.contains(&vector.id.as_str()) {
                continue;
            }
            let Ok(request) = ProbeRequest::new(vector, profile, model) else { continue };
            let verdict = judge(&request, format, profile);
            *counts.entry(format!("{:?}", verdict.outcome)).or_default() += 1;
            if let Some(what) = verdict.contradiction(vector, profile) {
                against.push(format!("{what}: {:?}", verdict.error));
            }
            if verdict.outcome == ProbeOutcome::Undecided {
                against.push(format!("{} {profile}: status {}", vector.id, verdict.status));
            }
        }
        assert!(counts.values().sum::<usize>() >= 3, "{profile}: {counts:?}");
    }
    assert_eq!(against, Vec::<String>::new());
}

fn vector(id: &str) -> SuiteVector {
    vectors().into_iter().find(|vector| vector.id == id).expect("the vector")
}

#[test]
fn a_request_asks_for_the_smallest_reply_and_leaves_the_history_alone() {
    let vector = vector("V0547");
    let request = ProbeRequest::new(&vector, "openai-chat", "small").expect("a request");
    assert!(request.body.contains(vector.input.trim()), "{}", request.body);
    let body: serde_json::Value = serde_json::from_str(&request.body).expect("JSON");
    assert_eq!((&body["model"], &body["max_completion_tokens"]), (&"small".into(), &1.into()));
    assert_eq!(body["tools"][0]["function"]["name"], "look");
    assert_eq!(request.output_tokens, 1);
    assert!(request.input_tokens * 3 >= request.body.len() as u64);
}

#[test]
fn a_verdict_holds_no_secret_and_is_short() {
    let vector = vector("V0547");
    let request = ProbeRequest::new(&vector, "openai-chat", "small").expect("a request");
    let secrets = "org-4fK29aXbQ71z sk-proj-0a1b2c3d4e5f6a7b req_011CPq7x2VdLJ8 ann@example.com";
    let error = format!("No tool output found for call00001 ({secrets})\n{}", "x ".repeat(400));
    let body = serde_json::json!({"error": {"message": error}}).to_string();
    let verdict = ProbeVerdict::of(&request, 400, &body);
    let text = verdict.error.clone().expect("an error text");
    assert_eq!(verdict.outcome, ProbeOutcome::Refused);
    assert!(text.contains("call00001") && text.chars().count() <= 300, "{text}");
    for secret in ["org-4fK29", "sk-proj", "req_011"] {
        assert!(!text.contains(secret), "{text}");
    }
    for status in [200, 401, 403, 404, 429, 500, 529] {
        let verdict = ProbeVerdict::of(&request, status, &body);
        assert_eq!(verdict.error, None, "{status}");
        assert_eq!(verdict.outcome, ProbeOutcome::Undecided, "{status}");
    }
}

#[test]
fn only_a_reply_of_the_api_is_accepted() {
    let table = [
        ("V0547", "openai-chat", json!({"choices": [{"message": {"content": "a"}}]})),
        ("V0010", "anthropic", json!({"type": "message", "content": []})),
    ];
    for (id, profile, reply) in table {
        let request = ProbeRequest::new(&vector(id), profile, "small").expect("a request");
        let outcome = |body: &str| ProbeVerdict::of(&request, 200, body).outcome;
        assert_eq!(outcome(&reply.to_string()), ProbeOutcome::Accepted, "{profile}");
        for body in ["<html>proxy login</html>", "", "{}", "[]", "\0garbage", r#"{"ok":true}"#] {
            assert_eq!(outcome(body), ProbeOutcome::Undecided, "{profile}: {body}");
        }
        let error = json!({"type": "error", "error": {"message": "Overloaded"}});
        assert_eq!(outcome(&error.to_string()), ProbeOutcome::Undecided, "{profile}");
    }
}

#[test]
fn contributed_files_become_lines_of_evidence() {
    let vectors = vectors();
    let verdict = |id: &str, outcome, error: Option<&str>| ProbeVerdict {
        id: id.to_owned(),
        status: if outcome == ProbeOutcome::Accepted { 200 } else { 400 },
        outcome,
        cause: None,
        error: error.map(str::to_owned),
    };
    let given = file(
        "openai-chat",
        vec![
            verdict("V0547", ProbeOutcome::Refused, Some("no\tresult")),
            verdict("V0523", ProbeOutcome::Undecided, None),
        ],
    );
    let lines = given.evidence(&vectors).expect("evidence");
    let table = "# head\nFW101\topenai-chat\terror text\t2026-11\ttext\n";
    let merged = merge_evidence(table, &lines);
    let line =
        "V0547\topenai-chat\trecorded exchange\t2026-11\trefused by scripted with 400: no result\n";
    assert_eq!(merged, format!("{table}{line}"));
    // Once more changes nothing; an older verdict does not replace a newer one.
    assert_eq!(merge_evidence(&merged, &lines), merged);
    let old = ProbeFile { date: "2025-01-01".to_owned(), ..given.clone() };
    let old = old.evidence(&vectors).expect("evidence");
    assert_eq!(merge_evidence(&merged, &old), merged);
    // Lines that disagree are named, whatever is newer and wherever they come from.
    assert_eq!(evidence_conflicts(&merged, &lines), Vec::<String>::new());
    let other = file("openai-chat", vec![verdict("V0547", ProbeOutcome::Accepted, None)]);
    let other = other.evidence(&vectors).expect("evidence");
    let conflict = "V0547 openai-chat: refused by scripted with 400: no result (2026-11); \
                    accepted by scripted (2026-11)";
    assert_eq!(evidence_conflicts(&merged, &other), [conflict]);
    assert_eq!(evidence_conflicts("", &[lines, other].concat()), [conflict]);

    let refused = |change: fn(&mut ProbeFile)| {
        let mut file = given.clone();
        change(&mut file);
        file.evidence(&vectors).expect_err("no evidence")
    };
    assert!(refused(|file| file.gateway = true).contains("gateway"));
    assert!(refused(|file| file.suite = "2020-01".to_owned()).contains("revision"));
    for date in ["yesterday", "2026-99-01", "2026-00-01", "2026-11-32", "2026-11-00"] {
        let file = ProbeFile { date: date.to_owned(), ..given.clone() };
        assert!(file.evidence(&vectors).expect_err("no evidence").contains("date"), "{date}");
    }
    assert!(refused(|file| file.verdicts[0].id = "V9999".to_owned()).contains("V9999"));
    assert!(refused(|file| file.provider = "gemini".to_owned()).contains("no vector for gemini"));
}

#[test]
fn what_a_provider_accepts_must_not_be_invalid_and_the_other_way_round() {
    let table = [
        (SuiteVerdict::Valid, ProbeOutcome::Accepted, false),
        (SuiteVerdict::Valid, ProbeOutcome::Refused, true),
        (SuiteVerdict::Invalid, ProbeOutcome::Accepted, true),
        (SuiteVerdict::Invalid, ProbeOutcome::Refused, false),
        (SuiteVerdict::Unknown, ProbeOutcome::Accepted, true),
        (SuiteVerdict::Acceptable, ProbeOutcome::Refused, false),
        (SuiteVerdict::Acceptable, ProbeOutcome::Accepted, false),
        (SuiteVerdict::Invalid, ProbeOutcome::Undecided, false),
    ];
    for (verdict, outcome, expected) in table {
        assert_eq!(contradicts(verdict, outcome), expected, "{verdict:?} {outcome:?}");
    }
}

/// A line of `evidence.tsv` that contradicts the verdict of its vector.
fn contradictions(table: &str, vectors: &[SuiteVector]) -> Vec<String> {
    let lines = table.lines().filter_map(ProbeEvidence::read);
    let against = lines.filter(|evidence| {
        let vector = vectors.iter().find(|vector| vector.id == evidence.id).expect("a vector");
        let known = vector.verdicts.get(&evidence.profile).expect("a verdict");
        contradicts(known.verdict, evidence.outcome())
    });
    against.map(|evidence| format!("{} {}", evidence.id, evidence.profile)).collect()
}

#[test]
fn no_recorded_verdict_contradicts_a_rule() {
    let vectors = vectors();
    let table = fs::read_to_string(folder().join("evidence.tsv")).expect("the evidence");
    assert_eq!(contradictions(&table, &vectors), Vec::<String>::new());
    // And one that does is found.
    let planted = "V0547\topenai-chat\trecorded exchange\t2026-11\taccepted by gpt\n";
    assert_eq!(contradictions(planted, &vectors), ["V0547 openai-chat"]);
}
