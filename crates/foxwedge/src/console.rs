//! This machine, as the console sees it: the sessions of every agent, through the same eyes as
//! `list`, `show`, `fix`, `undo` and `compact`. Whatever is written goes the way of `fix`.
//!
//! A caller names a session by an id that we gave out ourselves. No path ever comes from outside.

mod scanner;
mod conversation;
mod message_json;
mod open_session;
mod file_lines;
mod plan_preview;
mod repair_rows;
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
use foxwedge_gateway::console::{
    CompactionPreviewOptions, CompactionSubject, LocalSessionError, LocalSessions, RecordFilter,
    RowRange, SessionFileList, SessionFileSummary,
};
use foxwedge_sessions::SessionAgent;
use serde_json::{Value, json};

use crate::{
    agents::LocalSessionEntry,
    check_settings::CheckSettings,
    disk::check_idle,
    outcome::SessionRef,
    sessions::agent_format,
    source::{self, InputHint, InputRejection, ParsedInput},
};
use open_session::ConsoleSession;
use plan_preview::ConsoleRepairPlan;
use scanner::SessionScanner;

/// The most bytes of a session that are read here.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// Sessions that stay open, and bytes of them: pages of one session are asked for one by one.
const MAX_OPEN_SESSIONS: usize = 4;
const MAX_OPEN_BYTES: usize = 256 << 20;

/// This machine.
pub(crate) struct ConsoleBackend {
    scanner: SessionScanner,
    /// The last ones that were looked at, the newest last.
    open_sessions: Mutex<Vec<(String, Arc<ConsoleSession>)>>,
    /// The last repair that was planned.
    last_plan: Mutex<Option<(String, Arc<ConsoleRepairPlan>)>>,
}

/// A session file that may be looked at, as it is just now.
struct ConsoleSessionFile {
    id: String,
    entry: LocalSessionEntry,
    stamp: FileStamp,
}

/// Tells whether a file is still the same, without reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileStamp {
    size: u64,
    modified: u128,
    node: u64,
}

impl ConsoleBackend {
    /// Looks at nothing before it is asked to.
    pub(crate) fn new() -> ConsoleBackend {
        ConsoleBackend {
            scanner: SessionScanner::new(),
            open_sessions: Mutex::default(),
            last_plan: Mutex::default(),
        }
    }

    /// The file of a session. It has to lie where it was found: a link that somebody put in its
    /// place leads to nothing.
    fn locate_file(&self, id: &str) -> Result<ConsoleSessionFile, LocalSessionError> {
        let (entry, real) = self.scanner.find(id).ok_or(LocalSessionError::NotFound)?;
        let metadata = fs::symlink_metadata(&entry.path).map_err(missing_refusal)?;
        if !metadata.is_file() || fs::canonicalize(&entry.path).map_err(missing_refusal)? != real {
            return Err(LocalSessionError::NotFound);
        }
        let stamp = FileStamp::of(&metadata);
        Ok(ConsoleSessionFile {
            id: id.to_owned(),
            entry: LocalSessionEntry { size: stamp.size, ..entry },
            stamp,
        })
    }

    fn open_session(
        &self,
        place: &ConsoleSessionFile,
    ) -> Result<Arc<ConsoleSession>, LocalSessionError> {
        let known = lock(&self.open_sessions).iter().find(|(id, _)| *id == place.id).cloned();
        if let Some((_, opened)) = known.filter(|(_, opened)| opened.stamp == place.stamp) {
            return Ok(opened);
        }
        let opened = Arc::new(ConsoleSession::read(place)?);
        let mut open = lock(&self.open_sessions);
        open.retain(|(id, _)| *id != place.id);
        open.push((place.id.clone(), opened.clone()));
        let weight = |open: &[(String, Arc<ConsoleSession>)]| -> usize {
            open.iter().map(|(_, opened)| opened.memory_size()).sum()
        };
        while open.len() > 1 && (open.len() > MAX_OPEN_SESSIONS || weight(&open) > MAX_OPEN_BYTES) {
            open.remove(0);
        }
        Ok(opened)
    }

    fn plan_repair(
        &self,
        place: &ConsoleSessionFile,
    ) -> Result<Arc<ConsoleRepairPlan>, LocalSessionError> {
        let known = lock(&self.last_plan).clone();
        if let Some((id, planned)) = known
            && id == place.id
            && planned.stamp == place.stamp
        {
            return Ok(planned);
        }
        // The old one goes first: two of them are twice as much.
        lock(&self.last_plan).take();
        let planned = Arc::new(ConsoleRepairPlan::make(place)?);
        *lock(&self.last_plan) = Some((place.id.clone(), planned.clone()));
        Ok(planned)
    }

    /// What is remembered of a session is no longer so.
    fn forget(&self, place: &ConsoleSessionFile) {
        lock(&self.open_sessions).retain(|(id, _)| *id != place.id);
        lock(&self.last_plan).take();
        self.scanner.forget_file(&place.id);
    }
}

