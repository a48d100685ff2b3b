//! `-p`: one prompt, one reply, the end.

use crate::stage::{Stage, finish};

#[test]
fn what_comes_on_stdin_is_added_to_the_prompt() {
    let stage = Stage::new();
    let table: [(&[&str], &str, &str); 4] = [
        (&["-p", "hello"], "", "You said: hello\n"),
        (&["-p"], "from a pipe\n", "You said: from a pipe\n"),
        (&["-p", "explain this:"], "one\ntwo\n", "You said: explain this:\n\none\ntwo\n"),
        // What a program hands over is never a command.
        (&["-p"], "/quit\n", "You said: /quit\n"),
    ];
    for (arguments, input, expected) in table {
        let ran = stage.chat(&[arguments, &["--model", "scripted"]].concat(), input);
        assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{arguments:?} {ran:?}");
    }
}

#[test]
fn a_prompt_that_is_too_large_is_refused_and_nothing_is_kept() {
    let stage = Stage::new();
    let ran = stage.chat(&["-p"], &"x".repeat((10 << 20) + 1));
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("more than 10 MB"), "{}", ran.err);
    assert_eq!(stage.outcomes(), [""; 0]);
}

#[test]
fn tools_run_in_the_folder_and_are_told_on_stderr() {
    let stage = Stage::new();
    stage.write("a.txt", "the moon is full\n");
    let ran = stage.chat(&["-p", r#"call read with {"path":"a.txt"}"#], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.starts_with("The tool said: ") && ran.out.contains("the moon is full"));
    assert!(ran.err.contains("✓ read  a.txt  done"), "{}", ran.err);
    assert!(ran.err.contains("✓ completed"), "{}", ran.err);
    assert!(ran.err.contains("resume with `foxwedge chat --resume chat-"), "{}", ran.err);
    assert_eq!(stage.outcomes(), ["completed"]);
}

#[test]
fn a_run_that_fails_says_why_and_ends_with_1() {
    let stage = Stage::new();
    for (model, word) in [("scripted?status=401", "401"), ("scripted?refuse", "refused")] {
        let ran = stage.chat(&["-p", "hello", "--model", model], "");
        assert_eq!(ran.code, 1, "{model} {ran:?}");
        assert!(ran.err.contains(word) || ran.err.contains("✗"), "{model}: {}", ran.err);
    }
    let ran = stage.chat(&["-p", "call list", "--max-turns", "1"], "");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("out of turns"), "{}", ran.err);
    assert_eq!(stage.outcomes()[0], "max_turns");
}

#[test]
fn without_a_locale_for_it_signs_are_ascii() {
    let stage = Stage::new();
    let mut command = stage.command(&["chat", "-p", "call list"]);
    command.env("LC_ALL", "C");
    let ran = finish(command, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("+ list") && ran.err.contains("done"), "{}", ran.err);
    assert!(!ran.err.contains('✓'), "{}", ran.err);
}

#[test]
fn instructions_may_lie_in_a_file() {
    let stage = Stage::new();
    stage.write("rules.md", "Speak like a fox.");
    for told in ["Speak like a fox.", "@rules.md"] {
        let ran = stage.chat(&["-p", "hello", "--instructions", told], "");
        assert_eq!((ran.code, ran.out.as_str()), (0, "You said: hello\n"), "{ran:?}");
    }
}

#[test]
fn files_are_read_that_the_command_line_mentions_but_not_stdin() {
    let stage = Stage::new();
    stage.write("tide.txt", "high water");
    let ran = stage.chat(&["-p", "what is @tide.txt?"], "");
    assert!(ran.out.contains("The file `tide.txt`:\n\nhigh water"), "{ran:?}");
    for arguments in [&["-p"][..], &["-p", "read this:"], &[]] {
        let ran = stage.chat(arguments, "what is @tide.txt?\n!cat tide.txt\n");
        assert!(!ran.out.contains("high water"), "{ran:?}");
    }
    std::fs::write(stage.path("data.bin"), [0xff, 0xfe]).unwrap();
    let ran = stage.chat(&["-p", "@data.bin"], "");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("`@data.bin` cannot be sent: it is neither text"), "{ran:?}");
}

#[test]
fn markdown_stays_as_it_is() {
    let stage = Stage::new();
    let ran = stage.chat(&["-p", "**bold** and `code`"], "");
    assert_eq!(ran.out, "You said: **bold** and `code`\n");
}
