//! What a team needs: a file with its flags, previews, reports for CI, manual pages.

use serde_json::Value;

use crate::{documents::CHAT, homes::*, sandbox::Sandbox};

#[test]
fn a_preview_lists_the_edits_and_writes_nothing() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["fix", "--dry-run", "chat.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("would fix FW101"), "{}", ran.err);
    assert!(ran.err.contains("no file was changed"), "{}", ran.err);
    assert_eq!(sandbox.read("chat.json"), CHAT);
    assert!(!sandbox.backups().exists());

    let ran = sandbox.run(&["fix", "--dry-run", "--output-format", "json", "chat.json"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["summary"]["fixed"], 0);
    assert_eq!(document["summary"]["planned"], 3);
    assert_eq!(document["edits"].as_array().map(Vec::len), Some(3));

    let ran = sandbox.pipe(&["fix", "--dry-run", "-"], CHAT);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "a preview prints no document");
    let ran = sandbox.run(&["fix", "--dry-run", "--output-format", "junit", "chat.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
fn the_file_of_a_project_sets_flags_for_requests() {
    let sandbox = Sandbox::with("requests/chat.json", CHAT);
    sandbox.write("foxwedge.toml", "[check]\nignore = [\"FW1\"]\n");
    let ran = sandbox.run(&["check", "requests/chat.json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let ran = sandbox.run(&["check", "--isolated", "requests/chat.json"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    let ran = sandbox.run(&["check", "--ignore", "FW308", "requests/chat.json"]);
    assert_eq!(ran.code, 1, "a flag wins over the file: {}", ran.all());
    sandbox.write("other.toml", "[check]\npolicy = \"drop-call\"\n");
    let ran = sandbox.run(&["fix", "--config", "other.toml", "requests/chat.json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(!sandbox.read("requests/chat.json").contains("placeholder"), "the call was dropped");
}

#[test]
fn the_file_of_a_project_does_not_touch_sessions() {
    let sandbox = claude();
    let health = |sandbox: &Sandbox| sandbox.run(&["check", "--all"]).all();
    let before = health(&sandbox);
    sandbox.write("foxwedge.toml", "[check]\nprofile = \"gemini\"\nignore = [\"FW\"]\n");
    assert_eq!(health(&sandbox), before);
}

#[test]
fn mistakes_in_the_file_are_errors_with_their_line() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for (text, expected) in [
        ("[check]\nprofil = \"claude\"\n", "foxwedge.toml:2: unknown field `profil`"),
        ("[check]\nprofile = \"llama\"\n", "invalid value 'llama'"),
        ("[check\n", "foxwedge.toml:1: "),
        ("# ours\nignore = [\"FW1\"]\n", "foxwedge.toml:2: unknown key `ignore`"),
        ("ignore = [\"FW1\"]\n[check]\n", "did you mean `[check]`?"),
        ("[check]\n[chek]\n", "foxwedge.toml:2: unknown key `chek`"),
        ("listen = \"127.0.0.1:1\"\nbogus = 1\n", "foxwedge.toml:2: unknown key `bogus`"),
    ] {
        sandbox.write("foxwedge.toml", text);
        let ran = sandbox.run(&["check", "chat.json"]);
        assert_eq!(ran.code, 2, "{text}: {}", ran.all());
        assert!(ran.err.contains(expected), "{text}: {}", ran.err);
        assert!(ran.err.contains("help:"), "{text}: {}", ran.err);
    }
}

#[test]
fn reports_for_gitlab_and_other_servers() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.write("torn.json", "{\"messages\": [");
    let ran = sandbox.run(&["check", "--output-format", "junit", "chat.json", "torn.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    insta::assert_snapshot!("junit", ran.out);
    let ran = sandbox.run(&["check", "--output-format", "gitlab", "chat.json", "chat.json"]);
    let entries: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(entries[0]["check_name"], "FW101 unanswered-call");
    assert_eq!(entries[0]["location"]["path"], "chat.json");
    let fingerprint = |entry: &Value| entry["fingerprint"].as_str().map(str::to_owned);
    let mut prints: Vec<_> = entries.iter().map(fingerprint).collect();
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), entries.len(), "fingerprints are unique");
}

#[test]
fn manual_pages_are_printed_and_written() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["man", "check"]);
    assert!(ran.out.contains(".TH foxwedge-check 1"), "{}", ran.all());
    let ran = sandbox.run(&["man", "--output-dir", "pages"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(sandbox.read("pages/foxwedge.1").contains("SUBCOMMANDS"));
    assert!(sandbox.path("pages/foxwedge-fix.1").exists());
    assert!(sandbox.path("pages/foxwedge-mcp-login.1").exists(), "subcommands have pages");
    assert_eq!(sandbox.run(&["man", "mend"]).code, 2);
}

#[test]
fn the_help_groups_commands() {
    let ran = Sandbox::new().run(&["--help"]);
    insta::assert_snapshot!("help", ran.out);
}

#[test]
fn drawings_are_ascii_in_the_c_locale() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let plain = sandbox.run_with("LC_ALL", "C", &["check", "chat.json"]);
    assert!(plain.all().contains("测试"), "text of people stays: {}", plain.all());
    assert!(plain.all().replace("测试怎么样？", "").is_ascii(), "{}", plain.all());
    let drawn = sandbox.run(&["check", "chat.json"]);
    assert!(drawn.all().contains('╭'), "{}", drawn.all());
    assert_eq!(plain.out.lines().count(), drawn.out.lines().count());
    let demo = sandbox.run_with("LC_ALL", "C", &["demo"]);
    assert!(demo.all().is_ascii(), "{}", demo.all());
}
