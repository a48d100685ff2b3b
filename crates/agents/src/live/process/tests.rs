//! Shell processes that misbehave as agents may.

use std::{fs, io, path::PathBuf, time::Duration};

use tokio::time::timeout;

use super::*;
use crate::{
    claude_code::ClaudeCode,
    live::{AgentKind, AgentVariable},
};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(30);

fn agent(script: &str) -> AgentConfig {
    let claude = ClaudeCode {
        state: PathBuf::from("/nowhere"),
        tools: Vec::new(),
        permissions: None,
        bare: true,
        may_ask: false,
    };
    AgentConfig {
        kind: AgentKind::ClaudeCode(claude),
        command: ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec(),
        working_folder: None,
        env: vec!["FOXWEDGE_TEST_SEEN".to_owned()],
        set_env: vec![AgentVariable::new("SET", "by us")],
        max_processes: 1,
        idle_timeout: LONG,
        start_timeout: LONG,
        turn_timeout: LONG,
    }
}

/// A process that runs a script in a folder of its own.
fn child(script: &str) -> io::Result<(AgentProcess, PathBuf)> {
    let mut journal = CleanupJournal::new()?;
    let folder = journal.work_folder(None)?;
    let agent = agent(script);
    let spec = AgentProcessSpec {
        agent: &agent,
        arguments: &["one".to_owned()],
        environment: &[("GIVEN".to_owned(), "given".to_owned())],
        folder: &folder,
    };
    Ok((AgentProcess::start(&spec, journal)?, folder))
}

/// All events until the exit, as texts.
async fn collect_events(process: &mut AgentProcess) -> Vec<String> {
    let mut events = Vec::new();
    loop {
        match timeout(LONG, process.next_event()).await {
            Ok(ProcessEvent::Line(OutputLine::Whole(line))) => {
                events.push(String::from_utf8_lossy(&line).into_owned());
            }
            Ok(ProcessEvent::Line(OutputLine::TooLong { .. } | OutputLine::Endless)) => {
                events.push("(too long)".to_owned())
            }
            Ok(ProcessEvent::Exited(message)) => {
                events.push(format!("gone: {message}"));
                return events;
            }
            Err(_) => {
                events.push("it hangs".to_owned());
                return events;
            }
        }
    }
}

