//! The `edit` tool.

use foxwedge_tools::ToolLimits;
use serde_json::json;

use crate::bench::{Bench, names};

#[tokio::test]
async fn one_text_is_replaced_and_shown() {
    let bench = Bench::new();
    bench.put("a.rs", "fn a() {}\nfn b() {}\nfn c() {}\n");
    let input = json!({ "path": "a.rs", "old": "fn b() {}", "new": "fn b() {\n    a();\n}" });
    bench
        .call("edit", input)
        .await
        .is("changed `a.rs` in 1 place\n@@ line 2 @@\n  fn a() {}\n- fn b() {}\n+ fn b() {\n\
         +     a();\n+ }\n  fn c() {}");
    assert_eq!(bench.get("a.rs"), "fn a() {}\nfn b() {\n    a();\n}\nfn c() {}\n");
    let input = json!({ "path": "a.rs", "old": "fn ", "new": "pub fn ", "all": true });
    bench.call("edit", input).await.has("in 3 places");
    assert_eq!(bench.get("a.rs"), "pub fn a() {}\npub fn b() {\n    a();\n}\npub fn c() {}\n");
    assert_eq!(names(&bench.root()), ["a.rs"]);
}

#[tokio::test]
async fn text_that_does_not_occur_once_changes_nothing() {
    let bench = Bench::new();
    let text = "let x = 1;\n  let y = 2;\nlet x = 1;\n";
    bench.put("file", text);
    let table = [
        ("let x", "let z", "3 times"),
        ("let x = 1;", "z", "`old` is in `file` 2 times, in lines 1, 3;"),
        ("let  y", "z", "`old` is not in `file`: the nearest is line 2: `  let y = 2;`"),
        ("let y = 3;\n", "z", "the nearest is line 2"),
        ("let y = 2;\nlet x = 2;", "z", "line 3 is `let x = 1;` where `old` has `let x = 2;`"),
        ("     2\t  let y = 2;", "z", "leave out the line numbers"),
        ("something else", "z", "read the file to see what is"),
        ("", "z", "`old` is empty"),
        ("let y", "let y", "the same"),
    ];
    for (old, new, expected) in table.into_iter().skip(1) {
        let result = bench.call("edit", json!({ "path": "file", "old": old, "new": new })).await;
        result.refuses(expected);
    }
    assert_eq!(bench.get("file"), text);
    let missing = bench.call("edit", json!({ "path": "no", "old": "a", "new": "b" })).await;
    missing.refuses("`no` does not exist; use `write`");
    assert_eq!(names(&bench.root()), ["file"]);
}

/// Text as `read` shows it is found, whatever the line ends are; they stay.
#[tokio::test]
async fn line_ends_byte_order_marks_and_invalid_bytes_stay() {
    let bench = Bench::new();
    let table: [(&[u8], &str, &str, &[u8]); 4] = [
        (b"\xef\xbb\xbfa\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"\xef\xbb\xbfx\r\ny\r\nz\r\nc\r\n"),
        (b"a\nb\r\nc\n", "b\nc", "x", b"a\nx\n"),
        (b"a\xff\xfe\0b\n", "b", "c", b"a\xff\xfe\0c\n"),
        (b"no end", "end", "End", b"no End"),
    ];
    for (before, old, new, after) in table {
        bench.put("file", before);
        bench.call("edit", json!({ "path": "file", "old": old, "new": new })).await.has("changed");
        let now = std::fs::read(bench.root().join("file")).unwrap();
        assert_eq!(now, after, "{}", String::from_utf8_lossy(before));
    }
}

#[tokio::test]
async fn edits_respect_the_file_size_limit() {
    let bench = Bench::with(ToolLimits { file: 10_000, ..ToolLimits::default() });
    bench.put("file", "a".repeat(5000));
    let input = json!({ "path": "file", "old": "a", "new": "b".repeat(5000), "all": true });
    bench.call("edit", input).await.refuses("is the most");
    bench.put("large", "a".repeat(10_001));
    let input = json!({ "path": "large", "old": "aa", "new": "b" });
    bench.call("edit", input).await.refuses("files of up to 9.8 KiB can be changed");
    assert_eq!(bench.get("file").len(), 5000);
}