impl LocalSessions for ConsoleBackend {
    fn agents(&self) -> Vec<&'static str> {
        SessionAgent::ALL.iter().map(|agent| agent.name()).collect()
    }

    fn sessions(&self) -> SessionFileList {
        self.scanner.list_files()
    }

    fn session(&self, id: &str) -> Result<(Arc<SessionFileSummary>, Value), LocalSessionError> {
        let place = self.locate_file(id)?;
        let opened = self.open_session(&place)?;
        let mut more = opened.about();
        more["live"] = live_json(&place, opened.session_ref());
        more["undo"] = repair::undo_json(&place);
        more["sub_agents_listed"] = json!(self.scanner.children(&place.entry.id));
        let file =
            self.scanner.row(&place.id, opened.file_check()).ok_or(LocalSessionError::NotFound)?;
        Ok((file, more))
    }

    fn messages(
        &self,
        id: &str,
        page: RowRange,
        words: Option<&str>,
    ) -> Result<Value, LocalSessionError> {
        Ok(self.open_session(&self.locate_file(id)?)?.messages(page, words))
    }

    fn tree(
        &self,
        id: &str,
        page: RowRange,
        only: RecordFilter,
    ) -> Result<Value, LocalSessionError> {
        Ok(self.open_session(&self.locate_file(id)?)?.tree(page, only))
    }

    fn records(&self, id: &str, page: RowRange, most: usize) -> Result<Value, LocalSessionError> {
        file_lines::read_lines(&self.locate_file(id)?, page, most)
    }

    fn findings(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        Ok(self.open_session(&self.locate_file(id)?)?.findings(page))
    }

    fn plan(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        let place = self.locate_file(id)?;
        let planned = self.plan_repair(&place)?;
        let mut told = planned.to_json(page);
        told["live"] = live_json(&place, planned.session_ref());
        Ok(told)
    }

    fn plan_markdown(&self, id: &str) -> Result<String, LocalSessionError> {
        let place = self.locate_file(id)?;
        Ok(report::markdown(&place, &*self.plan_repair(&place)?))
    }

    fn repair(&self, id: &str, plan: &str) -> Result<Value, LocalSessionError> {
        let place = self.locate_file(id)?;
        let done = repair::apply_repair(&place, plan);
        self.forget(&place);
        let mut told = done?;
        repair::add_file_state(&self.locate_file(id)?, &mut told);
        Ok(told)
    }

    fn undo(&self, id: &str) -> Result<Value, LocalSessionError> {
        let place = self.locate_file(id)?;
        let done = repair::undo_repair(&place);
        self.forget(&place);
        done?;
        let mut told = json!({});
        repair::add_file_state(&self.locate_file(id)?, &mut told);
        Ok(told)
    }

    fn compaction(
        &self,
        of: &CompactionSubject,
        wish: &CompactionPreviewOptions,
    ) -> Result<Value, LocalSessionError> {
        match of {
            CompactionSubject::File(id) => {
                let place = self.locate_file(id)?;
                let content = place.read()?;
                place.with_source(&content, |source| compaction::preview_source(source, wish))?
            }
            CompactionSubject::Body { text, wire } => compaction::preview_body(text, *wire, wish),
        }
    }
}

impl ConsoleSessionFile {
    /// All bytes of the file, unpacked.
    fn read(&self) -> Result<Vec<u8>, LocalSessionError> {
        self.check_size()?;
        let content = fs::read(&self.entry.path).map_err(unreadable_refusal)?;
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

    /// What a repair is asked, as `fix` asks it.
    fn check_settings(&self, content: &[u8]) -> Result<CheckSettings, LocalSessionError> {
        Ok(CheckSettings::of(agent_format(&self.entry, content), Policy::default())
            .skipping_tolerated(true)
            .in_agent_folder())
    }

    fn input_hint(&self) -> InputHint {
        InputHint::of_file(&self.entry.path, false)
    }

    /// Reads the conversation in unpacked bytes, and does something with it.
    fn with_source<T>(
        &self,
        content: &[u8],
        work: impl FnOnce(&ParsedInput<'_>) -> T,
    ) -> Result<T, LocalSessionError> {
        let ask = self.check_settings(content)?;
        with_source(content, self.input_hint(), &ask, work)
    }

    /// Another one for every change of the file.
    fn version(&self) -> String {
        let FileStamp { size, modified, node } = self.stamp;
        format!("{size}-{modified:x}-{node:x}")
    }
}

fn with_source<T>(
    content: &[u8],
    manner: InputHint,
    ask: &CheckSettings,
    work: impl FnOnce(&ParsedInput<'_>) -> T,
) -> Result<T, LocalSessionError> {
    let text = source::decode_text(content)
        .map_err(|failure| LocalSessionError::Unreadable(failure.message))?;
    match source::parse_input(&text, manner, ask) {
        Ok(source) => Ok(work(&source)),
        Err(InputRejection::Skipped) => {
            Err(LocalSessionError::Unreadable("there is no conversation in it".into()))
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

/// Whether somebody is at work on a session, and who.
fn live_json(place: &ConsoleSessionFile, session: Option<&SessionRef>) -> Value {
    match busy_process(&place.entry.path, session) {
        None => json!({ "is": false, "who": null }),
        Some(who) => json!({ "is": true, "who": who }),
    }
}

/// Who is at work on a file.
fn busy_process(path: &Path, session: Option<&SessionRef>) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let real: PathBuf = fs::canonicalize(path).ok()?;
    check_idle(&real, &metadata, session).err().map(|trouble| trouble.to_string())
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

/// An error with its causes.
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
