//! Every output format is well formed and stable.

use serde_json::Value;

use crate::{documents::*, sandbox::Sandbox};

fn checked(format: &str) -> String {
    let sandbox = Sandbox::new();
    for (name, content) in BROKEN {
        sandbox.write(name, content);
    }
    let names: Vec<&str> = BROKEN.iter().map(|(name, _)| *name).collect();
    let ran = sandbox.run(&[&["check", "--output-format", format], names.as_slice()].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    ran.out
}

#[test]
fn concise() {
    insta::assert_snapshot!(checked("concise"));
}

#[test]
fn github() {
    insta::assert_snapshot!(checked("github"));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(checked("markdown"));
}

#[test]
fn json() {
    let text = checked("json");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["summary"]["files"], 5);
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(document["summary"]["findings"], findings.len());
    insta::assert_snapshot!(text);
}

#[test]
fn json_lines_are_the_findings_of_the_document() {
    let document: Value = serde_json::from_str(&checked("json")).unwrap();
    let lines: Vec<Value> =
        checked("json-lines").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(document["findings"], Value::Array(lines));
}

#[test]
fn sarif() {
    let mut document: Value = serde_json::from_str(&checked("sarif")).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let run = &mut document["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array_mut().unwrap();
    for rule in &mut *rules {
        // The pages have tests of their own.
        assert!(rule["help"]["markdown"].as_str().unwrap().starts_with("# FW"));
        rule["help"]["markdown"] = Value::from("[page]");
    }
    let codes: Vec<Value> = rules.iter().map(|rule| rule["id"].clone()).collect();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(result["ruleId"], codes[index]);
    }
    run["tool"]["driver"]["version"] = Value::from("[version]");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn sound_files_are_well_formed_too() {
    let sandbox = Sandbox::with("sound.json", SOUND);
    for format in ["full", "concise", "json", "json-lines", "github", "sarif", "markdown"] {
        let ran = sandbox.run(&["check", "--output-format", format, "sound.json"]);
        assert_eq!(ran.code, 0, "{format}");
        match format {
            "json" | "sarif" => drop(serde_json::from_str::<Value>(&ran.out).unwrap()),
            "markdown" => assert!(ran.out.contains("All valid"), "{}", ran.out),
            _ => assert_eq!(ran.out, "", "{format}"),
        }
    }
}

#[test]
fn statistics() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["check", "--statistics", "chat.json"]);
    insta::assert_snapshot!(ran.all());
    let ran = Sandbox::with("unsafe.json", UNSAFE).run(&["check", "--statistics", "unsafe.json"]);
    assert_eq!(ran.out, "1  FW403  trailing-assistant\n", "no line ends in spaces");
}

#[test]
fn findings_go_to_a_file_without_colours() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let arguments = ["check", "--color", "always", "--output-file", "report.txt", "chat.json"];
    let ran = sandbox.run(&arguments);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let report = sandbox.read("report.txt");
    assert!(report.contains("error[FW101]") && !report.contains('\u{1b}'), "{report}");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let colored = |arguments: &[&str]| sandbox.run(arguments).out.contains('\u{1b}');
    assert!(!colored(&["check", "chat.json"]));
    assert!(!colored(&["check", "--no-color", "chat.json"]));
    assert!(colored(&["check", "--color", "always", "chat.json"]));
    assert!(!colored(&["check", "--color", "always", "--output-format", "json", "chat.json"]));
}

#[test]
fn after_a_fix_only_what_remains_is_listed() {
    let sandbox = Sandbox::with("unsafe.json", UNSAFE);
    sandbox.write("chat.json", CHAT);
    let ran = sandbox.run(&["fix", "--output-format", "json", "chat.json", "unsafe.json"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["summary"]["findings"], 1);
    assert_eq!(document["summary"]["fixed"], 3);
    assert_eq!(document["findings"][0]["path"], "unsafe.json");
    assert_eq!(document["findings"][0]["fix"]["applicability"], "unsafe");
}
