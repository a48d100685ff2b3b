//! Checks whether another process uses a file: a process has it open, or an agent marks it as in
//! use. That includes the session that started us.

use std::{
    fs::{self, File, Metadata, TryLockError},
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;
use serde::Deserialize;

use super::{process, writers};
use crate::{
    check_settings::shell_quote, database::SessionPath, outcome::SessionRef, output::HelpfulError,
    user_folders::UserFolders,
};

/// Proof that a file is idle. Holds the agent's lock, if there is one, until dropped.
pub struct IdleProof {
    _locks: Vec<File>,
}

/// Fails if another process writes the file.
pub fn check_idle(
    folders: &UserFolders,
    path: &Path,
    file: &Metadata,
    session: Option<&SessionRef>,
) -> Result<IdleProof, HelpfulError> {
    if let Some(process) = writers::find_steady_writer(file) {
        let owner = process::describe_process(process);
        return Err(busy_error(format!("{owner} has the file open for writing"), path, session));
    }
    // Agents that only read keep the write-ahead log of a database open, too.
    let log = database_log(path).and_then(|log| fs::metadata(log).ok());
    if let Some(process) = log.and_then(|log| writers::find_steady_writer(&log)) {
        let owner = process::describe_process(process);
        return Err(busy_error(format!("{owner} has the database open"), path, session));
    }
    let mut locks = Vec::new();
    let Some(session) = session else { return Ok(IdleProof { _locks: locks }) };
    match session.agent {
        SessionAgent::ClaudeCode => {
            let configured = folders.variable_or_home("CLAUDE_CONFIG_DIR", ".claude");
            for folder in agent_folders(path, &["projects"], configured) {
                if let Some(process) =
                    find_registered_process(&folder.join("sessions"), path, session)
                {
                    let owner = process::describe_process(process);
                    let reason = format!("this session is live: {owner} is working on it");
                    return Err(busy_error(reason, path, Some(session)));
                }
            }
        }
        SessionAgent::Codex => {
            let configured = folders.variable_or_home("CODEX_HOME", ".codex");
            for home in agent_folders(path, &["sessions", "archived_sessions"], configured) {
                locks.extend(thread_lock(&home, session).map_err(|owner| {
                    let reason = format!("this session is live: {owner} holds its lock");
                    busy_error(reason, path, Some(session))
                })?);
            }
        }
        SessionAgent::CopilotCli => {
            if let Some(process) = path.parent().and_then(find_marking_process) {
                let owner = process::describe_process(process);
                let reason = format!("this session is live: {owner} is working on it");
                return Err(busy_error(reason, path, Some(session)));
            }
        }
        SessionAgent::Cline if is_locked_by_folder(path) => {
            let reason = "this session is live: its agent is writing it".to_owned();
            return Err(busy_error(reason, path, Some(session)));
        }
        SessionAgent::Cline => {
            if let Some(process) = find_cline_process(path) {
                let owner = process::describe_process(process);
                let reason = format!("this session is live: {owner} is working on it");
                return Err(busy_error(reason, path, Some(session)));
            }
        }
        SessionAgent::GeminiCli
        | SessionAgent::Neovate
        | SessionAgent::Pi
        | SessionAgent::KimiCode
        | SessionAgent::QwenCode
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => {}
    }
    Ok(IdleProof { _locks: locks })
}

/// The write-ahead log of the database that a path names a session in.
fn database_log(path: &Path) -> Option<PathBuf> {
    let mut log = SessionPath::parse(path)?.database.into_os_string();
    log.push("-wal");
    Some(PathBuf::from(log))
}

fn busy_error(reason: String, path: &Path, session: Option<&SessionRef>) -> HelpfulError {
    HelpfulError::new(reason).help(match session {
        _ if SessionPath::parse(path).is_some() => {
            "nothing was changed; stop the agent and try again".to_owned()
        }
        Some(_) => format!(
            "nothing was changed; stop the agent and try again, or repair a copy: \
             `foxwedge fork {}`",
            shell_quote(&path.to_string_lossy())
        ),
        None => "nothing was changed; close the file in that process and try again".to_owned(),
    })
}

/// The home folders of an agent: the one above the session file, and the configured one.
fn agent_folders(path: &Path, folders: &[&str], configured: Option<PathBuf>) -> Vec<PathBuf> {
    let is_agent_folder =
        |above: &&Path| above.file_name().is_some_and(|n| folders.iter().any(|f| n == *f));
    let above_file =
        path.ancestors().find(is_agent_folder).and_then(Path::parent).map(Path::to_owned);
    let real = |root: PathBuf| fs::canonicalize(&root).unwrap_or(root);
    let mut roots: Vec<PathBuf> = above_file.into_iter().chain(configured).map(real).collect();
    // Each folder once: our own lock would look like another process's lock.
    roots.dedup();
    roots
}

/// The record that Claude Code writes for each of its processes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaudeProcessRecord {
    pid: u32,
    session_id: String,
    /// Start time of the process. Its id may be reused by another process.
    #[serde(default)]
    proc_start: serde_json::Value,
}

