//! Which tools may run where nobody can be asked.

use crate::stage::Stage;

const WRITE: &str = r#"call write with {"path":"new.txt","content":"hello"}"#;

#[test]
fn what_writes_is_denied_unless_it_was_allowed() {
    let stage = Stage::new();
    let ran = stage.chat(&["-p", WRITE], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!stage.path("new.txt").exists());
    assert!(ran.out.contains("--allow write"), "the model is told why: {}", ran.out);
    assert!(ran.err.contains("✗ write  new.txt  denied, did not run"), "{}", ran.err);
    assert!(ran.err.contains("help: `--allow write` lets it run"), "{}", ran.err);
    let ran = stage.chat(&["-p", WRITE, "--allow", "run,edit"], "");
    assert!(ran.err.contains("denied") && !stage.path("new.txt").exists(), "{ran:?}");
}

#[test]
fn what_is_allowed_runs() {
    for allowed in
        [&["--allow", "write"][..], &["--allow", "run,write"], &["--allow", "all"], &["--yes"]]
    {
        let stage = Stage::new();
        let ran = stage.chat(&[&["-p", WRITE], allowed].concat(), "");
        assert_eq!(ran.code, 0, "{allowed:?} {ran:?}");
        assert_eq!(std::fs::read_to_string(stage.path("new.txt")).unwrap(), "hello");
        assert!(ran.err.contains("✓ write  new.txt  done"), "{}", ran.err);
    }
}

#[test]
fn tools_that_are_not_offered_are_not_there() {
    let stage = Stage::new();
    stage.write("a.txt", "one");
    for arguments in [&["--read-only"][..], &["--tools", "read,list"], &["--tools", "none"]] {
        let ran = stage.chat(&[arguments, &["/tools"]].concat(), "");
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.err.contains("write  "), "{arguments:?} {}", ran.err);
        // The model cannot call what is not declared.
        let ran = stage.chat(&[&["-p", WRITE], arguments].concat(), "");
        assert!(ran.out.starts_with("You said: call write"), "{arguments:?} {ran:?}");
    }
    let ran = stage.chat(&["-p", r#"call read with {"path":"a.txt"}"#, "--read-only"], "");
    assert!(ran.out.contains("one") && ran.err.contains("✓ read"), "{ran:?}");
}
