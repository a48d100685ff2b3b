//! Changes of files: they are shown before they are made, observed, and taken back.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use foxwedge_tools::{FileChange, FileChangeObserver, RestoreError, ToolLimits};
use serde_json::{Value, json};

use super::bench::Bench;

#[derive(Default)]
struct Seen(Mutex<Vec<(String, FileChange)>>);

impl FileChangeObserver for Seen {
    fn before_write(&self, call_id: &str, change: FileChange) {
        self.0.lock().unwrap().push((call_id.to_owned(), change));
    }
}

fn change(path: &str, before: Option<&str>, after: &str) -> FileChange {
    let bytes = |text: &str| text.as_bytes().to_vec();
    FileChange { path: PathBuf::from(path), before: before.map(bytes), after: Some(bytes(after)) }
}

#[test]
fn a_preview_shows_the_change_and_makes_none() {
    let bench = Bench::new();
    bench.put("a.txt", "one\ntwo\n");
    let table: [(&str, Value, Option<FileChange>); 6] = [
        (
            "edit",
            json!({"path":"a.txt","old":"two","new":"2"}),
            Some(change("a.txt", Some("one\ntwo\n"), "one\n2\n")),
        ),
        ("edit", json!({"path":"a.txt","old":"three","new":"2"}), None),
        (
            "write",
            json!({"path":"a.txt","content":"x"}),
            Some(change("a.txt", Some("one\ntwo\n"), "x")),
        ),
        ("write", json!({"path":"new/b.txt","content":"x"}), Some(change("new/b.txt", None, "x"))),
        ("write", json!({"path":"../b.txt","content":"x"}), None),
        ("run", json!({"command":"true"}), None),
    ];
    for (tool, input, expected) in table {
        assert_eq!(bench.workspace.preview(tool, &input), expected, "{tool} {input}");
    }
    assert_eq!(bench.get("a.txt"), "one\ntwo\n");
    assert!(!bench.root().join("new").exists());
}

#[tokio::test]
async fn changes_are_observed_and_taken_back() {
    let seen = Arc::new(Seen::default());
    let mut bench = Bench::with(ToolLimits::default());
    bench.workspace = bench.workspace.clone().with_observer(seen.clone());
    bench.put("a.txt", "one\n");
    bench.call("edit", json!({"path":"a.txt","old":"one","new":"1"})).await;
    bench.call("write", json!({"path":"new/b.txt","content":"b"})).await;
    bench.call("write", json!({"path":"a.txt","content":"later"})).await;
    let changes: Vec<FileChange> =
        seen.0.lock().unwrap().iter().map(|(_, change)| change.clone()).collect();
    let expected = [
        change("a.txt", Some("one\n"), "1\n"),
        change("new/b.txt", None, "b"),
        change("a.txt", Some("1\n"), "later"),
    ];
    assert_eq!(changes, expected);
    // Another file than the change left is kept.
    assert_eq!(bench.workspace.restore(&changes[0]), Err(RestoreError::ChangedLater));
    for change in changes.iter().rev() {
        assert_eq!(bench.workspace.restore(change), Ok(()));
    }
    assert_eq!(bench.get("a.txt"), "one\n");
    assert!(!bench.root().join("new/b.txt").exists());
    // Taking back twice changes nothing.
    assert_eq!(bench.workspace.restore(&expected[1]), Ok(()));
}

#[test]
fn files_are_listed_without_ignored_ones() {
    let bench = Bench::new();
    for name in ["src/a.rs", "b.md", "target/x", ".gitignore"] {
        bench.put(name, if name == ".gitignore" { "target\n" } else { "" });
    }
    assert_eq!(bench.workspace.files(10), [".gitignore", "b.md", "src/a.rs"]);
    assert_eq!(bench.workspace.files(1), [".gitignore"]);
}
