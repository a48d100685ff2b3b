//! A pattern in files.

use foxwedge_tools::{OutputCapture, StopLevel, ToolCompletion, ToolLimits};
use serde_json::json;

use crate::bench::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.put("src/main.rs", "fn main() {\n    call();\n}\n\nfn call() {}\n");
    bench.put("src/lib.rs", "pub fn Call() {}\r\n");
    bench.put("notes.txt", "call me\n");
    bench.put(".gitignore", "out\n");
    bench.put("out/x.rs", "call\n");
    bench.put(".git/config", "call\n");
    bench
}

#[tokio::test]
async fn hits_are_shown_by_file_and_line() {
    let bench = bench();
    let table = [
        (
            json!({ "pattern": "call" }),
            "notes.txt\n1: call me\n\nsrc/main.rs\n2:     call();\n5: fn call() {}\n\
             [3 hits in 2 files]",
        ),
        (
            json!({ "pattern": "call", "ignore_case": true, "glob": "*.rs" }),
            "src/lib.rs\n1: pub fn Call() {}\n\nsrc/main.rs\n2:     call();\n5: fn call() {}\n\
             [3 hits in 2 files]",
        ),
        (
            json!({ "pattern": r"^fn \w+\(\) \{\}$", "path": "src" }),
            "src/main.rs\n5: fn call() {}\n[1 hit in 1 file]",
        ),
        (
            json!({ "pattern": r"\{\}$", "path": "src/lib.rs" }),
            "src/lib.rs\n1: pub fn Call() {}\n[1 hit in 1 file]",
        ),
        (
            json!({ "pattern": "call", "context": 1, "glob": "src/**" }),
            "src/main.rs\n1- fn main() {\n2:     call();\n3- }\n4- \n5: fn call() {}\n\
             [2 hits in 1 file]",
        ),
        (
            json!({ "pattern": "fn", "context": 1, "path": "src/main.rs" }),
            "src/main.rs\n1: fn main() {\n2-     call();\n--\n4- \n5: fn call() {}\n\
             [2 hits in 1 file]",
        ),
        (json!({ "pattern": "call", "glob": "!*.{rs,txt}" }), "[no hits]"),
        (json!({ "pattern": "call", "glob": "lib.rs" }), "[no hits]"),
        (json!({ "pattern": "^call$", "ignored": true }), "out/x.rs\n1: call\n[1 hit in 1 file]"),
        (
            json!({ "pattern": "call", "limit": 1 }),
            "notes.txt\n1: call me\n[1 hit in 1 file; there are more: look for something \
             narrower, or raise `limit`]",
        ),
        (json!({ "pattern": r"main\(\) \{\n" }), "[no hits]"),
    ];
    for (input, expected) in table {
        let said = bench.call("search", input.clone()).await;
        assert_eq!(said.text, expected, "{input}");
    }
}

#[tokio::test]
async fn what_cannot_be_looked_into_is_counted() {
    let bench = Bench::with(ToolLimits { file: 1000, ..ToolLimits::default() });
    bench.put("binary", b"needle\0");
    bench.put("large", "needle\n".repeat(200));
    bench.put("small", "needle\n");
    let said = bench.call("search", json!({ "pattern": "needle" })).await;
    said.is("small\n1: needle\n[1 hit in 1 file]\n[skipped: 1 binary, 1 larger than 1000 B]");
}

#[tokio::test]
async fn patterns_that_would_cost_too_much_are_refused() {
    let bench = bench();
    let table = [
        ("".to_owned(), "the pattern is empty"),
        ("(".to_owned(), "cannot be read"),
        ("x".repeat(5000), "5000 bytes"),
        (r"((\w{100}){100}){100}".to_owned(), "too large"),
        // One that the crate would take by itself.
        (r"\w{100}".to_owned(), "too large"),
        ("(".repeat(200) + &")".repeat(200), "cannot be read"),
        (r"(?=x)".to_owned(), "look-around"),
    ];
    for (pattern, expected) in table {
        bench.call("search", json!({ "pattern": pattern })).await.refuses(expected);
    }
    let said = bench.call("search", json!({ "pattern": "x", "glob": "a{b" })).await;
    said.refuses("is not a glob");
    let glob = "{a,b}".repeat(1000);
    bench.call("search", json!({ "pattern": "x", "glob": glob })).await.refuses("4000 bytes");
    bench.call("search", json!({ "pattern": "x", "path": "nowhere" })).await.refuses("not exist");
}

