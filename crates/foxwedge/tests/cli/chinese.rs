//! The command line in Chinese, as a user with a Chinese locale meets it.

use std::path::{Path, PathBuf};

use unicode_width::UnicodeWidthStr;

use crate::{
    documents::*,
    homes::{KILLED, home, named},
    sandbox::{Ran, Sandbox},
    sessions_files::killed,
};

fn chinese(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    sandbox.run_with("LANG", "zh_CN.UTF-8", arguments)
}

/// Names of profiles.
const NAMES: [&str; 6] = ["anthropic", "gemini", "bedrock", "mistral", "deepseek", "strict"];

/// English sentences in a text for people: three words in a row that are not quoted.
fn english_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A usage line names commands.
    for line in text.lines().filter(|line| !line.starts_with("用法:")) {
        let mut plain = String::new();
        for (mark, piece) in line.split(['`', '"', '“', '”']).enumerate() {
            plain.push_str(if mark % 2 == 0 { piece } else { "|" });
        }
        let mut run: Vec<&str> = Vec::new();
        for word in plain.split(' ').chain(["|"]) {
            let bare = word.trim_end_matches([',', '.', ';', ':']);
            let is_name = NAMES.contains(&bare);
            let is_word =
                !is_name && bare.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'');
            if bare.len() > 1 && is_word {
                run.push(word);
                // A list of names is no sentence.
                if !word.ends_with(',') {
                    continue;
                }
            }
            if run.len() > 2 {
                found.push(format!("{} | {line}", run.join(" ")));
            }
            run.clear();
        }
    }
    found
}

fn is_chinese(text: &str) -> bool {
    text.contains(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

fn assert_chinese(ran: &Ran) {
    let text = format!("{}{}", ran.out, ran.err);
    assert!(is_chinese(&text), "{}", ran.all());
    let english = english_in(&text);
    assert!(english.is_empty(), "{english:#?}\n{}", ran.all());
}

#[test]
fn a_broken_request_is_reported_and_repaired() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let checked = chinese(&sandbox, &["check", "chat.json"]);
    insta::assert_snapshot!(checked.all());
    assert_chinese(&checked);
    for arguments in [
        &["check", "--output-format", "concise", "chat.json"][..],
        &["check", "--statistics", "chat.json"],
        &["fix", "--dry-run", "chat.json"],
        &["fix", "--diff", "chat.json"],
        &["fix", "chat.json"],
        &["check", "chat.json"],
        &["undo", "--list"],
        &["undo", "chat.json"],
        &["undo", "chat.json"],
    ] {
        assert_chinese(&chinese(&sandbox, arguments));
    }
}

#[test]
fn output_for_programs_is_the_same_in_every_language() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for format in ["json", "json-lines", "github", "gitlab", "junit", "sarif", "markdown"] {
        let arguments = ["check", "--output-format", format, "chat.json"];
        let (english, other) = (sandbox.run(&arguments), chinese(&sandbox, &arguments));
        assert_eq!((english.code, &english.out), (other.code, &other.out), "{format}");
    }
    for arguments in [
        &["rules", "--output-format", "json"][..],
        &["fix", "--dry-run", "--output-format", "json", "chat.json"],
        &["compact", "--dry-run", "--budget", "20", "--output-format", "json", "chat.json"],
        &["convert", "--to", "anthropic", "--output-format", "json", "chat.json"],
        &["completions", "bash"],
        &["man", "check"],
    ] {
        let (english, other) = (sandbox.run(arguments), chinese(&sandbox, arguments));
        assert_eq!((english.code, &english.out), (other.code, &other.out), "{arguments:?}");
    }
    let piped = ["fix", "-q", "-"];
    let mut command = sandbox.command(&piped);
    command.env("LC_ALL", "zh_CN.UTF-8");
    let english = sandbox.pipe(&piped, CHAT);
    let file = std::fs::File::open(sandbox.path("chat.json")).unwrap();
    let output = command.stdin(file).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), english.out, "the locale writes no text");
}

