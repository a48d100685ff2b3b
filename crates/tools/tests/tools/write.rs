//! The `write` tool.

use std::fs;

use foxwedge_tools::ToolLimits;
use serde_json::json;

use crate::bench::{Bench, names};

#[tokio::test]
async fn files_are_created_with_their_folders_and_replaced() {
    let bench = Bench::new();
    let result = bench.call("write", json!({ "path": "a/b/c.txt", "content": "one\ntwo\n" })).await;
    result.is("created `a/b/c.txt`: 8 bytes, 2 lines");
    let result = bench.call("write", json!({ "path": "a/b/c.txt", "content": "é" })).await;
    result.is("replaced `a/b/c.txt`: 2 bytes, 1 line");
    assert_eq!(bench.get("a/b/c.txt"), "é");
    let result = bench.call("write", json!({ "path": "empty", "content": "" })).await;
    result.is("created `empty`: 0 bytes, 0 lines");
    // Nothing else is left.
    assert_eq!(names(&bench.root()), ["a", "empty"]);
    assert_eq!(names(&bench.root().join("a/b")), ["c.txt"]);
}

#[tokio::test]
async fn only_files_are_written() {
    let bench = Bench::new();
    bench.put("folder/file", "text");
    for (path, expected) in [
        ("folder", "is a folder"),
        ("folder/", "is a folder"),
        ("new/", "is a folder"),
        (".", "is a folder"),
        ("folder/..", "is a folder"),
        ("folder/file/x", "not a folder"),
    ] {
        bench.call("write", json!({ "path": path, "content": "x" })).await.refuses(expected);
    }
    assert_eq!(names(&bench.root()), ["folder"]);
    assert_eq!(bench.get("folder/file"), "text");
    let bench = Bench::with(ToolLimits { file: 3, ..ToolLimits::default() });
    bench.call("write", json!({ "path": "x", "content": "1234" })).await.refuses("4 B; 3 B is");
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_stay_and_links_stay() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let bench = Bench::new();
    let root = bench.root();
    bench.put("tool", "old");
    fs::set_permissions(root.join("tool"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::hard_link(root.join("tool"), bench.outside().join("hard")).unwrap();
    symlink("tool", root.join("link")).unwrap();
    symlink("deep/new", root.join("dangling")).unwrap();
    let result = bench.call("write", json!({ "path": "link", "content": "new" })).await;
    result.is("replaced `tool`: 3 bytes, 1 line");
    assert_eq!(fs::metadata(root.join("tool")).unwrap().mode() & 0o7777, 0o751);
    assert!(fs::symlink_metadata(root.join("link")).unwrap().is_symlink());
    // Another hard link of the old file is now another file.
    assert_eq!(fs::read_to_string(bench.outside().join("hard")).unwrap(), "old");
    let result = bench.call("write", json!({ "path": "dangling", "content": "x" })).await;
    result.is("created `deep/new`: 1 byte, 1 line");
    assert!(fs::symlink_metadata(root.join("dangling")).unwrap().is_symlink());
    assert_eq!(bench.get("deep/new"), "x");
}

/// A reader sees either the old or the new file as a whole.
#[tokio::test]
async fn no_reader_sees_half_a_file() {
    let bench = Bench::new();
    bench.put("file", "a".repeat(100_000));
    let path = bench.root().join("file");
    let reader = std::thread::spawn(move || {
        for _ in 0..2000 {
            let text = fs::read(&path).unwrap();
            assert_eq!(text.len(), 100_000);
            assert!(text.iter().all(|byte| *byte == text[0]));
        }
    });
    let mut round = 0;
    while !reader.is_finished() {
        let letter = ["a", "b"][round % 2];
        let content = letter.repeat(100_000);
        bench.call("write", json!({ "path": "file", "content": content })).await.has("replaced");
        round += 1;
    }
    reader.join().unwrap();
    assert_eq!(names(&bench.root()), ["file"]);
}

/// A dropped call changes nothing afterwards and leaves nothing behind.
#[tokio::test]
async fn dropped_write_changes_nothing() {
    let bench = Bench::new();
    let content = "x".repeat(4 << 20);
    for round in 0..40_u64 {
        let call = bench.begin("write", json!({ "path": "file", "content": content }));
        tokio::time::sleep(std::time::Duration::from_micros(round * 150)).await;
        call.task.abort();
        let _ = call.task.await;
        let existed = bench.root().join("file").exists();
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        assert_eq!(bench.root().join("file").exists(), existed, "round {round}");
        let _ = fs::remove_file(bench.root().join("file"));
    }
    // The last one may still be cleaning up.
    for _ in 0..500 {
        if names(&bench.root()).is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(names(&bench.root()), Vec::<String>::new());
}
