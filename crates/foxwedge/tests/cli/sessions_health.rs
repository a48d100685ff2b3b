//! How sessions are: what an agent copes with is ok and not touched, and what is not read is named.

use crate::{
    sandbox::Sandbox,
    sessions_files::{Script, killed, sound},
};

/// The same, as a newer version writes it.
fn newer(script: &Script) -> String {
    script.text().replace("\"version\":\"1.0.99\"", "\"version\":\"2.1.39\"")
}

/// Killed, and gone on with: the call is left out by the agent.
fn gone_on() -> Script {
    killed().user("are you there?").says("msg_4", "Yes.")
}

#[test]
fn a_session_that_its_agent_opens_whole_is_ok_and_not_touched() {
    let text = newer(&killed());
    let sandbox = Sandbox::with("s.jsonl", &text);
    let checked = sandbox.run(&["check", "s.jsonl"]);
    assert_eq!(checked.code, 0, "{}", checked.all());
    assert!(checked.err.contains("claude-code 2.1.39 tolerates FW101"), "{}", checked.all());
    let fixed = sandbox.run(&["fix", "s.jsonl"]);
    assert_eq!((fixed.code, sandbox.read("s.jsonl")), (0, text.clone()), "{}", fixed.all());
    let shown = sandbox.run(&["show", "s.jsonl"]);
    assert!(shown.out.contains("✓ ok  (the agent tolerates FW101"), "{}", shown.all());
    // A provider would refuse it, and gets an answer.
    let told = sandbox.run(&["resume", "s.jsonl"]);
    assert!(told.code == 0 && told.out.contains("[foxwedge] Interrupted"), "{}", told.all());
    let judged = sandbox.run(&["check", "--for-api", "s.jsonl"]);
    assert!(judged.code == 1 && judged.out.contains("FW101"), "{}", judged.all());
    let fixed = sandbox.run(&["fix", "--for-api", "s.jsonl"]);
    assert_eq!(fixed.code, 0, "{}", fixed.all());
    assert!(sandbox.read("s.jsonl").contains("[foxwedge] Interrupted"));
}

#[test]
fn history_that_an_agent_leaves_out_is_missing_and_brought_back() {
    let id = "0a1b2c3d-0009-4000-8000-000000000009";
    let sandbox = Sandbox::new();
    let text = newer(&gone_on());
    sandbox.keep(&format!(".claude/projects/-w/{id}.jsonl"), 1, &text);
    let listed = sandbox.run(&["list"]);
    assert!(listed.out.contains("! history missing"), "{}", listed.all());
    let fixed = sandbox.run(&["fix", id]);
    assert_eq!(fixed.code, 0, "{}", fixed.all());
    let listed = sandbox.run(&["list", "--output-format", "json"]);
    assert!(listed.out.contains("\"health\": \"ok\""), "{}", listed.all());
}

#[test]
fn a_strict_reader_refuses_a_damaged_session() {
    let sandbox = Sandbox::with("s.jsonl", newer(&killed()));
    for command in ["resume", "show", "export"] {
        let ran = sandbox.run(&[command, "--strict", "s.jsonl"]);
        assert!(ran.code == 2 && ran.err.contains("FW101"), "{}", ran.all());
        assert_eq!(ran.out, "", "{}", ran.all());
    }
    let sandbox = Sandbox::with("s.jsonl", newer(&sound()));
    assert_eq!(sandbox.run(&["resume", "--strict", "s.jsonl"]).code, 0);
}

#[test]
fn a_session_in_which_nothing_was_said_yet_is_an_empty_history() {
    let config = r#"{"type":"config","config":{"approvalMode":"default"}}"#;
    let sandbox = Sandbox::new();
    let path = sandbox.keep(".neovate/projects/w/7f6e5d4c.jsonl", 1, format!("{config}\n"));
    let path = path.to_string_lossy().into_owned();
    let table: [&[&str]; 3] = [
        &["resume", "7f6e5d4c"],
        &["resume", "--format", "neovate", &path],
        &["resume", "--strict", "7f6e5d4c"],
    ];
    for arguments in table {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.out.trim()), (0, "[]"), "{arguments:?} {}", ran.all());
    }
    for command in ["show", "export"] {
        let ran = sandbox.run(&[command, "7f6e5d4c"]);
        assert_eq!(ran.code, 0, "{}", ran.all());
    }
    let table: [&[&str]; 4] =
        [&["--format", "neovate", &path], &["7f6e5d4c"], &["--all"], &[&path]];
    for arguments in table {
        let ran = sandbox.run(&[&["check"], arguments].concat());
        assert_eq!(ran.code, 0, "{arguments:?} {}", ran.all());
    }
}

