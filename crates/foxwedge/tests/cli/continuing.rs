//! `foxwedge continue` and `foxwedge run`: an agent is started on a session that was repaired first.

use std::{fs, path::PathBuf};

use crate::{
    homes::{CLAUDE, CLINE, GEMINI, KILLED, home, killed_path},
    sandbox::{Ran, Sandbox},
};

/// A home whose sessions have a project folder that exists, and a program that says how it was started.
fn stage() -> (Sandbox, PathBuf) {
    let sandbox = home();
    let project = sandbox.home().join("shop");
    fs::create_dir_all(&project).unwrap();
    let path = sandbox.home().join(killed_path());
    let text = fs::read_to_string(&path).unwrap();
    let shop = project.to_string_lossy().into_owned();
    assert!(text.contains("\"cwd\":\"/w\""), "{text}");
    fs::write(&path, text.replace("\"cwd\":\"/w\"", &format!("\"cwd\":\"{shop}\""))).unwrap();
    (sandbox, project)
}

/// Puts a program into a folder of its own.
pub(crate) fn install(sandbox: &Sandbox, name: &str) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = sandbox.home().join("programs");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, "#!/bin/sh\necho \"$0 $* in $PWD\"\nexit 2\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", folder.to_string_lossy())
}

fn is_repaired(sandbox: &Sandbox) -> bool {
    let text = fs::read_to_string(sandbox.home().join(killed_path())).unwrap();
    text.contains("[foxwedge] Interrupted")
}

fn started(ran: &Ran, arguments: &str, project: &std::path::Path) {
    let line = format!("{arguments} in {}\n", project.to_string_lossy());
    assert!(ran.out.ends_with(&line), "{}", ran.all());
    // The exit code is that of the agent.
    assert_eq!(ran.code, 2, "{}", ran.all());
}

#[test]
#[cfg(unix)]
fn a_session_is_repaired_and_its_agent_started_in_its_folder() {
    let (sandbox, project) = stage();
    let path = install(&sandbox, "claude");
    let ran = sandbox.run_with("PATH", &path, &["continue", KILLED, "--", "--model", "opus"]);
    started(&ran, &format!("claude --resume {KILLED} --model opus"), &project);
    assert!(ran.err.contains("Fixed 1 finding"), "{}", ran.err);
    assert!(is_repaired(&sandbox));
    let again = sandbox.run_with("PATH", &path, &["continue", KILLED]);
    started(&again, &format!("claude --resume {KILLED}"), &project);
    assert_eq!(again.err, "", "nothing to repair");
}

#[test]
#[cfg(unix)]
fn a_session_can_be_continued_as_it_is() {
    let (sandbox, project) = stage();
    let path = install(&sandbox, "claude");
    let ran = sandbox.run_with("PATH", &path, &["continue", KILLED, "--no-fix"]);
    started(&ran, &format!("claude --resume {KILLED}"), &project);
    assert!(!is_repaired(&sandbox));
    let printed = sandbox.run(&["continue", KILLED, "--print"]);
    let shop = project.to_string_lossy();
    assert_eq!(printed.out, format!("cd {shop} && claude --resume {KILLED}\n"));
}

#[test]
#[cfg(unix)]
fn an_agent_whose_project_is_not_known_starts_here_and_says_so() {
    let (sandbox, _) = stage();
    let path = install(&sandbox, "gemini");
    let ran = sandbox.run_with("PATH", &path, &["continue", GEMINI]);
    assert!(ran.out.contains(&format!("gemini --resume {GEMINI}")), "{}", ran.all());
    assert!(ran.err.contains("the folder of its project is not known"), "{}", ran.err);
}