/// The running process that Claude Code has registered for a session.
fn find_registered_process(folder: &Path, path: &Path, session: &SessionRef) -> Option<u32> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.filter_map(|entry| serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()).find_map(
        |record: ClaudeProcessRecord| {
            let is_match = [session.id.as_deref(), stem].contains(&Some(&*record.session_id));
            (is_match && is_same_process(&record)).then_some(record.pid)
        },
    )
}

fn is_same_process(record: &ClaudeProcessRecord) -> bool {
    if process::is_alive(record.pid) == Some(false) {
        return false;
    }
    let recorded = record.proc_start.as_str();
    let recorded = recorded.filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    match (recorded, process::start_time(record.pid)) {
        (Some(recorded), Some(actual)) => recorded == actual,
        _ => true,
    }
}

/// The running process that marks a folder of Copilot CLI as its own with `inuse.<process>.lock`.
fn find_marking_process(folder: &Path) -> Option<u32> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let process = name.strip_prefix("inuse.")?.strip_suffix(".lock")?.parse().ok()?;
        (process::is_alive(process) != Some(false)).then_some(process)
    })
}

/// Takes the lock that Codex holds while a thread is open; `None` if this thread has none. The
/// error is the process that holds it.
fn thread_lock(home: &Path, session: &SessionRef) -> Result<Option<File>, String> {
    let Some(id) = session.id.as_deref().filter(|id| is_file_name(id)) else { return Ok(None) };
    let path = home.join("thread-writer-locks").join(format!("{id}.lock"));
    let Ok(file) = File::open(path) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        // A file that cannot be locked is not locked by another process.
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            let holder = file.metadata().ok().and_then(|lock| writers::find_steady_writer(&lock));
            Err(holder.map_or_else(|| "another process".to_owned(), process::describe_process))
        }
    }
}

/// What newer versions of Cline write about a session, beside it.
#[derive(Deserialize)]
struct ClineProcessRecord {
    pid: u32,
    status: String,
}

/// The running process that has not ended a session of newer versions of Cline.
fn find_cline_process(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.strip_suffix(".messages.json")?;
    let text = fs::read(path.with_file_name(format!("{name}.json"))).ok()?;
    let record: ClineProcessRecord = serde_json::from_slice(&text).ok()?;
    (record.status != "completed" && process::is_alive(record.pid) != Some(false))
        .then_some(record.pid)
}

/// Roo Code locks a file with a folder next to it, and touches the folder every ten seconds. A
/// folder that was not touched for 31 seconds was left by a crash.
fn is_locked_by_folder(path: &Path) -> bool {
    const STALE_SECONDS: u64 = 31;
    let mut lock = path.as_os_str().to_owned();
    lock.push(".lock");
    let touched = fs::metadata(lock).ok().filter(Metadata::is_dir).and_then(|l| l.modified().ok());
    touched.and_then(|at| at.elapsed().ok()).is_some_and(|age| age.as_secs() < STALE_SECONDS)
}

/// Whether an id is safe as a file name.
fn is_file_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
