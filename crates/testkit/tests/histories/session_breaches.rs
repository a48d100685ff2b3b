//! Files that long campaigns found: each broke a law of repair once.

use foxwedge_testkit::laws::SessionAgent;
use serde_json::{Value, json};

use crate::session_laws::{fixed, lines};

#[test]
fn a_message_of_pi_whose_content_is_in_an_unknown_field_stays_beside_a_quoted_result() {
    let record = |id: &str, parent: Option<&str>, message: Value| json!({"type": "message", "id": id, "parentId": parent, "message": message});
    let said = json!({"role": "user", "other": [{"type": "text", "text": "question"}]});
    let stray = json!({"role": "toolResult", "toolCallId": "x", "toolName": "t", "isError": false,
        "content": [{"type": "text", "text": "42"}]});
    let file = lines(&[record("r1", None, said), record("r5", Some("gone"), stray)]);
    let fixed = fixed(SessionAgent::Pi, &file, false).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.len()), (&[701, 102][..], 0));
    assert!(fixed.file.contains("question") && fixed.file.contains("42"), "{}", fixed.file);
}

#[test]
fn rows_of_opencode_that_a_repaired_compaction_hides_are_not_touched() {
    let row = |table: &str, id: &str, data: Value, rows: Value| {
        json!({"store": "opencode", "table": table, "id": id, "data": data, "rows": rows,
            "columns": {"session_id": "s", "time_created": 1, "time_updated": 1}})
    };
    let part = |id: &str, data: Value| {
        json!([{"table": "part", "id": id, "data": data,
            "columns": {"message_id": "m", "session_id": "s", "time_created": 1, "time_updated": 1}}])
    };
    let reply = |parent: &str| {
        json!({"role": "assistant", "parentID": parent, "time": {"created": 1}, "modelID": "m",
            "providerID": "p", "mode": "build", "agent": "build", "cost": 0,
            "path": {"cwd": "/p", "root": "/p"},
            "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}})
    };
    let user = json!({"role": "user", "time": {"created": 1}, "agent": "build",
        "model": {"providerID": "p", "modelID": "m"}});
    let call = json!({"type": "tool", "callID": "c", "tool": "t",
        "state": {"status": "pending", "input": {}, "raw": ""}});
    let mut summary = reply("msg_3");
    summary["summary"] = json!(true);
    summary["finish"] = json!("stop");
    let mut orphan = summary.clone();
    orphan.as_object_mut().expect("an object").remove("parentID");
    let compaction = json!({"type": "compaction", "auto": true});
    let cut_off = json!({"$text": "{\"role\":\"user\",\"time\""});
    // The question of the compaction is cut off, or its answer does not say what it answers.
    for (question, answer) in [(cut_off, summary), (user, orphan)] {
        let open = row("message", "msg_2", reply("msg_1"), part("prt_2", call.clone()));
        let file = lines(&[
            open.clone(),
            row("message", "msg_3", question, part("prt_3", compaction.clone())),
            row(
                "message",
                "msg_4",
                answer,
                part("prt_4", json!({"type": "text", "text": "so far"})),
            ),
        ]);
        let fixed = fixed(SessionAgent::Opencode, &file, false).expect("readable");
        assert_eq!(fixed.left, Vec::<String>::new());
        assert!(fixed.file.starts_with(&open.to_string()), "{}", fixed.file);
    }
}
