//! The list of all session files, and a look at each of them in the background: one file at a time,
//! the newest first, and only what is new or changed.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant, SystemTime},
};

use foxwedge_gateway::console::{
    ScanProgress, SessionFileCheck, SessionFileHealth, SessionFileList, SessionFileSummary,
};
use serde_json::{Value, json};

use super::{FileStamp, MAX_FILE_BYTES, busy_process, lock, unix_milliseconds};
use crate::{
    agents::{self, LocalSessionEntry, SessionListing, SessionOrigin},
    disk::ContentFingerprint,
    outcome::SessionRef,
    screen::abbreviate_home,
    sessions::{self, SessionOverview, read_overview_within},
};

/// A list is so old before folders are looked into again.
const MAX_LIST_AGE: Duration = Duration::from_secs(2);

/// Whether somebody is at work is looked up for so many files, and for those of the last day only.
const MAX_LIVE_CHECKS: usize = 40;
const LIVE_CHECK_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Every session file that is known.
pub(super) struct SessionScanner {
    shared: Arc<ScannerShared>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct ScannerShared {
    state: Mutex<ScannerState>,
    stop: AtomicBool,
}

#[derive(Default)]
struct ScannerState {
    /// The newest first.
    files: Vec<Arc<ScannedFile>>,
    /// What was seen in a file, and when it was that file.
    summaries: HashMap<PathBuf, (FileStamp, Arc<ScannedSummary>)>,
    live: HashMap<PathBuf, bool>,
    scan: ScanProgress,
    scanned_at: Option<Instant>,
}

/// A file that was found.
struct ScannedFile {
    id: String,
    entry: LocalSessionEntry,
    /// The file behind every link above it.
    real: PathBuf,
    sub_agents: usize,
}

/// What one look at a file tells.
struct ScannedSummary {
    file_check: SessionFileCheck,
    title: Option<String>,
    project: Option<String>,
    id: Option<String>,
}

impl SessionScanner {
    pub(super) fn new() -> SessionScanner {
        SessionScanner { shared: Arc::default(), worker: Mutex::default() }
    }

    /// Everything that is known; looks again in the background if that is old.
    pub(super) fn list_files(&self) -> SessionFileList {
        self.refresh();
        let state = lock(&self.shared.state);
        let files = state.files.iter().map(|known| Arc::new(state.row(known, None))).collect();
        // A second look at what is all known is nobody's concern.
        let running = state.scan.running && state.scan.checked < state.scan.total;
        SessionFileList { files, scan: ScanProgress { running, ..state.scan.clone() } }
    }

    /// The session of an id, and the real path of its file.
    pub(super) fn find(&self, id: &str) -> Option<(LocalSessionEntry, PathBuf)> {
        let found = |known: &Arc<ScannedFile>| (known.entry.clone(), known.real.clone());
        let look = || lock(&self.shared.state).find_file(id).map(found);
        look().or_else(|| {
            // Somebody may come with an id of an earlier process.
            self.refresh();
            look()
        })
    }

    /// The row of a session that was looked at just now.
    pub(super) fn row(
        &self,
        id: &str,
        looked: SessionFileCheck,
    ) -> Option<Arc<SessionFileSummary>> {
        let state = lock(&self.shared.state);
        Some(Arc::new(state.row(state.find_file(id)?, Some(looked))))
    }

    /// The sessions that a session started.
    pub(super) fn children(&self, session: &str) -> Vec<Value> {
        /// More of them say nothing.
        const MOST: usize = 200;
        let state = lock(&self.shared.state);
        let parent = SessionOrigin::SubAgent(Some(session.to_owned()));
        let of = state.files.iter().filter(|known| known.entry.origin == parent).take(MOST);
        of.map(|known| json!({ "id": known.id, "session": known.entry.id })).collect()
    }

    /// What is known of a file is no longer so.
    pub(super) fn forget_file(&self, id: &str) {
        let mut state = lock(&self.shared.state);
        if let Some(path) = state.find_file(id).map(|known| known.entry.path.clone()) {
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
            // A look that panicked is over, too.
            let _ = done.join();
        }
        // Listing is quick, and an empty list would say something wrong.
        let found = agents::find(&[]);
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
        self.files.iter().find(|known| known.id == id)
    }

    /// Takes over what was found. What is known of files that are still the same stays known.
    fn begin_scan(&mut self, found: SessionListing) {
        let mut sub_agents: HashMap<String, usize> = HashMap::new();
        for entry in &found.entries {
            if let SessionOrigin::SubAgent(Some(parent)) = &entry.origin {
                *sub_agents.entry(parent.clone()).or_default() += 1;
            }
        }
        let home = agents::home_folder();
        let closed = |(path, error): &(PathBuf, std::io::Error)| {
            (abbreviate_home(&path.to_string_lossy(), home.as_deref()), error.to_string())
        };
        self.scan = ScanProgress {
            running: true,
            checked: 0,
            total: found.entries.len(),
            began: unix_milliseconds(SystemTime::now()),
            ended: self.scan.ended,
            unreadable_folders: found.unreadable.iter().map(closed).collect(),
        };
        let known = |entry: LocalSessionEntry| {
            let real = fs::canonicalize(&entry.path).ok()?;
            let name = entry.path.as_os_str().as_encoded_bytes();
            let id = format!("f-{}", ContentFingerprint::of(name).hash);
            let sub_agents = sub_agents.get(&entry.id).copied().unwrap_or(0);
            Some(Arc::new(ScannedFile { id, entry, real, sub_agents }))
        };
        self.files = found.entries.into_iter().filter_map(known).collect();
        let paths: std::collections::HashSet<&Path> =
            self.files.iter().map(|known| known.entry.path.as_path()).collect();
        self.summaries.retain(|path, _| paths.contains(path.as_path()));
        self.live.retain(|path, _| paths.contains(path.as_path()));
        self.scan.checked =
            self.files.iter().filter(|known| self.current_summary(&known.entry).is_some()).count();
    }