/// A pattern that is as hard as it may be, on a file that is as bad for it as it may be: the time
/// limit ends it, and what was found until then is told.
#[tokio::test]
async fn a_hard_pattern_ends_in_time() {
    let limits =
        ToolLimits { files: std::time::Duration::from_millis(500), ..ToolLimits::default() };
    let bench = Bench::with(limits);
    bench.put("a", "needle\n");
    for number in 0..100 {
        bench.put(&format!("b{number}"), format!("{}\n", "a".repeat(60_000)).repeat(100));
    }
    let said = bench.call("search", json!({ "pattern": "needle|([ab]*a[ab]{300}c)" })).await;
    said.has("a\n1: needle\n[1 hit in 1 file]\n[it took too long: not every file was looked into]");
}

#[tokio::test]
async fn long_lines_are_cut_and_very_long_ones_looked_at_in_part() {
    let bench = Bench::with(ToolLimits { line: 20, ..ToolLimits::default() });
    bench.put("file", format!("needle{}needle2\n", "x".repeat(100_000)));
    let said = bench.call("search", json!({ "pattern": "needle" })).await;
    said.is("file\n1: needlexxxxxxxxxxxxxx[… 99993 bytes left out]\n[1 hit in 1 file]\n\
             [only the first 64 KiB of 1 line were looked at]");
    let said = bench.call("search", json!({ "pattern": "needle2" })).await;
    said.is("[no hits]\n[only the first 64 KiB of 1 line were looked at]");
}

#[tokio::test]
async fn an_answer_has_room_for_so_much() {
    let bench = Bench::with(ToolLimits { answer: 1000, hits: 1000, ..ToolLimits::default() });
    bench.put("file", "needle needle needle\n".repeat(1000));
    let said = bench.call("search", json!({ "pattern": "needle", "context": 3 })).await;
    assert!(said.text.len() < 1200, "{}", said.text.len());
    said.has("there are more");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_walked_through() {
    let bench = Bench::new();
    bench.put("a/file", "needle\n");
    std::os::unix::fs::symlink("..", bench.root().join("a/up")).unwrap();
    std::os::unix::fs::symlink("file", bench.root().join("a/same")).unwrap();
    let said = bench.call("search", json!({ "pattern": "needle" })).await;
    said.is("a/file\n1: needle\n[1 hit in 1 file]");
    // By name, one may be followed; what is shown is where it leads.
    let said = bench.call("search", json!({ "pattern": "needle", "path": "a/up" })).await;
    said.is("a/file\n1: needle\n[1 hit in 1 file]");
}

#[tokio::test]
async fn a_stop_is_heard_between_files() {
    let bench = bench();
    let interrupt = foxwedge_tools::StopSender::new();
    interrupt.raise(StopLevel::Graceful);
    let input = json!({ "pattern": "call" });
    let said = bench.call_with("search", input, interrupt.receiver(), OutputCapture::new(9)).await;
    let expected = "[no hits]\n[stopped: not every file was looked into]";
    assert_eq!((said.how, said.text.as_str()), (ToolCompletion::Stopped, expected));
}

/// Folders in folders in folders: deeper than is looked, and nothing breaks.
#[tokio::test]
async fn a_walk_ends_at_some_depth() {
    let bench = Bench::new();
    bench.put(&format!("{}in", "d/".repeat(60)), "needle\n");
    bench.put(&format!("{}too_deep", "d/".repeat(70)), "needle\n");
    bench.call("search", json!({ "pattern": "needle" })).await.has("[1 hit in 1 file]");
}

/// A search that would take an hour ends when nobody waits for it any more: a runtime ends only
/// when all that blocks in it has.
#[test]
fn a_search_that_nobody_waits_for_ends() {
    let hour = std::time::Duration::from_secs(3600);
    let bench = Bench::with(ToolLimits { files: hour, ..ToolLimits::default() });
    bench.put("file", format!("{}\n", "a".repeat(60_000)).repeat(130));
    for number in 0..100 {
        let _ = std::fs::hard_link(
            bench.root().join("file"),
            bench.root().join(format!("copy{number}")),
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let begun = bench.begin("search", json!({ "pattern": "[ab]*a[ab]{300}c" }));
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert!(!begun.task.is_finished());
        begun.task.abort();
        assert!(begun.task.await.unwrap_err().is_cancelled());
    });
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(runtime);
        ended.send(()).unwrap();
    });
    assert_eq!(end.recv_timeout(std::time::Duration::from_secs(30)), Ok(()));
}