#[test]
fn sessions_are_listed_in_aligned_columns() {
    let sandbox = home();
    let listed = chinese(&sandbox, &["list"]);
    insta::assert_snapshot!(listed.all());
    // Titles are what users wrote.
    assert!(english_in(&listed.err).is_empty(), "{}", listed.err);
    // The ids begin in the same column of a terminal, below their header.
    let column = |line: &str, text: &str| line.find(text).map(|at| line[..at].width());
    let mut lines = listed.out.lines();
    let header = column(lines.next().unwrap(), "ID");
    assert!(header.is_some());
    let sessions = sandbox.run(&["list", "--output-format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&sessions.out).unwrap();
    for (line, session) in lines.zip(document["sessions"].as_array().unwrap()) {
        let id = session["short_id"].as_str().or(session["id"].as_str()).unwrap();
        let start: String = id.chars().take(6).collect();
        assert_eq!(column(line, &start), header, "{line}");
    }
}

#[test]
fn every_screen_is_in_chinese() {
    let sandbox = home();
    sandbox.write("valid.json", SOUND);
    sandbox.write("empty.json", "");
    sandbox.write("torn.json", "{\"messages\": [");
    for arguments in [
        &["--help"][..],
        &["check", "--help"],
        &["fix", "-h"],
        &["list", "--help"],
        &["compact", "--help"],
        &["convert", "--help"],
        &["runs", "--help"],
        &["store", "prune", "--help"],
        &["chat", "--help"],
        &["serve", "--help"],
        &["env", "--help"],
        &["rpc", "--help"],
        &["rules"],
        &["check", "valid.json"],
        &["check", "--all"],
        &["compact", "--dry-run", "--budget", "20", "valid.json"],
        &["explain", "No tool output found for function call call_test."],
        &["explain", "rate limit exceeded"],
        &["runs"],
        &["undo", "--list"],
        // Errors.
        &["check", "missing.json"],
        &["check", "empty.json"],
        &["check", "torn.json"],
        &["check", "--no-such-flag"],
        &["chekc"],
        &["check", "--profile", "llama", "valid.json"],
        &["check", "--all", "valid.json"],
        &["check", "--profile"],
        &["undo"],
        &["fix"],
        &["rule", "FW999"],
        &["rule", "unanswered-cal"],
        &["show", "valid"],
        &["undo", "valid.json"],
        &["compact", "valid.json"],
        &["compact", "--budget", "many", "valid.json"],
        &["convert", "--to", "anthropic", "empty.json"],
        &["fork", "valid.json"],
        &["runs", "show", "abc"],
        &["store", "check"],
        &["follow", "missing.jsonl"],
        &["man", "nothing"],
        &["serve", "--listen", "nowhere", "--check-config"],
    ] {
        assert_chinese(&chinese(&sandbox, arguments));
    }
    // What users and providers wrote is in their own language.
    for arguments in [
        &["demo"][..],
        &["show", "--last"],
        &["show", "--last", "--records"],
        &["resume", "--last"],
        &["convert", "--to", "anthropic", "valid.json"],
    ] {
        let ran = chinese(&sandbox, arguments);
        assert!(is_chinese(&format!("{}{}", ran.out, ran.err)), "{}", ran.all());
        assert!(english_in(&ran.err).is_empty(), "{}", ran.err);
    }
}

#[test]
fn no_sentence_is_half_translated() {
    let sandbox = home();
    sandbox.write("note.json", "shopping list");
    let table: [(&[&str], &str, &str); 5] = [
        (&["run", "--", "nosuchtool"], "PATH 中没有 `nosuchtool`", "on PATH"),
        (&["check", "note.json"], "应为一个值", "value"),
        (&["show", KILLED], "需要修复", "needs repair"),
        (&["fork", KILLED], "已复制到", "repaired in"),
        (&["fork", "--to", "opencode", KILLED], "数据库中的行", "rows of a database"),
    ];
    for (arguments, chinese_part, english_part) in table {
        let text = chinese(&sandbox, arguments).all();
        assert!(text.contains(chinese_part) && !text.contains(english_part), "{text}");
    }
    let shown = chinese(&sandbox, &["show", KILLED]).out;
    assert!(!shown.contains("reach"), "{shown}");
}

#[test]
fn the_flag_overrides_the_environment() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let english = sandbox.run(&["check", "chat.json"]);
    let flagged = chinese(&sandbox, &["--lang", "en", "check", "chat.json"]);
    assert_eq!(flagged.all(), english.all());
    let own = sandbox.run_with("FOXWEDGE_LANG", "zh", &["check", "chat.json"]);
    assert_eq!(own.all(), sandbox.run(&["check", "--lang", "zh", "chat.json"]).all());
    assert_chinese(&own);
}

/// The cases of all rules.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests/cases")
}

#[test]
fn findings_and_edits_of_every_rule_are_in_chinese() {
    let sandbox = Sandbox::new();
    let cases = cases().to_string_lossy().into_owned();
    for flags in [&["check"][..], &["check", "--profile", "strict", "--for-api"]] {
        let concise = ["--output-format", "concise", cases.as_str()];
        let ran = chinese(&sandbox, &[flags, &concise].concat());
        assert!(ran.out.lines().count() > 100, "{}", ran.err);
        let english = english_in(&format!("{}{}", ran.out, ran.err));
        assert!(english.is_empty(), "{flags:?} {english:#?}");
        let dry = ["--fix", "--dry-run", "--unsafe-fixes", cases.as_str()];
        let ran = chinese(&sandbox, &[flags, &dry].concat());
        assert!(ran.err.lines().count() > 100, "{}", ran.err);
        let english = english_in(&ran.err);
        assert!(english.is_empty(), "{flags:?} {english:#?}");
    }
}

#[test]
fn the_advice_for_many_broken_sessions_is_in_chinese() {
    let sandbox = Sandbox::new();
    for number in 1..=4 {
        let id = format!("0a1b2c3d-000{number}-4000-8000-00000000000{number}");
        sandbox.keep(&format!(".claude/projects/-w/{id}.jsonl"), number, named(&killed(), &id));
    }
    let listed = chinese(&sandbox, &["list"]);
    assert!(listed.err.contains("--broken"), "{}", listed.all());
    assert!(english_in(&listed.err).is_empty(), "{}", listed.err);
}

#[test]
fn the_chat_talks_chinese() {
    let sandbox = Sandbox::new();
    let chat = ["chat", "--lang", "zh", "--api", "scripted", "--store", "memory:"];
    let ran = sandbox.pipe(&chat, "/help\nhello\n/status\n/nonsense\n/export a.md\n/undo\n");
    assert_eq!(ran.out, "You said: hello\n", "what the model says stays as it is: {}", ran.all());
    let english = english_in(&ran.err);
    assert!(english.is_empty(), "{english:#?}\n{}", ran.err);
    assert!(ran.err.contains("列出命令") && ran.err.contains("历史"), "{}", ran.err);
    let document = sandbox.read("a.md");
    assert!(document.starts_with("# Conversation with"), "a document is for others: {document}");
}

#[test]
fn the_page_of_a_rule_is_in_chinese() {
    let sandbox = Sandbox::new();
    let page = chinese(&sandbox, &["rule", "FW101"]).out;
    assert!(page.contains("## 如何修复") && page.contains("tool_use"), "{page}");
    assert!(!page.contains("What repair does"), "{page}");
}
