//! What is typed wrong is told in a line, with help, and nothing happens.

use crate::stage::Stage;

#[test]
fn what_is_wrong_is_told_before_anything_happens() {
    let stage = Stage::new();
    stage.write("a.txt", "one");
    let table: [(&[&str], &[&str]); 20] = [
        (&["--output-format", "json"], &["--print"]),
        (&["-p", "x", "--output-format", "xml"], &["xml", "jsonl"]),
        (&["--fork"], &["--resume"]),
        (&["--resume", "abcd", "--continue"], &["--continue"]),
        (&["--list", "hello"], &["--list"]),
        (&["--read-only", "--yes", "-p", "x"], &["--read-only"]),
        (&["--config", "x.toml", "--api", "openai", "-p", "x"], &["--api"]),
        (&["--max-turns", "0", "-p", "x"], &["--max-turns"]),
        (
            &["-p", "x", "--model", "gpt-9"],
            &["no provider is configured for `gpt-9`", "OPENAI_API_KEY"],
        ),
        (&["-p", "x", "--api", "anthropic", "--model", "m"], &["no API key", "ANTHROPIC_API_KEY"]),
        (&["-p", "x", "--key-env", "MINE"], &["--key-env", "help:"]),
        (&["-p", "x", "--upstream", "https://x/v1"], &["no model is selected", "--model"]),
        (&["-p", "x", "--tools", "raed"], &["there is no tool `raed`", "did you mean `read`?"]),
        (&["-p", "x", "--allow", "rum"], &["there is no tool `rum`", "did you mean `run`?"]),
        (&["-p", "x", "--root", "nowhere"], &["nowhere", "--root"]),
        (&["-p", "x", "--root", "a.txt"], &["a.txt", "--root"]),
        (&["-p", "x", "--instructions", "@nowhere.md"], &["nowhere.md"]),
        (&["-p", "x", "--resume", "abcd"], &["there is no session `abcd`", "help:"]),
        (&["-p", "x", "--continue"], &["no session for this folder", "--list"]),
        (&["-p"], &["there is no prompt", "foxwedge chat -p"]),
    ];
    for (arguments, words) in table {
        let ran = stage.chat(arguments, "");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?} {ran:?}");
        for word in words {
            assert!(ran.err.contains(word), "{arguments:?}: no `{word}` in {}", ran.err);
        }
    }
    assert_eq!(stage.outcomes(), [""; 0]);
    assert_eq!(stage.sessions(), [""; 0]);
}

#[test]
fn nobody_is_there_to_pick_a_session_over_a_pipe() {
    let stage = Stage::new();
    assert_eq!(stage.chat(&["-p", "x"], "").code, 0);
    let ran = stage.chat(&["--resume"], "");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("--list"), "{}", ran.err);
}

#[test]
fn the_built_in_model_says_that_it_is_one() {
    let stage = Stage::new();
    let ran = stage.chat(&["-p", "hello"], "");
    assert_eq!((ran.code, ran.out.as_str()), (0, "You said: hello\n"), "{ran:?}");
    assert!(ran.err.contains("note: no model is configured: using the built-in `scripted` model"));
    assert!(ran.err.contains("help: set ANTHROPIC_API_KEY"), "{}", ran.err);
    for asked in [&["--model", "scripted"][..], &["--api", "scripted"], &["-q"]] {
        let ran = stage.chat(&[&["-p", "hello"], asked].concat(), "");
        assert_eq!((ran.code, ran.out.as_str()), (0, "You said: hello\n"), "{ran:?}");
        assert!(!ran.err.contains("no model is configured"), "{asked:?}: {}", ran.err);
    }
}

#[test]
fn a_wrong_configuration_is_told_as_the_gateway_tells_it() {
    let stage = Stage::new();
    stage.write("bad.toml", "listen = 7\nnonsense = true\n");
    let ran = stage.chat(&["-p", "x", "--config", "bad.toml"], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("nonsense"), "{}", ran.err);
}

#[test]
fn quiet_is_quiet() {
    let stage = Stage::new();
    let ran = stage.chat(&["-q", "-p", "call list"], "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(ran.out.starts_with("The tool said: "), "{ran:?}");
}