    fn end_scan(&mut self) {
        self.scan.running = false;
        self.scan.ended = Some(unix_milliseconds(SystemTime::now()));
        self.scanned_at = Some(Instant::now());
    }

    /// What was seen in a file, if it is still that file.
    fn current_summary(&self, entry: &LocalSessionEntry) -> Option<&Arc<ScannedSummary>> {
        let (stamp, sight) = self.summaries.get(&entry.path)?;
        let modified = unix_milliseconds(entry.modified);
        let same =
            stamp.size == entry.size && u64::try_from(stamp.modified / 1_000_000) == Ok(modified);
        same.then_some(sight)
    }

    fn row(&self, known: &ScannedFile, looked: Option<SessionFileCheck>) -> SessionFileSummary {
        let entry = &known.entry;
        let sight = self.current_summary(entry);
        let parent = match &entry.origin {
            SessionOrigin::Session | SessionOrigin::SubAgent(None) => None,
            SessionOrigin::SubAgent(Some(parent)) => Some(parent.clone()),
        };
        let path = entry.path.to_string_lossy();
        let title = sight.and_then(|sight| sight.title.clone()).or_else(|| entry.title.clone());
        let project = sight.and_then(|sight| sight.project.clone());
        SessionFileSummary {
            id: known.id.clone(),
            session: entry.id.clone(),
            agent: entry.agent.name(),
            product: entry.product,
            title,
            project: project.or_else(|| entry.project.clone()),
            path: abbreviate_home(&path, agents::home_folder().as_deref()),
            touched: unix_milliseconds(entry.modified),
            size: entry.size,
            check: looked.or_else(|| sight.map(|sight| sight.file_check.clone())),
            live: self.live.get(&entry.path).copied(),
            sub_agent: entry.is_sub_agent(),
            parent,
            sub_agents: known.sub_agents,
        }
    }
}

impl ScannerShared {
    /// Looks at every file that is new or changed.
    fn scan_files(&self) {
        let files = lock(&self.state).files.clone();
        for known in &files {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let entry = &known.entry;
            if lock(&self.state).current_summary(entry).is_some() {
                continue;
            }
            // The stamp first: a change while we look is seen later as a change.
            let stamp = fs::symlink_metadata(&entry.path).map(|metadata| FileStamp::of(&metadata));
            let Ok(stamp) = stamp else { continue };
            let sight = Arc::new(ScannedSummary::of(read_overview_within(entry, MAX_FILE_BYTES)));
            let mut state = lock(&self.state);
            state.summaries.insert(entry.path.clone(), (stamp, sight));
            state.scan.checked += 1;
        }
        self.check_live_files(&files);
        lock(&self.state).end_scan();
    }

    /// Looks up whether somebody is at work on the files that were written to lately.
    fn check_live_files(&self, files: &[Arc<ScannedFile>]) {
        let mut live = HashMap::new();
        let recent = |known: &&Arc<ScannedFile>| {
            known.entry.modified.elapsed().is_ok_and(|age| age < LIVE_CHECK_AGE)
        };
        for known in files.iter().filter(recent).take(MAX_LIVE_CHECKS) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let entry = &known.entry;
            let told = lock(&self.state).current_summary(entry).and_then(|sight| sight.id.clone());
            let id = Some(told.unwrap_or_else(|| entry.id.clone()));
            let sitting = SessionRef { agent: entry.agent, id, folder: None };
            live.insert(entry.path.clone(), busy_process(&entry.path, Some(&sitting)).is_some());
        }
        lock(&self.state).live = live;
    }
}

impl ScannedSummary {
    fn of(glance: SessionOverview) -> ScannedSummary {
        let health = convert_health(glance.health);
        let looked = SessionFileCheck {
            health,
            unreadable_reason: glance.error,
            messages: glance.messages,
            findings: glance.findings,
            repairable: glance.is_fixable,
        };
        ScannedSummary {
            file_check: looked,
            title: glance.title,
            project: glance.project,
            id: glance.id,
        }
    }
}

/// The same word in both worlds.
pub(super) fn convert_health(health: sessions::SessionHealth) -> SessionFileHealth {
    match health {
        sessions::SessionHealth::Ok => SessionFileHealth::Ok,
        sessions::SessionHealth::HistoryMissing => SessionFileHealth::HistoryMissing,
        sessions::SessionHealth::NeedsRepair => SessionFileHealth::NeedsRepair,
        sessions::SessionHealth::Unreadable => SessionFileHealth::Unreadable,
    }
}
