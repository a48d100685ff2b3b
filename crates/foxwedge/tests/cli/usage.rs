//! What is asked for together has to fit together.

use serde_json::Value;

use crate::{documents::*, sandbox::Sandbox};

#[test]
fn a_diff_was_followed_by_a_json_document() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for format in ["json", "json-lines", "github", "sarif", "markdown"] {
        for command in ["check", "fix"] {
            let ran = sandbox.run(&[command, "--diff", "--output-format", format, "chat.json"]);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{format}");
            let expected = format!("error: --diff cannot be used with --output-format {format}\n");
            assert!(ran.err.starts_with(&expected), "{}", ran.err);
            assert!(ran.err.contains("\n  help: --diff works with"), "{}", ran.err);
        }
    }
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn a_diff_counted_as_fixed_what_it_only_showed() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for format in ["full", "concise"] {
        let ran = sandbox.run(&["fix", "--diff", "--output-format", format, "chat.json"]);
        assert_eq!(ran.code, 1);
        assert_eq!(ran.err, "Would fix 3 findings in 1 file; no file was changed.\n");
    }
}

#[test]
fn statistics_were_printed_in_another_format_than_asked_for() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    for format in ["json-lines", "github", "sarif"] {
        let ran = sandbox.run(&["check", "--statistics", "--output-format", format, "chat.json"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{format}");
        assert!(ran.err.contains("--statistics cannot be used with"), "{}", ran.err);
        assert!(ran.err.contains("  help: --statistics works with"), "{}", ran.err);
    }
    let counted = |format| {
        sandbox.run(&["check", "--statistics", "--output-format", format, "chat.json"]).out
    };
    assert_eq!(counted("full"), counted("concise"));
    insta::assert_snapshot!(counted("markdown"));
    let document: Value = serde_json::from_str(&counted("json")).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["statistics"].as_array().unwrap().len(), 3);
    assert_eq!(document["statistics"][0]["count"], 1);
}

#[test]
fn an_empty_variable_was_taken_for_a_value() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let arguments = ["check", "chat.json"];
    let unset = sandbox.run(&arguments);
    for name in ["FOXWEDGE_OUTPUT_FORMAT", "FOXWEDGE_LANG"] {
        let ran = sandbox.run_with(name, "", &arguments);
        assert_eq!(ran.all(), unset.all(), "{name}");
    }
    let text = "tool_use ids were found without tool_result blocks immediately after: toolu_1";
    assert_eq!(sandbox.run_with("FOXWEDGE_LANG", "", &["explain", text]).code, 0);
    let set = sandbox.run_with("FOXWEDGE_OUTPUT_FORMAT", "json", &arguments);
    assert!(set.out.starts_with("{\n  \"version\": 1"), "{}", set.out);
    assert_eq!(sandbox.run_with("FOXWEDGE_LANG", "xx", &arguments).code, 2);
}

#[test]
fn a_family_of_rules_is_listed_and_no_text_is_not_explained() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["rule", "FW1"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.lines().count() > 3 && ran.out.lines().all(|line| line.starts_with("FW1")));
    assert_eq!(sandbox.run(&["rule", ""]).code, 2);
    assert_eq!(sandbox.run(&["rule", "FW0"]).code, 2);
    for input in ["", "\n \n"] {
        let ran = sandbox.pipe(&["explain"], input);
        assert!(ran.code == 2 && ran.err.contains("no error text given"), "{}", ran.all());
    }
    let help = sandbox.run(&["fix", "--help"]).out;
    assert!(!help.contains("--all") && sandbox.run(&["check", "--help"]).out.contains("--all"));
}
