//! `foxwedge export`: a session as a document.

use std::fs;

use serde_json::Value;

use crate::{homes::*, sandbox::Sandbox, sessions_files::Script};

/// Something that has to stay at home.
const SECRET: &str =
    "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AA";

fn told() -> Sandbox {
    let sandbox = Sandbox::new();
    let script = Script::new()
        .user(&format!("my key is {SECRET}"))
        .says("msg_1", "<script>alert(1)</script> **bold**")
        .calls("msg_1", "toolu_1")
        .answers("toolu_1", &format!("ANTHROPIC_API_KEY={SECRET}"))
        .says("msg_2", "Done.")
        .calls("msg_2", "toolu_2");
    sandbox.keep(&killed_path(), 1, named(&script, KILLED));
    sandbox
}

#[test]
fn a_session_is_exported_in_three_formats() {
    let sandbox = told();
    for format in ["markdown", "html", "json"] {
        let ran = sandbox.run(&["export", KILLED, "--format", format]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(ran.out.contains(SECRET), "{format}: {}", ran.out);
        assert!(ran.out.contains(KILLED), "{format}");
        // The clean view: the open call has its placeholder.
        assert!(ran.out.contains("[foxwedge] "), "{format}: {}", ran.out);
        assert!(format != "html" || !ran.out.contains("<script>alert"), "{}", ran.out);
        if format == "json" {
            serde_json::from_str::<Value>(&ran.out).unwrap();
        }
    }
    let default = sandbox.run(&["export", KILLED]);
    assert_eq!(default.out, sandbox.run(&["export", KILLED, "--format", "markdown"]).out);
}

#[test]
fn secrets_stay_at_home() {
    let sandbox = told();
    for format in ["markdown", "html", "json"] {
        let ran = sandbox.run(&["export", KILLED, "--format", format, "--redact"]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(!ran.out.contains("AbCdEfGhIjKl"), "{format}: {}", ran.out);
        let home = sandbox.home();
        assert!(!ran.out.contains(&*home.to_string_lossy()), "{format}: {}", ran.out);
    }
}

#[test]
fn a_document_goes_to_a_private_file() {
    let sandbox = told();
    let ran = sandbox.run(&["export", KILLED, "-o", "session.md"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
    assert_eq!(sandbox.read("session.md"), sandbox.run(&["export", KILLED]).out);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(sandbox.path("session.md")).unwrap().mode() & 0o777, 0o600);
    }
    assert_eq!(sandbox.names(), ["session.md"]);
}

#[test]
fn a_session_is_never_written_over_by_its_own_export() {
    let sandbox = told();
    let path = sandbox.home().join(killed_path());
    let before = fs::read(&path).unwrap();
    let ran = sandbox.run(&["export", KILLED, "-o", &path.to_string_lossy()]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("the output file is the session itself"), "{}", ran.err);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn every_agent_can_be_exported() {
    let sandbox = home();
    for id in [CLAUDE, CODEX, GEMINI, NEOVATE, CLINE, ROO] {
        let ran = sandbox.run(&["export", id]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert!(ran.out.contains(id), "{}", ran.out);
    }
}

#[test]
fn all_sessions_go_to_a_folder_with_an_index() {
    for (format, extension) in [("markdown", "md"), ("html", "html"), ("json", "json")] {
        let sandbox = told();
        let other = Script::new().user("Second | <b>question</b>").says("msg_1", "Yes.");
        sandbox.keep(&format!(".claude/projects/-w/{CLAUDE}.jsonl"), 2, named(&other, CLAUDE));
        let ran = sandbox.run(&["export", "--all", "--format", format, "-o", "out"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
        assert!(ran.err.contains("exported 2 sessions"), "{}", ran.err);
        let documents = [
            format!("claude-code-{KILLED}.{extension}"),
            format!("claude-code-{CLAUDE}.{extension}"),
        ];
        let index = sandbox.read(&format!("out/index.{extension}"));
        let at = |name: &str| index.find(name).unwrap_or_else(|| panic!("{name} {index}"));
        assert!(at(&documents[0]) < at(&documents[1]), "the newest first: {index}");
        assert!(format == "json" || !index.contains("<b>"), "{index}");
        let single = sandbox.run(&["export", KILLED, "--format", format]);
        assert_eq!(sandbox.read(&format!("out/{}", documents[0])), single.out);
        assert_eq!(sandbox.names(), ["out"]);
        // A second export into the same folder would overwrite the first one.
        let again = sandbox.run(&["export", "--all", "--format", format, "-o", "out"]);
        assert!(again.code == 2 && again.err.contains("`out` is not empty"), "{}", again.all());
    }
}

#[test]
fn an_export_of_all_sessions_names_what_it_leaves_out() {
    let sandbox = told();
    sandbox.keep(
        &format!(".claude/projects/-w/{CLAUDE}.jsonl"),
        2,
        "{\"type\":\"user\",\"message\":7}\n",
    );
    let ran = sandbox.run(&["export", "--all", "--redact", "-o", "out"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("exported 1 session, 1 left out"), "{}", ran.err);
    assert!(ran.err.contains(&format!("error: claude-code {CLAUDE}")), "{}", ran.err);
    let written = ["index.md".to_owned(), format!("claude-code-{KILLED}.md")];
    for name in written {
        assert!(!sandbox.read(&format!("out/{name}")).contains("AbCdEfGhIjKl"), "{name}");
    }
    let ran = sandbox.run(&["export", "--all"]);
    assert!(ran.code == 2 && ran.err.contains("--output"), "{}", ran.all());
}
