//! Prompts over a pipe, one a line.

use crate::stage::Stage;

#[test]
fn every_line_is_a_prompt_of_one_conversation() {
    let stage = Stage::new();
    let ran = stage.chat(&[], "hello\n\n   \nagain\ncall list\n//help\n/etc/hosts?");
    assert_eq!(ran.code, 0, "{ran:?}");
    let said: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("You said")).collect();
    let expected =
        ["You said: hello", "You said: again", "You said: /help", "You said: /etc/hosts?"];
    assert_eq!(said, expected, "{ran:?}");
    assert!(ran.out.contains("The tool said: "), "{ran:?}");
    assert!(!ran.out.contains('✓') && ran.err.contains("✓ list"), "{ran:?}");
    assert_eq!(stage.outcomes(), ["completed"; 5]);
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn the_first_prompt_may_be_typed() {
    let stage = Stage::new();
    let ran = stage.chat(&["first"], "second\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "You said: first\nYou said: second\n"), "{ran:?}");
}

#[test]
fn a_prompt_that_fails_does_not_keep_the_next_from_being_asked() {
    let stage = Stage::new();
    let input = "one\n/model scripted?status=400\ntwo\n/model scripted\nthree\n";
    let ran = stage.chat(&[], input);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.starts_with("You said: one\n") && ran.out.contains("three"), "{ran:?}");
    assert_eq!(stage.outcomes(), ["completed", "failed", "completed"]);
}

#[test]
fn nothing_typed_is_nothing_kept() {
    let stage = Stage::new();
    for input in ["", "\n\n", "/help\n/status\n/tools\n"] {
        let ran = stage.chat(&[], input);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    }
    assert_eq!(stage.sessions(), [""; 0]);
}

#[test]
fn what_is_no_text_is_refused() {
    let stage = Stage::new();
    let mut command = stage.command(&["chat"]);
    let path = stage.path("bytes");
    std::fs::write(&path, b"hello\n\xff\xfe\nmore\n").unwrap();
    let output = command.stdin(std::fs::File::open(path).unwrap()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("not UTF-8"), "{err}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "You said: hello\n");
    assert_eq!(stage.outcomes(), ["completed"]);
}
