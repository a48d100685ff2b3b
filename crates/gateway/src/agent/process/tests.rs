//! Children of the shell that do what agents should not.

use std::{fs, io, path::PathBuf, time::Duration};

use foxwedge_agent::claude_code::ClaudeCode;
use tokio::time::timeout;

use super::*;
use crate::config::AgentKind;
use foxwedge_upstream::SecretText;

/// Nothing here takes that long.
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
        folder: None,
        env: vec!["FOXWEDGE_TEST_SEEN".to_owned()],
        set: vec![("SET".to_owned(), SecretText::new("by us"))],
        most: 1,
        idle: LONG,
        start: LONG,
        turn: LONG,
    }
}

/// A child that runs a script in a folder of its own.
fn child(script: &str) -> io::Result<(AgentProcess, PathBuf)> {
    let mut litter = CleanupJournal::new()?;
    let folder = litter.work_folder(None)?;
    let agent = agent(script);
    let start = AgentProcessSpec {
        agent: &agent,
        arguments: &["one".to_owned()],
        environment: &[("GIVEN".to_owned(), "given".to_owned())],
        folder: &folder,
    };
    Ok((AgentProcess::start(&start, litter)?, folder))
}

/// What it does, to its end.
async fn all(process: &mut AgentProcess) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        match timeout(LONG, process.next_event()).await {
            Ok(ProcessEvent::Line(AgentOutputLine::Whole(line))) => {
                told.push(String::from_utf8_lossy(&line).into_owned());
            }
            Ok(ProcessEvent::Line(AgentOutputLine::TooLong)) => told.push("(too long)".to_owned()),
            Ok(ProcessEvent::Exited(words)) => {
                told.push(format!("gone: {words}"));
                return told;
            }
            Err(_) => {
                told.push("it hangs".to_owned());
                return told;
            }
        }
    }
}

/// Whether a process is there and is no corpse.
fn lives(number: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = state.rsplit(')').next().map(str::trim_start).unwrap_or_default().to_owned();
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

async fn dies(number: &str) -> bool {
    for _ in 0..1_000 {
        if !lives(number) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn lines_go_both_ways_and_the_end_is_told() -> io::Result<()> {
    let script =
        r#"printf '%s %s %s\n' "$1" "$GIVEN" "$SET"; read -r a; printf '<%s>\n' "$a"; exit 3"#;
    let (mut process, folder) = child(script)?;
    assert_eq!(
        process.next_event().await,
        ProcessEvent::Line(AgentOutputLine::Whole("one given by us".into()))
    );
    assert!(process.write_line("hello".to_owned()).is_ok());
    assert_eq!(all(&mut process).await, ["<hello>", "gone: it ended with exit status: 3"]);
    process.end().await;
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn garbage_is_told_as_it_is_and_the_last_words_are_kept() -> io::Result<()> {
    let script = r#"printf '\377\376{\n\n{"a":'; i=0
        while [ $i -lt 300 ]; do echo "noise $i, which is long enough to fill it" >&2; i=$((i+1)); done
        printf 'the \033[31mreason\007\n' >&2; exit 1"#;
    let (mut process, _) = child(script)?;
    let told = all(&mut process).await;
    assert_eq!(told[..3], ["\u{fffd}\u{fffd}{", "", "{\"a\":"]);
    let last = told.last().map(String::as_str).unwrap_or_default();
    assert!(last.starts_with("gone: it ended with exit status: 1: "), "{last}");
    assert!(
        last.ends_with("the [31mreason") && last.len() < child::STDERR_TAIL_BYTES + 100,
        "{last}"
    );
    assert!(!last.contains("noise 0,") && last.contains("noise 299"), "{last}");
    process.end().await;
    Ok(())
}

#[tokio::test]
async fn secrets_are_no_last_words() -> io::Result<()> {
    let mut litter = CleanupJournal::new()?;
    let folder = litter.work_folder(None)?;
    let mut agent = agent("echo \"what is $K and $K2?\" >&2");
    agent.set = [("K", "canary-12345"), ("K2", "canary-123456")]
        .map(|(name, value)| (name.to_owned(), SecretText::new(value)))
        .to_vec();
    let start =
        AgentProcessSpec { agent: &agent, arguments: &[], environment: &[], folder: &folder };
    let mut process = AgentProcess::start(&start, litter)?;
    let told = all(&mut process).await;
    assert_eq!(told, ["gone: it ended with exit status: 0: what is [secret] and [secret]?"]);
    process.end().await;
    Ok(())
}

#[tokio::test]
async fn the_whole_tree_ends_also_if_it_does_not_want_to() -> io::Result<()> {
    let script =
        r#"trap '' TERM; sh -c 'trap "" TERM; sleep 1000 & echo $!; wait' & echo $$; wait"#;
    let (mut process, folder) = child(script)?;
    let mut numbers = Vec::new();
    for _ in 0..2 {
        let ProcessEvent::Line(AgentOutputLine::Whole(line)) = process.next_event().await else {
            panic!("it is gone")
        };
        numbers.push(String::from_utf8_lossy(&line).into_owned());
    }
    assert!(numbers.iter().all(|number| lives(number)), "{numbers:?}");
    timeout(LONG, process.end()).await?;
    for number in numbers {
        assert!(dies(&number).await, "{number} lives");
    }
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn dropped_it_is_killed_with_its_tree() -> io::Result<()> {
    let (mut process, folder) = child("sleep 1000 & echo $!; wait")?;
    let ProcessEvent::Line(AgentOutputLine::Whole(line)) = process.next_event().await else {
        panic!("it is gone")
    };
    let number = String::from_utf8_lossy(&line).into_owned();
    assert!(lives(&number));
    drop(process);
    assert!(dies(&number).await, "{number} lives");
    assert!(!folder.exists());
    Ok(())
}

#[tokio::test]
async fn one_whose_children_keep_its_output_open_is_gone_all_the_same() -> io::Result<()> {
    let (mut process, _) = child("sleep 1000 & echo last")?;
    let told = all(&mut process).await;
    assert_eq!(told, ["last", "gone: it ended with exit status: 0"]);
    timeout(LONG, process.end()).await?;
    Ok(())
}

#[tokio::test]
async fn one_that_does_not_read_keeps_nobody_waiting() -> io::Result<()> {
    let (mut process, _) = child("echo here; sleep 1000")?;
    let line = "x".repeat(1 << 20);
    for _ in 0..4 {
        assert!(process.write_line(line.clone()).is_ok());
    }
    assert_eq!(
        process.next_event().await,
        ProcessEvent::Line(AgentOutputLine::Whole("here".into()))
    );
    let most = MAX_UNREAD_INPUT / line.len() + 2;
    assert!((0..most).any(|_| process.write_line(line.clone()).is_err()));
    timeout(LONG, process.end()).await?;
    Ok(())
}

#[tokio::test]
async fn one_that_cannot_be_started_leaves_nothing() -> io::Result<()> {
    let mut litter = CleanupJournal::new()?;
    let folder = litter.work_folder(None)?;
    let mut agent = agent("");
    agent.command = vec!["/nowhere/at/all".to_owned()];
    let start =
        AgentProcessSpec { agent: &agent, arguments: &[], environment: &[], folder: &folder };
    assert!(AgentProcess::start(&start, litter).is_err());
    assert!(!folder.exists());
    Ok(())
}

#[test]
fn an_agent_sees_what_it_needs_and_no_keys_of_others() {
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
