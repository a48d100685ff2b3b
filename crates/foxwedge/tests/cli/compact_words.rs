//! Words of the user that stand beside answers are words of the user.

use crate::sandbox::Sandbox;

const MIXED: &str = r#"[{"role":"user","content":"go"},
{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"bash","input":{"c":1}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one two three four five six"},{"type":"text","text":"STOP. Never push to main."}]},
{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"bash","input":{"c":1}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"ok"}]}]"#;

#[test]
fn what_the_user_says_beside_answers_stays() {
    for strategy in ["budget", "importance", "summarize", "window"] {
        let sandbox = Sandbox::with("mixed.json", MIXED);
        let flags = ["--strategy", strategy, "--tokens", "o200k", "--budget", "70"];
        let ran = sandbox.run(&[&["compact", "mixed.json"][..], &flags].concat());
        let left = sandbox.read("mixed.json");
        let told = ran.all();
        match strategy {
            // Only the first message stays by itself; but what is lost is named.
            "window" => assert!(left.contains("STOP") || told.contains("“STOP."), "{told}"),
            _ => assert!(left.contains("STOP. Never push to main."), "{strategy}: {told}"),
        }
    }
}

#[test]
fn pinned_answers_are_not_shortened() {
    let word = |count: usize| "word ".repeat(count);
    let mut list = vec![r#"{"role":"user","content":"go"}"#.to_owned()];
    for (at, count) in [800, 800, 5, 5, 5].into_iter().enumerate() {
        list.push(format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{at}","type":"function","function":{{"name":"bash","arguments":"{{}}"}}}}]}}"#
        ));
        let text = word(count);
        list.push(format!(r#"{{"role":"tool","tool_call_id":"c{at}","content":"{text}"}}"#));
    }
    let sandbox = Sandbox::with("pin.json", format!("[{}]", list.join(",\n")));
    let flags = ["--strategy", "elide", "--tokens", "o200k", "--budget", "1200", "--pin", "2"];
    let ran = sandbox.run(&[&["compact", "pin.json"][..], &flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    let left = sandbox.read("pin.json");
    let lines: Vec<&str> = left.lines().collect();
    assert_eq!(lines[2], format!("{},", list[2]), "the pinned one is as it was");
    assert!(lines[4].contains("[foxwedge]"), "another one is shorter: {}", lines[4]);
}
