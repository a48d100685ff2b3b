//! The behaviours that compactions in files owe to the seeds, and what agents do with such files.

use foxwedge_sessions::{CompactionError, SessionAgent};
use serde_json::{Value, json};

use super::{
    story::{Left, SUMMARY, leave, records, says, story, summarized, told},
    workshop::{continued, lengthen, repaired, tell},
};

#[test]
fn b0_16_a_reload_shows_the_summary_and_what_came_later_and_old_lines_stay() {
    for agent in SessionAgent::ALL.into_iter().filter(|agent| agent.holds_compactions()) {
        let after = summarized(agent);
        let history = tell(agent, &after).expect("it can be read").history;
        for (words, shown) in
            [(SUMMARY, true), ("Change it.", true), ("Changed.", true), ("Find it.", false)]
        {
            assert_eq!(history.contains(words), shown, "{} {words}\n{history}", agent.name());
        }
        let file = String::from_utf8_lossy(&after);
        assert!(file.contains("Find it.") && file.contains("found in a.rs"), "{file}");
        let longer = continued(agent, &after, "And now?");
        let history = tell(agent, &longer).expect("it can be read").history;
        assert!(history.contains("And now?") && !history.contains("Find it."), "{history}");
    }
}

#[test]
fn b1_4_two_truncations_in_a_row_hide_nothing_twice() {
    for agent in SessionAgent::ALL.into_iter().filter(|agent| agent.holds_compactions()) {
        let once = summarized(agent);
        let count = told(agent, &once).len();
        let left = [Left::New(says(agent, "Another summary.")), Left::Kept(count - 1)];
        let twice = leave(agent, &once, &left).expect("it can be made shorter");
        let history = tell(agent, &twice).expect("it can be read").history;
        assert!(!history.contains(SUMMARY) && history.contains("Changed."), "{history}");
        let back = lengthen(agent, &twice).expect("the second can be taken back");
        assert_eq!(told(agent, &back), told(agent, &once), "{}", agent.name());
        let back = lengthen(agent, &back).expect("the first can be taken back");
        assert_eq!(back, story(agent), "{}", agent.name());
        assert_eq!(lengthen(agent, &back), None, "{}", agent.name());
    }
}

#[test]
fn b1_5_without_the_marker_or_the_summary_hidden_messages_are_visible_again() {
    let agent = SessionAgent::Cline;
    let bytes = story(agent);
    let truncated =
        leave(agent, &bytes, &[Left::Kept(0), Left::Kept(4), Left::Kept(5)]).expect("it can");
    for file in [truncated, summarized(agent)] {
        let mut list = records(&file);
        assert!(told(agent, &file).len() < 6);
        // As a rewind of the extension removes it; the tags stay behind.
        list.retain(|message| message.get("foxwedge").is_none());
        let without = Value::Array(list).to_string();
        assert_eq!(told(agent, without.as_bytes()), told(agent, &bytes), "{without}");
    }
}

#[test]
fn b1_7_an_answer_to_a_condensed_call_becomes_text() {
    for agent in SessionAgent::ALL.into_iter().filter(|agent| agent.holds_compactions()) {
        let after = summarized(agent);
        let mut late = continued(agent, &after, "found in b.rs");
        let text = String::from_utf8_lossy(&late).into_owned();
        let answer = json!({"type": "tool_result", "tool_use_id": "x", "content": "found in b.rs"});
        let block = json!({"type": "text", "text": "found in b.rs"}).to_string();
        let (from, into) = match agent {
            SessionAgent::ClaudeCode | SessionAgent::Cline => (block, answer.to_string()),
            SessionAgent::Neovate => {
                let result = json!({"type": "tool-result", "toolCallId": "x", "toolName": "grep",
                    "input": {}, "result": {"llmContent": "found in b.rs"}});
                (block, result.to_string())
            }
            SessionAgent::Codex => {
                let says: Value =
                    serde_json::from_str(&says(agent, "found in b.rs")).expect("JSON");
                let output = json!({"type": "function_call_output", "call_id": "x",
                    "output": "found in b.rs"});
                (says.to_string(), output.to_string())
            }
            SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => continue,
            SessionAgent::GeminiCli => {
                let response = json!({"functionResponse": {"id": "x", "name": "grep",
                    "response": {"output": "found in b.rs"}}});
                (json!({"text": "found in b.rs"}).to_string(), response.to_string())
            }
        };
        assert!(text.contains(&from), "{} {from}\n{text}", agent.name());
        late = text.replace(&from, &into).into_bytes();
        assert_eq!(tell(agent, &late).expect("it can be read").codes(), [102], "{}", agent.name());
        let fixed = repaired(agent, &late).expect("it can be repaired");
        let seen = tell(agent, &fixed).expect("it can be read");
        assert_eq!(seen.codes(), Vec::<u16>::new(), "{}", agent.name());
        assert!(seen.history.contains("found in b.rs"), "{}", seen.history);
        // Taken back, it stands at the end of everything.
        let back = lengthen(agent, &fixed).expect("it can be taken back");
        let history = tell(agent, &back).expect("it can be read").history;
        assert!(history.contains("Find it.") && history.contains("found in b.rs"), "{history}");
    }
}

