//! Repairs that are ended at a system call leave the old content or the new one.

use crate::{homes, replacing::tracer, sandbox::Sandbox};

/// The calls by which a repair changes a database and the files beside it.
pub(crate) const DATABASE_CALLS: [&str; 8] =
    ["openat", "write", "pwrite64", "fsync", "fdatasync", "rename", "unlink", "fcntl"];

/// The calls by which a repair changes a file.
const FILE_CALLS: [&str; 7] =
    ["openat", "write", "fsync", "rename", "renameat2", "unlink", "fchmod"];

/// Ends a repair of a session at the first, the fourth, the ninth … system call of each kind.
/// `FOXWEDGE_KILLS=1000` ends it at each of them, up to that number. `home` makes a home with the damaged
/// session, and a function that shows its content.
pub(crate) fn end_at_system_calls<C: Fn() -> String>(
    calls: &[&str],
    session: &str,
    home: impl Fn() -> (Sandbox, C),
) {
    let most: Option<usize> = std::env::var("FOXWEDGE_KILLS").ok().and_then(|it| it.parse().ok());
    let fix = ["fix", "--for-api", session];
    let (old, new) = {
        let (sandbox, content) = home();
        let old = content();
        let ran = sandbox.run(&fix);
        assert_eq!(ran.code, 0, "{}", ran.all());
        (old, content())
    };
    assert_ne!(old, new, "there is nothing to repair");
    let mut ended = 0;
    for call in calls {
        for step in 1..=most.unwrap_or(4) {
            let number = if most.is_some() { step } else { step * step };
            let (sandbox, content) = home();
            let inject = format!("inject={call}:signal=KILL:when={number}");
            let Some(mut traced) = tracer(&sandbox, &["-e", &inject], &fix) else { return };
            let status = traced.status().unwrap();
            let left = content();
            let is_fixed = left == new;
            assert!(is_fixed || left == old, "{call} {number}: {left}");
            let ran = sandbox.run(&["undo", session]);
            assert_eq!(ran.code, if is_fixed { 0 } else { 2 }, "{call} {number}: {}", ran.all());
            assert_eq!(content(), old, "{call} {number}");
            let ran = sandbox.run(&fix);
            assert_eq!(ran.code, 0, "{call} {number}: {}", ran.all());
            assert_eq!(content(), new, "{call} {number}");
            if status.success() {
                break;
            }
            ended += 1;
        }
    }
    assert!(ended > 0, "no repair was ended");
    if most.is_some() {
        eprintln!("{ended} repairs of {session} were ended");
    }
}

#[test]
fn a_repair_of_qwen_code_that_is_ended_at_any_system_call_leaves_the_old_file_or_the_new_one() {
    const ID: &str = "5e551011-0000-4000-8000-00000000000a";
    end_at_system_calls(&FILE_CALLS, ID, || {
        let sandbox = Sandbox::new();
        let path = sandbox.home().join(format!(".qwen/projects/-w-shop/chats/{ID}.jsonl"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let whole = homes::qwen_code(ID);
        let without_a_record: Vec<&str> =
            whole.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| line).collect();
        std::fs::write(&path, without_a_record.join("\n") + "\n").unwrap();
        (sandbox, move || std::fs::read_to_string(&path).unwrap())
    });
}
