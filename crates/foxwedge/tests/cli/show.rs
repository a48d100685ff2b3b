//! `foxwedge show`: a session as a tree.

use crate::{
    documents::CHAT,
    homes::*,
    sandbox::{Ran, Sandbox},
};

fn shown(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let Ran { code, out, err } = sandbox.run(&[&["show"], arguments].concat());
    assert_eq!(code, 0, "{out}{err}");
    format!("{out}--- stderr\n{err}").replace(&*sandbox.home().to_string_lossy(), "~")
}

#[test]
fn a_killed_session_is_shown_as_a_repair_leaves_it() {
    insta::assert_snapshot!(shown(&claude(), &[KILLED]));
}

#[test]
fn a_raw_session_is_shown_as_it_stands() {
    insta::assert_snapshot!(shown(&claude(), &[KILLED, "--view", "raw"]));
}

#[test]
fn branches_stand_where_they_fork_off() {
    let sandbox = Sandbox::new();
    sandbox.keep(&killed_path(), 1, named(&branched(), KILLED));
    insta::assert_snapshot!(shown(&sandbox, &[KILLED]));
    let all = shown(&sandbox, &[KILLED, "--branches"]);
    assert!(all.contains("┆   user       no, the other one"), "{all}");
    assert!(all.contains("┆   assistant  This one?"), "{all}");
}

#[test]
fn what_was_taken_out_is_counted_where_it_stood() {
    let line = |second: u32, kind: &str, payload: &str| {
        format!(
            r#"{{"timestamp":"2026-01-02T03:04:{second:02}.000Z","type":"{kind}","payload":{payload}}}"#
        ) + "\n"
    };
    let said = |role: &str, text: &str| {
        format!(r#"{{"type":"message","role":"{role}","content":"{text}"}}"#)
    };
    let replaced = format!(
        r#"{{"message":"","replacement_history":[{}]}}"#,
        said("user", "what we did so far")
    );
    let meta = format!(r#"{{"id":"{CODEX}","cwd":"/w"}}"#);
    let text = [
        line(1, "session_meta", &meta),
        line(2, "response_item", &said("user", "first")),
        line(3, "response_item", &said("assistant", "one")),
        line(4, "compacted", &replaced),
        line(5, "response_item", &said("user", "a mistake")),
        line(6, "event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
        line(7, "response_item", &said("user", "second")),
    ];
    let sandbox = Sandbox::with("rollout.jsonl", text.concat());
    insta::assert_snapshot!(shown(&sandbox, &["rollout.jsonl"]));
}

#[test]
fn every_record_is_listed_like_a_log() {
    let sandbox = Sandbox::new();
    sandbox.keep(&killed_path(), 1, named(&branched().line("{\"torn"), KILLED));
    insta::assert_snapshot!(shown(&sandbox, &[KILLED, "--records", "--view", "raw"]));
}

#[test]
fn sessions_of_every_agent_are_drawn() {
    let sandbox = home();
    for (name, id) in [("codex", CODEX), ("gemini", GEMINI), ("neovate", NEOVATE), ("cline", CLINE)]
    {
        insta::assert_snapshot!(format!("every_agent_{name}"), shown(&sandbox, &[id]));
    }
}

#[test]
fn a_request_and_a_stream_can_be_shown() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    insta::assert_snapshot!(shown(&sandbox, &["chat.json"]));
    let ran = sandbox.pipe(&["show", "-", "--view", "raw"], CHAT);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.out.contains("✗ result without a call"), "{}", ran.out);
    assert!(ran.out.contains("! result in"), "{}", ran.out);
}

#[test]
fn nothing_in_a_session_moves_the_cursor() {
    let sandbox = Sandbox::new();
    let script = crate::sessions_files::Script::new()
        .user(r"\u001b[2Jgone\u0007 \u202eturned")
        .says("msg_1", r"fine\r\nthen")
        .calls("msg_1", "toolu\\u001b1");
    sandbox.keep(&killed_path(), 1, named(&script, KILLED));
    for arguments in [&["show", KILLED][..], &["show", KILLED, "--records"], &["list"]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(!ran.out.chars().any(|c| c.is_control() && c != '\n'), "{:?}", ran.out);
        assert!(!ran.out.contains('\u{202e}'), "{:?}", ran.out);
    }
}

#[test]
fn what_is_no_session_is_refused_with_help() {
    let sandbox = Sandbox::with("folder/x.json", "{}");
    let ran = sandbox.run(&["show", "folder"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("this is a folder") && ran.err.contains("--project"), "{}", ran.err);
    let ran = sandbox.run(&["show", "folder/x.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("error: folder/x.json"), "{}", ran.err);
    sandbox.write("chat.json", CHAT);
    let ran = sandbox.run(&["show", "--records", "chat.json"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("this is not an agent session"), "{}", ran.err);
    sandbox.write("many.jsonl", format!("{0}\n{0}\n", CHAT.replace('\n', "")));
    let ran = sandbox.run(&["show", "many.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("2 conversations in it"), "{}", ran.err);
}
