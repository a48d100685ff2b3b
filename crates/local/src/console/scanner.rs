//! Lists all session files, and checks new and changed ones in the background: one file at a time,
//! newest first.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};

use super::{
    FileStamp, MAX_FILE_BYTES, ScanProgress, SessionFileCheck, SessionFileList, SessionFileSummary,
    busy_process, lock, unix_milliseconds,
};
use crate::{
    agents::{self, LocalSessionEntry, SessionListing, SessionOrigin},
    database::{self, SessionPath},
    disk::ContentFingerprint,
    outcome::SessionRef,
    screen::abbreviate_home,
    session_overview::{SessionOverview, read_overview_within},
    user_folders::UserFolders,
};

/// Age of a list after which folders are read again.
const MAX_LIST_AGE: Duration = Duration::from_secs(2);

/// Limits for the check whether a process is working on a file: number of files, and their age.
const MAX_LIVE_CHECKS: usize = 40;
const LIVE_CHECK_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// All known session files.
pub(super) struct SessionScanner {
    shared: Arc<ScannerShared>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct ScannerShared {
    folders: UserFolders,
    state: Mutex<ScannerState>,
    stop: AtomicBool,
}

#[derive(Default)]
struct ScannerState {
    /// Home folder of the user.
    home: Option<PathBuf>,
    /// Newest first.
    files: Vec<Arc<ScannedFile>>,
    /// The summary of each file, and the stamp of the file that was summarized.
    summaries: HashMap<PathBuf, (FileStamp, Arc<SessionOverview>)>,
    live: HashMap<PathBuf, bool>,
    scan: ScanProgress,
    scanned_at: Option<Instant>,
}

/// A session file.
struct ScannedFile {
    id: String,
    entry: LocalSessionEntry,
    /// Canonical path.
    real: PathBuf,
    sub_agents: usize,
}

impl SessionScanner {
    pub(super) fn new(folders: UserFolders) -> SessionScanner {
        let state = ScannerState { home: folders.home(), ..ScannerState::default() };
        let (state, stop) = (Mutex::new(state), AtomicBool::new(false));
        let shared = Arc::new(ScannerShared { folders, state, stop });
        SessionScanner { shared, worker: Mutex::default() }
    }

    /// Where sessions are searched.
    pub(super) fn folders(&self) -> &UserFolders {
        &self.shared.folders
    }

    /// All known files. Starts a new scan in the background if the list is old.
    pub(super) fn list_files(&self) -> SessionFileList {
        self.refresh();
        let state = lock(&self.shared.state);
        let files = state.files.iter().map(|file| Arc::new(state.row(file, None))).collect();
        // A scan that has nothing left to check is not reported as running.
        let running = state.scan.running && state.scan.checked < state.scan.total;
        SessionFileList { files, scan: ScanProgress { running, ..state.scan.clone() } }
    }

    /// The session with an id, and the canonical path of its file.
    pub(super) fn find(&self, id: &str) -> Option<(LocalSessionEntry, PathBuf)> {
        let entry_and_path = |file: &Arc<ScannedFile>| (file.entry.clone(), file.real.clone());
        let find = || lock(&self.shared.state).find_file(id).map(entry_and_path);
        find().or_else(|| {
            // The id may come from an earlier process.
            self.refresh();
            find()
        })
    }

    /// The row of a session that was just checked.
    pub(super) fn row(&self, id: &str, check: SessionFileCheck) -> Option<Arc<SessionFileSummary>> {
        let state = lock(&self.shared.state);
        Some(Arc::new(state.row(state.find_file(id)?, Some(check))))
    }

    /// The sub-agent sessions of a session.
    pub(super) fn children(&self, session: &str) -> Vec<Value> {
        /// Sessions that are listed.
        const MAX_LISTED: usize = 200;
        let state = lock(&self.shared.state);
        let parent = SessionOrigin::SubAgent(Some(session.to_owned()));
        let children = state.files.iter().filter(|file| file.entry.origin == parent);
        children
            .take(MAX_LISTED)
            .map(|file| json!({ "id": file.id, "session": file.entry.id }))
            .collect()
    }

    /// Drops the summary of a file.
    pub(super) fn forget_file(&self, id: &str) {
        let mut state = lock(&self.shared.state);
        if let Some(path) = state.find_file(id).map(|file| file.entry.path.clone()) {
            state.summaries.remove(&path);
        }
        state.scanned_at = None;
    }

    fn refresh(&self) {
        let mut worker = lock(&self.worker);
        if worker.as_ref().is_some_and(|worker| !worker.is_finished()) {
            return;
        }
        if lock(&self.shared.state).scanned_at.is_some_and(|last| last.elapsed() < MAX_LIST_AGE) {
            return;
        }
        if let Some(done) = worker.take() {
            // A scan that panicked is finished, too.
            let _ = done.join();
        }
        // Listing is quick, and an empty list would be wrong.
        let found = agents::find_in(&self.shared.folders, &[]);
        lock(&self.shared.state).begin_scan(found);
        let shared = self.shared.clone();
        let started =
            thread::Builder::new().name("console".into()).spawn(move || shared.scan_files());
        match started {
            Ok(thread) => *worker = Some(thread),
            Err(_) => lock(&self.shared.state).end_scan(),
        }
    }
}

impl Drop for SessionScanner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(worker) = lock(&self.worker).take() {
            let _ = worker.join();
        }
    }
}

impl ScannerState {
    fn find_file(&self, id: &str) -> Option<&Arc<ScannedFile>> {
        self.files.iter().find(|file| file.id == id)
    }

