//! `foxwedge suite`: engines that are right, wrong, slow, gone, and that talk nonsense.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// The command of our own engine.
fn own_engine() -> String {
    format!("'{}' suite engine", env!("CARGO_BIN_EXE_foxwedge"))
}

fn json(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let all = [&["suite", "run", "--output-format", "json"], arguments].concat();
    let ran = sandbox.run(&all);
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}\n{}", ran.all()))
}

#[test]
fn our_engine_passes_the_suite_over_the_protocol() {
    let ran = Sandbox::new().run(&["suite", "run", "--engine", &own_engine()]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let all = ran.out.lines().find(|line| line.starts_with("all")).expect("a line for all");
    assert!(all.contains(" 0 ") && all.ends_with("100 %"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn garbage_silence_and_a_dead_engine_fail_the_question_and_the_engine_is_started_again() {
    let table = [
        ("sh -c 'while read -r l; do echo garbage; done'", "no JSON object"),
        // Answers one question and ends.
        ("sh -c 'read -r l'", "the engine ended"),
        ("sh -c 'while read -r l; do sleep 60; done'", "no answer within 1 seconds"),
    ];
    for (engine, expected) in table {
        let sandbox = Sandbox::new();
        let report = json(
            &sandbox,
            &[
                "--timeout",
                "1",
                "--track",
                "validate",
                "--only",
                "V0547,V0559",
                "--profile",
                "openai-chat",
                "--engine",
                engine,
            ],
        );
        assert_eq!((&report["passed"], &report["failed"]), (&0.into(), &2.into()), "{report}");
        for question in report["questions"].as_array().expect("questions") {
            assert_eq!(question["broken"][0]["law"], "answer", "{engine}");
            let what = question["broken"][0]["what"].as_str().unwrap_or_default();
            assert!(what.contains(expected), "{engine}: {what}");
        }
    }
}

#[cfg(unix)]
#[test]
fn an_engine_that_never_starts_again_is_given_up() {
    let report = json(&Sandbox::new(), &["--track", "validate", "--engine", "sh -c 'exit 3'"]);
    let last = report["questions"].as_array().and_then(|all| all.last()).expect("questions");
    assert_eq!(last["broken"][0]["what"], "the engine ended 20 times in a row");
}

#[test]
fn expected_failures_pass_and_everything_else_fails() {
    let sandbox = Sandbox::new();
    let engine = own_engine();
    let run = |arguments: &[&str]| {
        let own = ["suite", "run", "--only", "V0547", "--track", "repair", "--engine", &engine];
        sandbox.run(&[own.as_slice(), arguments].concat())
    };
    assert_eq!(run(&["--badge", "badge.svg"]).code, 0);
    assert!(sandbox.read("badge.svg").contains("repair 100 %"));
    sandbox.write("none.txt", "# nothing is expected to fail\n");
    assert_eq!(run(&["--expect", "none.txt"]).code, 0);
    sandbox.write("wrong.txt", "V0547 repair openai-chat\n");
    let ran = run(&["--expect", "wrong.txt"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(
        ran.err.contains("expected to fail, but passed:\n  V0547 repair openai-chat"),
        "{}",
        ran.err
    );
    assert_eq!(run(&["--output-format", "expect"]).out, "");
    assert!(run(&["--output-format", "junit"]).out.contains("failures=\"0\""));
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.txt", "V0001\n");
    sandbox.write("vectors/V0001.json", "{}");
    let table: [(&[&str], &str); 5] = [
        (&["--engine", "no-such-program-here"], "the engine cannot be started"),
        (&["--engine", "'open"], "a quote is not closed"),
        (&["--engine", "x", "--expect", "bad.txt"], "line 1: not a vector, a track and a profile"),
        (&["--engine", "x", "--vectors", "vectors"], "is no vector"),
        (&["--engine", &own_engine(), "--only", "V9999"], "no vector of the suite is selected"),
    ];
    for (arguments, expected) in table {
        let ran = sandbox.run(&[&["suite", "run"], arguments].concat());
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
}

#[test]
fn our_engine_answers_a_bad_line_with_an_error() {
    let ran = Sandbox::new().pipe(&["suite", "engine"], "nonsense\n\n");
    let reply: Value = serde_json::from_str(&ran.out).expect("one line");
    assert!(
        reply["error"].as_str().is_some_and(|error| error.contains("not a question")),
        "{reply}"
    );
    assert_eq!(ran.code, 0);
}
