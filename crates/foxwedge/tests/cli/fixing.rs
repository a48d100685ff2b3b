//! Files are repaired in place, as a whole or not at all.

use std::fs;

use serde_json::Value;

use crate::{
    documents::*,
    sandbox::{Sandbox, names},
};

#[test]
fn every_format_is_fixed_once_and_for_all() {
    for (name, content) in BROKEN {
        let sandbox = Sandbox::with(name, content);
        let ran = sandbox.run(&["fix", name]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{name}: {}", ran.all());
        let fixed = sandbox.read(name);
        assert_ne!(fixed, content);
        serde_json::from_str::<Value>(&fixed).unwrap();
        let again = sandbox.run(&["fix", name]);
        assert_eq!(again.code, 0);
        assert!(again.err.contains("All valid"), "{name}: {}", again.err);
        assert_eq!(sandbox.read(name), fixed, "{name}");
        assert_eq!(names(&sandbox.backups()).len(), 2, "one backup and its manifest");
        assert_eq!(sandbox.names(), [name], "nothing is left beside the file");
    }
}

#[test]
fn a_fix_says_what_it_did() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    let ran = sandbox.run(&["fix", "chat.json"]);
    let (steps, last) = ran.err.trim_end().rsplit_once('\n').unwrap();
    insta::assert_snapshot!(steps);
    assert!(last.starts_with("Fixed 3 findings in 1 file; backup: "), "{last}");
    let backup = last.rsplit_once(' ').unwrap().1;
    assert_eq!(fs::read_to_string(backup).unwrap(), CHAT);
    insta::assert_snapshot!(sandbox.read("chat.json"));
}

#[test]
fn sound_files_are_not_touched() {
    let sandbox = Sandbox::with("sound.json", SOUND);
    let before = fs::metadata(sandbox.path("sound.json")).unwrap().modified().unwrap();
    assert_eq!(sandbox.run(&["fix", "sound.json"]).code, 0);
    assert_eq!(sandbox.read("sound.json"), SOUND);
    assert_eq!(fs::metadata(sandbox.path("sound.json")).unwrap().modified().unwrap(), before);
    assert_eq!(names(&sandbox.backups()).len(), 0);
}

#[test]
fn policies_change_what_a_fix_does() {
    let table: [(&[&str], &str, bool); 6] = [
        (&[], "call_2\",\"content\":\"[foxwedge] Interrupted", true),
        (&["--language", "zh"], "[foxwedge] 已中断", true),
        (&["--policy", "drop-call"], "\"call_2\"", false),
        (&["--policy", "drop-turn"], "\"call_1\"", false),
        (&["--orphans", "drop"], "lost", false),
        (&["--select", "FW102"], "\"content\": \"late\"}\n", false),
    ];
    for (flags, text, expected) in table {
        let sandbox = Sandbox::with("chat.json", CHAT);
        let ran = sandbox.run(&[&["fix", "chat.json"], flags].concat());
        assert!(ran.code < 2, "{flags:?}: {}", ran.all());
        let fixed = sandbox.read("chat.json");
        assert_eq!(fixed.contains(text), expected, "{flags:?}: {fixed}");
    }
}

#[test]
fn calls_at_a_pending_tail_stay_open() {
    let text = r#"[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#;
    let sandbox = Sandbox::with("open.json", text);
    assert_eq!(sandbox.run(&["check", "--tail", "pending", "open.json"]).code, 0);
    assert_eq!(sandbox.run(&["check", "--tail", "dead", "open.json"]).code, 1);
}

