//! `foxwedge list`: the sessions of every agent on this machine.

use serde_json::Value;

use crate::{homes::*, sandbox::Sandbox};

#[test]
fn every_session_is_listed_the_newest_first() {
    let ran = home().run(&["list"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    insta::assert_snapshot!(ran.all());
}

#[test]
fn programs_get_one_document() {
    let sandbox = home();
    let ran = sandbox.run(&["list", "--output-format", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let mut document: Value = serde_json::from_str(&ran.out).unwrap();
    let home = sandbox.home().to_string_lossy().into_owned();
    for session in document["sessions"].as_array_mut().unwrap() {
        let modified = session["modified"].take();
        assert!(modified.as_str().unwrap().ends_with('Z'), "{modified}");
        session["path"] = Value::from(session["path"].as_str().unwrap().replace(&home, "~"));
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}

/// The short ids in a list, in order.
fn ids(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let ran = sandbox.run(&[&["list", "--output-format", "json"], arguments].concat());
    assert_eq!(ran.code, 0, "{}", ran.all());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let sessions = document["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_can_be_narrowed() {
    let sandbox = home();
    let table: [(&[&str], &[&str]); 9] = [
        (&["--agent", "claude", "--agent", "gemini"], &[CLAUDE, KILLED, GEMINI]),
        (&["--agent", "claude-code"], &[CLAUDE, KILLED]),
        (&["--agent", "codex,neovate"], &[CODEX, NEOVATE]),
        (&["--agent", "cline"], &[CLINE, ROO]),
        (&["--broken"], &[KILLED, CODEX, GEMINI]),
        (&["--limit", "2"], &[CLAUDE, KILLED]),
        (&["--broken", "--limit", "1"], &[KILLED]),
        (&["--project", "/w"], &[CLAUDE, KILLED, CODEX]),
        (&["--project", "/w/shop"], &[CODEX]),
    ];
    for (arguments, expected) in table {
        assert_eq!(ids(&sandbox, arguments), expected, "{arguments:?}");
    }
}

#[test]
fn sub_agents_are_counted_or_listed() {
    let sandbox = claude();
    let ran = sandbox.run(&["list"]);
    assert!(ran.out.lines().any(|line| line.ends_with("+1 sub-agent")), "{}", ran.out);
    assert_eq!(ids(&sandbox, &["--sub-agents"]).len(), 3);
    assert!(ids(&sandbox, &["--sub-agents"]).contains(&HELPER.to_owned()));
    // Older versions kept them beside the session.
    let old = named(&crate::sessions_files::sound(), CLAUDE);
    sandbox.keep(".claude/projects/-w/agent-old.jsonl", 9, old);
    let ran = sandbox.run(&["list"]);
    assert!(ran.out.lines().any(|line| line.ends_with("+2 sub-agents")), "{}", ran.out);
}

#[test]
fn variables_lead_elsewhere() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join("elsewhere");
    let text = named(&crate::sessions_files::sound(), CLAUDE);
    sandbox.keep(&format!("elsewhere/projects/-w/{CLAUDE}.jsonl"), 1, text);
    let ran = sandbox.run(&["list"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.starts_with("No sessions found"), "{}", ran.err);
    let ran = sandbox.run_with("CLAUDE_CONFIG_DIR", &folder.to_string_lossy(), &["list"]);
    assert!(ran.out.contains("0a1b2c3d"), "{}", ran.all());
}

#[test]
fn a_plain_rollout_hides_the_compressed_one() {
    let sandbox = Sandbox::new();
    let name = format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX}.jsonl");
    sandbox.keep(&format!("{name}.zst"), 1, [0x28, 0xb5, 0x2f, 0xfd, 0xff]);
    let ran = sandbox.run(&["list"]);
    assert_eq!(ran.code, 2, "nothing could be read: {}", ran.all());
    assert!(ran.out.contains("\n? unreadable"), "{}", ran.out);
    sandbox.keep(&name, 1, "{}\n");
    assert_eq!(ids(&sandbox, &[]).len(), 1);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_listed() {
    let sandbox = claude();
    let newer = named(&crate::sessions_files::sound(), CLAUDE).replace("\"1.0.99\"", "\"9.9.9\"");
    sandbox.keep(".claude/projects/-w/ffffffff-0001.jsonl", 0, newer);
    let ran = sandbox.run(&["list"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let line = ran.out.lines().nth(1).unwrap();
    assert!(line.starts_with("? unreadable") && line.contains("9.9.9"), "{line}");
    assert!(ran.err.contains("1 unreadable"), "{}", ran.err);
}

#[test]
fn a_file_of_something_else_is_not_healed() {
    let sandbox = Sandbox::new();
    sandbox.keep(".claude/projects/-w/ffffffff-0001.jsonl", 0, "shopping list\n");
    let ran = sandbox.run(&["list"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.out.contains("it contains no claude-code records"), "{}", ran.out);
    assert!(!ran.err.contains("heals"), "{}", ran.err);
}

/// What a list says about each session: id, project, title and parent.
fn told(sandbox: &Sandbox) -> Vec<[String; 4]> {
    let ran = sandbox.run(&["list", "--output-format", "json", "--sub-agents"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told =
        |session: &Value| ["id", "project", "title", "parent"].map(|key| text(&session[key]));
    document["sessions"].as_array().unwrap().iter().map(told).collect()
}

#[test]
fn files_beside_a_session_tell_more_about_it() {
    let sandbox = Sandbox::new();
    let cline = "Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev";
    let list = r#"[{"role":"user","content":"build it","ts":1}]"#;
    let file = "api_conversation_history.json";
    sandbox.keep(&format!("{cline}/tasks/{CLINE}/{file}"), 1, list);
    let known =
        format!(r#"[{{"id":"{CLINE}","task":"Build","cwdOnTaskInitialization":"/w/shop"}}]"#);
    sandbox.keep(&format!("{cline}/state/taskHistory.json"), 1, known);
    let roo = ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks";
    sandbox.keep(&format!("{roo}/{ROO}/{file}"), 2, list);
    let known =
        format!(r#"{{"id":"{ROO}","task":"Help","workspace":"/w/help","parentTaskId":"p"}}"#);
    sandbox.keep(&format!("{roo}/{ROO}/history_item.json"), 2, known);
    sandbox.keep(&format!(".cline/data/tasks/1234567890/{file}"), 3, list);
    let expected = [
        [CLINE, "/w/shop", "Build", ""],
        [ROO, "/w/help", "Help", "p"],
        ["1234567890", "", "build it", ""],
    ];
    assert_eq!(told(&sandbox), expected.map(|row| row.map(str::to_owned)));
}

#[test]
fn projects_of_gemini_have_names_of_their_own() {
    let sandbox = Sandbox::new();
    let session = |id: &str| gemini_cli(id);
    let chats = |project: &str, name: &str| format!(".gemini/tmp/{project}/chats/{name}");
    let old = "session-2026-01-02T03-04-9e0f1a2b.json";
    sandbox.keep(&chats("shop", old), 1, "{}");
    sandbox.keep(&chats("shop", &format!("{old}l")), 2, session(GEMINI));
    sandbox.keep(&chats("shop", &format!("{GEMINI}/helper.jsonl")), 3, session("helper"));
    sandbox.keep(".gemini/tmp/shop/logs/session-1.jsonl", 3, "{}");
    sandbox.keep(".gemini/projects.json", 9, r#"{"projects":{"/w/shop":"shop"}}"#);
    sandbox.keep(&chats("0a0b", "session-2026-01-02T03-05-00000000.jsonl"), 4, session("other"));
    sandbox.keep(".gemini/tmp/0a0b/.project_root", 9, "/w/other\n");
    let said = "what time is it?";
    let expected = [
        [GEMINI, "/w/shop", said, ""],
        ["helper", "/w/shop", said, GEMINI],
        ["other", "/w/other", said, ""],
    ];
    assert_eq!(told(&sandbox), expected.map(|row| row.map(str::to_owned)));
}

#[cfg(unix)]
#[test]
fn links_out_of_an_agents_folder_are_not_followed() {
    let sandbox = claude();
    let outside = named(&crate::sessions_files::killed(), KILLED);
    sandbox.keep("outside/deep/ffffffff-0001.jsonl", 1, outside);
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(sandbox.home().join(to), sandbox.home().join(name)).unwrap();
    };
    link("outside/deep", ".claude/projects/-linked");
    link("outside/deep/ffffffff-0001.jsonl", ".claude/projects/-w/ffffffff-0001.jsonl");
    assert_eq!(ids(&sandbox, &[]), [CLAUDE, KILLED]);
    let ran = sandbox.run(&["list"]);
    let note = ran.err.lines().find(|line| line.contains("links are not listed")).unwrap();
    assert!(note.ends_with("/.claude/projects/-w/ffffffff-0001.jsonl"), "{note}");
}

#[test]
fn a_list_of_no_sessions_is_refused() {
    let sandbox = claude();
    for arguments in [&["list", "--limit", "0"][..], &["search", "files", "--limit=0"]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("invalid value '0' for '--limit <NUMBER>'"), "{}", ran.err);
    }
}

#[test]
fn every_session_can_be_checked_and_counted_at_once() {
    let sandbox = claude();
    let ran = sandbox.run(&["check", "--all", "--statistics"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.out.contains("FW101"), "{}", ran.out);
    let ran = sandbox.run(&["check", "--agent", "claude-code", "--show-files"]);
    assert_eq!(ran.out.lines().count(), 3, "{}", ran.out);
    let ran = sandbox.run(&["check", "--agent", "codex"]);
    assert_eq!(ran.all(), "exit 0\n--- stdout\n--- stderr\nNo conversations found.\n");
}

/// What a run prints on a terminal of so many columns.
#[cfg(unix)]
fn on_terminal(sandbox: &Sandbox, columns: u16, arguments: &[&str]) -> String {
    use std::{fs::OpenOptions, io::Read, process::Stdio};

    use rustix::{
        pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
        termios::{Winsize, tcsetwinsize},
    };

    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(&name).unwrap();
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(slave);
    command.env("PAGER", "cat");
    let mut child = command.spawn().unwrap();
    // The terminal ends with its last writer.
    drop(command);
    let mut printed = Vec::new();
    let mut bytes = [0; 4096];
    let mut screen = std::fs::File::from(master);
    while let Ok(length @ 1..) = screen.read(&mut bytes) {
        printed.extend_from_slice(&bytes[..length]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(anstream::adapter::strip_bytes(&printed).into_vec()).unwrap()
}

#[cfg(unix)]
#[test]
fn the_list_fits_the_terminal() {
    let sandbox = home();
    let wide = on_terminal(&sandbox, 140, &["list"]);
    assert!(wide.lines().next().unwrap().contains("FINDINGS"), "{wide}");
    for columns in [60, 80, 100] {
        let list = on_terminal(&sandbox, columns, &["list"]);
        let header = list.lines().next().unwrap();
        for name in ["STATUS", "ID", "AGE", "PROJECT", "TITLE"] {
            assert!(header.contains(name), "{columns} columns: {list}");
        }
        for line in list.lines() {
            let wide = unicode_width::UnicodeWidthStr::width(line.trim_end());
            assert!(wide <= usize::from(columns), "{columns} columns: {line}");
        }
        assert!(list.contains("Look at"), "{columns} columns, a title: {list}");
    }
}