    /// Replaces the list of files. Summaries of unchanged files stay.
    fn begin_scan(&mut self, found: SessionListing) {
        let mut sub_agents: HashMap<String, usize> = HashMap::new();
        for entry in &found.entries {
            if let SessionOrigin::SubAgent(Some(parent)) = &entry.origin {
                *sub_agents.entry(parent.clone()).or_default() += 1;
            }
        }
        let unreadable = |(path, error): &(PathBuf, std::io::Error)| {
            (abbreviate_home(&path.to_string_lossy(), self.home.as_deref()), error.to_string())
        };
        self.scan = ScanProgress {
            running: true,
            checked: 0,
            total: found.entries.len(),
            began: unix_milliseconds(SystemTime::now()),
            ended: self.scan.ended,
            unreadable_folders: found.unreadable.iter().map(unreadable).collect(),
        };
        let scanned = |entry: LocalSessionEntry| {
            let real = database::canonicalize(&entry.path).ok()?;
            let name = entry.path.as_os_str().as_encoded_bytes();
            let id = format!("f-{}", ContentFingerprint::of(name).hash);
            let sub_agents = sub_agents.get(&entry.id).copied().unwrap_or(0);
            Some(Arc::new(ScannedFile { id, entry, real, sub_agents }))
        };
        self.files = found.entries.into_iter().filter_map(scanned).collect();
        let paths: std::collections::HashSet<&Path> =
            self.files.iter().map(|file| file.entry.path.as_path()).collect();
        self.summaries.retain(|path, _| paths.contains(path.as_path()));
        self.live.retain(|path, _| paths.contains(path.as_path()));
        self.scan.checked =
            self.files.iter().filter(|file| self.current_summary(&file.entry).is_some()).count();
    }

    fn end_scan(&mut self) {
        self.scan.running = false;
        self.scan.ended = Some(unix_milliseconds(SystemTime::now()));
        self.scanned_at = Some(Instant::now());
    }

    /// The summary of a file, if the file has not changed since.
    fn current_summary(&self, entry: &LocalSessionEntry) -> Option<&Arc<SessionOverview>> {
        let (stamp, summary) = self.summaries.get(&entry.path)?;
        let modified = unix_milliseconds(entry.modified);
        let same =
            stamp.size == entry.size && u64::try_from(stamp.modified / 1_000_000) == Ok(modified);
        same.then_some(summary)
    }

    fn row(&self, file: &ScannedFile, check: Option<SessionFileCheck>) -> SessionFileSummary {
        let entry = &file.entry;
        let summary = self.current_summary(entry);
        let parent = match &entry.origin {
            SessionOrigin::Session | SessionOrigin::SubAgent(None) => None,
            SessionOrigin::SubAgent(Some(parent)) => Some(parent.clone()),
        };
        let path = entry.path.to_string_lossy();
        let title = summary.and_then(|summary| summary.title.clone());
        let project = summary.and_then(|summary| summary.project.clone());
        SessionFileSummary {
            id: file.id.clone(),
            session: entry.id.clone(),
            agent: entry.agent.name(),
            product: entry.product,
            title: title.or_else(|| entry.title.clone()),
            project: project.or_else(|| entry.project.clone()),
            path: abbreviate_home(&path, self.home.as_deref()),
            touched: unix_milliseconds(entry.modified),
            size: entry.size,
            check: check.or_else(|| summary.map(|summary| SessionFileCheck::from(&**summary))),
            live: self.live.get(&entry.path).copied(),
            sub_agent: entry.is_sub_agent(),
            parent,
            sub_agents: file.sub_agents,
        }
    }
}

impl ScannerShared {
    /// Checks every file that is new or changed.
    fn scan_files(&self) {
        let files = lock(&self.state).files.clone();
        for file in &files {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let entry = &file.entry;
            if lock(&self.state).current_summary(entry).is_some() {
                continue;
            }
            // The stamp first, so that a change during the read is detected later.
            let stamp = database::metadata(&entry.path).map(|metadata| FileStamp::of(&metadata));
            let Ok(mut stamp) = stamp else { continue };
            if SessionPath::parse(&entry.path).is_some() {
                // All sessions of a database share its file, so the entry tells them apart.
                stamp.size = entry.size;
                stamp.modified = u128::from(unix_milliseconds(entry.modified)) * 1_000_000;
            }
            let summary = Arc::new(read_overview_within(entry, MAX_FILE_BYTES));
            let mut state = lock(&self.state);
            state.summaries.insert(entry.path.clone(), (stamp, summary));
            state.scan.checked += 1;
        }
        self.check_live_files(&files);
        lock(&self.state).end_scan();
    }

    /// Checks whether a process is working on recently changed files.
    fn check_live_files(&self, files: &[Arc<ScannedFile>]) {
        let mut live = HashMap::new();
        let recent = |file: &&Arc<ScannedFile>| {
            file.entry.modified.elapsed().is_ok_and(|age| age < LIVE_CHECK_AGE)
        };
        for file in files.iter().filter(recent).take(MAX_LIVE_CHECKS) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let entry = &file.entry;
            let id_in_file =
                lock(&self.state).current_summary(entry).and_then(|summary| summary.id.clone());
            let session = SessionRef::of_entry(entry, id_in_file, None);
            let busy = busy_process(&self.folders, &entry.path, Some(&session));
            live.insert(entry.path.clone(), busy.is_some());
        }
        lock(&self.state).live = live;
    }
}

impl From<&SessionOverview> for SessionFileCheck {
    fn from(overview: &SessionOverview) -> SessionFileCheck {
        SessionFileCheck {
            health: overview.health,
            unreadable_reason: overview.error.clone(),
            messages: overview.messages,
            reach: overview.reach,
            findings: overview.findings.clone(),
            repairable: overview.is_fixable,
        }
    }
}
