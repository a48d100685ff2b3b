//! What the gateway's console shows of the sessions of all agents on this machine, and what it does
//! to them, with the same code as `list`, `show`, `fix`, `undo` and `compact`. Every write uses the
//! code of `fix`.
//!
//! A caller names a session by an id that we issued. No path ever comes from outside.

mod error;
mod session_list;
mod page;
mod scanner;
mod conversation;
mod message_json;
mod open_session;
mod file_lines;
mod plan_preview;
mod repair_rows;
mod request_repair;
mod report;
mod repair;
mod compaction;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_core::Policy;
use foxwedge_sessions::SessionAgent;
use serde_json::{Value, json};

pub use compaction::{CompactionAmount, CompactionPreviewOptions, CompactionSubject};
pub use error::LocalSessionError;
pub use page::{RecordFilter, RowRange};
pub use request_repair::request_repair_rows;
pub use session_list::{ScanProgress, SessionFileCheck, SessionFileList, SessionFileSummary};

use crate::{
    agents::LocalSessionEntry,
    check_settings::CheckSettings,
    database::{self, SessionPath},
    disk::check_idle,
    outcome::SessionRef,
    session_document::agent_format,
    source::{self, InputHint, InputRejection, ParsedInput},
    user_folders::UserFolders,
};
use open_session::ConsoleSession;
use plan_preview::ConsoleRepairPlan;
use scanner::SessionScanner;

/// Largest session file that the console reads.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Limits for sessions that stay open: a client requests the pages of a session one by one.
const MAX_OPEN_SESSIONS: usize = 4;
const MAX_OPEN_BYTES: usize = 256 << 20;

/// The session files of agents on this machine. Calls may block. A session is named by an id from
/// [`LocalSessions::sessions`]; callers never pass a path. Every call on a session fails if there is
/// no such session, or it cannot be read.
pub struct LocalSessions {
    scanner: SessionScanner,
    /// Sessions that were read recently, newest last.
    open_sessions: Mutex<Vec<(String, Arc<ConsoleSession>)>>,
    /// The last repair plan.
    last_plan: Mutex<Option<(String, Arc<ConsoleRepairPlan>)>>,
}

/// A session file in its current state.
struct ConsoleSessionFile {
    folders: UserFolders,
    id: String,
    entry: LocalSessionEntry,
    stamp: FileStamp,
}

/// Size, time and inode of a file, to detect changes without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileStamp {
    size: u64,
    modified: u128,
    node: u64,
}

impl LocalSessions {
    /// The sessions in the folders of a user. Reads nothing until the first call.
    pub fn new(folders: UserFolders) -> LocalSessions {
        LocalSessions {
            scanner: SessionScanner::new(folders),
            open_sessions: Mutex::default(),
            last_plan: Mutex::default(),
        }
    }

