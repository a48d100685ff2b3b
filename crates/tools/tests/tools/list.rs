//! The `list` tool.

use foxwedge_tools::{OutputCapture, StopLevel, ToolCompletion, ToolLimits};
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn folders_are_listed_in_order_and_in_depth() {
    let bench = Bench::new();
    for (name, size) in [("b.txt", 3), ("a/x/deep.txt", 2000), ("a/y.txt", 0), ("Z", 1), (".h", 1)]
    {
        bench.put(name, vec![b'.'; size]);
    }
    bench.call("list", json!({})).await.is(".h  1 B\nZ  1 B\na/\nb.txt  3 B");
    bench.call("list", json!({ "path": "a" })).await.is("x/\ny.txt  0 B");
    let deep = bench.call("list", json!({ "depth": 3 })).await;
    deep.is(".h  1 B\nZ  1 B\na/\n  x/\n    deep.txt  2.0 KiB\n  y.txt  0 B\nb.txt  3 B");
    bench.call("list", json!({ "path": "b.txt" })).await.refuses("not a folder");
    bench.call("list", json!({ "path": "none" })).await.refuses("`none` does not exist");
    bench.call("list", json!({ "depth": 0 })).await.refuses("`depth` must be a whole number");
}

#[tokio::test]
async fn gitignored_entries_and_git_are_left_out() {
    let bench = Bench::new();
    bench.put(".gitignore", "*.o\n/target/\n!keep.o\n# note\n[\n");
    bench.put("src/.gitignore", "gen*\n");
    for name in [".git/x", "a.o", "keep.o", "target/x", "src/target/x", "src/gen.rs", "src/a.rs"] {
        bench.put(name, "");
    }
    let listed = bench.call("list", json!({ "depth": 9 })).await;
    listed
        .is(".gitignore  30 B\nkeep.o  0 B\nsrc/\n  .gitignore  5 B\n  a.rs  0 B\n  target/\n    \
               x  0 B\n[3 left out because of .gitignore; `ignored` shows them]");
    let all = bench.call("list", json!({ "depth": 9, "ignored": true })).await;
    assert!(all.text.contains("gen.rs") && all.text.contains("a.o"), "{all:?}");
    assert!(!all.text.contains(".git/"), "{all:?}");
    // A folder that is named explicitly is shown, and the ignore files above it still count.
    bench.call("list", json!({ "path": "target" })).await.is("x  0 B");
    bench.put("src/target/b.o", "");
    bench.call("list", json!({ "path": "src/target" })).await.has("x  0 B\n[1 left out");
}

#[tokio::test]
async fn entries_above_the_limit_are_counted() {
    let bench = Bench::with(ToolLimits { entries: 3, answer: 256, ..ToolLimits::default() });
    for number in 0..50 {
        bench.put(&format!("file-{number:02}"), "");
    }
    let listed = bench.call("list", json!({})).await;
    listed.is("file-00  0 B\nfile-01  0 B\nfile-02  0 B\n[… 47 more]");
    let listed = bench.call("list", json!({ "limit": 30 })).await;
    assert!(listed.text.ends_with("file-18  0 B\n[… 31 more]"), "{listed:?}");
    bench.call("list", json!({ "limit": 31 })).await.refuses("from 1 to 30");
}

#[tokio::test]
async fn empty_folder_is_reported_and_a_stop_is_obeyed() {
    let bench = Bench::new();
    bench.call("list", json!({})).await.is("[nothing to show]");
    bench.put("file", "");
    let sender = foxwedge_tools::StopSender::new();
    sender.raise(StopLevel::Graceful);
    let result = bench.call_with("list", json!({}), sender.receiver(), OutputCapture::new(9)).await;
    assert_eq!(
        (result.completion, result.text.as_str()),
        (ToolCompletion::Stopped, "[stopped: this is not all]")
    );
}