/// Whether a process is running, and not a zombie.
fn is_running(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = state.rsplit(')').next().map(str::trim_start).unwrap_or_default().to_owned();
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

async fn wait_for_exit(pid: &str) -> bool {
    for _ in 0..1_000 {
        if !is_running(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn lines_go_both_ways_and_the_exit_is_reported() -> io::Result<()> {
    let script =
        r#"printf '%s %s %s\n' "$1" "$GIVEN" "$SET"; read -r a; printf '<%s>\n' "$a"; exit 3"#;
    let (mut process, folder) = child(script)?;
    assert_eq!(
        process.next_event().await,
        ProcessEvent::Line(OutputLine::Whole("one given by us".into()))
    );
    assert!(process.write_line("hello".to_owned()).is_ok());
    assert_eq!(collect_events(&mut process).await, ["<hello>", "gone: exit status: 3"]);
    process.end().await;
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn garbage_is_passed_on_and_the_end_of_stderr_is_kept() -> io::Result<()> {
    let script = r#"printf '\377\376{\n\n{"a":'; i=0
        while [ $i -lt 300 ]; do echo "noise $i, which is long enough to fill it" >&2; i=$((i+1)); done
        printf 'the \033[31mreason\007\n' >&2; exit 1"#;
    let (mut process, _) = child(script)?;
    let events = collect_events(&mut process).await;
    assert_eq!(events[..3], ["\u{fffd}\u{fffd}{", "", "{\"a\":"]);
    let last = events.last().map(String::as_str).unwrap_or_default();
    assert!(last.starts_with("gone: exit status: 1: "), "{last}");
    assert!(
        last.ends_with("the [31mreason") && last.len() < foxwedge_process::STDERR_TAIL_BYTES + 100,
        "{last}"
    );
    assert!(!last.contains("noise 0,") && last.contains("noise 299"), "{last}");
    process.end().await;
    Ok(())
}

#[tokio::test]
async fn secrets_are_removed_from_stderr() -> io::Result<()> {
    let mut journal = CleanupJournal::new()?;
    let folder = journal.work_folder(None)?;
    let mut agent = agent("echo \"what is $K and $K2?\" >&2");
    agent.set_env = [("K", "canary-12345"), ("K2", "canary-123456")]
        .map(|(name, value)| AgentVariable::new(name, value))
        .to_vec();
    let spec =
        AgentProcessSpec { agent: &agent, arguments: &[], environment: &[], folder: &folder };
    let mut process = AgentProcess::start(&spec, journal)?;
    let events = collect_events(&mut process).await;
    assert_eq!(events, ["gone: exit status: 0: what is [secret] and [secret]?"]);
    process.end().await;
    Ok(())
}

#[tokio::test]
async fn the_process_tree_is_killed_even_if_it_ignores_sigterm() -> io::Result<()> {
    let script =
        r#"trap '' TERM; sh -c 'trap "" TERM; sleep 1000 & echo $!; wait' & echo $$; wait"#;
    let (mut process, folder) = child(script)?;
    let mut pids = Vec::new();
    for _ in 0..2 {
        let ProcessEvent::Line(OutputLine::Whole(line)) = process.next_event().await else {
            panic!("it is gone")
        };
        pids.push(String::from_utf8_lossy(&line).into_owned());
    }
    assert!(pids.iter().all(|pid| is_running(pid)), "{pids:?}");
    timeout(LONG, process.end()).await?;
    for pid in pids {
        assert!(wait_for_exit(&pid).await, "{pid} lives");
    }
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn dropping_a_process_kills_its_tree() -> io::Result<()> {
    let (mut process, folder) = child("sleep 1000 & echo $!; wait")?;
    let ProcessEvent::Line(OutputLine::Whole(line)) = process.next_event().await else {
        panic!("it is gone")
    };
    let pid = String::from_utf8_lossy(&line).into_owned();
    assert!(is_running(&pid));
    drop(process);
    assert!(wait_for_exit(&pid).await, "{pid} lives");
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn an_exit_is_reported_although_children_keep_the_output_open() -> io::Result<()> {
    let (mut process, _) = child("sleep 1000 & echo last")?;
    let events = collect_events(&mut process).await;
    assert_eq!(events, ["last", "gone: exit status: 0"]);
    timeout(LONG, process.end()).await?;
    Ok(())
}

#[tokio::test]
async fn a_process_that_does_not_read_blocks_no_writer() -> io::Result<()> {
    let (mut process, _) = child("echo here; sleep 1000")?;
    let line = "x".repeat(1 << 20);
    for _ in 0..4 {
        assert!(process.write_line(line.clone()).is_ok());
    }
    assert_eq!(process.next_event().await, ProcessEvent::Line(OutputLine::Whole("here".into())));
    let max_lines = MAX_UNREAD_INPUT / line.len() + 2;
    assert!((0..max_lines).any(|_| process.write_line(line.clone()).is_err()));
    timeout(LONG, process.end()).await?;
    Ok(())
}

#[tokio::test]
async fn a_failed_start_leaves_no_files() -> io::Result<()> {
    let mut journal = CleanupJournal::new()?;
    let folder = journal.work_folder(None)?;
    let mut agent = agent("");
    agent.command = vec!["/nowhere/at/all".to_owned()];
    let spec =
        AgentProcessSpec { agent: &agent, arguments: &[], environment: &[], folder: &folder };
    assert!(AgentProcess::start(&spec, journal).is_err());
    assert!(!folder.exists());
    Ok(())
}

#[test]
fn an_agent_sees_no_keys_of_other_providers() {
    let all = [
        "PATH",
        "HOME",
        "LC_ALL",
        "SSL_CERT_FILE",
        "https_proxy",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "OPENAI_API_KEY",
        "FOXWEDGE_TOKEN",
        "AWS_REGION",
        "MY_PATH",
    ];
    let all = all.map(|name| (OsString::from(name), OsString::from("x")));
    let seen: Vec<String> = visible_environment(&["AWS_REGION".to_owned()], all.into_iter())
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    let expected = [
        "PATH",
        "HOME",
        "LC_ALL",
        "SSL_CERT_FILE",
        "https_proxy",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CONFIG_DIR",
        "AWS_REGION",
    ];
    assert_eq!(seen, expected);
}