    /// The supported agents.
    pub fn agents(&self) -> Vec<&'static str> {
        SessionAgent::on_machine().map(|agent| agent.name()).collect()
    }

    /// All known session files, newest first. Returns at once; starts a scan in the background if
    /// the last one is old.
    pub fn sessions(&self) -> SessionFileList {
        self.scanner.list_files()
    }

    /// One session: its summary and details.
    pub fn session(&self, id: &str) -> Result<(Arc<SessionFileSummary>, Value), LocalSessionError> {
        let file = self.locate_file(id)?;
        let session = self.open_session(&file)?;
        let mut details = session.about();
        details["live"] = live_json(&file, session.session_ref());
        details["undo"] = repair::undo_json(&file);
        let resume = session.session_ref().and_then(SessionRef::resume_command);
        details["resume"] = json!(resume);
        details["sub_agents_listed"] = json!(self.scanner.children(&file.entry.id));
        let summary =
            self.scanner.row(&file.id, session.file_check()).ok_or(LocalSessionError::NotFound)?;
        Ok((summary, details))
    }

    /// The conversation in readable form; with `words`, only messages that contain them.
    pub fn messages(
        &self,
        id: &str,
        page: RowRange,
        words: Option<&str>,
    ) -> Result<Value, LocalSessionError> {
        Ok(self.open_session(&self.locate_file(id)?)?.messages(page, words))
    }

    /// The records as a tree.
    pub fn tree(
        &self,
        id: &str,
        page: RowRange,
        only: RecordFilter,
    ) -> Result<Value, LocalSessionError> {
        Ok(self.open_session(&self.locate_file(id)?)?.tree(page, only))
    }

    /// The lines of the file, each cut to this many bytes.
    pub fn records(
        &self,
        id: &str,
        page: RowRange,
        max_bytes: usize,
    ) -> Result<Value, LocalSessionError> {
        file_lines::read_lines(&self.locate_file(id)?, page, max_bytes)
    }

    /// The findings of the session.
    pub fn findings(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        Ok(self.open_session(&self.locate_file(id)?)?.findings(page))
    }

    /// What a repair would do.
    pub fn plan(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        let file = self.locate_file(id)?;
        let plan = self.plan_repair(&file)?;
        let mut response = plan.to_json(page);
        response["live"] = live_json(&file, plan.session_ref());
        Ok(response)
    }

    /// The repair plan as Markdown.
    pub fn plan_markdown(&self, id: &str) -> Result<String, LocalSessionError> {
        let file = self.locate_file(id)?;
        Ok(report::markdown(&file, &*self.plan_repair(&file)?))
    }

    /// Applies exactly this plan.
    ///
    /// # Errors
    /// If the plan is outdated, another process writes to the file, or the repair fails. The file
    /// is unchanged then.
    pub fn repair(&self, id: &str, plan: &str) -> Result<Value, LocalSessionError> {
        let file = self.locate_file(id)?;
        let done = repair::apply_repair(&file, plan);
        self.forget(&file);
        let mut response = done?;
        repair::add_file_state(&self.locate_file(id)?, &mut response);
        Ok(response)
    }

    /// Restores what the last repair replaced.
    ///
    /// # Errors
    /// If there is nothing to restore, or it fails. The file is unchanged then.
    pub fn undo(&self, id: &str) -> Result<Value, LocalSessionError> {
        let file = self.locate_file(id)?;
        let done = repair::undo_repair(&file);
        self.forget(&file);
        done?;
        let mut response = json!({});
        repair::add_file_state(&self.locate_file(id)?, &mut response);
        Ok(response)
    }

    /// What a compaction would do. Nothing is written.
    ///
    /// # Errors
    /// If the conversation cannot be read or cannot be cut that short.
    pub fn compaction(
        &self,
        subject: &CompactionSubject,
        options: &CompactionPreviewOptions,
    ) -> Result<Value, LocalSessionError> {
        match subject {
            CompactionSubject::File(id) => {
                let file = self.locate_file(id)?;
                let content = file.read()?;
                file.with_source(&content, |source| compaction::preview_source(source, options))?
            }
            CompactionSubject::Body { text, wire } => {
                compaction::preview_body(text, *wire, options)
            }
        }
    }
}

impl LocalSessions {
    /// The file of a session. It must still be where it was found: a link in its place is rejected.
    fn locate_file(&self, id: &str) -> Result<ConsoleSessionFile, LocalSessionError> {
        let (entry, real) = self.scanner.find(id).ok_or(LocalSessionError::NotFound)?;
        let path = database::file_of(&entry.path);
        let metadata = fs::symlink_metadata(path).map_err(missing_refusal)?;
        let now = database::canonicalize(&entry.path).map_err(missing_refusal)?;
        if !metadata.is_file() || now != real {
            return Err(LocalSessionError::NotFound);
        }
        let mut stamp = FileStamp::of(&metadata);
        if SessionPath::parse(&entry.path).is_some() {
            stamp.size = entry.size;
        }
        Ok(ConsoleSessionFile {
            folders: self.scanner.folders().clone(),
            id: id.to_owned(),
            entry: LocalSessionEntry { size: stamp.size, ..entry },
            stamp,
        })
    }

    fn open_session(
        &self,
        file: &ConsoleSessionFile,
    ) -> Result<Arc<ConsoleSession>, LocalSessionError> {
        let known = lock(&self.open_sessions).iter().find(|(id, _)| *id == file.id).cloned();
        if let Some((_, session)) = known.filter(|(_, session)| session.stamp == file.stamp) {
            return Ok(session);
        }
        let session = Arc::new(ConsoleSession::read(file)?);
        let mut open = lock(&self.open_sessions);
        open.retain(|(id, _)| *id != file.id);
        open.push((file.id.clone(), session.clone()));
        let total_size = |open: &[(String, Arc<ConsoleSession>)]| -> usize {
            open.iter().map(|(_, session)| session.memory_size()).sum()
        };
        while open.len() > 1
            && (open.len() > MAX_OPEN_SESSIONS || total_size(&open) > MAX_OPEN_BYTES)
        {
            open.remove(0);
        }
        Ok(session)
    }

    fn plan_repair(
        &self,
        file: &ConsoleSessionFile,
    ) -> Result<Arc<ConsoleRepairPlan>, LocalSessionError> {
        let known = lock(&self.last_plan).clone();
        if let Some((id, plan)) = known
            && id == file.id
            && plan.stamp == file.stamp
        {
            return Ok(plan);
        }
        // The old plan is dropped first, so that only one is in memory.
        lock(&self.last_plan).take();
        let plan = Arc::new(ConsoleRepairPlan::make(file)?);
        *lock(&self.last_plan) = Some((file.id.clone(), plan.clone()));
        Ok(plan)
    }

