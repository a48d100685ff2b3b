//! Runs that are kept: everything that was shown is there, and nothing else.

use std::fs;

use serde_json::Value;

use crate::{follow_live::Live, follow_streams::*, sandbox::Sandbox};

/// The runs of a store, as programs see them.
pub(crate) fn runs(sandbox: &Sandbox, store: &str) -> Vec<Value> {
    let ran = sandbox.run(&["runs", "--json", "--limit", "1000", "--store", store]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    document["runs"].as_array().unwrap().clone()
}

#[test]
fn a_kept_run_is_what_was_shown() {
    let sandbox = Sandbox::new();
    let stream = recording("claude-code-2.1.325-subagents-parallel");
    let arguments = ["follow", "--store", "a.db", "--run", "run-1", "--as", "jsonl"];
    let followed = sandbox.pipe(&arguments, &stream);
    assert_eq!(followed.code, 0, "{}", followed.all());
    let events = sandbox.run(&["runs", "events", "run-1", "--store", "a.db"]);
    assert_eq!(events.out, followed.out);
    let shown = sandbox.run(&["runs", "show", "run-1", "--store", "a.db"]);
    // Into a file, into another store, and out again.
    let ran = sandbox.run(&["store", "export", "-o", "runs.jsonl", "--store", "a.db"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let ran = sandbox.run(&["store", "import", "runs.jsonl", "--store", "b.db"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(runs(&sandbox, "b.db"), runs(&sandbox, "a.db"));
    let events = sandbox.run(&["runs", "events", "run-1", "--store", "b.db"]);
    assert_eq!(events.out, followed.out);
    let again = sandbox.run(&["runs", "show", "run-1", "--store", "b.db"]);
    assert_eq!(again.out.replace("b.db", "a.db"), shown.out);
    let ran = sandbox.run(&["store", "export", "--store", "b.db"]);
    assert_eq!(ran.out, sandbox.read("runs.jsonl"));
}

#[test]
fn nothing_is_kept_unless_somebody_asks_for_it() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    assert_eq!(sandbox.run(&["follow", "s.jsonl"]).code, 0);
    assert_eq!(sandbox.names(), ["s.jsonl"]);
    assert!(!sandbox.home().exists());
    let ran = sandbox.run_with("FOXWEDGE_STORE", "env.db", &["follow", "s.jsonl", "--no-store"]);
    assert_eq!((ran.code, sandbox.names().len()), (0, 1));
    let ran = sandbox.run_with("FOXWEDGE_STORE", "env.db", &["follow", "s.jsonl"]);
    assert!(ran.err.contains("recorded in sqlite:env.db"), "{}", ran.err);
    assert_eq!(runs(&sandbox, "env.db").len(), 1);
    let ran =
        sandbox.run_with("FOXWEDGE_STORE", "env.db", &["follow", "s.jsonl", "--store", "f.db"]);
    assert!(ran.err.contains("recorded in sqlite:f.db"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_store_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::with("s.jsonl", whole());
    assert_eq!(sandbox.run(&["follow", "s.jsonl", "--store", "deep/er/runs.db"]).code, 0);
    let mode = |name: &str| fs::metadata(sandbox.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("deep/er/runs.db"), mode("deep/er")), (0o600, 0o700));
    assert_eq!(
        sandbox.run(&["store", "export", "-o", "e.jsonl", "--store", "deep/er/runs.db"]).code,
        0
    );
    assert_eq!(mode("e.jsonl"), 0o600);
}

#[test]
fn runs_of_one_session_are_numbered_and_leave_their_history() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    for run in ["one", "two"] {
        let ran = sandbox.run(&["follow", "s.jsonl", "--store", "runs.db", "--run", run]);
        assert_eq!(ran.code, 0, "{}", ran.all());
    }
    let found: Vec<(String, u64)> = runs(&sandbox, "runs.db")
        .iter()
        .map(|run| (run["id"].as_str().unwrap().to_owned(), run["epoch"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [("two".to_owned(), 2), ("one".to_owned(), 1)]);
    let exported = sandbox.run(&["store", "export", SESSION, "--store", "runs.db"]).out;
    let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records: Vec<Value> = lines.filter(|line| line.get("record").is_some()).collect();
    let told: Vec<(&str, &str)> = records
        .iter()
        .map(|line| {
            (line["record"]["run"].as_str().unwrap(), line["body"]["role"].as_str().unwrap())
        })
        .collect();
    let expected =
        ["one", "two"].map(|run| [(run, "assistant"), (run, "user"), (run, "assistant")]);
    assert_eq!(told, expected.concat());
    // One history: every record follows the one before it.
    let parents: Vec<&Value> = records.iter().map(|line| &line["record"]["parent"]).collect();
    let ids: Vec<&Value> = records.iter().map(|line| &line["record"]["id"]).collect();
    assert_eq!(parents[1..], ids[..ids.len() - 1]);
}

#[test]
fn a_run_is_kept_under_the_names_that_were_asked_for() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    let arguments =
        ["follow", "s.jsonl", "--store", "runs.db", "--session", "mine", "--run", "first"];
    assert_eq!(sandbox.run(&arguments).code, 0);
    let run = &runs(&sandbox, "runs.db")[0];
    assert_eq!((&run["id"], &run["session"]), (&"first".into(), &"mine".into()));
    let again = sandbox.run(&arguments);
    assert_eq!(again.code, 2, "{}", again.all());
    assert!(again.err.contains("run `first` already exists"), "{}", again.err);
    assert!(again.err.contains("help: omit --run"), "{}", again.err);
    let ran = sandbox.run(&["follow", "s.jsonl", "--store", "runs.db", "--session", "a b"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("`a b` is not a valid session id"), "{}", ran.err);
}

#[test]
fn a_session_with_a_strange_name_is_spelled_so_that_a_store_takes_it() {
    let sandbox = Sandbox::with("s.jsonl", whole().replace(SESSION, "work/ä:1"));
    let ran = sandbox.run(&["follow", "s.jsonl", "--store", "runs.db"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let session = runs(&sandbox, "runs.db")[0]["session"].as_str().unwrap().to_owned();
    assert!(session.starts_with("work___1-"), "{session}");
}

#[test]
fn two_streams_are_kept_in_one_store_at_once() {
    let sandbox = Sandbox::new();
    let arguments = |run| ["follow", "--store", "runs.db", "--as", "jsonl", "--run", run];
    let mut one = Live::start(&sandbox, &arguments("one"));
    let mut two = Live::start(&sandbox, &arguments("two"));
    one.say(&init());
    one.hear("run-started");
    two.say(&init().replace(SESSION, "other"));
    two.hear("run-started");
    for number in 0..50 {
        let id = format!("t{number}");
        for live in [&mut one, &mut two] {
            live.say(&[call(&id, "make"), answer(&id, "ok")].concat());
        }
    }
    for live in [&mut one, &mut two] {
        live.say(&[says("Done."), result("Done.")].concat());
        live.close();
    }
    for (run, live) in [("one", one), ("two", two)] {
        let (code, out, err) = live.end();
        assert_eq!(code, 0, "{err}");
        let kept = sandbox.run(&["runs", "events", run, "--store", "runs.db"]);
        assert_eq!(kept.out, out);
    }
    let ran = sandbox.run(&["store", "check", "--store", "runs.db"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
}

#[test]
fn addresses_that_are_none_get_help() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    sandbox
        .write("text.txt", "this is no database, and it is long enough to be looked at".repeat(40));
    let table = [
        ("mysql://me:secret@host/db", "unknown store `mysql://`"),
        ("sqlite:", "names no file"),
        ("text.txt", "text.txt"),
        ("s.jsonl/runs.db", "s.jsonl"),
        ("postgres://me:secret@127.0.0.1:1/db", "the store cannot be reached"),
    ];
    for (url, expected) in table {
        let ran = sandbox.run(&["follow", "s.jsonl", "--store", url]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{url}: {}", ran.all());
        assert!(ran.err.contains(expected), "{url}: {}", ran.err);
        assert!(ran.err.contains("help:"), "{url}: {}", ran.err);
        assert!(!ran.err.contains("secret"), "{url}: {}", ran.err);
    }
}
