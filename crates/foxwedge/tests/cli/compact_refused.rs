//! What cannot be done is refused, and nothing is changed.

use std::fs;

use serde_json::Value;

use crate::{
    compact::report,
    compact_documents::*,
    sandbox::{Sandbox, names},
};

/// A conversation that names no model.
const PLAIN: &str = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"well"}]"#;

#[test]
fn numbers_and_flags_that_mean_nothing_are_usage_errors() {
    let many = "the context window of the model `m-1` is not known";
    let table: [(&[&str], &str); 27] = [
        (&["--budget", "0"], "--budget 0: nothing fits into 0 tokens"),
        (&["--budget", "-5"], "--budget -5: a number of tokens cannot be negative"),
        (&["--budget=-5k"], "--budget -5k: a number of tokens cannot be negative"),
        (&["--budget", "1.5"], "--budget 1.5: the number of tokens must be whole"),
        (&["--budget", "many"], "--budget many: not a number of tokens"),
        (&["--budget", ""], "--budget : not a number of tokens"),
        (&["--budget", "99999999m"], "no model takes that many tokens"),
        (&["--budget", "99999999999999999999"], "no model takes that many tokens"),
        (&["--window", "0"], "--window 0: nothing fits into 0 tokens"),
        (&["--window", "10", "--reserve", "10"], "has no room for a reserve of 10"),
        (&["--budget", "5", "--goal", "6"], "--goal 6 is more than the 5 tokens allowed"),
        (&["--fraction", "NaN"], "--fraction NaN: not a share"),
        (&["--fraction", "-0.5"], "--fraction -0.5: not a share"),
        (&["--fraction", "1.5"], "--fraction 1.5: not a share"),
        (&["--fraction", "50%"], "--fraction 50%: not a share"),
        (&["--threshold", "2"], "--threshold 2: not a share"),
        (&["--ends", "0", "--budget", "9"], "--ends 0: nothing fits into 0 tokens"),
        (&["--fraction", "0.5", "--strategy", "elide"], "--fraction is for the strategy `window`"),
        (&["--fraction", "1", "--strategy", "window,budget"], "`budget` needs a budget"),
        (&["--budget", "9", "--recent", "5"], "--recent is for the strategy `summarize`"),
        (&["--budget", "9", "--summarizer", "cat"], "--summarizer is for the strategy `summarize`"),
        (
            &["--budget", "9", "--strategy", "summarize", "--summarizer", " "],
            "--summarizer needs a command",
        ),
        (&["--model", "m-1"], many),
        (&[], "there is no token limit: the conversation names no model"),
        (&["--budget", "9", "--pin", "2"], "--pin 2: there is no such message"),
        (&["--budget", "9", "--output-file", "plain.json"], "would be written over the input"),
        (&["nowhere.json", "--budget", "9"], "nowhere.json: no such file or folder"),
    ];
    for (flags, expected) in table {
        let sandbox = Sandbox::with("plain.json", PLAIN);
        let named = flags.first().is_some_and(|flag| !flag.starts_with('-'));
        let target: &[&str] = if named { &[] } else { &["plain.json"] };
        let ran = sandbox.run(&[&["compact"], target, flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flags:?}: {}", ran.all());
        assert!(ran.err.contains("error: ") && ran.err.contains(expected), "{}", ran.all());
        assert!(ran.err.contains("\n  help: "), "{}", ran.all());
        assert_eq!(sandbox.read("plain.json"), PLAIN);
    }
}

#[test]
fn words_that_are_not_known_are_usage_errors() {
    let sandbox = Sandbox::with("plain.json", PLAIN);
    let table: [&[&str]; 5] = [
        &["--strategy", "magic", "--budget", "9"],
        &["--tokens", "runes", "--budget", "9"],
        &["--budget", "9", "--threshold", "0.5"],
        &["--pin", "first", "--budget", "9"],
        &["--output-format", "sarif", "--budget", "9"],
    ];
    for flags in table {
        let ran = sandbox.run(&[&["compact", "plain.json"], flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{flags:?}: {}", ran.all());
    }
}

#[test]
fn what_has_to_stay_is_never_cut() {
    let table: [(&[&str], &str); 3] = [
        (&["--budget", "40"], "cannot shrink: "),
        (
            &["--strategy", "budget", "--budget", "560", "--pin", "4", "--keep-tool", "*"],
            "allow 607 tokens or more, or pin less",
        ),
        (&["--strategy", "elide", "--budget", "300"], "cannot shrink: "),
    ];
    for (flags, expected) in table {
        // The newest answer is a short one.
        let (name, content) = ("chat.json", chat(22));
        let sandbox = Sandbox::with(name, &content);
        let ran = sandbox.run(&[&["compact", name], flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.all());
        assert!(ran.err.starts_with("error: chat.json: cannot shrink: "), "{}", ran.err);
        assert!(ran.err.contains(expected), "{}", ran.err);
        assert!(ran.err.contains("\n  help: nothing was changed; allow "), "{}", ran.err);
        assert_eq!(sandbox.read(name), content);
        assert_eq!(names(&sandbox.backups()).len(), 0);
    }
    // Not a byte of it reaches a pipe.
    let ran = Sandbox::new().pipe(&["compact", "-", "--budget", "40"], chat(20));
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.all());
}

#[test]
fn programs_are_told_why_not() {
    let sandbox = Sandbox::with("chat.json", chat(20));
    let json = ["--output-format", "json"];
    let ran = sandbox.run(&[&["compact", "chat.json", "--budget", "40"][..], &json].concat());
    let document = report(&ran);
    assert_eq!(
        (ran.code, &document["version"], &document["changed"]),
        (1, &1.into(), &false.into())
    );
    assert_eq!(document["path"], "chat.json");
    assert_eq!(document["error"]["short"]["budget"], 40);
    assert!(document["error"]["message"].as_str().unwrap().contains("cannot shrink"));
    let ran = sandbox.run(&[&["compact", "chat.json", "--budget", "0"][..], &json].concat());
    assert_eq!((ran.code, &report(&ran)["error"]["short"]), (2, &Value::Null));
    assert!(ran.err.contains("error: --budget 0"), "{}", ran.err);
    // In a pipe, stdout is for the document alone.
    let ran = sandbox.pipe(&[&["compact", "-", "--fraction", "2"][..], &json].concat(), chat(20));
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    serde_json::from_str::<Value>(&ran.err).unwrap();
    let ran = sandbox.pipe(&[&["compact", "-", "--budget", "40"][..], &json].concat(), chat(20));
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    serde_json::from_str::<Value>(&ran.err).unwrap();
}

#[test]
fn what_is_no_single_conversation_is_refused() {
    let table =
        [("[1, 2", "error: x.json"), ("{\"a\": 1}", "error: x.json"), ("", "error: x.json")];
    for (content, expected) in table {
        let sandbox = Sandbox::with("x.json", content);
        let ran = sandbox.run(&["compact", "x.json", "--budget", "9"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.all());
        assert!(ran.err.starts_with(expected), "{}", ran.all());
    }
    let sandbox = Sandbox::with("x.jsonl", format!("{PLAIN}\n{PLAIN}\n"));
    let ran = sandbox.run(&["compact", "x.jsonl", "--budget", "9"]);
    assert!(ran.err.contains("there are 2 conversations in it"), "{}", ran.err);
    let ran = sandbox.run(&["compact", ".", "--budget", "9"]);
    assert!(ran.code == 2 && ran.err.contains("this is a folder"), "{}", ran.all());
}

#[test]
fn findings_that_no_repair_removes_are_told_by_the_exit_code() {
    let mut request: Value = serde_json::from_str(&anthropic(20)).unwrap();
    // It ends with the assistant, which newer models refuse; only the user can say more.
    request["model"] = "claude-opus-4-6".into();
    let last = serde_json::json!({ "role": "assistant", "content": "Well" });
    request["messages"].as_array_mut().unwrap().push(last);
    let sandbox = Sandbox::with("open.json", request.to_string());
    assert_eq!(sandbox.run(&["check", "open.json"]).code, 1);
    let ran = sandbox.run(&["compact", "open.json", "--budget", "2k"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.out.contains("remaining"), "{}", ran.out);
    assert!(
        fs::metadata(sandbox.path("open.json")).unwrap().len() < request.to_string().len() as u64
    );
}
