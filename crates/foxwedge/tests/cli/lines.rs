//! A file with a document on each line.

use crate::{documents::*, sandbox::Sandbox};

fn line(text: &str) -> String {
    text.replace('\n', "")
}

#[test]
fn findings_carry_the_line_of_the_file() {
    let text = format!("{}\r\n\r\n{}\r\n{}", line(SOUND), line(ANTHROPIC), line(GEMINI));
    let sandbox = Sandbox::with("all.jsonl", text);
    let ran = sandbox.run(&["check", "--output-format", "concise", "all.jsonl"]);
    insta::assert_snapshot!(ran.all());
}

#[test]
fn only_lines_that_change_are_written_anew() {
    let before = format!("  {} \r\n\r\n", line(SOUND));
    let after = format!("\r\n\t{}", line(SOUND));
    let sandbox = Sandbox::with("all.jsonl", format!("{before}{}{after}", line(CHAT)));
    assert_eq!(sandbox.run(&["fix", "all.jsonl"]).code, 0);
    let fixed = sandbox.read("all.jsonl");
    let middle =
        fixed.strip_prefix(before.as_str()).and_then(|text| text.strip_suffix(after.as_str()));
    let middle = middle.expect("the other lines keep their bytes");
    assert!(middle.contains("[foxwedge] Interrupted") && !middle.contains('\n'), "{middle}");
    assert_eq!(sandbox.run(&["check", "all.jsonl"]).code, 0);
}

#[test]
fn a_torn_line_is_told_and_kept() {
    let torn = "{\"messages\":[{\"role\":\"us";
    let sandbox = Sandbox::with("all.jsonl", format!("{}\n{torn}", line(CHAT)));
    let ran = sandbox.run(&["fix", "all.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: all.jsonl:2:"), "{}", ran.err);
    let fixed = sandbox.read("all.jsonl");
    assert!(fixed.ends_with(torn) && fixed.contains("[foxwedge] Interrupted"), "{fixed}");
}

#[test]
fn a_guess_takes_the_word_of_a_sure_neighbour() {
    let plain = r#"{"messages":[{"role":"user","content":"hi"}]}"#;
    let sandbox =
        Sandbox::with("all.jsonl", format!("{plain}\n{{\"messages\":{}}}\n", line(ANTHROPIC)));
    let ran = sandbox.run(&["check", "all.jsonl"]);
    assert!(!ran.err.contains("guess"), "{}", ran.err);
    assert!(ran.out.contains("all.jsonl:2:"), "{}", ran.out);
}

#[test]
fn strangers_are_called_by_their_name() {
    let session = "{\"type\":\"summary\",\"leafUuid\":\"1\"}\n{\"parentUuid\":null,\"sessionId\":\"s\",\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";
    let messages =
        "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":\"b\"}\n";
    let table = [
        (session, "a session file, but of an unknown agent"),
        (messages, "each line is one message"),
        ("{\"a\":1}\n{\"b\":2}\n", "no conversation"),
        ("[{\"type\":\"human\",\"content\":\"hi\"}]\n", "`convert_to_openai_messages` in Python"),
        ("[{\"type\":\"hologram\"}]\n", "not a known format"),
        ("\n \n", "the input is empty"),
    ];
    for (text, expected) in table {
        let ran = Sandbox::with("x.jsonl", text).run(&["check", "x.jsonl"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}");
        assert!(ran.err.contains(expected), "{text}: {}", ran.err);
    }
}

#[test]
fn one_document_on_many_lines_is_still_one() {
    let ran = Sandbox::with("pretty.jsonl", CHAT).run(&[
        "check",
        "--output-format",
        "concise",
        "pretty.jsonl",
    ]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("pretty.jsonl:7:7: FW101"), "{}", ran.out);
}
