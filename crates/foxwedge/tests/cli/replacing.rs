//! A file that is replaced keeps what it has beside its content, and what others write meanwhile.

#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
    process::{Command, Stdio},
};

use rustix::fs::{XattrFlags, getxattr, setxattr};

use crate::{
    documents::CHAT,
    sandbox::{Ran, Sandbox, names},
    sessions_files::killed,
};

/// Whether we may act as other users.
fn is_root() -> bool {
    rustix::process::geteuid().is_root() && Path::new("/usr/bin/setpriv").exists()
}

/// Runs the binary as another user, who is in another group as well.
fn run_as(sandbox: &Sandbox, user: u32, group: u32, arguments: &[&str]) -> Ran {
    let plain = sandbox.command(arguments);
    let mut command = Command::new("/usr/bin/setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.arg(format!("--groups={group}")).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(sandbox.path("")).env("HOME", sandbox.home());
    command.env("FOXWEDGE_STATE_DIR", sandbox.path("state-of-another"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

const ADA: u32 = 61_001;
const BOB: u32 = 61_002;
const TEAM: u32 = 61_003;

/// A folder for everybody, with a file of this owner, group and mode in it.
fn shared(owner: u32, group: u32, mode: u32, folder: u32) -> Sandbox {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let path = sandbox.path("chat.json");
    chown(&path, Some(owner), Some(group)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir(sandbox.path("state-of-another")).unwrap();
    for (path, mode) in [("state-of-another", 0o777), ("", folder)] {
        fs::set_permissions(sandbox.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    sandbox
}

/// Agents and `--last` continue what was written to last.
#[test]
fn a_repair_made_a_session_the_newest_one() {
    let sandbox = Sandbox::new();
    let file = sandbox.keep(
        ".claude/projects/-w/11111111-2222-4333-8444-555555555555.jsonl",
        5,
        killed().text(),
    );
    let time = || fs::metadata(&file).unwrap().modified().unwrap();
    let (before, content) = (time(), fs::read(&file).unwrap());
    for arguments in [&["fix", "--for-api", "11111111"][..], &["undo", "11111111"]] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, time()), (0, before), "{}", ran.all());
    }
    assert_eq!(fs::read(&file).unwrap(), content);
}

#[test]
fn a_repair_by_another_user_took_the_file_from_its_owner() {
    if !is_root() {
        return;
    }
    // Owner, group, mode, mode of the folder, who repairs, and whether that may be done.
    let table = [
        ("its owner", ADA, ADA, 0o600, 0o777, ADA, true),
        ("its owner, another group of theirs", ADA, TEAM, 0o660, 0o777, ADA, true),
        ("its owner, a foreign group", ADA, BOB, 0o660, 0o777, ADA, false),
        ("another of the group", ADA, TEAM, 0o660, 0o777, BOB, false),
        ("anybody", ADA, ADA, 0o666, 0o777, BOB, false),
        ("anybody, in a sticky folder", ADA, ADA, 0o666, 0o1777, BOB, false),
        ("root", ADA, TEAM, 0o660, 0o777, 0, true),
    ];
    for (what, owner, group, mode, folder, user, may) in table {
        let sandbox = shared(owner, group, mode, folder);
        let ran = run_as(&sandbox, user, TEAM, &["fix", "chat.json"]);
        assert_eq!(ran.code, if may { 0 } else { 2 }, "{what}: {}", ran.all());
        assert_eq!(sandbox.read("chat.json") != CHAT, may, "{what}");
        if !may {
            assert!(ran.err.contains("cannot be kept"), "{what}: {}", ran.err);
            assert!(ran.err.contains("help: nothing was changed"), "{what}: {}", ran.err);
        }
        let now = fs::metadata(sandbox.path("chat.json")).unwrap();
        assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (owner, group, mode), "{what}");
        assert_eq!(sandbox.names(), ["chat.json", "state-of-another"], "{what}");
    }
}

/// Sets an attribute, where the file system has them.
fn set(path: &Path, name: &str, value: &[u8]) -> bool {
    setxattr(path, name, value, XattrFlags::empty()).is_ok()
}

fn get(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut buffer = [0; 256];
    let read = getxattr(path, name, &mut buffer[..]).ok()?;
    Some(buffer[..read].to_vec())
}

/// An access list: the owner reads and writes, user 61001 reads, nobody else.
fn access_list() -> Vec<u8> {
    let nobody = u32::MAX;
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, nobody), (2, 4, ADA), (4, 0, nobody), (16, 4, nobody), (32, 0, nobody)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn extended_attributes_and_access_lists_were_lost() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let path = sandbox.path("chat.json");
    if !set(&path, "user.note", b"mine") {
        return;
    }
    set(&path, "user.empty", b"");
    let list = access_list();
    let has_lists = set(&path, "system.posix_acl_access", &list);
    let mode = fs::metadata(&path).unwrap().mode();
    for command in ["fix", "undo"] {
        let ran = sandbox.run(&[command, "chat.json"]);
        assert_eq!(ran.code, 0, "{}", ran.all());
        assert_eq!(get(&path, "user.note").as_deref(), Some(&b"mine"[..]), "{command}");
        assert_eq!(get(&path, "user.empty").as_deref(), Some(&b""[..]), "{command}");
        let kept = get(&path, "system.posix_acl_access");
        assert_eq!(kept, has_lists.then(|| list.clone()), "{command}");
        assert_eq!(fs::metadata(&path).unwrap().mode(), mode, "{command}");
    }
    assert_eq!(sandbox.read("chat.json"), CHAT);
}

#[test]
fn a_file_does_not_get_the_access_list_that_its_folder_gives_to_new_ones() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let path = sandbox.path("chat.json");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if !set(&sandbox.path(""), "system.posix_acl_default", &access_list()) {
        return;
    }
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    assert_eq!(get(&path, "system.posix_acl_access"), None);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_file_with_a_second_name_is_left_alone() {
    let sandbox = Sandbox::with("s.jsonl", killed().text());
    fs::hard_link(sandbox.path("s.jsonl"), sandbox.path("second.jsonl")).unwrap();
    for arguments in [&["fix", "s.jsonl"][..], &["compact", "--to", "100", "s.jsonl"]] {
        let ran = sandbox.run(arguments);
        if arguments[0] == "fix" {
            assert_eq!(ran.code, 2, "{}", ran.all());
            assert!(ran.err.contains("2 hard links"), "{}", ran.err);
            assert!(ran.err.contains("help: nothing was changed"), "{}", ran.err);
        }
        assert_eq!(sandbox.read("s.jsonl"), killed().text());
        assert_eq!(sandbox.read("second.jsonl"), killed().text());
        assert_eq!(sandbox.names(), ["s.jsonl", "second.jsonl"]);
        assert_eq!(names(&sandbox.backups()).len(), 0);
    }
    fs::remove_file(sandbox.path("second.jsonl")).unwrap();
    assert_eq!(sandbox.run(&["fix", "s.jsonl"]).code, 0);
}

#[test]
fn what_killed_repairs_and_copies_left_is_removed_by_the_next_list_or_fix() {
    let dead = u32::MAX;
    let session = format!(".claude/projects/-w/{}.jsonl", crate::sessions_files::ID);
    for command in [&["list"][..], &["fix", "--last"]] {
        let sandbox = Sandbox::new();
        let path = sandbox.keep(&session, 1, killed().text());
        let folder = path.parent().unwrap();
        let copy = format!(".another.jsonl.foxwedge-{dead}.tmp");
        // This one may be the only copy of something.
        let aside = format!(".another.jsonl.foxwedge-{dead}.old");
        for name in [&copy, &aside] {
            fs::write(folder.join(name), "half").unwrap();
        }
        let ran = sandbox.run(command);
        assert_eq!(ran.code, 0, "{}", ran.all());
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(names(folder), [aside, name], "{command:?}");
    }
}

#[test]
fn what_a_killed_repair_put_aside_goes_only_if_it_is_in_a_backup() {
    let dead = u32::MAX;
    let aside = format!(".chat.json.foxwedge-{dead}.old");
    let sandbox = Sandbox::with("chat.json", CHAT);
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    let fixed = sandbox.read("chat.json");
    // As if the repair had been ended right after it changed the names, or right before.
    for content in [CHAT, &fixed] {
        sandbox.write(&aside, content);
        assert_eq!(sandbox.run(&["undo", "chat.json"]).code, 0);
        assert_eq!(sandbox.names(), ["chat.json"]);
        assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    }
    // Somebody had replaced the file in that very moment.
    sandbox.write(&aside, "[\"theirs\"]");
    let ran = sandbox.run(&["undo", "chat.json"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert!(ran.err.contains(&aside), "{}", ran.err);
    assert_eq!(sandbox.read(&aside), "[\"theirs\"]");
    let ran = sandbox.run(&["fix", "chat.json"]);
    assert!(ran.err.contains(&aside), "{}", ran.err);
    assert_eq!(sandbox.read(&aside), "[\"theirs\"]");
}

/// A tracer that can hold and end a process at any of its system calls; not everywhere.
pub(crate) fn tracer(sandbox: &Sandbox, options: &[&str], arguments: &[&str]) -> Option<Command> {
    let works = |name: &str| {
        Command::new(name)
            .args(["-o", "/dev/null", "true"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !works("strace") {
        return None;
    }
    let plain = sandbox.command(arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null"]).args(options);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path(""));
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

/// `strace -f -e inject=rename,renameat,renameat2:delay_enter=300000 foxwedge fix chat.json`, and
/// meanwhile `mv theirs chat.json`. Whenever that happens, what was moved there is there.
#[test]
fn a_file_that_somebody_replaced_while_it_was_repaired_was_overwritten() {
    for command in ["fix", "undo"] {
        let sandbox = Sandbox::with("chat.json", CHAT);
        if command == "undo" {
            assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
        }
        let options = ["-e", "inject=rename,renameat,renameat2:delay_enter=300000"];
        let Some(mut traced) = tracer(&sandbox, &options, &[command, "chat.json"]) else { return };
        let mut child = traced.spawn().unwrap();
        // As soon as the new file is about to take the place of the old one.
        let mut seen = Vec::new();
        let mut number = 0;
        while child.try_wait().unwrap().is_none() {
            let names: Vec<String> =
                sandbox.names().into_iter().filter(|name| name.ends_with(".old")).collect();
            if names == seen {
                std::thread::yield_now();
                continue;
            }
            seen = names;
            if seen.is_empty() {
                continue;
            }
            number += 1;
            sandbox.write("theirs", format!("[\"{number}\"]"));
            fs::rename(sandbox.path("theirs"), sandbox.path("chat.json")).unwrap();
        }
        assert!(number > 0, "{command} put nothing beside the file");
        assert_eq!(sandbox.read("chat.json"), format!("[\"{number}\"]"), "{command}");
        assert_eq!(sandbox.names(), ["chat.json"], "{command}");
    }
}

/// Ends a repair at its system calls, one after the other: those by which files change.
/// `FOXWEDGE_KILLS=1000` ends it at each of them.
#[test]
fn a_repair_that_is_ended_at_any_system_call_leaves_the_old_file_or_the_new_one() {
    let most = std::env::var("FOXWEDGE_KILLS").ok().and_then(|text| text.parse().ok());
    let most: usize = most.unwrap_or(6);
    let calls = ["openat", "write", "fsync", "rename", "renameat2", "unlink", "fchmod"];
    for call in calls {
        for number in 1..=most {
            let sandbox = Sandbox::with("chat.json", CHAT);
            let inject = format!("inject={call}:signal=KILL:when={number}");
            let Some(mut traced) = tracer(&sandbox, &["-e", &inject], &["fix", "chat.json"]) else {
                return;
            };
            let status = traced.status().unwrap();
            let content = sandbox.read("chat.json");
            let fixed = content != CHAT;
            if fixed {
                assert_eq!(sandbox.run(&["check", "-q", "chat.json"]).code, 0, "{call} {number}");
            }
            let ran = sandbox.run(&["undo", "chat.json"]);
            assert_eq!(ran.code, if fixed { 0 } else { 2 }, "{call} {number}: {}", ran.all());
            assert_eq!(sandbox.read("chat.json"), CHAT, "{call} {number}");
            assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0, "{call} {number}");
            assert_eq!(sandbox.names(), ["chat.json"], "{call} {number}");
            if status.success() {
                break;
            }
        }
    }
}

#[test]
fn file_systems_that_cannot_exchange_names_or_link_are_written_to_as_well() {
    let no_exchange = "inject=renameat2:error=EINVAL";
    let no_link = "inject=link,linkat:error=EPERM";
    for options in [&["-e", no_exchange][..], &["-e", no_exchange, "-e", no_link]] {
        let sandbox = Sandbox::with("chat.json", CHAT);
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(sandbox.path("chat.json"), mode).unwrap();
        let Some(mut traced) = tracer(&sandbox, options, &["fix", "chat.json"]) else { return };
        assert!(traced.status().unwrap().success(), "{options:?}");
        assert_eq!(sandbox.run(&["check", "-q", "chat.json"]).code, 0, "{options:?}");
        assert_eq!(sandbox.names(), ["chat.json"], "{options:?}");
        let now = fs::metadata(sandbox.path("chat.json")).unwrap();
        assert_eq!(now.mode() & 0o777, 0o640, "{options:?}");
        let Some(mut traced) = tracer(&sandbox, options, &["undo", "chat.json"]) else { return };
        assert!(traced.status().unwrap().success(), "{options:?}");
        assert_eq!(sandbox.read("chat.json"), CHAT, "{options:?}");
        assert_eq!(sandbox.names(), ["chat.json"], "{options:?}");
    }
}
