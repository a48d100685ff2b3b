//! `foxwedge check --watch`: a report for every change.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::{documents::*, follow_live::Live, sandbox::Sandbox};

#[test]
fn every_change_is_checked() {
    let sandbox = Sandbox::with("sound.json", SOUND);
    let mut live = Live::start(&sandbox, &["check", "--watch", "--output-format", "concise", "."]);
    live.hear("checked 1 file, watching 1 file (Ctrl-C ends)");
    sandbox.write("new.json", CHAT);
    live.hear("checked 1 file, watching 2 files");
    live.hear("new.json");
    live.hear("FW102");
    // Only what changed is reported again.
    sandbox.write("sound.json", UNSAFE);
    live.hear("checked 1 file, watching 2 files");
    let line = live.hear("FW");
    assert!(line.starts_with("sound.json"), "{line}");
    live.kill();
}

#[test]
fn watching_ends_when_nobody_reads() {
    let sandbox = Sandbox::with("sound.json", SOUND);
    let mut command = sandbox.command(&["check", "--watch", "sound.json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    sandbox.write("sound.json", CHAT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn only_files_and_reports_for_people_are_watched() {
    let sandbox = Sandbox::with("sound.json", SOUND);
    let table: [(&[&str], &str); 5] = [
        (&["check", "--watch", "-"], "--watch cannot read stdin"),
        (&["check", "--watch"], "--watch cannot read stdin"),
        (&["check", "--watch", "--output-format", "json", "."], "--watch cannot be used with"),
        (&["check", "--watch", "--fix", "."], "cannot be used with"),
        (&["fix", "--watch", "sound.json"], "--watch only checks"),
    ];
    for (arguments, expected) in table {
        let ran = sandbox.run(arguments);
        assert!(ran.code == 2 && ran.err.contains(expected), "{arguments:?} {}", ran.all());
    }
}
