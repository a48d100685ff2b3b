//! More findings than anybody reads: the first are listed, all are counted, and all are repaired.

use foxwedge_core::{CheckOptions, Format, Profile, Strategy, check};
use foxwedge_formats::{
    convert::{self, ConversionOptions},
    outline_options, read,
};
use foxwedge_sessions::{self, SessionAgent};
use foxwedge_testkit::hostile::shapes;

/// Findings of one rule that are listed.
const LISTED: usize = 20_000;

fn orphans(many: usize) -> String {
    let answers: Vec<String> = (0..many)
        .map(|at| format!(r#"{{"role":"tool","tool_call_id":"o{at}","content":"x"}}"#))
        .collect();
    format!("[{}]", answers.join(","))
}

#[test]
fn findings_that_are_not_listed_are_counted_and_repaired() {
    let source = orphans(25_000);
    let question = CheckOptions::for_profile(Profile::OpenaiChat);
    let reading =
        read(&source, Format::OpenaiChat, outline_options(question.profile)).expect("readable");
    let report = check(&reading.draft, &question);
    assert_eq!((report.total(), report.findings.len()), (25_000, LISTED));
    assert_eq!((report.counts.of(102), report.unlisted()), (25_000, 5_000));
    let (patched, repair) = reading.fix(&question);
    assert_eq!((repair.edits.len(), repair.edits.iter().count()), (25_000, LISTED));
    let kinds: Vec<_> = repair.edits.counts().iter().map(|it| (it.code, it.strategy)).collect();
    assert_eq!(kinds, [(102, Strategy::Quote)]);
    let fixed = patched.to_string();
    let again =
        read(&fixed, Format::OpenaiChat, outline_options(question.profile)).expect("readable");
    assert!(check(&again.draft, &question).is_clean());
    let messages = again.draft.messages.len();
    assert_eq!(messages, 25_000, "every answer is kept as user text");
}

#[test]
fn every_hostile_document_is_repaired_for_good() {
    let mut broken = Vec::new();
    for shape in shapes() {
        let bytes = (shape.make)(400);
        let Some(fixed) = shape.format.repaired(&bytes) else {
            broken.push(format!("{}: cannot be read", shape.name));
            continue;
        };
        match shape.format.check(&fixed) {
            Some(outcome) if outcome.left == 0 => {}
            outcome => broken.push(format!("{}: {outcome:?}", shape.name)),
        }
        if shape.format.repaired(&fixed).is_none_or(|twice| twice != fixed) {
            broken.push(format!("{}: a second repair changes it", shape.name));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_string_of_many_half_characters_is_one_finding_that_says_how_many() {
    let source = r#"[{"role":"user","content":"a \ud83d b \ude00 \ud83d\ude00 \\ud83d c\udc00"},
        {"role":"user","content":"\ud83d"}]"#;
    let question = CheckOptions::for_profile(Profile::OpenaiChat);
    let reading =
        read(source, Format::OpenaiChat, outline_options(question.profile)).expect("readable");
    let (patched, repair) = reading.fix(&question);
    let found: Vec<(&str, usize)> = repair
        .before
        .findings
        .iter()
        .map(|finding| (finding.message.as_str(), finding.location.message))
        .collect();
    let many = "3 lone surrogate escapes (half characters) in one string";
    assert_eq!(found, [(many, 0), ("a lone surrogate escape (half a character)", 1)]);
    let notes: Vec<&str> = repair.edits.iter().map(|edit| edit.note.as_str()).collect();
    assert_eq!(notes, ["3 lone surrogates become U+FFFD", "a lone surrogate becomes U+FFFD"]);
    let expected = source
        .replace(r"a \ud83d b \ude00 ", r"a \ufffd b \ufffd ")
        .replace(r"c\udc00", r"c\ufffd")
        .replace(r#""\ud83d""#, r#""\ufffd""#);
    assert_eq!(patched.to_string(), expected);
}

#[test]
fn what_is_listed_of_a_flawed_file_says_something() {
    let wanted =
        ["parents that are not there", "torn lines", "records of one uuid that say the same"];
    for shape in shapes().into_iter().filter(|shape| wanted.contains(&shape.name)) {
        let bytes = (shape.make)(22_000);
        let text = foxwedge_sessions::readable_text(&bytes).expect("small enough");
        let mut question = CheckOptions::for_profile(SessionAgent::ClaudeCode.profile());
        SessionAgent::ClaudeCode.restrict_rules(&mut question);
        let session = foxwedge_sessions::read(
            &text,
            SessionAgent::ClaudeCode,
            outline_options(question.profile),
        );
        let session = session.expect("readable");
        let report = check(session.draft(), &question);
        let flaws = || report.findings.iter().filter(|finding| finding.rule.code >= 700);
        assert_eq!(flaws().count(), LISTED, "{}", shape.name);
        let exact = flaws().all(|it| it.message.contains("line ") || !it.ids.is_empty());
        assert!(exact, "{}: {:?}", shape.name, flaws().find(|it| it.ids.is_empty()));
        let total: usize = [701, 703, 801].map(|code| report.counts.of(code)).iter().sum();
        assert!(total >= 21_999, "{}: {total}", shape.name);
    }
}

#[test]
fn a_conversion_names_every_id_it_replaced() {
    let messages: Vec<String> = (0..21_000)
        .map(|at| {
            format!(
                r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"call-{at}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"call-{at}","content":"x"}}"#
            )
        })
        .collect();
    let source = format!(r#"[{{"role":"user","content":"go"}},{}]"#, messages.join(","));
    let options =
        ConversionOptions { profile: Some(Profile::Mistral), ..ConversionOptions::default() };
    let converted = convert::request(&source, Format::OpenaiChat, Format::OpenaiChat, &options);
    let converted = converted.expect("readable");
    assert_eq!(converted.renamed.len(), 21_000);
    let right = |(at, renamed): (usize, &foxwedge_formats::model::IdentifierReplacement)| {
        renamed.old == format!("call-{at}") && renamed.new.len() == 9
    };
    assert!(converted.renamed.iter().enumerate().all(right));
    assert!(!converted.body.contains("call-"));
    let last = &converted.renamed[20_999].new;
    assert_eq!(converted.body.matches(last.as_str()).count(), 2, "on call and answer");
}
