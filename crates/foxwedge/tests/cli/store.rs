//! `foxwedge store`: looking after what is kept.

use serde_json::Value;

use crate::{follow_stored::runs, follow_streams::*, sandbox::Sandbox};

/// A store with so many sessions, one run in each.
fn store(sessions: usize) -> Sandbox {
    let sandbox = Sandbox::with("s.jsonl", whole());
    for number in 1..=sessions {
        let (session, run) = (format!("session-{number}"), format!("run-{number}"));
        let names = ["--session", &session, "--run", &run];
        let ran = sandbox.run(&[&["follow", "s.jsonl", "--store", "runs.db"], &names[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.all());
    }
    sandbox
}

fn ran(sandbox: &Sandbox, arguments: &[&str]) -> crate::sandbox::Ran {
    sandbox.run(&[&["store"], arguments, &["--store", "runs.db"]].concat())
}

#[test]
fn a_store_says_where_it_is_and_what_is_in_it() {
    let sandbox = store(2);
    let told = ran(&sandbox, &["path"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> =
        told.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["sqlite:runs.db"]);
    assert_eq!(lines[2], ["sessions", "2"]);
    assert_eq!(lines[3], ["runs", "2"]);
    let told = ran(&sandbox, &["path", "--json"]);
    let document: Value = serde_json::from_str(&told.out).unwrap();
    let about = &document["about"];
    assert_eq!(
        (&document["store"], &about["sessions"], &about["open"], &about["schema"]),
        (&"sqlite:runs.db".into(), &2.into(), &0.into(), &4.into())
    );
    assert!(about["bytes"].as_u64().unwrap() > 0);
}

#[test]
fn no_password_is_repeated() {
    let sandbox = Sandbox::new();
    let url = "postgres://me:secret@127.0.0.1:1/db";
    let ran = sandbox.run(&["store", "path", "--store", url]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("postgres://me:***@127.0.0.1:1/db"), "{}", ran.err);
    assert!(!ran.all().contains("secret"), "{}", ran.all());
}

#[test]
fn old_sessions_are_pruned_when_somebody_says_yes() {
    let sandbox = store(3);
    let told = ran(&sandbox, &["prune", "--older-than", "1d"]);
    assert_eq!((told.code, told.out.as_str()), (0, ""), "{}", told.all());
    assert!(told.err.contains("No session is older than 1d."), "{}", told.err);
    let told = ran(&sandbox, &["prune", "--older-than", "0s", "--dry-run"]);
    assert_eq!(told.out.lines().count(), 3, "{}", told.out);
    assert!(told.err.contains("3 sessions would be deleted; nothing was deleted."), "{}", told.err);
    // Nobody is there to be asked.
    let told = ran(&sandbox, &["prune", "--older-than", "0s"]);
    assert_eq!(told.code, 2, "{}", told.all());
    assert!(told.err.contains("help: nothing was deleted; --yes"), "{}", told.err);
    assert_eq!(runs(&sandbox, "runs.db").len(), 3);
    let told = ran(&sandbox, &["prune", "--older-than", "0s", "--yes"]);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.contains("deleted 3 sessions, 3 runs"), "{}", told.err);
    assert_eq!(runs(&sandbox, "runs.db").len(), 0);
    for age in ["30", "soon", "-1d", ""] {
        let told = ran(&sandbox, &["prune", &format!("--older-than={age}"), "--yes"]);
        assert_eq!(told.code, 2, "{age}: {}", told.all());
    }
}

#[test]
fn sessions_and_runs_are_deleted_by_their_ids() {
    let sandbox = store(3);
    let told = ran(&sandbox, &["delete", "run-1", "nothing", "--yes"]);
    assert_eq!(told.code, 2, "{}", told.all());
    assert!(told.err.contains("there is no session or run `nothing`"), "{}", told.err);
    assert_eq!(runs(&sandbox, "runs.db").len(), 3);
    let told = ran(&sandbox, &["delete", "run-1"]);
    assert_eq!(told.code, 2, "{}", told.all());
    assert!(told.err.contains("Delete 1 run? Cannot ask: there is no terminal"), "{}", told.err);
    let told = ran(&sandbox, &["delete", "run-1", "session-2", "--yes"]);
    assert_eq!(told.code, 0, "{}", told.all());
    let left: Vec<Value> = runs(&sandbox, "runs.db").iter().map(|run| run["id"].clone()).collect();
    assert_eq!(left, ["run-3"]);
}

#[cfg(unix)]
#[test]
fn a_terminal_is_asked() {
    // `script` gives a program a terminal; without it there is nothing to see.
    let Ok(found) = std::process::Command::new("script").arg("--version").output() else {
        println!("skipped: there is no `script`");
        return;
    };
    if !found.status.success() {
        println!("skipped: this `script` is another one");
        return;
    }
    for (answer, left) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        let sandbox = store(1);
        let command =
            format!("{} store delete session-1 --store runs.db", env!("CARGO_BIN_EXE_foxwedge"));
        let mut child = std::process::Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(sandbox.path(""))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("Delete 1 session with all its runs?"), "{said}");
        assert_eq!(runs(&sandbox, "runs.db").len(), left, "{answer:?}: {said}");
    }
}

