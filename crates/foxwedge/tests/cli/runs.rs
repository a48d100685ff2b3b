//! `foxwedge runs`: runs that were kept.

use serde_json::Value;

use crate::{follow_streams::*, sandbox::Sandbox};

/// A store with three runs in two sessions.
fn store() -> Sandbox {
    let sandbox = Sandbox::new();
    let table = [
        ("run-aaaa1", "claude-code-2.1.325-parallel3-errors", "s-1"),
        ("run-aaaa2", "claude-code-2.1.325-kill9-mid-tool", "s-1"),
        ("run-bbbb1", "claude-code-2.1.325-subagents-parallel", "s-2"),
    ];
    for (run, name, session) in table {
        let arguments = ["follow", "--store", "runs.db", "--run", run, "--session", session];
        let ran = sandbox.pipe(&arguments, recording(name));
        assert!(ran.code < 2, "{}", ran.all());
    }
    sandbox
}

/// Runs a command on the store.
fn ran(sandbox: &Sandbox, arguments: &[&str]) -> crate::sandbox::Ran {
    sandbox.run(&[arguments, &["--store", "runs.db"]].concat())
}

#[test]
fn runs_are_listed_the_newest_first() {
    let listed = ran(&store(), &["runs"]);
    assert_eq!(listed.code, 0, "{}", listed.all());
    let firsts: Vec<Vec<&str>> =
        listed.out.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
    let expected = [
        ["✓", "completed", "run-bbbb", "claude-code"],
        ["⚠", "interrupted", "run-aaaa2", "claude-code"],
        ["✓", "completed", "run-aaaa1", "claude-code"],
    ];
    assert_eq!(firsts, expected, "{}", listed.out);
    assert!(listed.err.ends_with("3 runs: 2 completed, 1 unsuccessful.\n"), "{}", listed.err);
}

#[test]
fn the_list_can_be_narrowed() {
    let sandbox = store();
    let table: [(&[&str], &[&str]); 5] = [
        (&["runs", "--session", "s-2"], &["run-bbbb1"]),
        (&["runs", "list", "--session", "s-1"], &["run-aaaa1", "run-aaaa2"]),
        (&["runs", "--open"], &[]),
        (&["runs", "--session", "s-9"], &[]),
        (&["runs", "list", "--limit", "0"], &[]),
    ];
    for (arguments, expected) in table {
        let listed = ran(&sandbox, &[arguments, &["--json"]].concat());
        assert_eq!((listed.code, listed.err.as_str()), (0, ""), "{arguments:?}");
        let document: Value = serde_json::from_str(&listed.out).unwrap();
        let mut ids: Vec<&str> = document["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| run["id"].as_str().unwrap())
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, expected, "{arguments:?}");
    }
    let listed = ran(&sandbox, &["runs", "--limit", "1"]);
    assert_eq!(listed.out.lines().count(), 1);
    assert!(listed.err.contains("use --limit for more"), "{}", listed.err);
}

#[test]
fn programs_get_the_run_with_its_numbers() {
    let shown = ran(&store(), &["runs", "show", "run-aaaa2", "--json"]);
    let document: Value = serde_json::from_str(&shown.out).unwrap();
    let run = &document["run"];
    assert_eq!(
        (&run["id"], &run["session"], &run["epoch"], &run["outcome"]),
        (&"run-aaaa2".into(), &"s-1".into(), &2.into(), &"interrupted".into())
    );
    let by_status = serde_json::json!({ "succeeded": 1, "interrupted": 2 });
    assert_eq!((&run["summary"]["calls"], &run["summary"]["byStatus"]), (&3.into(), &by_status));
    assert_eq!(document["truth"]["tools"].as_array().unwrap().len(), 3);
}

#[test]
fn a_run_is_drawn_with_its_sub_agents() {
    let sandbox = store();
    for run in ["run-aaaa1", "run-aaaa2", "run-bbbb1"] {
        let shown = ran(&sandbox, &["runs", "show", run]);
        assert_eq!((shown.code, shown.err.as_str()), (0, ""), "{}", shown.all());
        let undated: String = timeless(&shown.out)
            .split_inclusive('\n')
            .filter(|line| !line.starts_with("  started") && !line.starts_with("  ended"))
            .collect();
        insta::assert_snapshot!(format!("shown_{run}"), undated);
    }
}