    /// Drops all cached data of a session.
    fn forget(&self, file: &ConsoleSessionFile) {
        lock(&self.open_sessions).retain(|(id, _)| *id != file.id);
        lock(&self.last_plan).take();
        self.scanner.forget_file(&file.id);
    }
}

impl ConsoleSessionFile {
    /// The content of the file, decompressed.
    fn read(&self) -> Result<Vec<u8>, LocalSessionError> {
        self.check_size()?;
        let content = database::read(&self.entry.path).map_err(unreadable_refusal)?;
        let plain = source::decompress_within(&content, MAX_FILE_BYTES)
            .map_err(|error| error_refusal(&error))?;
        Ok(plain.into_owned())
    }

    fn check_size(&self) -> Result<(), LocalSessionError> {
        match self.stamp.size {
            size if size > MAX_FILE_BYTES => Err(LocalSessionError::TooLarge(size)),
            _ => Ok(()),
        }
    }

    /// Check settings for a repair, the same as for `fix`.
    fn check_settings(&self, content: &[u8]) -> Result<CheckSettings, LocalSessionError> {
        Ok(CheckSettings::of(agent_format(&self.entry, content), Policy::default())
            .skipping_tolerated(true)
            .in_agent_folder())
    }

    fn input_hint(&self) -> InputHint {
        InputHint::of_file(&self.entry.path, false)
    }

    /// Parses decompressed content and calls `work` with the result.
    fn with_source<T>(
        &self,
        content: &[u8],
        work: impl FnOnce(&ParsedInput<'_>) -> T,
    ) -> Result<T, LocalSessionError> {
        let settings = self.check_settings(content)?;
        with_source(content, self.input_hint(), &settings, work)
    }

    /// Changes with every change of the file.
    fn version(&self) -> String {
        let FileStamp { size, modified, node } = self.stamp;
        format!("{size}-{modified:x}-{node:x}")
    }
}

fn with_source<T>(
    content: &[u8],
    hint: InputHint,
    settings: &CheckSettings,
    work: impl FnOnce(&ParsedInput<'_>) -> T,
) -> Result<T, LocalSessionError> {
    let text = source::decode_text(content)
        .map_err(|failure| LocalSessionError::Unreadable(failure.message))?;
    match source::parse_input(&text, hint, settings) {
        Ok(source) => Ok(work(&source)),
        Err(InputRejection::Skipped) => {
            Err(LocalSessionError::Unreadable("it contains no conversation".into()))
        }
        Err(InputRejection::Failed(failure)) => {
            let at = failure.position.map(|at| format!("line {}: ", at.line)).unwrap_or_default();
            Err(LocalSessionError::Unreadable(format!("{at}{}", failure.message)))
        }
    }
}

impl FileStamp {
    fn of(metadata: &fs::Metadata) -> FileStamp {
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        FileStamp { size: metadata.len(), modified, node: node(metadata) }
    }
}

#[cfg(unix)]
fn node(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn node(_: &fs::Metadata) -> u64 {
    0
}

/// Whether a process is working on a session, and which one.
fn live_json(file: &ConsoleSessionFile, session: Option<&SessionRef>) -> Value {
    match busy_process(&file.folders, &file.entry.path, session) {
        None => json!({ "is": false, "who": null }),
        Some(reason) => json!({ "is": true, "who": reason }),
    }
}

/// Why a session is busy: the process that is working on it, as text.
pub fn busy_process(
    folders: &UserFolders,
    path: &Path,
    session: Option<&SessionRef>,
) -> Option<String> {
    let metadata = database::metadata(path).ok()?;
    let real: PathBuf = database::canonicalize(path).ok()?;
    check_idle(folders, &real, &metadata, session).err().map(|error| error.to_string())
}

fn missing_refusal(error: io::Error) -> LocalSessionError {
    match error.kind() {
        io::ErrorKind::NotFound => LocalSessionError::NotFound,
        _ => unreadable_refusal(error),
    }
}

fn unreadable_refusal(error: io::Error) -> LocalSessionError {
    LocalSessionError::Unreadable(format!("the file cannot be read: {error}"))
}

/// Error text with its causes.
fn error_refusal(error: &anyhow::Error) -> LocalSessionError {
    LocalSessionError::Unreadable(format!("{error:#}"))
}

/// Milliseconds since 1970.
fn unix_milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