#[test]
fn what_cannot_be_continued_is_said_before_anything_is_changed() {
    let (sandbox, _) = stage();
    let nowhere = |arguments: &[&str]| sandbox.run_with("PATH", "/nonexistent", arguments);
    let ran = nowhere(&["continue", KILLED]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("`claude` is not on PATH"), "{}", ran.err);
    assert!(ran.err.contains(&format!("claude --resume {KILLED}`")), "{}", ran.err);
    assert!(!is_repaired(&sandbox));
    let ran = nowhere(&["continue", CLINE]);
    assert!(ran.code == 2 && ran.err.contains("no command that resumes"), "{}", ran.all());
    sandbox.write("s.jsonl", "{}");
    let ran = nowhere(&["continue", "s.jsonl"]);
    assert!(ran.code == 2 && ran.err.contains("not where an agent finds it"), "{}", ran.all());
}

#[test]
#[cfg(unix)]
fn a_session_whose_folder_is_gone_is_not_started_elsewhere() {
    let sandbox = home();
    let path = install(&sandbox, "claude");
    let ran = sandbox.run_with("PATH", &path, &["continue", CLAUDE]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("its folder `/w` does not exist"), "{}", ran.err);
}

#[test]
#[cfg(unix)]
fn a_command_that_resumes_a_session_gets_it_repaired() {
    let (sandbox, _) = stage();
    let path = install(&sandbox, "claude");
    let here = sandbox.path("");
    let here = fs::canonicalize(here).unwrap();
    let ran = sandbox.run_with("PATH", &path, &["run", "--", "claude", "-p", "hello"]);
    started(&ran, "claude -p hello", &here);
    assert!(!is_repaired(&sandbox), "a new session needs no other");
    let ran = sandbox.run_with("PATH", &path, &["run", "--", "claude", "--resume", KILLED]);
    started(&ran, &format!("claude --resume {KILLED}"), &here);
    assert!(is_repaired(&sandbox) && ran.err.contains("Fixed 1 finding"), "{}", ran.all());
}