#[test]
fn a_run_is_named_by_its_id_or_how_it_begins() {
    let sandbox = store();
    let table = [
        ("run-bbbb1", Ok("run-bbbb1")),
        ("run-b", Ok("run-bbbb1")),
        ("bbbb", Ok("run-bbbb1")),
        ("AAAA2", Ok("run-aaaa2")),
        ("aaaa", Err("2 runs match this prefix")),
        ("bbb", Err("there is no run `bbb`")),
        ("cccc", Err("there is no run `cccc`")),
        ("../x", Err("there is no run `../x`")),
    ];
    for (typed, expected) in table {
        let shown = ran(&sandbox, &["runs", "show", typed, "--json"]);
        match expected {
            Ok(id) => {
                let document: Value = serde_json::from_str(&shown.out).unwrap();
                assert_eq!(document["run"]["id"], id, "{typed}");
            }
            Err(words) => {
                assert_eq!((shown.code, shown.out.as_str()), (2, ""), "{typed}");
                assert!(shown.err.contains(words), "{typed}: {}", shown.err);
                assert!(shown.err.contains("help:"), "{typed}: {}", shown.err);
            }
        }
    }
}

#[test]
fn a_reader_goes_on_where_it_lost_the_connection() {
    let sandbox = store();
    for format in ["jsonl", "agui", "ai-sdk", "acp"] {
        let events = |more: &[&str]| {
            let arguments = ["runs", "events", "run-bbbb1", "--as", format, "--sse"];
            let told = ran(&sandbox, &[&arguments[..], more].concat());
            assert_eq!((told.code, told.err.as_str()), (0, ""), "{format} {more:?}");
            told.out
        };
        let all = events(&[]);
        let frames: Vec<&str> = all.split_inclusive("\n\n").collect();
        for (place, frame) in frames.iter().enumerate() {
            let id = frame.lines().next().unwrap().strip_prefix("id: ").unwrap();
            assert_eq!(events(&["--after", id]), frames[place + 1..].concat(), "{format} {id}");
        }
        assert_eq!(events(&["--after", "0"]), all, "{format}");
        assert_eq!(events(&["--after", "100000"]), "", "{format}");
    }
    let told = ran(&sandbox, &["runs", "events", "run-bbbb1", "--after", "soon"]);
    assert_eq!(told.code, 2, "{}", told.all());
    assert!(told.err.contains("--after: `soon` is not a frame id"), "{}", told.err);
}

#[test]
fn a_run_that_has_ended_is_followed_to_its_end() {
    let sandbox = store();
    let events = ran(&sandbox, &["runs", "events", "run-aaaa1"]);
    let followed = ran(&sandbox, &["runs", "events", "run-aaaa1", "--follow"]);
    assert_eq!((followed.code, followed.out), (0, events.out));
}

#[test]
fn nothing_is_made_where_nothing_was_kept() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["runs"]);
    assert_eq!((listed.code, listed.out.as_str()), (0, ""), "{}", listed.all());
    assert!(
        listed.err.starts_with("No run was recorded yet: there is no store at sqlite:"),
        "{}",
        listed.err
    );
    let listed = sandbox.run(&["runs", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&listed.out).unwrap()["runs"], serde_json::json!([]));
    for arguments in
        [&["runs", "show", "run-1"][..], &["runs", "events", "run-1"], &["runs", "stop", "run-1"]]
    {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains("no run was recorded yet"), "{}", ran.err);
    }
    let ran = sandbox.run(&["runs", "--store", "typo.db"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("there is no store at `typo.db`"), "{}", ran.err);
    assert!(sandbox.names().is_empty() && !sandbox.home().exists());
}

#[test]
fn the_usual_place_is_in_the_data_folder() {
    let sandbox = Sandbox::with("s.jsonl", whole());
    let path = sandbox.run(&["store", "path"]);
    let usual = sandbox.home().join(".local/share/foxwedge/foxwedge.db");
    assert_eq!(path.out, format!("sqlite:{}\n", usual.display()));
    let folder = sandbox.path("data");
    let ran = sandbox.run_with("XDG_DATA_HOME", folder.to_str().unwrap(), &["store", "path"]);
    assert_eq!(ran.out, format!("sqlite:{}\n", folder.join("foxwedge/foxwedge.db").display()));
    // What is kept there is found without a name.
    assert_eq!(sandbox.run(&["follow", "s.jsonl", "--store", usual.to_str().unwrap()]).code, 0);
    let listed = sandbox.run(&["runs"]);
    assert_eq!(listed.out.lines().count(), 1, "{}", listed.all());
}

#[test]
fn options_of_the_list_do_not_hide_behind_another_command() {
    let sandbox = store();
    let told = ran(&sandbox, &["runs", "--open", "show", "run-aaaa1"]);
    assert_eq!((told.code, told.out.as_str()), (2, ""), "{}", told.all());
    let told = sandbox.run(&["runs", "--store", "runs.db", "show", "run-aaaa1"]);
    assert_eq!(told.code, 0, "{}", told.all());
}
