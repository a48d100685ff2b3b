//! Findings and documents written to a file: as a whole, and never over what was read.

use std::fs;

use crate::{documents::*, sandbox::Sandbox};

#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str]) {
    let ran = sandbox.run(arguments);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.all());
    assert!(ran.err.contains("would be written over the input"), "{}", ran.err);
    assert!(ran.err.contains("  help: nothing was written"), "{}", ran.err);
    assert_eq!(sandbox.read("chat.json"), CHAT, "{arguments:?}");
}

#[test]
fn findings_were_written_over_the_file_they_were_about() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for command in ["check", "fix"] {
        refused(&sandbox, &[command, "chat.json", "--output-file", "chat.json"]);
        refused(&sandbox, &[command, "chat.json", "--output-file", "./chat.json"]);
        refused(&sandbox, &[command, ".", "--output-file", "chat.json"]);
    }
    assert_eq!(sandbox.names(), ["chat.json"]);
}

#[cfg(unix)]
#[test]
fn findings_were_written_over_the_file_behind_a_link() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    std::os::unix::fs::symlink("chat.json", sandbox.path("soft.txt")).unwrap();
    fs::hard_link(sandbox.path("chat.json"), sandbox.path("hard.txt")).unwrap();
    for link in ["soft.txt", "hard.txt"] {
        for command in ["check", "fix"] {
            refused(&sandbox, &[command, "chat.json", "--output-file", link]);
            refused(&sandbox, &[command, ".", "--output-file", link]);
        }
    }
}

#[cfg(unix)]
#[test]
fn findings_were_written_over_the_file_on_stdin() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let file = fs::File::open(sandbox.path("chat.json")).unwrap();
    let ran = sandbox.run_from(file, &["check", "-", "--output-file", "chat.json"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("over the input `chat.json` on stdin"), "{}", ran.err);
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn a_torn_list_of_conversations_in_a_folder_is_not_written_over() {
    let text = format!("{{\"torn\n{}\n", CHAT.replace('\n', ""));
    let sandbox = Sandbox::with("all.jsonl", &text);
    let ran = sandbox.run(&["check", ".", "--output-file", "all.jsonl"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert_eq!(sandbox.read("all.jsonl"), text);
}

#[test]
fn the_findings_of_the_last_run_may_lie_in_the_folder_they_are_about() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for format in ["json", "json-lines", "sarif"] {
        let file = format!("findings-{format}.json");
        let arguments = ["check", ".", "--output-format", format, "--output-file", &file];
        assert_eq!(sandbox.run(&arguments).code, 1, "{format}");
        let first = sandbox.read(&file);
        assert_eq!(sandbox.run(&arguments).code, 1, "{format}");
        assert!(first.contains("FW101"), "{first}");
        assert!(sandbox.read(&file).contains("FW101"), "{format}");
    }
}

#[test]
fn an_output_file_is_replaced_as_a_whole_and_nothing_stays_beside_it() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.write("out/findings.txt", "old".repeat(9999));
    let arguments = ["check", "chat.json", "--output-file", "out/findings.txt"];
    assert_eq!(sandbox.run(&arguments).code, 1);
    assert!(sandbox.read("out/findings.txt").starts_with("error[FW101]"));
    assert_eq!(crate::sandbox::names(&sandbox.path("out")), ["findings.txt"]);
    let ran = sandbox.run(&["check", "chat.json", "--output-file", "nowhere/findings.txt"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`nowhere/findings.txt` cannot be written"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn an_output_file_keeps_its_mode_and_a_link_stays_a_link() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.write("real.txt", "old");
    fs::set_permissions(sandbox.path("real.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.txt", sandbox.path("link.txt")).unwrap();
    assert_eq!(sandbox.run(&["check", "chat.json", "--output-file", "link.txt"]).code, 1);
    assert!(fs::symlink_metadata(sandbox.path("link.txt")).unwrap().is_symlink());
    assert!(sandbox.read("real.txt").starts_with("error[FW101]"));
    assert_eq!(fs::metadata(sandbox.path("real.txt")).unwrap().mode() & 0o777, 0o640);
    assert_eq!(sandbox.run(&["check", "chat.json", "--output-file", "/dev/null"]).code, 1);
}

#[test]
fn a_repaired_document_is_written_elsewhere() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["fix", "chat.json", "-o", "new.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
    assert_eq!(sandbox.read("chat.json"), CHAT);
    assert!(!ran.err.contains("backup"), "{}", ran.err);
    assert_eq!(sandbox.run(&["check", "new.json"]).code, 0);
    // What is valid is written byte for byte.
    let ran = sandbox.run(&["fix", "new.json", "--output", "same.json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(sandbox.read("same.json"), sandbox.read("new.json"));
    let piped = sandbox.pipe(&["fix", "-", "-o", "piped.json"], CHAT);
    assert_eq!((piped.code, piped.out.as_str()), (0, ""), "{}", piped.all());
    assert_eq!(sandbox.read("piped.json"), sandbox.read("new.json"));
    refused(&sandbox, &["fix", "chat.json", "-o", "./chat.json"]);
    for targets in [&["chat.json", "new.json"][..], &["."]] {
        let ran = sandbox.run(&[&["fix", "-o", "x.json"], targets].concat());
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("-o needs exactly one target"), "{}", ran.err);
    }
    assert!(!sandbox.path("x.json").exists());
}