#[test]
#[cfg(unix)]
fn without_an_id_the_session_that_the_agent_opens_is_repaired() {
    let (sandbox, project) = stage();
    let path = install(&sandbox, "claude");
    // An older session of the same folder, broken in the same way.
    let text = fs::read_to_string(sandbox.home().join(killed_path())).unwrap();
    let id = "0a1b2c3d-0007-4000-8000-000000000007";
    let name = killed_path().replace(KILLED, id);
    let older = sandbox.keep(&name, 9000, text.replace(KILLED, id));
    let is_older_repaired = || fs::read_to_string(&older).unwrap().contains("[foxwedge]");
    let run = |folder: &std::path::Path, word: &str| {
        let mut command = sandbox.command(&["run", "claude", word]);
        command.env("PATH", &path).current_dir(folder).output().unwrap()
    };
    run(&sandbox.path(""), "--continue");
    assert!(!is_repaired(&sandbox), "it belongs to another folder");
    let output = run(&project, "--continue");
    assert!(is_repaired(&sandbox), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!is_older_repaired(), "the agent opens the newest one");
    // The user chooses one of them.
    let output = run(&project, "--resume");
    assert!(is_older_repaired(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[cfg(unix)]
fn other_programs_are_just_started() {
    let sandbox = home();
    let path = install(&sandbox, "mytool");
    let here = fs::canonicalize(sandbox.path("")).unwrap();
    let ran = sandbox.run_with("PATH", &path, &["run", "--", "mytool", "--resume", KILLED]);
    started(&ran, &format!("mytool --resume {KILLED}"), &here);
    assert_eq!(ran.err, "");
    let ran = sandbox.run_with("PATH", &path, &["run", "--", "nosuchtool"]);
    assert!(ran.code == 2 && ran.err.contains("`nosuchtool` is not on PATH"), "{}", ran.all());
}

#[test]
fn a_list_to_choose_from_needs_a_terminal() {
    let ran = home().run(&["list", "-i"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(ran.err.contains("there is no terminal to choose on"), "{}", ran.err);
}

#[test]
fn a_session_of_the_command_line_of_cline_is_resumed_by_its_id() {
    let sandbox = Sandbox::new();
    let id = "0a1b2c3d-0008-4000-8000-000000000008";
    let folder = format!(".cline/data/sessions/{id}");
    sandbox.keep(&format!("{folder}/{id}.json"), 1, r#"{"cwd":"/w/shop"}"#);
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"run_commands","input":{}}"#;
    let text = format!(
        r#"{{"version":1,"agent":"lead","sessionId":"{id}","messages":[{{"role":"user","content":[{{"type":"text","text":"go"}}],"ts":1}},{{"role":"assistant","content":[{call}],"ts":2}},{{"role":"user","content":[{{"type":"text","text":"and?"}}],"ts":3}}]}}"#
    );
    let file = sandbox.keep(&format!("{folder}/{id}.messages.json"), 1, text);
    let printed = sandbox.run(&["continue", id, "--print"]);
    assert_eq!(printed.out, format!("cd /w/shop && cline --id {id}\n"), "{}", printed.all());
    let fixed = sandbox.run(&["fix", id]);
    assert!(fixed.err.contains(&format!("cline --id {id}` resumes")), "{}", fixed.all());
    assert_eq!(sandbox.run(&["undo", id]).code, 0);
    // By its path it is the same session.
    let fixed = sandbox.run(&["fix", &file.to_string_lossy()]);
    assert!(fixed.err.contains(&format!("cline --id {id}` resumes")), "{}", fixed.all());
}

#[test]
fn a_copied_file_is_the_session_that_its_name_says() {
    let sandbox = home();
    let text = fs::read(sandbox.home().join(killed_path())).unwrap();
    let copy = "bbbbbbbb-0002-4000-8000-000000000002";
    let file = sandbox.keep(&killed_path().replace(KILLED, copy), 1, &text);
    let resume = format!("cd /w && claude --resume {copy}");
    let printed = sandbox.run(&["continue", "bbbbbbbb", "--print", "--no-fix"]);
    assert_eq!(printed.out, format!("{resume}\n"), "{}", printed.all());
    let input = serde_json::json!({ "transcript_path": file }).to_string();
    let told = sandbox.pipe(&["hook"], input);
    assert!(told.out.contains(&format!("foxwedge continue {copy}")), "{}", told.all());
    for name in [copy, &*file.to_string_lossy()] {
        let fixed = sandbox.run(&["fix", name]);
        assert!(fixed.err.contains(&format!("`{resume}` resumes")), "{}", fixed.all());
        assert!(!fixed.all().contains(KILLED), "{}", fixed.all());
        assert_eq!(sandbox.run(&["undo", name]).code, 0);
    }
}

#[test]
fn a_conflict_copy_is_resumed_by_no_id() {
    let sandbox = home();
    let text = fs::read(sandbox.home().join(killed_path())).unwrap();
    for ending in [" (conflicted copy 2026-11-19)", ".sync-conflict-20261119-ABCDEF", "-desktop"] {
        let name = killed_path().replace(KILLED, &format!("{KILLED}{ending}"));
        let file = sandbox.keep(&name, 1, &text).to_string_lossy().into_owned();
        let ran = sandbox.run(&["continue", &file, "--print"]);
        assert!(ran.code == 2 && ran.out.is_empty(), "{}", ran.all());
        assert!(
            ran.err.contains("help: `foxwedge fork ") && ran.err.contains(ending),
            "{}",
            ran.err
        );
        let fixed = sandbox.run(&["fix", &file]);
        assert_eq!(fixed.code, 0, "{}", fixed.all());
        assert!(!fixed.all().contains("--resume"), "{}", fixed.all());
        let forked = sandbox.run(&["fork", &file]);
        let id = forked.out.trim();
        let printed = sandbox.run(&["continue", id, "--print"]);
        assert!(printed.out.contains(&format!("claude --resume {id}")), "{}", printed.all());
    }
}
