//! Somebody reads the first line and goes away: `| head -1`.

use crate::{documents::*, sandbox::Sandbox};

const FORMATS: [&str; 7] = ["full", "concise", "json", "json-lines", "github", "sarif", "markdown"];

#[test]
fn a_closed_pipe_changed_the_exit_code() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    sandbox.write("sound.json", SOUND);
    sandbox.run(&["fix", "--select", "FW102", "chat.json"]);
    for format in FORMATS {
        for (file, expected) in [("chat.json", 1), ("sound.json", 0)] {
            let ran = sandbox.unheard(&["check", "-q", "--output-format", format, file], "");
            assert_eq!((ran.code, ran.err.as_str()), (expected, ""), "{format} {file}");
        }
    }
    let table: [(&[&str], i32); 9] = [
        (&["demo"], 0),
        (&["rules"], 0),
        (&["rules", "--output-format", "json"], 0),
        (&["rule", "FW101"], 0),
        (&["explain", "tool_use ids were found without tool_result blocks: toolu_1"], 0),
        (&["undo", "--list"], 0),
        (&["completions", "bash"], 0),
        (&["check", "--show-files", "."], 0),
        (&["check", "-q", "--diff", "chat.json"], 1),
    ];
    for (arguments, expected) in table {
        let ran = sandbox.unheard(arguments, "");
        assert_eq!((ran.code, ran.err.as_str()), (expected, ""), "{arguments:?}");
    }
    assert_eq!(sandbox.unheard(&["fix", "-q", "-"], SOUND).code, 0);
    assert_eq!(sandbox.unheard(&["fix", "-q", "-"], UNSAFE).code, 1);
}

#[test]
fn a_pipe_that_closes_in_the_middle_is_no_error_either() {
    let answers = r#",{"role":"tool","tool_call_id":"x","content":"y"}"#.repeat(3000);
    let text = format!("[{{\"role\":\"user\",\"content\":\"go\"}}{answers}]");
    let sandbox = Sandbox::with("many.json", text);
    for format in FORMATS {
        let ran = sandbox.glanced(&["check", "-q", "--output-format", format, "many.json"]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{format}");
    }
}
