//! Sessions: gone on with, copied, listed, and in use.

use crate::stage::{Stage, until};

#[test]
fn a_session_goes_on_where_it_was() {
    let stage = Stage::new();
    assert_eq!(stage.chat(&["-p", "one"], "").code, 0);
    let ran = stage.chat(&["-p", "two", "--continue"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "You said: two\n"), "{ran:?}");
    let session = stage.sessions().remove(0);
    let ran = stage.chat(&["--resume", &session], "three\n/status\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("history  6 messages"), "{}", ran.err);
    // The beginning of the id is enough, with and without what all of them have.
    for typed in [&session[..11], &session["chat-".len()..11]] {
        let ran = stage.chat(&["--resume", typed], "/status\n");
        assert!(ran.err.contains("history  6 messages"), "{typed}: {ran:?}");
    }
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn a_copy_is_its_own_session() {
    let stage = Stage::new();
    assert_eq!(stage.chat(&["-p", "one"], "").code, 0);
    let ran = stage.chat(&["-p", "two", "--continue", "--fork"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "You said: two\n"), "{ran:?}");
    let sessions = stage.sessions();
    assert_eq!(sessions.len(), 2);
    let messages = |session: &str| {
        let ran = stage.chat(&["--resume", session], "/status\n");
        let line = ran.err.lines().find(|line| line.starts_with("history")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
    };
    assert_eq!((messages(&sessions[0]), messages(&sessions[1])), (4, 2));
    let ran = stage.chat(&["--resume", &sessions[1]], "/fork\nthree\n/status\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains(", a copy of `chat-"), "{}", ran.err);
    assert_eq!((stage.sessions().len(), messages(&sessions[1])), (3, 2));
}

#[test]
fn a_list_has_a_line_for_each_and_a_folder_has_its_own() {
    let stage = Stage::new();
    std::fs::create_dir(stage.path("den")).unwrap();
    assert_eq!(stage.chat(&["-p", "about\nfoxes"], "").code, 0);
    assert_eq!(stage.chat(&["-p", "about hens", "--root", "den"], "").code, 0);
    let ran = stage.chat(&["--list"], "");
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{ran:?}");
    assert!(ran.out.contains("about foxes") && ran.out.contains("about hens"), "{}", ran.out);
    assert!(ran.out.contains("1 run") && ran.out.contains("/den"), "{}", ran.out);
    let ran = stage.chat(&["--continue", "--root", "den"], "/status\n/undo\n");
    assert!(ran.err.contains("\nabout hens\n"), "{ran:?}");
    let ran = stage.chat(&["--continue"], "/undo\n");
    assert!(ran.err.contains("\nabout\nfoxes\n"), "{ran:?}");
}

#[test]
fn a_session_in_use_names_the_process() {
    let stage = Stage::new();
    assert_eq!(stage.chat(&["-p", "one"], "").code, 0);
    let mut live = stage.live(&["--continue", "--yes"]);
    live.say(r#"call run with {"command":"touch began; sleep 100"}"#);
    until("the tool is at work", || stage.path("began").exists());
    for arguments in [&["-p", "two", "--continue"][..], &["-p", "x", "--continue", "--fork"]] {
        let ran = stage.chat(arguments, "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
        let process = format!("process {} on this machine", live.child.id());
        assert!(ran.err.contains(&process), "{}", ran.err);
        assert!(
            ran.err.contains("help: ") && ran.err.contains("foxwedge runs stop"),
            "{}",
            ran.err
        );
    }
    live.signal("INT");
    let ran = live.end();
    assert_eq!(ran.code, 130, "{ran:?}");
    // What the tool said is answered first: the model has not spoken since.
    let ran = stage.chat(&["--continue"], "two\nthree\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.ends_with("You said: three\n"), "{ran:?}");
}
