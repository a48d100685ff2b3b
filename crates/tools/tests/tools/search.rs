//! The `search` tool.

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
        let result = bench.call("search", input.clone()).await;
        assert_eq!(result.text, expected, "{input}");
    }
}

#[tokio::test]
async fn skipped_files_are_counted() {
    let bench = Bench::with(ToolLimits { file: 1000, ..ToolLimits::default() });
    bench.put("binary", b"needle\0");
    bench.put("large", "needle\n".repeat(200));
    bench.put("small", "needle\n");
    let result = bench.call("search", json!({ "pattern": "needle" })).await;
    result.is("small\n1: needle\n[1 hit in 1 file]\n[skipped: 1 binary, 1 larger than 1000 B]");
}

#[tokio::test]
async fn patterns_that_would_cost_too_much_are_refused() {
    let bench = bench();
    let table = [
        ("".to_owned(), "the pattern is empty"),
        ("(".to_owned(), "cannot be read"),
        ("x".repeat(5000), "5000 bytes"),
        (r"((\w{100}){100}){100}".to_owned(), "too large"),
        // The `regex` crate alone would accept this one.
        (r"\w{100}".to_owned(), "too large"),
        ("(".repeat(200) + &")".repeat(200), "cannot be read"),
        (r"(?=x)".to_owned(), "look-around"),
    ];
    for (pattern, expected) in table {
        bench.call("search", json!({ "pattern": pattern })).await.refuses(expected);
    }
    let result = bench.call("search", json!({ "pattern": "x", "glob": "a{b" })).await;
    result.refuses("is not a glob");
    let glob = "{a,b}".repeat(1000);
    bench.call("search", json!({ "pattern": "x", "glob": glob })).await.refuses("4000 bytes");
    bench.call("search", json!({ "pattern": "x", "path": "nowhere" })).await.refuses("not exist");
}

/// The hardest allowed pattern on the worst file for it: the time limit ends the search, and the
/// hits so far are returned.
#[tokio::test]
async fn hard_pattern_ends_at_the_time_limit() {
    let limits =
        ToolLimits { files: std::time::Duration::from_millis(500), ..ToolLimits::default() };
    let bench = Bench::with(limits);
    bench.put("a", "needle\n");
    for number in 0..100 {
        bench.put(&format!("b{number}"), format!("{}\n", "a".repeat(60_000)).repeat(100));
    }
    let result = bench.call("search", json!({ "pattern": "needle|([ab]*a[ab]{300}c)" })).await;
    result
        .has("a\n1: needle\n[1 hit in 1 file]\n[it took too long: not every file was looked into]");
}

#[tokio::test]
async fn long_lines_are_cut_and_very_long_ones_searched_in_part() {
    let bench = Bench::with(ToolLimits { line: 20, ..ToolLimits::default() });
    bench.put("file", format!("needle{}needle2\n", "x".repeat(100_000)));
    let result = bench.call("search", json!({ "pattern": "needle" })).await;
    result.is("file\n1: needlexxxxxxxxxxxxxx[… 99993 bytes left out]\n[1 hit in 1 file]\n\
             [only the first 64 KiB of 1 line were looked at]");
    let result = bench.call("search", json!({ "pattern": "needle2" })).await;
    result.is("[no hits]\n[only the first 64 KiB of 1 line were looked at]");
}

#[tokio::test]
async fn results_respect_the_size_limit() {
    let bench = Bench::with(ToolLimits { answer: 1000, hits: 1000, ..ToolLimits::default() });
    bench.put("file", "needle needle needle\n".repeat(1000));
    let result = bench.call("search", json!({ "pattern": "needle", "context": 3 })).await;
    assert!(result.text.len() < 1200, "{}", result.text.len());
    result.has("there are more");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_walked_through() {
    let bench = Bench::new();
    bench.put("a/file", "needle\n");
    std::os::unix::fs::symlink("..", bench.root().join("a/up")).unwrap();
    std::os::unix::fs::symlink("file", bench.root().join("a/same")).unwrap();
    let result = bench.call("search", json!({ "pattern": "needle" })).await;
    result.is("a/file\n1: needle\n[1 hit in 1 file]");
    // A link that is named explicitly is followed; the shown path is its target.
    let result = bench.call("search", json!({ "pattern": "needle", "path": "a/up" })).await;
    result.is("a/file\n1: needle\n[1 hit in 1 file]");
}

#[tokio::test]
async fn search_stops_between_files() {
    let bench = bench();
    let sender = foxwedge_tools::StopSender::new();
    sender.raise(StopLevel::Graceful);
    let input = json!({ "pattern": "call" });
    let result = bench.call_with("search", input, sender.receiver(), OutputCapture::new(9)).await;
    let expected = "[no hits]\n[stopped: not every file was looked into]";
    assert_eq!((result.completion, result.text.as_str()), (ToolCompletion::Stopped, expected));
}

/// Folders nested deeper than the limit cause no error.
#[tokio::test]
async fn search_ends_at_the_depth_limit() {
    let bench = Bench::new();
    bench.put(&format!("{}in", "d/".repeat(60)), "needle\n");
    bench.put(&format!("{}too_deep", "d/".repeat(70)), "needle\n");
    bench.call("search", json!({ "pattern": "needle" })).await.has("[1 hit in 1 file]");
}

/// A search that would take an hour ends when its caller goes away: a runtime shuts down only when
/// all blocking work has ended.
#[test]
fn abandoned_search_ends() {
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
        let call = bench.begin("search", json!({ "pattern": "[ab]*a[ab]{300}c" }));
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert!(!call.task.is_finished());
        call.task.abort();
        assert!(call.task.await.unwrap_err().is_cancelled());
    });
    let (end_sender, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(runtime);
        end_sender.send(()).unwrap();
    });
    assert_eq!(end.recv_timeout(std::time::Duration::from_secs(30)), Ok(()));
}
