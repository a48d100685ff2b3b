//! The sessions of every agent are repaired where they lie, and put back.

use std::fs;

use serde_json::Value;

use crate::{homes, sandbox::Sandbox};

/// A rollout of Codex that ends with a call.
const CODEX: &str = concat!(
    r#"{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{"id":"0199-ab","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.46.0"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-02T03:04:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"list"}]}}"#,
    "\n",
    r#"{"timestamp":"2026-01-02T03:04:07.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"call_1"}}"#,
    "\n",
);

/// A session of Neovate that ends with a call.
const NEOVATE: &str = concat!(
    r#"{"type":"message","uuid":"n1","parentUuid":null,"timestamp":"2026-01-02T03:04:05.000Z","sessionId":"7f6e5d4c","role":"user","content":"write a note"}"#,
    "\n",
    r#"{"type":"message","uuid":"n2","parentUuid":"n1","timestamp":"2026-01-02T03:04:06.000Z","sessionId":"7f6e5d4c","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"write","input":{}}]}"#,
    "\n",
);

/// A task of Cline from before messages had a time: only the name of its file says whose it is.
const CLINE: &str = r#"[{"role":"user","content":[{"type":"text","text":"build it"}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"execute_command","input":{"command":"make"}}]}]"#;

fn all() -> [(&'static str, &'static str, String); 4] {
    [
        ("codex", "rollout-2026-01-02T03-04-05-0199-ab.jsonl", CODEX.to_owned()),
        ("gemini-cli", "session-2026-01-02T03-04-9e0f1a2b.jsonl", homes::gemini_cli("9e0f1a2b")),
        ("neovate", "7f6e5d4c.jsonl", NEOVATE.to_owned()),
        ("cline", "tasks/1/api_conversation_history.json", CLINE.to_owned()),
    ]
}

#[test]
fn every_agent_is_fixed_once_and_put_back() {
    for (agent, name, content) in all() {
        let sandbox = Sandbox::with(name, &content);
        let ran = sandbox.run(&["check", "--output-format", "json", name]);
        assert_eq!(ran.code, 1, "{agent}: {}", ran.all());
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let finding = &document["findings"][0];
        assert_eq!((&finding["code"], &finding["agent"]), (&"FW101".into(), &agent.into()));
        let ran = sandbox.run(&["fix", name]);
        assert_eq!(ran.code, 0, "{agent}: {}", ran.all());
        let fixed = sandbox.read(name);
        assert_ne!(fixed, content, "{agent}");
        let ran = sandbox.run(&["fix", name]);
        assert!(ran.code == 0 && ran.err.contains("All valid"), "{agent}: {}", ran.all());
        assert_eq!(sandbox.read(name), fixed, "{agent}: a second run changes nothing");
        assert_eq!(sandbox.run(&["undo", name]).code, 0, "{agent}");
        assert_eq!(sandbox.read(name), content, "{agent}");
    }
}

#[test]
fn a_task_that_has_just_begun_is_sound() {
    let name = "tasks/1/api_conversation_history.json";
    let ran = Sandbox::with(name, "[]").run(&["check", name]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let ran = Sandbox::with(name, "{}").run(&["check", name]);
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
fn a_fix_by_id_is_undone_by_id() {
    let sandbox = homes::home();
    let path = sandbox.home().join(homes::killed_path());
    let before = fs::read(&path).unwrap();
    assert_eq!(sandbox.run(&["fix", "0a1b2c3d-0002"]).code, 0);
    assert_ne!(fs::read(&path).unwrap(), before);
    let ran = sandbox.run(&["undo", "0a1b2c3d-0002"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(sandbox.run(&["undo", "0a1b2c3d-0002"]).code, 2);
}
