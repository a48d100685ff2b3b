//! What file tools must not reach, whatever the arguments are.
#![cfg(unix)]

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use foxwedge_tools::{
    OutputCapture, StopReceiver, ToolCompletion, ToolInvocation, ToolLimits, ToolWorkspace,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::bench::{Bench, names};

/// The file tools, each with valid arguments except for the path.
fn calls(path: &str) -> [(&'static str, Value); 5] {
    [
        ("list", json!({ "path": path })),
        ("read", json!({ "path": path })),
        ("search", json!({ "path": path, "pattern": "." })),
        ("write", json!({ "path": path, "content": "mine" })),
        ("edit", json!({ "path": path, "old": "secret", "new": "mine" })),
    ]
}

#[tokio::test]
async fn nothing_outside_the_workspace_is_reached() {
    let bench = Bench::new();
    let (root, outside) = (bench.root(), bench.outside());
    fs::create_dir(root.join("in")).unwrap();
    symlink("../outside", root.join("out")).unwrap();
    symlink(&outside, root.join("far")).unwrap();
    symlink("../outside/secret", root.join("secret")).unwrap();
    symlink(outside.join("secret"), root.join("far_secret")).unwrap();
    symlink("../outside/new", root.join("dangling")).unwrap();
    symlink("../../outside/secret", root.join("in/secret")).unwrap();
    symlink("out", root.join("to_out")).unwrap();
    symlink("loop_b", root.join("loop_a")).unwrap();
    symlink("loop_a", root.join("loop_b")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    let absolute = outside.join("secret");
    let long = "x".repeat(300);
    let deep = "d/".repeat(3000);
    let table = [
        ("..", "outside"),
        ("../outside/secret", "outside"),
        ("in/../../outside/secret", "outside"),
        ("./../root/../outside/secret", "outside"),
        (absolute.to_str().unwrap(), "outside"),
        ("/etc/passwd", "outside"),
        ("/", "outside"),
        ("//", "outside"),
        ("/proc/self/environ", "outside"),
        ("", "empty"),
        (" ", "empty"),
        ("a\0b", "NUL"),
        ("in/\0", "NUL"),
        ("~/x", "`~`"),
        (&long, "300 bytes"),
        (&deep, "6000 bytes"),
        ("out/secret", "out of the workspace"),
        ("out/../outside/secret", "out of the workspace"),
        ("out/..", ""),
        ("far/secret", "out of the workspace"),
        ("secret", ""),
        ("far_secret", ""),
        ("dangling", ""),
        ("in/secret", ""),
        ("to_out/secret", "out of the workspace"),
        ("loop_a", "too many links"),
        ("loop_a/x", "too many links"),
        ("magic/etc/passwd", "out of the workspace"),
        ("magic/etc", ""),
    ];
    for (path, expected) in table {
        for (tool, input) in calls(path) {
            let result = bench.call(tool, input).await;
            assert_eq!(result.completion, ToolCompletion::Failed, "{tool} {path:?}: {result:?}");
            assert!(result.text.contains(expected), "{tool} {path:?}: {result:?}");
            assert!(result.text.len() < 1000, "{tool} {path:?}");
        }
    }
    assert_eq!(bench.names_outside(), ["secret"]);
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    assert!(fs::symlink_metadata(root.join("secret")).unwrap().is_symlink());
}

/// Links that stay inside work like their targets, and so does the absolute path of the root.
#[tokio::test]
async fn files_inside_are_reached_by_any_name() {
    let bench = Bench::new();
    bench.put("a/b/file", "text\n");
    symlink("a/b", bench.root().join("link")).unwrap();
    symlink("../a/b/file", bench.root().join("a/deep")).unwrap();
    let absolute = bench.root().join("a/b/file");
    for path in [
        "a/b/file",
        "./a//b/file",
        "a/b/../b/file",
        "link/file",
        absolute.to_str().unwrap(),
        "link/../b/file",
    ] {
        let result = bench.call("read", json!({ "path": path })).await;
        result.is("     1\ttext\n[lines 1 to 1 of 1 line]");
    }
}

#[tokio::test]
async fn only_regular_files_are_opened() {
    let bench = Bench::new();
    let root = bench.root();
    mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _listener = UnixListener::bind(root.join("socket")).unwrap();
    symlink("fifo", root.join("to_fifo")).unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    for (path, expected) in [
        ("fifo", "a FIFO"),
        ("to_fifo", "a FIFO"),
        ("socket", "a socket"),
        ("folder", "a folder"),
        (".", "a folder"),
    ] {
        for (tool, input) in calls(path) {
            if expected != "a folder" || !["list", "search"].contains(&tool) {
                let result = bench.call(tool, input).await;
                match tool {
                    "list" => result.refuses("not a folder"),
                    _ => result.refuses(expected),
                }
            }
        }
    }
    // A folder search skips files that could block it.
    bench.call("search", json!({ "pattern": "." })).await.is("[no hits]");
    let listed = bench.call("list", json!({})).await;
    listed.is("fifo  (FIFO)\nfolder/\nsocket  (socket)\nto_fifo -> fifo");
}

#[tokio::test]
async fn devices_are_left_alone() {
    let workspace = ToolWorkspace::open(Path::new("/dev")).unwrap();
    for tool in workspace.tools(ToolLimits::default()).iter().take(5) {
        for path in ["zero", "null", "tty"] {
            for (name, input) in calls(path) {
                if tool.spec().name != name || !Path::new("/dev").join(path).exists() {
                    continue;
                }
                let (stop, output) = (StopReceiver::never(), OutputCapture::new(100));
                let invocation = ToolInvocation { call_id: "c", input: &input, stop, output };
                let result = tool.run(invocation).await;
                let expected = if name == "list" { "not a folder" } else { "is a device" };
                assert!(format!("{result:?}").contains(expected), "{name} {path}: {result:?}");
            }
        }
    }
}

/// Some links of `/proc` lead where no name does.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn magic_links_are_not_followed() {
    let workspace = ToolWorkspace::open(Path::new("/proc/self")).unwrap();
    let tools = workspace.tools_named(&["read", "list"], ToolLimits::default()).unwrap();
    let table = [("root/etc/passwd", 0), ("exe", 0), ("cwd", 1), ("root", 1), ("fd/0", 0)];
    for (path, tool) in table {
        let input = json!({ "path": path });
        let (stop, output) = (StopReceiver::never(), OutputCapture::new(100));
        let result =
            tools[tool].run(ToolInvocation { call_id: "c", input: &input, stop, output }).await;
        assert_eq!(result.completion, ToolCompletion::Failed, "{path}: {result:?}");
    }
}

#[tokio::test]
async fn names_that_are_not_utf8_are_shown_escaped() {
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"b\xffd\n");
    fs::create_dir(bench.root().join(name)).unwrap();
    fs::write(bench.root().join(name).join(name), "needle").unwrap();
    let listed = bench.call("list", json!({ "depth": 2 })).await;
    listed.is("b\u{fffd}d\\n/\n  b\u{fffd}d\\n  6 B");
    let found = bench.call("search", json!({ "pattern": "needle" })).await;
    found.has("b\u{fffd}d\\n/b\u{fffd}d\\n\n1: needle\n");
}

#[tokio::test]
async fn deleted_root_is_reported() {
    let bench = Bench::new();
    bench.put("file", "secret");
    fs::remove_dir_all(bench.root()).unwrap();
    for path in [".", "file"] {
        for (tool, input) in calls(path) {
            bench.call(tool, input).await.refuses("the folder of the workspace is gone");
        }
    }
    bench.call("run", json!({ "command": "true" })).await.refuses("of the workspace is gone");
    // Another folder with the same path is another folder.
    fs::create_dir(bench.root()).unwrap();
    bench.call("run", json!({ "command": "true" })).await.refuses("of the workspace is gone");
    for (tool, input) in calls("file") {
        bench.call(tool, input).await.refuses("the folder of the workspace is gone");
    }
    assert_eq!(names(&bench.root()), Vec::<String>::new());
}

#[tokio::test]
async fn moved_root_refuses_commands() {
    let bench = Bench::new();
    bench.put("file", "text");
    fs::rename(bench.root(), bench.outside().join("moved")).unwrap();
    fs::create_dir(bench.root()).unwrap();
    bench.call("run", json!({ "command": "true" })).await.refuses("any more");
    bench.call("read", json!({ "path": "file" })).await.has("text");
}

/// A thread swaps a folder with a link that leads out, again and again, while files are written
/// through it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_race_lets_a_file_land_outside() {
    use rustix::fs::{RenameFlags, renameat_with};
    let bench = Bench::new();
    let root = bench.root();
    fs::create_dir(root.join("door")).unwrap();
    fs::write(root.join("door/secret"), "secret").unwrap();
    symlink("../outside", root.join("evil")).unwrap();
    let finished = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let finished = Arc::clone(&finished);
        move || {
            while !finished.load(Ordering::Relaxed) {
                let (door, evil) = (root.join("door"), root.join("evil"));
                renameat_with(CWD, door, CWD, evil, RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let (mut done, mut refused) = (0, 0);
    for round in 0..20_000 {
        let text = format!("{round}");
        let calls = [
            ("write", json!({ "path": "door/file", "content": text })),
            ("write", json!({ "path": format!("door/{round}/file"), "content": text })),
            ("edit", json!({ "path": "door/secret", "old": "secret", "new": "secret " })),
        ];
        for (tool, input) in calls {
            match bench.call(tool, input).await.completion {
                ToolCompletion::Done => done += 1,
                ToolCompletion::Failed => refused += 1,
                ToolCompletion::Stopped => panic!("nobody asked"),
            }
        }
        if round >= 200 && done > 100 && refused > 100 {
            break;
        }
    }
    finished.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(done > 100 && refused > 100, "{done} {refused}");
    assert_eq!(bench.names_outside(), ["secret"]);
    assert_eq!(fs::read_to_string(bench.outside().join("secret")).unwrap(), "secret");
}

/// Read-only permissions count.
#[tokio::test]
async fn read_only_file_is_not_changed() {
    let bench = Bench::new();
    bench.put("file", "secret");
    fs::set_permissions(bench.root().join("file"), fs::Permissions::from_mode(0o444)).unwrap();
    for (tool, input) in calls("file").into_iter().skip(3) {
        bench.call(tool, input).await.refuses("read-only");
    }
    assert_eq!(bench.get("file"), "secret");
}

/// The tools do not write what git runs later, whatever its name is.
#[tokio::test]
async fn files_of_git_are_not_written() {
    let bench = Bench::new();
    bench.put(".git/config", "secret");
    bench.put("sub/.git", "secret");
    symlink(".git", bench.root().join("innocent")).unwrap();
    symlink(".git/config", bench.root().join("file")).unwrap();
    for path in [".git/config", ".git/hooks/x", ".GIT/x", "sub/.git", "innocent/config", "file"] {
        for (tool, input) in calls(path).into_iter().skip(3) {
            bench.call(tool, input).await.refuses("belongs to git");
        }
    }
    assert_eq!(names(&bench.root()), [".git", "file", "innocent", "sub"]);
    assert_eq!(names(&bench.root().join(".git")), ["config"]);
    bench.call("read", json!({ "path": ".git/config" })).await.has("secret");
}