#[test]
fn unsafe_fixes_are_made_when_asked_for() {
    let sandbox = Sandbox::with("unsafe.json", UNSAFE);
    let ran = sandbox.run(&["fix", "unsafe.json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("1 needs --unsafe-fixes"), "{}", ran.err);
    assert_eq!(sandbox.read("unsafe.json"), UNSAFE);
    assert_eq!(sandbox.run(&["fix", "--unsafe-fixes", "unsafe.json"]).code, 0);
    assert_ne!(sandbox.read("unsafe.json"), UNSAFE);
}

#[test]
fn a_byte_order_mark_stays() {
    let sandbox = Sandbox::with("chat.json", format!("\u{feff}{CHAT}"));
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    assert!(sandbox.read("chat.json").starts_with("\u{feff}{\n  \"model\""));
}

#[test]
fn temporary_files_of_interrupted_fixes_piled_up() {
    let sandbox = Sandbox::with("chat.json", CHAT);
    // No process has this number; ours has one.
    let stale = format!(".chat.json.foxwedge-{}.tmp", u32::MAX);
    let alive = format!(".chat.json.foxwedge-{}.tmp", std::process::id());
    let another = format!(".other.json.foxwedge-{}.tmp", u32::MAX);
    let others = [".chat.json.foxwedge-x.tmp", ".chat.json.tmp", ".other.json.foxwedge-12-1.tmp"];
    let ours = [stale.as_str(), another.as_str(), alive.as_str()];
    for name in ours.into_iter().chain(others) {
        sandbox.write(name, "half");
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        let file = fs::File::options().write(true).open(sandbox.path(name)).unwrap();
        if name != alive {
            file.set_modified(long_ago).unwrap();
        }
    }
    assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
    let mut kept = vec!["chat.json", alive.as_str()];
    kept.extend(others);
    kept.sort_unstable();
    assert_eq!(sandbox.names(), kept);
}

#[test]
fn a_file_with_a_very_long_name_is_fixed() {
    let name = format!("{}.json", "n".repeat(240));
    let sandbox = Sandbox::with(&name, CHAT);
    let ran = sandbox.run(&["fix", &name]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    assert_eq!(sandbox.names(), [name]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &std::path::Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &std::path::Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn permissions_are_kept_and_backups_are_private() {
        let sandbox = Sandbox::with("chat.json", CHAT);
        set_mode(&sandbox.path("chat.json"), 0o640);
        assert_eq!(sandbox.run(&["fix", "chat.json"]).code, 0);
        assert_eq!(mode(&sandbox.path("chat.json")), 0o640);
        assert_eq!(mode(&sandbox.backups()), 0o700);
        for name in names(&sandbox.backups()) {
            assert_eq!(mode(&sandbox.backups().join(name)), 0o600);
        }
    }

    #[test]
    fn a_link_stays_and_its_file_is_fixed() {
        let sandbox = Sandbox::with("real/chat.json", CHAT);
        symlink("real/chat.json", sandbox.path("link.json")).unwrap();
        assert_eq!(sandbox.run(&["fix", "link.json"]).code, 0);
        assert!(fs::symlink_metadata(sandbox.path("link.json")).unwrap().is_symlink());
        assert_ne!(sandbox.read("real/chat.json"), CHAT);
        assert_eq!(sandbox.run(&["undo", "link.json"]).code, 0);
        assert_eq!(sandbox.read("real/chat.json"), CHAT);
    }

    #[test]
    fn read_only_files_and_folders_are_left_alone() {
        let sandbox = Sandbox::with("locked/chat.json", CHAT);
        let (file, folder) = (sandbox.path("locked/chat.json"), sandbox.path("locked"));
        for (path, locked, open) in [(&file, 0o444, 0o644), (&folder, 0o555, 0o755)] {
            set_mode(path, locked);
            let ran = sandbox.run(&["fix", "locked/chat.json"]);
            set_mode(path, open);
            assert_eq!(ran.code, 2, "{}", ran.all());
            assert!(ran.err.contains("read-only") && ran.err.contains("help: nothing was changed"));
            assert_eq!(sandbox.read("locked/chat.json"), CHAT);
            assert_eq!(names(&folder), ["chat.json"]);
        }
    }
}
