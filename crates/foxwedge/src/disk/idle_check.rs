//! Whether somebody else is at work on a file: a process that has it open, or an agent that says
//! so in its own way. The session that started us is one of them.

use std::{
    fs::{self, File, Metadata, TryLockError},
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;
use serde::Deserialize;

use super::{process, state_folder, writers};
use crate::{check_settings::shell_quote, cli_output::CliError, outcome::SessionRef};

/// Proof that a file is idle. Where its agent has a lock, it is held until this is dropped.
pub(crate) struct IdleProof {
    _locks: Vec<File>,
}

/// Proves that nobody else writes a file.
pub(crate) fn check_idle(
    path: &Path,
    file: &Metadata,
    session: Option<&SessionRef>,
) -> Result<IdleProof, CliError> {
    if let Some(process) = writers::find_steady_writer(file) {
        let who = process::describe_process(process);
        return Err(busy_error(format!("{who} has the file open for writing"), path, session));
    }
    let mut locks = Vec::new();
    let Some(session) = session else { return Ok(IdleProof { _locks: locks }) };
    match session.agent {
        SessionAgent::ClaudeCode => {
            for folder in agent_folders(path, &["projects"], "CLAUDE_CONFIG_DIR", ".claude") {
                if let Some(process) =
                    find_registered_process(&folder.join("sessions"), path, session)
                {
                    let who = process::describe_process(process);
                    let what = format!("this session is live: {who} is working on it");
                    return Err(busy_error(what, path, Some(session)));
                }
            }
        }
        SessionAgent::Codex => {
            let folders = ["sessions", "archived_sessions"];
            for home in agent_folders(path, &folders, "CODEX_HOME", ".codex") {
                locks.extend(thread_lock(&home, session).map_err(|who| {
                    let what = format!("this session is live: {who} holds its lock");
                    busy_error(what, path, Some(session))
                })?);
            }
        }
        SessionAgent::Cline if is_locked_by_folder(path) => {
            let what = "this session is live: its agent is writing it just now".to_owned();
            return Err(busy_error(what, path, Some(session)));
        }
        SessionAgent::GeminiCli | SessionAgent::Neovate | SessionAgent::Cline => {}
    }
    Ok(IdleProof { _locks: locks })
}

fn busy_error(what: String, path: &Path, session: Option<&SessionRef>) -> CliError {
    CliError::new(what).help(match session {
        Some(_) => format!(
            "nothing was changed; stop the agent and try again, or repair a copy: `foxwedge fork {}`",
            shell_quote(&path.to_string_lossy())
        ),
        None => "nothing was changed; close the file there and try again".to_owned(),
    })
}

/// Where an agent keeps its things: around the folder that its file lies in, and where the
/// environment says.
fn agent_folders(path: &Path, folders: &[&str], variable: &str, usual: &str) -> Vec<PathBuf> {
    let is_theirs =
        |above: &&Path| above.file_name().is_some_and(|n| folders.iter().any(|f| n == *f));
    let around = path.ancestors().find(is_theirs).and_then(Path::parent).map(Path::to_owned);
    let named =
        state_folder::env_path(variable).or_else(|| Some(state_folder::home_folder()?.join(usual)));
    let real = |root: PathBuf| fs::canonicalize(&root).unwrap_or(root);
    let mut roots: Vec<PathBuf> = around.into_iter().chain(named).map(real).collect();
    // Each once: a lock that we hold ourselves looks like any other.
    roots.dedup();
    roots
}

/// What Claude Code writes about each of its processes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeProcessRecord {
    pid: u32,
    session_id: String,
    /// When the process began: its number may have been given to another one since.
    #[serde(default)]
    proc_start: serde_json::Value,
}

/// The living process that Claude Code has registered for a session.
fn find_registered_process(folder: &Path, path: &Path, session: &SessionRef) -> Option<u32> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()).find_map(
        |known: ClaudeProcessRecord| {
            let named = [session.id.as_deref(), stem].contains(&Some(&*known.session_id));
            (named && is_same_process(&known)).then_some(known.pid)
        },
    )
}

fn is_same_process(known: &ClaudeProcessRecord) -> bool {
    if process::is_alive(known.pid) == Some(false) {
        return false;
    }
    let said = known.proc_start.as_str().filter(|said| said.bytes().all(|b| b.is_ascii_digit()));
    match (said, process::start_time(known.pid)) {
        (Some(said), Some(began)) => said == began,
        _ => true,
    }
}

/// Takes the lock that Codex holds while a thread is open; `None` if this thread has none. The
/// error says who holds it.
fn thread_lock(home: &Path, session: &SessionRef) -> Result<Option<File>, String> {
    let Some(id) = session.id.as_deref().filter(|id| is_name(id)) else { return Ok(None) };
    let path = home.join("thread-writer-locks").join(format!("{id}.lock"));
    let Ok(file) = File::open(path) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        // Whatever cannot be locked is locked by nobody.
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let holder = file.metadata().ok().and_then(|lock| writers::find_steady_writer(&lock));
            Err(holder.map_or_else(|| "another process".to_owned(), process::describe_process))
        }
    }
}

/// Roo Code locks a file with a folder beside it, and touches that every ten seconds. One that was
/// not touched for half a minute is what a crash left.
fn is_locked_by_folder(path: &Path) -> bool {
    const STALE: u64 = 31;
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let touched = fs::metadata(lock).ok().filter(Metadata::is_dir).and_then(|l| l.modified().ok());
    touched.and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() < STALE)
}

/// Whether an id can be the name of a file.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