#[test]
fn a_session_whose_content_is_lost_is_unreadable_everywhere() {
    let id = "0a1b2c3d-0010-4000-8000-000000000010";
    let extension = ".config/Code/User/globalStorage/saoudrizwan.claude-dev";
    let files = [
        format!(".claude/projects/-w/{id}.jsonl"),
        format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl"),
        format!(".neovate/projects/w/{id}.jsonl"),
        format!(".qwen/projects/w/chats/{id}.jsonl"),
        format!("{extension}/tasks/{id}/api_conversation_history.json"),
    ];
    let contents = [("", "is empty"), ("\n", "is empty"), ("\0\0\0\0", "has only zeros")];
    for file in &files {
        for (content, reason) in contents {
            let sandbox = Sandbox::new();
            sandbox.keep(file, 1, content);
            let table: [&[&str]; 6] = [
                &["list"],
                &["check", id],
                &["check", "--all"],
                &["resume", id],
                &["fix", id],
                &["fix", "--broken", "--dry-run"],
            ];
            for arguments in table {
                let ran = sandbox.run(arguments);
                assert_eq!(ran.code, 2, "{file} {arguments:?} {}", ran.all());
                let told = format!("the file {reason}");
                assert!(ran.all().contains(&told), "{file} {arguments:?} {}", ran.all());
            }
        }
    }
}

#[test]
fn a_file_in_the_folder_of_an_agent_is_read_as_its_session() {
    let id = "0a1b2c3d-0011-4000-8000-000000000011";
    let sandbox = Sandbox::new();
    let text = format!("[]\n{}", sound().text());
    let path = sandbox.keep(&format!(".claude/projects/-w/{id}.jsonl"), 1, text);
    let by_id = sandbox.run(&["check", id]);
    let by_path = sandbox.run(&["check", &path.to_string_lossy()]);
    assert_eq!(by_path.code, by_id.code, "{}{}", by_path.all(), by_id.all());
    assert!(!by_path.all().contains("openai"), "{}", by_path.all());
}

#[test]
fn agents_that_are_not_read_are_named() {
    let sandbox = Sandbox::new();
    sandbox.keep(".local/share/amp/threads/T-1.json", 1, "{}\n");
    sandbox.keep(".cursor/chats/x/store.db", 1, "{}\n");
    let listed = sandbox.run(&["list"]);
    assert_eq!(listed.code, 0, "{}", listed.all());
    let note = "not supported yet, so not read: Cursor CLI (~/.cursor/chats), \
                Amp (~/.local/share/amp/threads)";
    assert!(listed.err.contains(note), "{}", listed.all());
    // A database of a supported agent that cannot be read is named as such.
    sandbox.keep(".local/share/opencode/opencode.db", 1, "SQLite format 3\0");
    let listed = sandbox.run(&["list"]);
    assert!(
        listed.code == 2 && listed.err.contains("opencode.db: cannot be read"),
        "{}",
        listed.all()
    );
    let other = r#"{"sessionId":"s","title":"t","workspaceDirectory":"/p","history":[]}"#;
    let ran = sandbox.pipe(&["check", "-"], format!("{other}\n"));
    assert!(ran.code == 2 && ran.err.contains("sessions of Continue"), "{}", ran.all());
    sandbox.write("x.db", b"SQLite format 3\0\x10\0\x01\x01\0\xff\xfe");
    let ran = sandbox.run(&["check", "x.db"]);
    assert!(ran.code == 2 && ran.err.contains("an SQLite database"), "{}", ran.all());
}

#[test]
fn the_log_counts_open_calls_and_names_what_a_repair_drops() {
    let sandbox = Sandbox::with("s.jsonl", gone_on().text());
    let arguments = ["resume", "--policy", "drop-turn", "s.jsonl"];
    let ran = sandbox.run_with("FOXWEDGE_LOG", "session=debug", &arguments);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains("open-calls=1"), "{}", ran.all());
    let dropped = "repair drops message 00000000-0000-4000-8000-000000000006";
    assert!(ran.err.contains(dropped), "{}", ran.all());
}
