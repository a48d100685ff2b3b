//! Whatever is read: a finding or an error with a place, never a panic.

use serde_json::Value;

use crate::{documents::CHAT, sandbox::Sandbox};

const FORMATS: [&str; 6] =
    ["", "openai-chat", "openai-responses", "anthropic", "gemini", "bedrock"];

#[test]
fn unreadable_input_is_an_error_with_a_place() {
    let deep_array = "[".repeat(1 << 20);
    let deep_object = "{\"messages\":".repeat(100_000);
    let deep_block = format!("[{{\"role\":\"user\",\"content\":{}", "[".repeat(1 << 20));
    let table: [(&str, &[u8]); 14] = [
        ("empty", b""),
        ("blank", b" \n\t\r\n"),
        ("not JSON", b"hello"),
        ("a number", b"42"),
        ("a string", b"\"messages\""),
        ("no list", b"{\"a\":1}"),
        ("torn", &CHAT.as_bytes()[..CHAT.len() - 30]),
        ("invalid UTF-8", b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}"),
        ("a NUL byte", b"{\"messages\":[\0]}"),
        (
            "duplicate keys",
            b"{\"messages\":[{\"role\":\"user\",\"role\":\"user\",\"content\":\"x\"}]}",
        ),
        ("two lists", b"{\"messages\":[],\"messages\":[]}"),
        ("deep arrays", deep_array.as_bytes()),
        ("deep objects", deep_object.as_bytes()),
        ("deep blocks", deep_block.as_bytes()),
    ];
    let sandbox = Sandbox::new();
    for (what, content) in table {
        sandbox.write("x.json", content);
        for format in FORMATS {
            let mut arguments = vec!["check", "x.json"];
            if !format.is_empty() {
                arguments.extend(["--format", format]);
            }
            let ran = sandbox.run(&arguments);
            assert_eq!(ran.code, 2, "{what} {format}: {}", ran.all());
            assert!(ran.err.starts_with("error: x.json:"), "{what} {format}: {}", ran.err);
        }
        let fixed = sandbox.run(&["fix", "x.json"]);
        assert_eq!(fixed.code, 2, "{what}");
        assert_eq!(std::fs::read(sandbox.path("x.json")).unwrap(), content, "{what}");
    }
}

#[test]
fn ten_thousand_calls_in_a_turn() {
    let call = |n| {
        format!(
            "{{\"id\":\"c{n}\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}"
        )
    };
    let calls: Vec<String> = (0..10_000).map(call).collect();
    let text = format!(
        "[{{\"role\":\"user\",\"content\":\"x\"}},{{\"role\":\"assistant\",\"tool_calls\":[{}]}}]",
        calls.join(",")
    );
    let sandbox = Sandbox::with("many.json", text);
    let ran = sandbox.run(&["check", "many.json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("--output-format concise lists all"));
    let ran = sandbox.run(&["check", "--output-format", "json", "many.json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let findings = document["findings"].as_array().unwrap();
    let calls = findings.iter().filter(|finding| finding["code"] == "FW101");
    assert_eq!(calls.clone().count(), 10_000);
    for finding in calls {
        assert_eq!(finding["fix"]["edits"][0]["call_ids"], finding["call_ids"]);
    }
    assert_eq!(sandbox.run(&["fix", "many.json"]).code, 0);
    assert_eq!(sandbox.run(&["check", "many.json"]).code, 0);
}

#[test]
fn ids_and_names_of_a_megabyte() {
    let big = "\\u202e\\u001b[31m".to_owned() + &"z".repeat(1 << 20);
    let text = format!(
        "[{{\"role\":\"user\",\"content\":\"{big}\"}},{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{big}\",\"name\":\"{big}\",\"input\":{{}}}}]}}]"
    );
    let sandbox = Sandbox::with("big.json", text);
    for format in ["full", "concise", "github", "markdown"] {
        let ran = sandbox.run(&["check", "--output-format", format, "big.json"]);
        assert_eq!(ran.code, 1, "{format}");
        assert!(ran.out.len() < 10_000, "{format}");
        assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{format}: {}", ran.out);
    }
    let diff = sandbox.run(&["check", "--diff", "big.json"]);
    assert!(diff.out.len() < 10_000 && diff.code == 1);
    assert_eq!(sandbox.run(&["fix", "big.json"]).code, 0);
    assert_eq!(sandbox.run(&["check", "big.json"]).code, 0);
}

/// Characters that a terminal would obey.
const HARMFUL: [char; 4] = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{7}'];

#[test]
fn odd_file_names_were_shown_as_they_are() {
    // A call id with a colour in it, in a file with a colour in its name.
    let content = CHAT.replace("call_2", "call\\u001b[31m\\u009b2J\\u202e");
    let names = ["a\u{1b}[31m b\u{202e}.json", "-\u{1b}[2J\u{9b}.json", "c\u{7}\n.json"];
    for name in names {
        let sandbox = Sandbox::with(name, &content);
        for format in ["full", "concise", "github", "markdown"] {
            for target in [".", &format!("./{name}")] {
                let ran = sandbox.run(&["check", "--output-format", format, target]);
                assert_eq!(ran.code, 1, "{}", ran.all());
                assert!(!ran.all().contains(HARMFUL), "{format} {name:?}: {:?}", ran.all());
            }
        }
        for arguments in [["fix", "--diff", "."], ["check", "--show-files", "."]] {
            let ran = sandbox.run(&arguments);
            assert!(!ran.all().contains(HARMFUL), "{arguments:?} {name:?}: {:?}", ran.all());
        }
        let missing = format!("./{name}x/y");
        for arguments in
            [["check", missing.as_str()], ["undo", missing.as_str()], ["fix", missing.as_str()]]
        {
            let ran = sandbox.run(&arguments);
            assert_eq!(ran.code, 2);
            assert!(!ran.all().contains(HARMFUL), "{arguments:?}: {:?}", ran.all());
        }
        let ran = sandbox.run(&["fix", "."]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(!ran.all().contains(HARMFUL), "{name:?}: {:?}", ran.all());
    }
}

#[test]
fn names_that_look_like_flags_are_named_so_that_they_can_be_typed() {
    let sandbox = Sandbox::with("-x.json", CHAT);
    let ran = sandbox.run(&["check", "./-x.json"]);
    assert!(ran.err.contains("`foxwedge fix ./-x.json`"), "{}", ran.err);
}