#[test]
fn an_export_goes_to_stdout_or_into_a_file() {
    let sandbox = store(2);
    let all = ran(&sandbox, &["export"]);
    assert_eq!(all.code, 0, "{}", all.all());
    assert!(all.err.contains("written 2 sessions, 2 runs"), "{}", all.err);
    let one = ran(&sandbox, &["export", "session-2", "-o", "one.jsonl"]);
    assert_eq!((one.code, one.out.as_str()), (0, ""), "{}", one.all());
    assert!(one.err.contains("written 1 session, 1 run") && one.err.contains("to one.jsonl"));
    assert!(!sandbox.read("one.jsonl").contains("session-1"));
    let none = ran(&sandbox, &["export", "session-9", "-o", "none.jsonl"]);
    assert_eq!(none.code, 2, "{}", none.all());
    assert!(none.err.contains("session `session-9` does not exist"), "{}", none.err);
    let nowhere = ran(&sandbox, &["export", "-o", "missing/folder.jsonl"]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.all());
    assert!(nowhere.err.contains("`missing/folder.jsonl` cannot be written"), "{}", nowhere.err);
    assert_eq!(sandbox.names(), ["one.jsonl", "runs.db", "s.jsonl"]);
}

#[test]
fn an_import_passes_over_what_is_there() {
    let sandbox = store(2);
    sandbox.write("all.jsonl", ran(&sandbox, &["export"]).out);
    let told = ran(&sandbox, &["import", "all.jsonl"]);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.contains("read nothing new"), "{}", told.err);
    let all = sandbox.read("all.jsonl");
    let told = sandbox.pipe(&["store", "import", "-", "--store", "new.db"], &all);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.contains("read 2 sessions, 2 runs"), "{}", told.err);
    assert_eq!(runs(&sandbox, "new.db"), runs(&sandbox, "runs.db"));
}

#[test]
fn compaction_gives_space_back() {
    let sandbox = Sandbox::new();
    let large = "y".repeat(3 << 20);
    let stream = [init(), call("t1", "make"), answer("t1", &large), says("Done."), result("Done.")];
    let arguments = ["follow", "--store", "runs.db", "--session", "large"];
    assert_eq!(sandbox.pipe(&arguments, stream.concat()).code, 0);
    let bytes = || std::fs::metadata(sandbox.path("runs.db")).unwrap().len();
    let before = bytes();
    assert_eq!(ran(&sandbox, &["delete", "large", "--yes"]).code, 0);
    let told = ran(&sandbox, &["compact"]);
    assert_eq!(told.code, 0, "{}", told.all());
    assert!(told.err.starts_with("compacted sqlite:runs.db: "), "{}", told.err);
    assert!(bytes() < before / 4, "{before} {}", bytes());
}
