//! Twenty thousand findings: every one is told, and every document is well formed.

use serde_json::Value;

use crate::sandbox::Sandbox;

const MANY: usize = 20_000;

/// A turn with an unanswered call, very often.
fn turns() -> String {
    let turn = |n: usize| {
        format!(
            r#"{{"role":"user","content":"{n}"}},{{"role":"assistant","tool_calls":[{{"id":"c{n}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
        )
    };
    let turns: Vec<String> = (0..MANY).map(turn).collect();
    format!("{{\"model\":\"gpt-4o\",\"messages\":[{}]}}", turns.join(","))
}

#[test]
fn machine_formats_held_every_finding_several_times_in_memory() {
    let sandbox = Sandbox::with("many.json", turns());
    let out = |format| sandbox.run(&["check", "--output-format", format, "many.json"]).out;
    let document: Value = serde_json::from_str(&out("json")).unwrap();
    let findings = document["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &document["summary"]["findings"]), (MANY, &Value::from(MANY)));
    for (finding, line) in findings.iter().zip(out("json-lines").lines()) {
        assert_eq!(*finding, serde_json::from_str::<Value>(line).unwrap());
        // Every finding has its own step, and no other.
        let edits = finding["fix"]["edits"].as_array().unwrap();
        assert_eq!(edits.len(), 1, "{finding}");
        assert_eq!(edits[0]["call_ids"], finding["call_ids"]);
        assert_eq!(edits[0]["message_index"], finding["message_index"]);
    }
    let sarif: Value = serde_json::from_str(&out("sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), MANY);
    for (result, finding) in results.iter().zip(findings) {
        assert_eq!(result["properties"]["fix"], finding["fix"]);
    }
    assert_eq!(out("github").lines().count(), MANY);
    assert_eq!(out("concise").lines().count(), MANY);
}

#[test]
fn diffs_of_long_histories_lost_their_place() {
    let sandbox = Sandbox::with("many.json", turns());
    let ran = sandbox.run(&["check", "--diff", "many.json"]);
    assert_eq!(ran.code, 1);
    let count = |sign: char| ran.out.lines().filter(|line| line.starts_with(sign)).count();
    // Answers come and nothing goes; the two heading lines are signed too.
    assert_eq!((count('+'), count('-')), (MANY + 1, 1));
    assert_eq!(count(' '), 2 * MANY - 1);
    assert_eq!(ran.err, format!("Would fix {MANY} findings in 1 file; no file was changed.\n"));
}