#[test]
fn a_compaction_that_a_file_cannot_hold_changes_nothing() {
    let bytes = story(SessionAgent::ClaudeCode);
    let all = || (0..6).map(Left::Kept).collect::<Vec<_>>();
    let torn = br#"[{"role":"user","content":"Find it.","ts":1},{"role":"assist"#;
    let old = concat!(
        "{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"p\",\n  \"messages\": [\n",
        "    {\"id\": \"1\", \"type\": \"user\", \"content\": \"Find it.\"},\n",
        "    {\"id\": \"2\", \"type\": \"gemini\", \"content\": \"Here.\"}\n  ]\n}\n"
    );
    let agent = SessionAgent::ClaudeCode;
    let summary = |agent| vec![Left::New(says(agent, SUMMARY))];
    let table: [(SessionAgent, &[u8], Vec<Left>, CompactionError); 6] = [
        (agent, &bytes, all(), CompactionError::NothingChanged),
        (agent, &bytes, Vec::new(), CompactionError::Empty),
        (agent, &bytes, vec![Left::Kept(6)], CompactionError::UnknownOrigin(0)),
        (agent, &bytes, vec![Left::New("{".to_owned())], CompactionError::Unreadable(0)),
        (SessionAgent::Cline, torn, summary(SessionAgent::Cline), CompactionError::Damaged),
        (
            SessionAgent::GeminiCli,
            old.as_bytes(),
            summary(SessionAgent::GeminiCli),
            CompactionError::TooOld,
        ),
    ];
    for (agent, bytes, left, expected) in table {
        assert_eq!(leave(agent, bytes, &left), Err(expected), "{}", agent.name());
    }
    // The agent takes this for a command of its own, and does not send it.
    let command = [Left::New(says(SessionAgent::GeminiCli, "/help")), Left::Kept(5)];
    let verdict = leave(SessionAgent::GeminiCli, &story(SessionAgent::GeminiCli), &command);
    assert_eq!(verdict, Err(CompactionError::NotVisible(0)));
}

#[test]
fn a_copy_without_the_old_lines_has_nothing_to_take_back() {
    for agent in [SessionAgent::ClaudeCode, SessionAgent::Neovate] {
        let after = summarized(agent);
        let old = story(agent);
        let copy = after.get(old.len()..).expect("lines were added");
        assert_eq!(lengthen(agent, copy), None, "{}", agent.name());
    }
}

/// Claude Code compacts once more, by itself, and carries messages over by naming them.
#[test]
fn what_a_later_compaction_of_the_agent_carried_over_stays() {
    let agent = SessionAgent::ClaudeCode;
    let after = summarized(agent);
    let last = records(&after).pop().expect("there are records")["uuid"].clone();
    let metadata = json!({"trigger": "auto", "preTokens": 9,
        "preservedMessages": {"anchorUuid": "s2", "uuids": [last], "allUuids": [last]}});
    let lines = [
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "s1", "parentUuid": null,
            "logicalParentUuid": last, "compactMetadata": metadata, "sessionId": "5e55107f"}),
        json!({"type": "user", "uuid": "s2", "parentUuid": "s1", "isCompactSummary": true,
            "message": {"role": "user", "content": "The agent's own."}, "sessionId": "5e55107f"}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let later = [after, lines.into_bytes()].concat();
    let before = told(agent, &later);
    assert_eq!(before.len(), 2, "{before:?}");
    let back = lengthen(agent, &later).expect("it can be taken back");
    assert_eq!(told(agent, &back), before);
}

/// Gemini CLI writes all messages once more whenever it resumes a session.
#[test]
fn what_the_agent_wrote_once_more_is_taken_back_with_the_compaction() {
    let agent = SessionAgent::GeminiCli;
    let after = summarized(agent);
    let set = records(&after).pop().expect("there are records");
    let mut messages = set["$set"]["messages"].as_array().cloned().unwrap_or_default();
    for message in &mut messages {
        message.as_object_mut().map(|message| message.remove("foxwedge"));
    }
    let context = json!({"id": "c", "timestamp": "2026-02-04T11:00:00.000Z", "type": "user",
        "content": [{"text": "<session_context>today</session_context>"}]});
    messages.insert(0, context);
    let again = json!({"$set": {"messages": messages, "lastUpdated": "2026-02-04T11:00:00.000Z"}});
    let resumed = [after, format!("{again}\n").into_bytes()].concat();
    let longer = continued(agent, &resumed, "And now?");
    let back = lengthen(agent, &longer).expect("it can be taken back");
    let mut expected = told(agent, &story(agent));
    expected.push(json!({"role": "user", "parts": [{"text": "And now?"}]}));
    assert_eq!(told(agent, &back), expected);
}

#[test]
fn who_rewound_to_a_summary_rewinds_to_what_it_stood_for() {
    let agent = SessionAgent::GeminiCli;
    let after = summarized(agent);
    let set = records(&after).pop().expect("there are records");
    let summary = set["$set"]["messages"][0]["id"].clone();
    let rewound = [after, format!("{}\n", json!({"$rewindTo": summary})).into_bytes()].concat();
    let longer = continued(agent, &rewound, "From the start.");
    let back = lengthen(agent, &longer).expect("it can be taken back");
    assert_eq!(told(agent, &back), told(agent, &longer));
}
