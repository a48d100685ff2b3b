//! The same on a PostgreSQL server, where there is one: `FOXWEDGE_TEST_POSTGRES` names it.

use crate::{follow_streams::*, sandbox::Sandbox};

/// A schema of its own on the server; `None` if there is no server.
fn url() -> Option<String> {
    let Some(server) = std::env::var("FOXWEDGE_TEST_POSTGRES").ok().filter(|url| !url.is_empty())
    else {
        println!("skipped: FOXWEDGE_TEST_POSTGRES names no server");
        return None;
    };
    let joint = if server.contains('?') { '&' } else { '?' };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Some(format!("{server}{joint}schema=cli_{}_{}", std::process::id(), now.subsec_nanos()))
}

#[test]
fn a_run_is_the_same_in_a_file_and_on_a_server() {
    let Some(url) = url() else { return };
    let sandbox = Sandbox::new();
    let stream = recording("claude-code-2.1.325-subagents-parallel");
    let mut told = Vec::new();
    for store in ["runs.db", &url] {
        let arguments =
            ["follow", "--store", store, "--run", "r", "--session", "s", "--as", "jsonl"];
        let followed = sandbox.pipe(&arguments, &stream);
        assert_eq!(followed.code, 0, "{}", followed.all());
        let events = sandbox.run(&["runs", "events", "r", "--store", store]);
        assert_eq!(events.out, followed.out);
        let shown = sandbox.run(&["runs", "show", "r", "--store", store]);
        let undated: Vec<String> = timeless(&shown.out)
            .lines()
            .filter(|line| {
                !["  started", "  ended", "  store"].iter().any(|head| line.starts_with(head))
            })
            .map(str::to_owned)
            .collect();
        told.push(undated);
        for arguments in [
            &["store", "check"][..],
            &["store", "sweep"],
            &["store", "compact"],
            &["store", "path"],
        ] {
            let ran = sandbox.run(&[arguments, &["--store", store]].concat());
            assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.all());
        }
    }
    assert_eq!(told[0], told[1]);
    let exported = sandbox.run(&["store", "export", "--store", &url]);
    let imported = sandbox.pipe(&["store", "import", "-", "--store", "copy.db"], &exported.out);
    assert_eq!(imported.code, 0, "{}", imported.all());
    let copy = sandbox.run(&["store", "export", "--store", "copy.db"]);
    assert_eq!(copy.out, exported.out);
    let deleted = sandbox.run(&["store", "delete", "s", "--yes", "--store", &url]);
    assert_eq!(deleted.code, 0, "{}", deleted.all());
    let listed = sandbox.run(&["runs", "--store", &url]);
    assert_eq!((listed.code, listed.out.as_str()), (0, ""), "{}", listed.all());
}

#[cfg(unix)]
#[test]
fn a_run_on_a_server_is_stopped_from_another_process() {
    use crate::follow_live::Live;
    let Some(url) = url() else { return };
    let sandbox = Sandbox::new();
    let arguments = ["follow", "--store", &url, "--as", "jsonl", "--run", "r"];
    let mut live = Live::start(&sandbox, &arguments);
    live.say(&[init(), call("t1", "sleep 100")].concat());
    live.hear(r#""toolCallId":"t1""#);
    let mut reader = Live::start(&sandbox, &["runs", "events", "r", "-f", "--store", &url]);
    reader.hear(r#""toolCallId":"t1""#);
    let ran = sandbox.run(&["runs", "stop", "r", "--store", &url]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let (code, followed, err) = live.end();
    assert_eq!(code, 1, "{err}");
    let (code, read, err) = reader.end();
    assert_eq!((code, read), (0, followed), "{err}");
}
