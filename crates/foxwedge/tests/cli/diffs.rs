//! `--diff` shows what a fix would change.

use crate::{
    documents::*,
    sandbox::{Sandbox, names},
};

#[test]
fn every_format_shows_its_changes_and_writes_nothing() {
    for (name, content) in BROKEN {
        let sandbox = Sandbox::with(name, content);
        for command in ["check", "fix"] {
            let ran = sandbox.run(&[command, "--diff", name]);
            assert_eq!(ran.code, 1);
            insta::assert_snapshot!(format!("diff_{}", name.replace(".json", "")), ran.all());
        }
        assert_eq!(sandbox.read(name), content);
        assert_eq!(names(&sandbox.backups()).len(), 0);
    }
}

#[test]
fn what_cannot_be_fixed_is_still_listed() {
    let sandbox = Sandbox::with("unsafe.json", UNSAFE);
    let ran = sandbox.run(&["check", "--diff", "unsafe.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("[FW403]"), "{}", ran.err);
    let ran = sandbox.run(&["check", "--diff", "--unsafe-fixes", "unsafe.json"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("--- unsafe.json\n+++ unsafe.json\n@@ messages[1] @@\n"),
        "{}",
        ran.out
    );
}

#[test]
fn a_sound_file_has_no_diff() {
    let ran = Sandbox::with("sound.json", SOUND).run(&["check", "--diff", "sound.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[test]
fn lines_are_named_and_long_messages_are_cut() {
    let long = "x".repeat(5000);
    let document = CHAT.replace('\n', "").replace("run the tests", &long).replace("wait", &long);
    let sandbox = Sandbox::with("long.jsonl", format!("{}\n{document}\n", SOUND.replace('\n', "")));
    let ran = sandbox.run(&["check", "--diff", "long.jsonl"]);
    assert!(ran.out.contains("@@ line 2, messages["), "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() < 200), "{}", ran.out);
}
