//! Sessions are named by their ids, or by how the ids begin.

use crate::{homes::*, sandbox::Sandbox};

#[test]
fn an_id_or_its_beginning_names_a_session() {
    let sandbox = home();
    for typed in [KILLED, "0a1b2c3d-0002", "0A1B2C3D-0002", CODEX, "0199a"] {
        let ran = sandbox.run(&["check", typed, "--output-format", "concise"]);
        assert_eq!(ran.code, 1, "{typed}: {}", ran.all());
        assert!(ran.out.contains("FW101"), "{typed}: {}", ran.out);
    }
    for typed in [CLAUDE, HELPER, CLINE, "5c4b", NEOVATE, "7f6e"] {
        let ran = sandbox.run(&["check", typed]);
        assert_eq!(ran.code, 0, "{typed}: {}", ran.all());
    }
}

#[test]
fn a_session_is_fixed_by_its_id() {
    let sandbox = claude();
    let before = std::fs::read_to_string(sandbox.home().join(killed_path())).unwrap();
    let ran = sandbox.run(&["fix", "0a1b2c3d-0002"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let after = std::fs::read_to_string(sandbox.home().join(killed_path())).unwrap();
    assert!(after.len() > before.len());
    assert_eq!(sandbox.run(&["check", KILLED]).code, 0);
}

#[test]
fn a_copied_file_is_named_by_its_whole_name_or_its_path() {
    let sandbox = claude();
    let text = std::fs::read(sandbox.home().join(killed_path())).unwrap();
    let copy = format!("{KILLED} (conflicted copy 2026-11-19)");
    let file = sandbox.keep(&killed_path().replace(KILLED, &copy), 1, text);
    let file = file.to_string_lossy();
    let listed = sandbox.run(&["list"]);
    assert!(listed.out.contains(&copy), "{}", listed.all());
    assert!(listed.err.contains(&format!("'{file}'")), "{}", listed.err);
    let shown = sandbox.run(&["show", &copy]);
    assert!(shown.err.contains(&format!("`foxwedge fix '{file}'`")), "{}", shown.all());
    let ran = sandbox.run(&["fix", &copy]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(sandbox.run(&["check", &copy]).code, 0);
    assert_eq!(sandbox.run(&["check", KILLED]).code, 1, "another session");
    let ran = sandbox.run(&["check", &format!("{KILLED} (")]);
    assert!(ran.code == 2 && ran.err.contains("no such file or folder"), "{}", ran.all());
}

#[test]
fn what_several_ids_share_names_none_of_them() {
    let sandbox = claude();
    for command in ["check", "show", "resume", "export", "fork"] {
        let ran = sandbox.run(&[command, "0a1b2c3d"]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("error: 0a1b2c3d: 2 sessions match this prefix"), "{}", ran.err);
        let named = format!("`{CLAUDE}` (claude-code), `{KILLED}` (claude-code)");
        assert!(ran.err.contains(&format!("  help: type more of the id: {named}")), "{}", ran.err);
    }
}

#[test]
fn an_id_that_is_not_there_leads_to_the_nearest() {
    let sandbox = claude();
    let table = [
        ("0a1b2c3e-0002", format!("the most similar sessions are `{KILLED}`")),
        ("zzzzzzzz", format!("the newest sessions are `{CLAUDE}`")),
        ("0a1", "needs at least 4 characters".to_owned()),
    ];
    for (typed, help) in table {
        let ran = sandbox.run(&["show", typed]);
        assert_eq!(ran.code, 2, "{}", ran.all());
        assert!(ran.err.contains("no such file, folder or session"), "{}", ran.err);
        assert!(ran.err.contains(&help), "{}", ran.err);
    }
}

#[test]
fn a_file_of_that_name_wins() {
    let sandbox = claude();
    sandbox.write(KILLED, crate::documents::SOUND);
    assert_eq!(sandbox.run(&["check", KILLED]).code, 0);
}

#[test]
fn the_last_session_needs_no_name() {
    let sandbox = home();
    let ran = sandbox.run(&["show", "--last"]);
    assert!(ran.out.starts_with(&format!("claude-code {CLAUDE}\n")), "{}", ran.all());
    let ran = sandbox.run(&["show", "--last", "--agent", "codex"]);
    assert!(ran.out.starts_with(&format!("codex {CODEX}\n")), "{}", ran.all());
    let ran = sandbox.run(&["check", "--last", "--show-files"]);
    assert!(ran.out.contains(CLAUDE), "{}", ran.all());
    let ran = Sandbox::new().run(&["show", "--last"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no session was found"), "{}", ran.err);
}
