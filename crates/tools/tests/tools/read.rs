//! The `read` tool.

use std::{
    fs::File,
    io::{Seek as _, SeekFrom, Write as _},
};

use foxwedge_tools::ToolLimits;
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn lines_are_shown_with_their_numbers() {
    let bench = Bench::new();
    let table = [
        ("", "[the file is empty]"),
        ("a", "     1\ta\n[lines 1 to 1 of 1 line]"),
        ("a\n", "     1\ta\n[lines 1 to 1 of 1 line]"),
        ("\n", "     1\t\n[lines 1 to 1 of 1 line]"),
        ("a\n\nb", "     1\ta\n     2\t\n     3\tb\n[lines 1 to 3 of 3 lines]"),
        ("\u{feff}a\r\nb\r\n", "     1\ta\n     2\tb\n[lines 1 to 2 of 2 lines]"),
        ("\u{feff}", "[the file is empty]"),
        ("\tx  \n", "     1\t\tx  \n[lines 1 to 1 of 1 line]"),
    ];
    for (text, expected) in table {
        bench.put("file", text);
        bench.call("read", json!({ "path": "file" })).await.is(expected);
    }
    bench.put("file", b"a\xff\xfeb\n");
    let read = bench.call("read", json!({ "path": "file" })).await;
    read.is("     1\ta\u{fffd}\u{fffd}b\n[lines 1 to 1 of 1 line]");
}

#[tokio::test]
async fn part_of_a_file_is_shown_with_the_total() {
    let bench = Bench::new();
    let text: String = (1..=100).map(|number| format!("line {number}\n")).collect();
    bench.put("file", text);
    let read = bench.call("read", json!({ "path": "file", "offset": 10, "limit": 2 })).await;
    read.is(
        "    10\tline 10\n    11\tline 11\n[lines 10 to 11 of 100 lines; go on with offset 12]",
    );
    let read = bench.call("read", json!({ "path": "file", "offset": 100 })).await;
    read.is("   100\tline 100\n[lines 100 to 100 of 100 lines]");
    for offset in [101, u64::MAX] {
        let read = bench.call("read", json!({ "path": "file", "offset": offset })).await;
        read.refuses(&format!("`file` has 100 lines; there is no line {offset}"));
    }
    bench.call("read", json!({ "path": "file", "offset": 0 })).await.refuses("`offset` must be");
}

#[tokio::test]
async fn long_lines_and_long_files_are_cut() {
    let bench = Bench::with(ToolLimits { line: 20, answer: 300, ..ToolLimits::default() });
    bench.put("long", format!("{}\nend\n", "é".repeat(1000)));
    let read = bench.call("read", json!({ "path": "long" })).await;
    read.has("     1\téééééééééé[… 1980 bytes left out]\n     2\tend\n");
    bench.put("many", "0123456789\n".repeat(1000));
    let read = bench.call("read", json!({ "path": "many" })).await;
    read.has("    16\t0123456789\n[lines 1 to 16 of 1000 lines; go on with offset 17]");
    // At least one line is always shown.
    let bench = Bench::with(ToolLimits { line: 5000, answer: 1, ..ToolLimits::default() });
    bench.put("wide", "x".repeat(4000));
    bench.call("read", json!({ "path": "wide" })).await.has("xxxx\n[lines 1 to 1 of 1 line]");
}

#[tokio::test]
async fn binary_file_is_refused_with_its_size() {
    let bench = Bench::new();
    bench.put("binary", b"\x7fELF\0\0\0\0".repeat(512));
    bench.call("read", json!({ "path": "binary" })).await.refuses("a binary file of 4.0 KiB");
    bench.call("read", json!({ "path": "missing" })).await.refuses("`missing` does not exist");
    bench.call("read", json!({ "path": "binary/x" })).await.refuses("not a folder");
}

/// A sparse file of 100 GiB: only the needed part is read.
#[tokio::test]
async fn huge_file_is_read_only_as_far_as_needed() {
    let hour = std::time::Duration::from_secs(3600);
    let bench = Bench::with(ToolLimits { files: hour, ..ToolLimits::default() });
    let mut file = File::create(bench.root().join("huge")).unwrap();
    file.write_all("text\n".repeat(5000).as_bytes()).unwrap();
    file.seek(SeekFrom::Start(100 << 30)).unwrap();
    file.write_all(b"end").unwrap();
    drop(file);
    let read = bench.call("read", json!({ "path": "huge", "limit": 1 })).await;
    read.is(
        "     1\ttext\n[lines 1 to 1 of more than 5000 lines (100.0 GiB); go on with offset 2]",
    );
}
